"""Novelty detection by violated equations.

``detector`` is the estimator; ``scoring`` and ``explanations`` are its methods about rows. The parts below it:

- from rows to sums: ``completeness`` (missing values), ``columns`` (units, constant and binary columns), ``products``,
  ``sums``, ``onepass``, ``training`` (which passes), ``summaries`` (from moments);
- from sums to a model: ``christoffel``, ``equations``, ``regimes``, ``calibration`` (p-values), ``series`` (rows that
  follow each other), ``trimming`` (dirty rows), ``model``;
- what a model says: ``explain``, ``drift``, ``monitoring`` (episodes), ``missing`` (rows with gaps), ``words``,
  ``charts``, ``story`` (reports);
- ``records`` are the fields of detectors in files.

The names of :mod:`vanishing.rules` can be imported from here, too.
"""

from importlib import import_module as _import_module
from typing import Any as _Any

from .detector import VanishingIdealDetector
from .monitoring import Episode, Monitoring

_OF_RULES = ("Report", "Rule", "Rules")

__all__ = ["Episode", "Monitoring", "VanishingIdealDetector"]


def __getattr__(name: str) -> _Any:
    if name not in _OF_RULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(_import_module("..rules", __name__), name)
