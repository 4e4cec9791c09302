"""Laws of noisy tables: the few equations that hold, with their uncertainties, or none.

Users meet ``finder`` (the estimator), ``laws``, ``law`` with ``equation`` (its text) and ``deviations`` (how far rows
are from it), ``plots`` and ``story`` (reports). The parts below them:

- rows: ``table``, ``sample``, ``rounding``, ``dependencies`` (columns that are functions of others);
- moments and the test: ``monomials``, ``moments``, ``weights``, ``gmm``, ``noise``;
- one law: ``settings``, ``candidates`` and ``units`` (terms that may occur), ``subsets`` and ``support`` (which terms),
  ``snapping`` (rational numbers), ``audits``, ``fitted``, ``one_law``;
- many laws: ``independence``, ``search`` (the loop over degrees), ``origin``, ``confirm`` (on all rows);
- other routes: ``logs`` (power laws), ``few_rows``, ``exact`` with ``modular``, ``sums`` (without rows);
- ``relation`` and ``criteria`` decide which candidates are laws; ``core`` and ``obeyed`` find those that some rows do
  not obey;
- ``routes`` goes from a table to its laws, ``describe`` from a law of the search to one that users read.
"""

from .finder import LawFinder, discover
from .law import Law
from .laws import Laws

__all__ = ["Law", "LawFinder", "Laws", "discover"]
