"""Models in files: ``container`` (a JSON header and raw arrays), ``fields`` (typed values), ``saved`` (save and load).

Every class that can be saved says beside its attributes of which fields it consists. A file holds no code, and loading
executes none: values that differ from the fields' types, shapes or ranges are refused before a model is made of them.
"""

from .container import ModelFileError
from .saved import Saved, load, save

__all__ = ["ModelFileError", "Saved", "load", "save"]
