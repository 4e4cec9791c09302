"""Saving and loading of models."""

from __future__ import annotations

import os
from typing import Any, ClassVar

import numpy as np

from .._version import __version__
from ..display import ShownEstimator
from .container import ArrayReader, ArrayWriter, ModelFileError, damaged, read_container, write_container
from .fields import Field, Integer, ListOf, MayBeMissing, Number, Text, require

__all__ = ["Object", "Parameters", "Results", "Saved", "SavedEstimator", "load", "save"]

_CLASSES: dict[str, type[Saved]] = {}


class Saved:
    """A class whose objects can be saved; ``_fields`` says of which attributes they consist."""

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
        save(self, path)

    @classmethod
    def _all_fields(cls) -> dict[str, Field]:
        """The fields of the class and of those that it is derived from."""
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
        """A new object; refuses what is no such object."""
        value = cls.__new__(cls)
        value._set(data, arrays)
        return value

    def _set(self, data: Any, arrays: ArrayReader) -> None:
        fields = self._all_fields()
        needed = {name for name, field in fields.items() if not isinstance(field, MayBeMissing)}
        complete = isinstance(data, dict) and needed <= set(data) <= set(fields)
        require(complete, f"there is no such {type(self).__name__}")
        for name in data:
            self.__dict__[name] = fields[name].unpack(data[name], arrays)
        self._check_saved()

    def _check_saved(self) -> None:
        """Refuse attributes that do not agree with each other, and set those that follow from others."""


class SavedEstimator(ShownEstimator, Saved):
    """A scikit-learn estimator that can be saved when it is fitted, and shows its equations."""

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
    def _unpack(cls, data: Any, arrays: ArrayReader, *, fitted: bool = True) -> Any:
        expected = {"parameters", "n_features", "feature_names", "fitted"}
        require(isinstance(data, dict) and set(data) == expected, f"there is no such {cls.__name__}")
        parameters = data["parameters"]
        known = cls._get_param_names()  # type: ignore[attr-defined]
        require(isinstance(parameters, dict) and set(parameters) <= set(known), "it has unknown parameters")
        model = cls(**{name: Parameters().unpack(value, arrays) for name, value in parameters.items()})
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
        """What stands for the value in the header."""
        return {"kind": type(value).__name__, "model": value._pack(arrays)}

    def unpack(self, data: Any, arrays: ArrayReader) -> Any:
        """The value."""
        require(isinstance(data, dict) and set(data) == {"kind", "model"}, "something else stands for an object")
        require(isinstance(data["kind"], str) and data["kind"] in self.names, f"there is a {data['kind']!r}")
        return _CLASSES[data["kind"]]._unpack(data["model"], arrays)


class Results(Field):
    """A dictionary of names to arrays of numbers, or to parameters and lists of them."""

    def pack(self, value: Any, arrays: ArrayWriter) -> dict[str, Any]:
        """What stands for the value in the header."""
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
        """The value."""
        require(isinstance(data, dict), "something else stands in the place of results")
        return {Text().unpack(key, arrays): self._unpack_entry(entry, arrays) for key, entry in data.items()}

    def _unpack_entry(self, entry: Any, arrays: ArrayReader) -> Any:
        require(isinstance(entry, dict), "something else stands in the place of a result")
        if set(entry) == {"entries"}:
            return self.unpack(entry["entries"], arrays)
        if set(entry) == {"list"}:
            require(isinstance(entry["list"], list), "something else stands in the place of a list")
            return [self._unpack_entry(part, arrays) for part in entry["list"]]
        if set(entry) == {"array"}:
            require(isinstance(entry["array"], dict), "something else stands in the place of an array")
            return arrays.read(entry["array"], str(entry["array"].get("dtype")))
        if set(entry) == {"masked", "mask"}:
            values = Parameters().unpack(entry["masked"], arrays)
            mask = arrays.read(entry["mask"], "b1")
            require(isinstance(values, list) and mask.shape == (len(values),), "a mask has another length")
            return np.ma.MaskedArray(values, mask=mask)
        require(set(entry) == {"value"}, "something else stands in the place of a result")
        return Parameters().unpack(entry["value"], arrays)


class Parameters(Field):
    """A parameter of an estimator: None, a flag, a number, a text, a list of these, or an estimator of ours."""

    def pack(self, value: Any, arrays: ArrayWriter) -> Any:
        """What stands for the value in the header."""
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
        if isinstance(value, SavedEstimator):
            return {"estimator": type(value).__name__, "saved": value._pack(arrays)}
        raise ValueError(
            f"The parameter {value!r} cannot be saved: use numbers, texts, lists of them, or estimators of vanishing."
        )

    def unpack(self, data: Any, arrays: ArrayReader) -> Any:
        """The value."""
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
        require(set(data) == {"estimator", "saved"}, "a parameter has an unknown type")
        kind = _CLASSES.get(data["estimator"]) if isinstance(data["estimator"], str) else None
        if kind is None or not issubclass(kind, SavedEstimator):
            raise ValueError("a parameter is an unknown estimator")
        return kind._unpack(data["saved"], arrays, fitted=False)


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted model, or laws, to a file.

    Parameters
    ----------
    model : object with a method ``save``
    path : str or path
        By custom, it ends in ``.vi``.

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np
    >>> import vanishing
    >>> x = np.linspace(0, 1, 50)
    >>> model = vanishing.OAVI(psi=1e-6).fit(np.column_stack([x, x**2]))
    >>> file = os.path.join(tempfile.mkdtemp(), "parabola.vi")
    >>> model.save(file)
    >>> print(vanishing.load(file).generators_[0])
    x0^2 - x1
    """
    if not isinstance(model, Saved):
        raise ValueError(f"{type(model).__name__} cannot be saved: give a model of vanishing.")
    if isinstance(model, SavedEstimator) and not hasattr(model, "n_features_in_"):
        raise ValueError(f"This {type(model).__name__} is not fitted yet: fit it before it is saved.")
    arrays = ArrayWriter()
    header = {"written_by": __version__, "kind": type(model).__name__, "model": model._pack(arrays)}
    write_container(path, header, arrays)


def load(path: str | os.PathLike[str]) -> Any:
    """Read a model that was saved.

    Files of this version and of all earlier ones are read. Nothing in a file is executed, and a damaged or hostile one
    is refused with a :class:`~vanishing.ModelFileError`.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    object
        Of the class that was saved; its predictions are the same to the last bit.

    Examples
    --------
    >>> import vanishing
    >>> vanishing.load("nowhere.vi")
    Traceback (most recent call last):
    FileNotFoundError: [Errno 2] No such file or directory: 'nowhere.vi'
    """
    header, arrays = read_container(path)
    kind = header.get("kind")
    if not isinstance(kind, str) or kind not in _CLASSES:
        raise ModelFileError(f"{os.fspath(path)} holds a model of an unknown kind ({kind!r}).")
    try:
        return _CLASSES[kind]._unpack(header.get("model"), arrays)
    except (ValueError, TypeError, KeyError, IndexError, OverflowError, RecursionError) as error:
        raise damaged(path, error) from error
