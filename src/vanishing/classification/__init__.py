"""Classification: the classifier, in ``model``, and the search for its psi, its C and its columns, in ``search``."""

from .model import ClassGenerator, ClassGenerators, Columns, PerClass, VanishingIdealClassifier
from .search import VanishingIdealClassifierCV

__all__ = [
    "ClassGenerator",
    "ClassGenerators",
    "Columns",
    "PerClass",
    "VanishingIdealClassifier",
    "VanishingIdealClassifierCV",
]
