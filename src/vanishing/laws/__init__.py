"""Laws of noisy tables: the few equations that hold, with their uncertainties, or none.

From the rows up: ``table``, ``sample`` and ``rounding`` (rows to search in), ``sums`` (moments without rows),
``dependencies``, ``monomials`` and ``moments`` (debiased), ``weights`` and ``gmm`` (the test), ``noise``, ``subsets``
and ``support`` (which terms), ``snapping`` (rational numbers), ``audits``; ``settings``, ``fitted`` (a law of a
search), ``one_law`` (the way to one), ``independence`` (what known laws leave open), ``search`` (the loop over
degrees), ``origin``, ``outliers``, ``logs`` (power laws), ``few_rows`` (small samples), ``confirm`` (all rows),
``exact`` with ``modular``, ``candidates`` and ``units`` (terms that may occur), ``routes`` (from a table to its laws);
``law``, ``laws``, ``equation``, ``describe`` and ``finder`` are what users meet.
"""

from .finder import LawFinder, discover
from .law import Law
from .laws import Laws

__all__ = ["Law", "LawFinder", "Laws", "discover"]
