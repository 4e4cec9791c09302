"""Models in files.

``container`` is a JSON header with raw arrays, ``fields`` are typed values, ``saved`` classes list their fields,
``pipelines`` are those of scikit-learn, ``models`` save and load.

Every class that can be saved lists its fields beside its attributes. A file holds no code, and loading
executes none: values that differ from the fields' types, shapes or ranges are refused before a model is made of them.
"""

from .container import ModelFileError
from .models import load, notes_of, save
from .saved import Saved

__all__ = ["ModelFileError", "Saved", "load", "notes_of", "save"]
