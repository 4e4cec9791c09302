"""The search of a classifier: trials, evaluators that score them, and strategies that ask for the next ones."""

from .estimator import VanishingIdealClassifierCV

__all__ = ["VanishingIdealClassifierCV"]
