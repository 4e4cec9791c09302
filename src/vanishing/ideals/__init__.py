"""The algorithms as scikit-learn transformers, one module each; ``ideal`` is what they share, ``path`` many psi."""

from .abm import ABM
from .avi import AVI
from .oavi import OAVI
from .path import ideal_path
from .vca import VCA

__all__ = ["ABM", "AVI", "OAVI", "VCA", "ideal_path"]
