"""Models in files.

``container`` is the format, a JSON header with raw arrays; ``fields`` are the types of values, ``saved`` the classes
that list their fields, ``models`` has ``save`` and ``load``, also for pipelines of scikit-learn.

Every class that can be saved lists its fields beside its attributes. A file holds no code, and loading executes none:
it checks every value against the type, shape and range of its field before it makes a model.
"""

from .container import ModelFileError
from .models import load, notes_of, save
from .saved import Saved

__all__ = ["ModelFileError", "Saved", "load", "notes_of", "save"]
