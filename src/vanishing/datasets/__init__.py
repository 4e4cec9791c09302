"""Data with known equations, and the paper's data sets."""

from ._synthetic import make_ellipsoid, make_synthetic
from ._tables import TABLES, cache_folder, load
from ._varieties import VARIETIES, make_variety

__all__ = ["TABLES", "VARIETIES", "cache_folder", "load", "make_ellipsoid", "make_synthetic", "make_variety"]
