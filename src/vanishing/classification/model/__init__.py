"""The classifier: one ideal per class, the columns that its last step sees, probabilities, and what it says."""

from .classifier import VanishingIdealClassifier
from .columns import Columns
from .per_class import PerClass
from .readable import ClassGenerator, ClassGenerators

__all__ = ["ClassGenerator", "ClassGenerators", "Columns", "PerClass", "VanishingIdealClassifier"]
