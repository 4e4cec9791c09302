"""Classification: one ideal per class, the columns that the SVM sees, the classifier, and the search for psi and C."""

from .classifier import ClassGenerator, ClassGenerators, VanishingIdealClassifier
from .per_class import PerClass
from .search import VanishingIdealClassifierCV

__all__ = ["ClassGenerator", "ClassGenerators", "PerClass", "VanishingIdealClassifier", "VanishingIdealClassifierCV"]
