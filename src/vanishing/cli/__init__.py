"""The command line.

``main`` parses the arguments and imports the module of a command only when that is chosen. Each command is one module;
its functions import NumPy and the library when they run, so that ``--help`` answers at once. What commands share:
``models`` (models from files, and their equations), ``inputs`` and ``columns`` (read tables), ``outputs`` (writes
files) and ``language`` (messages of the library in flags).
"""

from .main import main

__all__ = ["main"]
