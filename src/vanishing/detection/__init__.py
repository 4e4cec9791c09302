"""Novelty detection by violated equations."""

from .detector import VanishingIdealDetector

__all__ = ["VanishingIdealDetector"]
