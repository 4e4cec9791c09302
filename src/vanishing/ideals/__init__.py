"""The algorithms as scikit-learn transformers, one module each.

``ideal`` is their base class, ``path`` fits models for many psi in shared passes, and ``relations`` tells laws from
the range of the columns.
"""

from .abm import ABM
from .avi import AVI
from .oavi import OAVI
from .path import ideal_path
from .vca import VCA

__all__ = ["ABM", "AVI", "OAVI", "VCA", "ideal_path"]
