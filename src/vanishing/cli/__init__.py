"""The command line: ``main`` reads the arguments, one module for each command."""

from .main import main

__all__ = ["main"]
