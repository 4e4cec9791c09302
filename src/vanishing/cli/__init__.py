"""The command line: ``main`` parses the arguments; each command has a module."""

from .main import main

__all__ = ["main"]
