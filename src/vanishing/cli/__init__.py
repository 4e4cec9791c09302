"""The command line.

``main`` parses the arguments and imports the module of a command only when that is chosen. Such a module declares its
arguments without slow imports; what a command computes is in modules beside it: ``models`` (models from files),
``evaluation`` (predict, transform), ``scoring`` (score), ``checking`` (check), ``equations`` (fit, show) and
``demonstration`` (demo). ``inputs`` and ``columns`` read tables, ``outputs`` writes files, ``language`` translates
messages of the library into flags.
"""

from .main import main

__all__ = ["main"]
