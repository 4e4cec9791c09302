"""Approximate vanishing ideals at scale: the polynomials that (almost) vanish on data.

>>> import numpy as np
>>> from vanishing import OAVI
>>> X = np.random.default_rng(0).random((1000, 2))
>>> X[:, 1] = X[:, 0] ** 2
>>> print(OAVI(psi=1e-6).fit(X).generators_[0])
x0^2 - x1
"""

import importlib as _importlib
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from ._version import __version__ as __version__

if _TYPE_CHECKING:
    from .bounds import degree_bound, out_of_sample_bound, size_bound, smallest_tau
    from .checks import RangeWarning
    from .classification import (
        ClassGenerator,
        ClassGenerators,
        Columns,
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
    from .report import report_on as report
    from .rows.disk import open_rows
    from .svm import L1SVC, svm_path
    from .tables import TableEncoder
    from .tables.pipelines import explain

# Where the names are, imported when they are asked for: the command line answers --help at once.
_LATER = {
    name: module
    for module, names in {
        ".bounds": ("degree_bound", "out_of_sample_bound", "size_bound", "smallest_tau"),
        ".checks": ("RangeWarning",),
        ".classification": (
            "ClassGenerator",
            "ClassGenerators",
            "Columns",
            "PerClass",
            "VanishingIdealClassifier",
            "VanishingIdealClassifierCV",
        ),
        ".detection": ("VanishingIdealDetector",),
        ".engine.moments": ("Moments",),
        ".files": ("ModelFileError", "load", "save"),
        ".ideals": ("ABM", "AVI", "OAVI", "VCA", "ideal_path"),
        ".laws": ("Law", "LawFinder", "Laws", "discover"),
        ".polynomials": ("Polynomial", "Polynomials", "Terms"),
        ".progress": ("show_progress",),
        ".rows.disk": ("open_rows",),
        ".svm": ("L1SVC", "svm_path"),
        ".tables": ("TableEncoder",),
        ".tables.pipelines": ("explain",),
        ".report": ("report",),
    }.items()
    for name in names
}

__all__ = [
    "ABM",
    "AVI",
    "L1SVC",
    "OAVI",
    "VCA",
    "ClassGenerator",
    "ClassGenerators",
    "Columns",
    "Law",
    "LawFinder",
    "Laws",
    "ModelFileError",
    "Moments",
    "PerClass",
    "Polynomial",
    "Polynomials",
    "RangeWarning",
    "TableEncoder",
    "Terms",
    "VanishingIdealClassifier",
    "VanishingIdealClassifierCV",
    "VanishingIdealDetector",
    "degree_bound",
    "discover",
    "explain",
    "ideal_path",
    "load",
    "open_rows",
    "out_of_sample_bound",
    "report",
    "save",
    "show_progress",
    "size_bound",
    "smallest_tau",
    "svm_path",
]


def __getattr__(name: str) -> _Any:
    if name not in _LATER:
        raise AttributeError(f"module 'vanishing' has no attribute {name!r}")
    module = _importlib.import_module(_LATER[name], __name__)
    value = module if name == "report" else getattr(module, name)  # the package of reports can be called itself
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER})
