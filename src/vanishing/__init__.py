"""Approximate vanishing ideals at scale: the polynomials that (almost) vanish on data.

>>> import numpy as np
>>> from vanishing import OAVI
>>> X = np.random.default_rng(0).random((1000, 2))
>>> X[:, 1] = X[:, 0] ** 2
>>> print(OAVI(psi=1e-6).fit(X).generators_[0])
x0^2 - x1
"""

from ._version import __version__ as __version__
from .bounds import degree_bound, out_of_sample_bound, size_bound, smallest_tau
from .checks import RangeWarning
from .classification import (
    ClassGenerator,
    ClassGenerators,
    PerClass,
    VanishingIdealClassifier,
    VanishingIdealClassifierCV,
)
from .detection import VanishingIdealDetector
from .engine.moments import Moments
from .files import ModelFileError, load, save
from .ideals import ABM, AVI, OAVI, VCA, ideal_path
from .laws import Law, LawFinder, Laws, discover
from .polynomials import Polynomial, Polynomials, Terms
from .progress import show_progress
from .rows.disk import open_rows
from .svm import L1SVC, svm_path

__all__ = [
    "ABM",
    "AVI",
    "L1SVC",
    "OAVI",
    "VCA",
    "ClassGenerator",
    "ClassGenerators",
    "Law",
    "LawFinder",
    "Laws",
    "ModelFileError",
    "Moments",
    "PerClass",
    "Polynomial",
    "Polynomials",
    "RangeWarning",
    "Terms",
    "VanishingIdealClassifier",
    "VanishingIdealClassifierCV",
    "VanishingIdealDetector",
    "degree_bound",
    "discover",
    "ideal_path",
    "load",
    "open_rows",
    "out_of_sample_bound",
    "save",
    "show_progress",
    "size_bound",
    "smallest_tau",
    "svm_path",
]
