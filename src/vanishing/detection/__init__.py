"""Novelty detection by violated equations, and rules between the columns of tables.

``detector`` is the estimator; ``scoring`` and ``explanations`` are its methods about rows. The parts below it:

- from rows to sums: ``completeness`` (missing values), ``columns`` (units, constant and binary columns), ``products``,
  ``sums``, ``onepass``, ``training`` (which passes), ``summaries`` (from moments);
- from sums to a model: ``christoffel``, ``equations``, ``regimes``, ``calibration`` (p-values), ``model``;
- what a model says: ``explain``, ``drift``, ``missing`` (rows with gaps), ``charts``, ``story`` (reports);
- ``records`` are the fields of detectors and rules in files.

``rules`` has rules of tables, each a ``rule``; ``learning`` finds them, ``report`` compares tables with them,
``exports`` writes them for other tools, and ``rules_story`` is their page in reports.
"""

from .detector import VanishingIdealDetector
from .report import Report
from .rule import Rule
from .rules import Rules

__all__ = ["Report", "Rule", "Rules", "VanishingIdealDetector"]
