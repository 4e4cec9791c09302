"""The version, for the package and for its metadata."""

__version__ = "0.1.0"
