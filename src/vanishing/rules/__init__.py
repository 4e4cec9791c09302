"""Rules between the columns of a table: equations with tolerances that nearly all rows obey.

``rules`` is the collection, each of its items a ``rule``; ``learning`` finds rules, ``report`` compares tables with
them, ``exports`` writes them for other tools, and ``story`` is their page in reports.
"""

from .report import Report
from .rule import Rule
from .rules import Rules

__all__ = ["Report", "Rule", "Rules"]
