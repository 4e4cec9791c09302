"""Laws of noisy tables: the few equations that hold, with their uncertainties, or none.

A table goes through the folders in this order:

- ``rows``: the table, its rounding, its units, columns that are functions of others;
- ``estimate``: moments, noise, and the test of a polynomial;
- ``exact``: laws in exact arithmetic;
- ``candidates``: the searches, each of which proposes equations;
- ``say``: laws as users read them;
- ``criteria`` decides which candidates are laws, ``obeyed`` adds those that some rows do not obey, ``routes`` goes from
  a table to its laws, ``finder`` is what users meet.
"""

from .finder import LawFinder, discover
from .say.law import Law
from .say.laws import Laws

__all__ = ["Law", "LawFinder", "Laws", "discover"]
