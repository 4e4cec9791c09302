"""Classes whose objects can be saved: each lists its fields, and checks that loaded values agree."""

from __future__ import annotations

import os
from collections.abc import Hashable, Mapping
from importlib import import_module
from typing import Any, ClassVar

import numpy as np

from .._version import __version__
from ..display import ShownEstimator
from .container import ArrayReader, ArrayWriter, write_container
from .fields import Field, Integer, ListOf, MayBeMissing, Number, Text, require

_CLASSES: dict[str, type[Saved]] = {}
_PACKAGES = {  # the package of each class that a file may hold; imported when a file holds one
    **dict.fromkeys(("Polynomials", "Terms"), "polynomials"),
    **dict.fromkeys(("OAVI", "ABM", "AVI", "VCA"), "ideals"),
    "L1SVC": "svm",
    "TableEncoder": "tables",
    **dict.fromkeys(
        ("Columns", "PerClass", "VanishingIdealClassifier", "VanishingIdealClassifierCV"), "classification"
    ),
    **dict.fromkeys(("Law", "Laws", "LawFinder"), "laws"),
    "VanishingIdealDetector": "detection",
    "Rules": "rules",
}


def class_of(kind: Any) -> type[Saved] | None:
    """The class of a name; None if its objects cannot be saved."""
    if not isinstance(kind, str) or kind not in _PACKAGES:
        return None
    if kind not in _CLASSES:
        import_module(f"..{_PACKAGES[kind]}", __package__)
    return _CLASSES[kind]


class Saved:
    """A class whose objects can be saved; ``_fields`` lists their attributes."""

    _fields: ClassVar[dict[str, Field]] = {}

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        _CLASSES[cls.__name__] = cls

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write this object to a file, which :func:`~vanishing.load` reads.

        The file holds numbers and text only, no code; it appears when it is complete.

        Parameters
        ----------
        path : str or path
            By custom, it ends in ``.vi``.
        """
        save_object(self, path)

    @classmethod
    def _all_fields(cls) -> dict[str, Field]:
        """The fields of the class and of its base classes."""
        classes = [base for base in reversed(cls.__mro__) if issubclass(base, Saved)]
        return {name: field for base in classes for name, field in base.__dict__.get("_fields", {}).items()}

    def _pack(self, arrays: ArrayWriter) -> dict[str, Any]:
        fields = self._all_fields()
        if not any(hasattr(self, name) for name in fields):  # not fitted
            return {}
        return {
            name: field.pack(getattr(self, name), arrays)
            for name, field in fields.items()
            if not isinstance(field, MayBeMissing) or hasattr(self, name)
        }

    @classmethod
    def _unpack(cls, data: Any, arrays: ArrayReader) -> Any:
        """A new object; raises ValueError for other data."""
        value = cls.__new__(cls)
        value._set(data, arrays)
        return value

    def _set(self, data: Any, arrays: ArrayReader) -> None:
        fields = self._all_fields()
        needed = {name for name, field in fields.items() if not isinstance(field, MayBeMissing)}
        complete = isinstance(data, dict) and needed <= set(data) <= set(fields)
        require(complete, f"the fields are not those of {type(self).__name__}")
        for name in data:
            self.__dict__[name] = fields[name].unpack(data[name], arrays)
        self._check_saved()

    def _check_saved(self) -> None:
        """Refuse loaded attributes that do not agree with each other, and set attributes that follow from them."""


class SavedEstimator(ShownEstimator, Saved):
    """A scikit-learn estimator that shows its equations, and that can be saved once it is fitted."""

    def _pack(self, arrays: ArrayWriter) -> dict[str, Any]:
        parameters = self.get_params(deep=False)  # type: ignore[attr-defined]
        names = getattr(self, "feature_names_in_", None)
        return {
            "parameters": {name: Parameters().pack(value, arrays) for name, value in parameters.items()},
            "n_features": None if not hasattr(self, "n_features_in_") else int(self.n_features_in_),
            "feature_names": None if names is None else [str(name) for name in names],
            "fitted": super()._pack(arrays),
        }

    @classmethod
    def _from_older(cls, parameters: dict[str, Any]) -> dict[str, Any]:
        """The present parameters, from parameters that an older version may have written."""
        return parameters

    @classmethod
    def _unpack(cls, data: Any, arrays: ArrayReader, *, fitted: bool = True) -> Any:
        expected = {"parameters", "n_features", "feature_names", "fitted"}
        require(isinstance(data, dict) and set(data) == expected, f"the entries are not those of {cls.__name__}")
        require(isinstance(data["parameters"], dict), "it has unknown parameters")
        parameters = {name: Parameters().unpack(value, arrays) for name, value in data["parameters"].items()}
        parameters = cls._from_older(parameters)
        known = cls._get_param_names()  # type: ignore[attr-defined]
        require(set(parameters) <= set(known), "it has unknown parameters")
        model = cls(**parameters)
        if data["n_features"] is not None:
            model.n_features_in_ = Integer(low=1, high=10**7).unpack(data["n_features"], arrays)  # type: ignore[attr-defined]
        if data["feature_names"] is not None:
            names = ListOf(Text()).unpack(data["feature_names"], arrays)
            require(len(names) == getattr(model, "n_features_in_", -1), "it has other names than columns")
            model.feature_names_in_ = np.array(names, dtype=object)  # type: ignore[attr-defined]
        if fitted or data["fitted"] != {}:
            model._set(data["fitted"], arrays)
        return model


class Object(Field):
    """A saved object of one of the classes with these names."""

    def __init__(self, *names: str):
        self.names = names

    def pack(self, value: Any, arrays: ArrayWriter) -> dict[str, Any]:
        return {"kind": type(value).__name__, "model": value._pack(arrays)}

    def unpack(self, data: Any, arrays: ArrayReader) -> Any:
        require(isinstance(data, dict) and set(data) == {"kind", "model"}, "an object is missing or of another type")
        require(isinstance(data["kind"], str) and data["kind"] in self.names, f"there is a {data['kind']!r}")
        known = class_of(data["kind"])
        assert known is not None
        return known._unpack(data["model"], arrays)


class Results(Field):
    """A dictionary from names to arrays of numbers, to parameters, to lists, or to such dictionaries."""

    def pack(self, value: Any, arrays: ArrayWriter) -> dict[str, Any]:
        return {str(key): self._pack_entry(entry, arrays) for key, entry in value.items()}

    def _pack_entry(self, entry: Any, arrays: ArrayWriter) -> dict[str, Any]:
        if isinstance(entry, dict):
            return {"entries": self.pack(entry, arrays)}
        if isinstance(entry, list) and any(isinstance(part, dict) for part in entry):
            return {"list": [self._pack_entry(part, arrays) for part in entry]}
        if isinstance(entry, np.ndarray) and entry.dtype.kind in "fiub" and not np.ma.isMaskedArray(entry):
            return {"array": arrays.add(entry)}
        if np.ma.isMaskedArray(entry):
            filled = np.ma.getdata(entry)
            values = [Parameters().pack(part, arrays) for part in filled.tolist()]
            return {"masked": values, "mask": arrays.add(np.ma.getmaskarray(entry))}
        return {"value": Parameters().pack(entry, arrays)}

    def unpack(self, data: Any, arrays: ArrayReader) -> dict[str, Any]:
        require(isinstance(data, dict), "results are missing or of another type")
        return {Text().unpack(key, arrays): self._unpack_entry(entry, arrays) for key, entry in data.items()}

    def _unpack_entry(self, entry: Any, arrays: ArrayReader) -> Any:
        require(isinstance(entry, dict), "a result is missing or of another type")
        if set(entry) == {"entries"}:
            return self.unpack(entry["entries"], arrays)
        if set(entry) == {"list"}:
            require(isinstance(entry["list"], list), "a list is missing or of another type")
            return [self._unpack_entry(part, arrays) for part in entry["list"]]
        if set(entry) == {"array"}:
            require(isinstance(entry["array"], dict), "an array is missing or of another type")
            return arrays.read(entry["array"], str(entry["array"].get("dtype")))
        if set(entry) == {"masked", "mask"}:
            values = Parameters().unpack(entry["masked"], arrays)
            mask = arrays.read(entry["mask"], "b1")
            require(isinstance(values, list) and mask.shape == (len(values),), "a mask has another length")
            return np.ma.MaskedArray(values, mask=mask)
        require(set(entry) == {"value"}, "a result is missing or of another type")
        return Parameters().unpack(entry["value"], arrays)


class Parameters(Field):
    """A parameter: None, a boolean, a number, a text, a list or mapping of them, columns, or an estimator of ours."""

    def pack(self, value: Any, arrays: ArrayWriter) -> Any:
        if value is None or isinstance(value, (bool, str)):
            return value
        if isinstance(value, np.generic):
            return self.pack(value.item(), arrays)
        if isinstance(value, int):
            return Integer().pack(value, arrays)
        if isinstance(value, float):
            return {"float": Number(finite=False).pack(value, arrays)}
        if isinstance(value, (list, tuple, np.ndarray)):
            return [self.pack(entry, arrays) for entry in (value.tolist() if isinstance(value, np.ndarray) else value)]
        if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
            return {"mapping": {key: self.pack(entry, arrays) for key, entry in value.items()}}
        if isinstance(value, Mapping):
            return {"pairs": [[self.pack(part, arrays) for part in pair] for pair in value.items()]}
        if isinstance(value, SavedEstimator):
            return pack_estimator(value, arrays)
        if isinstance(value, Saved):
            return {"object": Object().pack(value, arrays)}
        raise ValueError(
            f"The parameter {value!r} cannot be saved: use numbers, texts, lists of them, or estimators of vanishing."
        )

    def unpack(self, data: Any, arrays: ArrayReader) -> Any:
        if data is None or isinstance(data, bool):
            return data
        if isinstance(data, str):
            return Text().unpack(data, arrays)
        if isinstance(data, int):
            return Integer().unpack(data, arrays)
        if isinstance(data, list):
            return [self.unpack(entry, arrays) for entry in data]
        require(isinstance(data, dict), "a parameter has an unknown type")
        if set(data) == {"float"}:
            return Number(finite=False).unpack(data["float"], arrays)
        if set(data) == {"mapping"}:
            require(isinstance(data["mapping"], dict), "a parameter has an unknown type")
            entries = data["mapping"].items()
            return {Text().unpack(key, arrays): self.unpack(entry, arrays) for key, entry in entries}
        if set(data) == {"pairs"}:
            pairs = self.unpack(data["pairs"], arrays)
            require(isinstance(pairs, list), "a parameter has an unknown type")
            plain = all(isinstance(pair, list) and len(pair) == 2 and isinstance(pair[0], Hashable) for pair in pairs)
            require(plain, "a parameter has an unknown type")
            return dict(pairs)
        if set(data) == {"object"}:
            return Object("Columns").unpack(data["object"], arrays)
        return unpack_estimator(data, arrays, fitted=False)


def pack_estimator(model: SavedEstimator, arrays: ArrayWriter) -> dict[str, Any]:
    """An estimator of any of our classes as JSON, for the header."""
    return {"estimator": type(model).__name__, "saved": model._pack(arrays)}


def unpack_estimator(data: Any, arrays: ArrayReader, *, fitted: bool = True) -> Any:
    """The estimator; raises ValueError for other data."""
    complete = isinstance(data, dict) and set(data) == {"estimator", "saved"}
    require(complete, "an estimator is missing or of another type")
    kind = class_of(data["estimator"])
    if kind is None or not issubclass(kind, SavedEstimator):
        raise ValueError("there is an unknown estimator")
    return kind._unpack(data["saved"], arrays, fitted=fitted)


def save_object(model: Saved, path: str | os.PathLike[str], notes: Mapping[str, str] | None = None) -> None:
    """Write an object of one of our classes to a file."""
    if isinstance(model, SavedEstimator) and not hasattr(model, "n_features_in_"):
        raise ValueError(f"This {type(model).__name__} is not fitted yet: fit it before it is saved.")
    arrays = ArrayWriter()
    write_model(path, type(model).__name__, model._pack(arrays), arrays, notes)


def write_model(
    path: str | os.PathLike[str], kind: str, packed: Any, arrays: ArrayWriter, notes: Mapping[str, str] | None
) -> None:
    """Write a packed model of a kind, with its arrays and notes, to a file."""
    header = {"written_by": __version__, "kind": kind, "model": packed}
    if notes:
        text = Text()
        header["notes"] = {text.pack(key, arrays): text.pack(note, arrays) for key, note in notes.items()}
    write_container(path, header, arrays)
