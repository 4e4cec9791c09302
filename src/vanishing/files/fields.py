"""Fields, the types of values in saved models: they pack a value into the header, and check it when they unpack it.

For instance ``Integer(low=1)``, ``Numbers("f8", (None, 3))`` for an array of three columns with any number of rows, or
``ListOf(Text())``. A ``Record`` checks that its values agree with each other.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from sklearn.preprocessing import MinMaxScaler

from .container import ArrayReader, ArrayWriter

_MOST_INT = int(np.iinfo(np.int64).max)
_RATIO = re.compile(r"-?[0-9]{1,400}(/[1-9][0-9]{0,399})?")
_SPECIAL = {"inf": np.inf, "-inf": -np.inf, "nan": np.nan}


def require(condition: bool, what: str) -> None:
    """Raise ValueError about a file unless a condition holds."""
    if not condition:
        raise ValueError(what)


class Field(ABC):
    """A kind of value."""

    @abstractmethod
    def pack(self, value: Any, arrays: ArrayWriter) -> Any:
        """The value as JSON, for the header."""

    @abstractmethod
    def unpack(self, data: Any, arrays: ArrayReader) -> Any:
        """The value; raises ValueError if it is of another kind."""


@dataclass(frozen=True)
class Flag(Field):
    """A boolean."""

    def pack(self, value: Any, arrays: ArrayWriter) -> bool:
        return bool(value)

    def unpack(self, data: Any, arrays: ArrayReader) -> bool:
        require(isinstance(data, bool), f"{data!r} is neither true nor false")
        return bool(data)


@dataclass(frozen=True)
class Integer(Field):
    """A whole number."""

    low: int = -_MOST_INT
    high: int = _MOST_INT

    def pack(self, value: Any, arrays: ArrayWriter) -> int:
        return int(value)

    def unpack(self, data: Any, arrays: ArrayReader) -> int:
        require(isinstance(data, int) and not isinstance(data, bool), f"{data!r} is not a whole number")
        require(self.low <= data <= self.high, f"the number {data} is not between {self.low} and {self.high}")
        return int(data)


@dataclass(frozen=True)
class Number(Field):
    """A float64 number, to the last bit."""

    finite: bool = True

    def pack(self, value: Any, arrays: ArrayWriter) -> float | str:
        return float(value) if np.isfinite(value) else str(float(value))

    def unpack(self, data: Any, arrays: ArrayReader) -> float:
        if isinstance(data, str) and not self.finite and data in _SPECIAL:
            return _SPECIAL[data]
        require(isinstance(data, (int, float)) and not isinstance(data, bool), f"{data!r} is not a number")
        value = float(data)
        require(bool(np.isfinite(value)), "a number is not finite")
        return value


@dataclass(frozen=True)
class Text(Field):
    """A string."""

    longest: int = 100_000  # characters, far more than a name or a note has

    def pack(self, value: Any, arrays: ArrayWriter) -> str:
        text = str(value)
        if len(text) > self.longest:
            raise ValueError(f"A text of {len(text):,} characters cannot be saved: cut it to {self.longest:,}.")
        return text

    def unpack(self, data: Any, arrays: ArrayReader) -> str:
        require(isinstance(data, str) and len(data) <= self.longest, "a text is missing or of another type")
        data.encode()  # raises ValueError for lone surrogates
        return str(data)


@dataclass(frozen=True)
class Ratio(Field):
    """A rational number."""

    def pack(self, value: Any, arrays: ArrayWriter) -> str:
        return str(value)

    def unpack(self, data: Any, arrays: ArrayReader) -> Fraction:
        known = isinstance(data, str) and _RATIO.fullmatch(data)
        require(bool(known), "a rational number is missing or of another type")
        return Fraction(data)


@dataclass(frozen=True)
class Numbers(Field):
    """An array of the type ``kind`` (f8, i8 or b1); ``shape`` has None for lengths that are free."""

    kind: str
    shape: tuple[int | None, ...]
    low: float = -np.inf
    high: float = np.inf
    finite: bool = True

    def pack(self, value: Any, arrays: ArrayWriter) -> dict[str, Any]:
        return arrays.add(np.asarray(value))

    def unpack(self, data: Any, arrays: ArrayReader) -> Any:
        values = arrays.read(data, self.kind)
        agrees = len(values.shape) == len(self.shape) and all(
            wanted is None or length == wanted for length, wanted in zip(values.shape, self.shape, strict=True)
        )
        require(agrees, f"an array has the shape {values.shape}")
        if values.size and self.kind != "b1":
            require(not self.finite or bool(np.isfinite(values).all()), "an array has values that are not finite")
            with np.errstate(invalid="ignore"):
                outside = (values < self.low) | (values > self.high)
            require(not outside.any(), "an array has values out of range")
        return values


@dataclass(frozen=True)
class Labels(Field):
    """An array of class labels: texts, integers, floats or booleans."""

    def pack(self, value: Any, arrays: ArrayWriter) -> dict[str, Any]:
        values = np.asarray(value)
        plain = all(isinstance(label, (str, bool, int, float)) for label in values.tolist())
        if values.dtype.kind not in "OUbiuf" or not plain:
            raise ValueError(f"Labels of type {values.dtype} cannot be saved: use texts or numbers as labels.")
        return {"dtype": values.dtype.str if values.dtype.kind != "U" else "U", "values": values.tolist()}

    def unpack(self, data: Any, arrays: ArrayReader) -> Any:
        require(isinstance(data, dict) and set(data) == {"dtype", "values"}, "labels are missing or of another type")
        kind, values = data["dtype"], data["values"]
        expected = {
            "U": (str,),
            "O": (str, bool, int, float),
            "b": (bool,),
            "i": (int,),
            "u": (int,),
            "f": (float,),
        }
        require(isinstance(kind, str) and isinstance(values, list), "labels are missing or of another type")
        letter = kind.lstrip("<>|=")[:1]
        require(letter in expected and kind.lstrip("<>|=")[1:] in ("", "1", "2", "4", "8"), f"labels of type {kind!r}")
        require(all(type(value) in expected[letter] for value in values), "a label has the wrong type")
        return np.array(values, dtype=object if letter == "O" else str if letter == "U" else np.dtype(kind))


@dataclass(frozen=True)
class Optional(Field):
    """A value or None."""

    inside: Field

    def pack(self, value: Any, arrays: ArrayWriter) -> Any:
        return None if value is None else self.inside.pack(value, arrays)

    def unpack(self, data: Any, arrays: ArrayReader) -> Any:
        return None if data is None else self.inside.unpack(data, arrays)


@dataclass(frozen=True)
class ListOf(Field):
    """A list of values of one kind."""

    inside: Field

    def pack(self, value: Any, arrays: ArrayWriter) -> list[Any]:
        return [self.inside.pack(entry, arrays) for entry in value]

    def unpack(self, data: Any, arrays: ArrayReader) -> Any:
        require(isinstance(data, list), "a list is missing or of another type")
        return [self.inside.unpack(entry, arrays) for entry in data]


class TupleOf(ListOf):
    """A tuple of values of one kind."""

    def unpack(self, data: Any, arrays: ArrayReader) -> Any:
        return tuple(super().unpack(data, arrays))


@dataclass(frozen=True, eq=False)
class Record(Field):
    """An object ``make(**values)``; ``check`` refuses values that do not agree with each other.

    A value that older files lack is left to the default of ``make``.
    """

    make: Callable[..., Any]
    fields: Mapping[str, Field]
    check: Callable[[Any], None] | None = None

    def pack(self, value: Any, arrays: ArrayWriter) -> dict[str, Any]:
        return {name: field.pack(getattr(value, name), arrays) for name, field in self.fields.items()}

    def unpack(self, data: Any, arrays: ArrayReader) -> Any:
        needed = {name for name, field in self.fields.items() if not isinstance(field, MayBeMissing)}
        complete = isinstance(data, dict) and needed <= set(data) <= set(self.fields)
        require(complete, "an entry is missing, or there is one more")
        value = self.make(**{name: self.fields[name].unpack(part, arrays) for name, part in data.items()})
        if self.check is not None:
            self.check(value)
        return value


@dataclass(frozen=True, eq=False)
class Either(Field):
    """A value of one of several classes, each with its record."""

    records: Sequence[tuple[type, Field]]

    def pack(self, value: Any, arrays: ArrayWriter) -> dict[str, Any]:
        for kind, record in self.records:
            if type(value) is kind:
                return {"type": kind.__name__, "value": record.pack(value, arrays)}
        raise ValueError(f"{type(value).__name__} cannot be saved.")

    def unpack(self, data: Any, arrays: ArrayReader) -> Any:
        require(isinstance(data, dict) and set(data) == {"type", "value"}, "an object is missing or of another type")
        for kind, record in self.records:
            if data["type"] == kind.__name__:
                return record.unpack(data["value"], arrays)
        raise ValueError(f"an object has the type {data['type']!r}")


@dataclass(frozen=True)
class MayBeMissing(Field):
    """An attribute that some fitted models lack."""

    inside: Field

    def pack(self, value: Any, arrays: ArrayWriter) -> Any:
        return self.inside.pack(value, arrays)

    def unpack(self, data: Any, arrays: ArrayReader) -> Any:
        return self.inside.unpack(data, arrays)


class Scaler(Field):
    """A fitted ``MinMaxScaler`` to [0, 1]."""

    _ATTRIBUTES = ("scale_", "min_", "data_min_", "data_max_", "data_range_")

    def pack(self, value: Any, arrays: ArrayWriter) -> dict[str, Any]:
        packed: dict[str, Any] = {name: arrays.add(np.asarray(getattr(value, name))) for name in self._ATTRIBUTES}
        return {**packed, "n_samples": int(value.n_samples_seen_)}

    def unpack(self, data: Any, arrays: ArrayReader) -> Any:
        expected = {*self._ATTRIBUTES, "n_samples"}
        require(isinstance(data, dict) and set(data) == expected, "a scaling is missing or of another type")
        scaler = MinMaxScaler()
        for name in self._ATTRIBUTES:
            setattr(scaler, name, Numbers("f8", (None,)).unpack(data[name], arrays))
        lengths = {getattr(scaler, name).size for name in self._ATTRIBUTES}
        require(len(lengths) == 1 and bool((scaler.scale_ > 0.0).all()), "the scaling does not map to [0, 1]")
        scaler.n_features_in_ = lengths.pop()
        scaler.n_samples_seen_ = Integer(low=0).unpack(data["n_samples"], arrays)
        return scaler
