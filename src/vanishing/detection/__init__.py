"""Novelty detection by violated equations, and rules between the columns of tables."""

from .detector import VanishingIdealDetector
from .report import Report
from .rule import Rule
from .rules import Rules

__all__ = ["Report", "Rule", "Rules", "VanishingIdealDetector"]
