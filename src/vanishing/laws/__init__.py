"""Laws of noisy tables: the few equations that hold, with their uncertainties, or none."""

from .finder import LawFinder, discover
from .law import Law
from .laws import Laws

__all__ = ["Law", "LawFinder", "Laws", "discover"]
