"""Novelty detection by violated equations, and rules between the columns of tables."""

from .detector import VanishingIdealDetector
from .rules import Report, Rule, Rules

__all__ = ["Report", "Rule", "Rules", "VanishingIdealDetector"]
