"""Classification: one ideal per class, the columns that the SVM sees, the classifier, and the search for psi and C."""

from .classifier import VanishingIdealClassifier
from .generators import ClassGenerator, ClassGenerators
from .per_class import PerClass
from .search import VanishingIdealClassifierCV

__all__ = ["ClassGenerator", "ClassGenerators", "PerClass", "VanishingIdealClassifier", "VanishingIdealClassifierCV"]
