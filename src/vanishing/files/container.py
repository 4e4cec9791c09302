"""One file for a model: a zip archive, not compressed, of ``header.json`` and ``arrays.bin``.

The header is a JSON object that refers to arrays by ``{"dtype": "f8", "shape": [2, 3], "at": 48}``: the values are in
``arrays.bin`` from byte ``at`` on, a multiple of 8, little-endian and in C order. Equal models have equal files.
"""

from __future__ import annotations

import json
import os
import struct
import zipfile
from math import prod
from typing import Any

import numpy as np

from .._typing import Array
from ..rows.archive import DAMAGED, require_small_directory
from ..rows.writing import complete_file

VERSION = 1  # version of the format, raised when older readers could not read a file

_FORMAT = "vanishing model"
_HEADER, _ARRAYS = "header.json", "arrays.bin"
MOST_HEADER = 2**23  # bytes; as Python objects they take about ten times as much memory
_TYPES = {"f8": np.dtype("<f8"), "i8": np.dtype("<i8"), "b1": np.dtype("|b1"), "u1": np.dtype("|u1")}
_MOST_USES = 8  # references to an array, on average: bounds the memory that a hostile file can take


class ModelFileError(ValueError):
    """Raised for a file without a model, with a damaged one, or with one of a newer version.

    Examples
    --------
    >>> import os, tempfile
    >>> import vanishing
    >>> file = os.path.join(tempfile.mkdtemp(), "model.vi")
    >>> with open(file, "w") as stream:
    ...     _ = stream.write("no model")
    >>> try:
    ...     vanishing.load(file)
    ... except vanishing.ModelFileError as error:
    ...     print(str(error).removeprefix(file))
     holds no model, or is damaged (it is too short).
    """


class ArrayWriter:
    """Collects arrays; equal ones are stored once.

    Examples
    --------
    >>> import numpy as np
    >>> ArrayWriter().add(np.zeros((2, 3)))
    {'dtype': 'f8', 'shape': [2, 3], 'at': 0}
    """

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0
        self._known: dict[tuple[str, tuple[int, ...], bytes], dict[str, Any]] = {}

    def add(self, values: Array, kind: str | None = None) -> dict[str, Any]:
        """A reference to an array, for the header; ``kind`` is its type there, by default float64, int64 or bool."""
        kind = kind or {"f": "f8", "i": "i8", "u": "i8", "b": "b1"}[values.dtype.kind]
        part = np.ascontiguousarray(values, dtype=_TYPES[kind]).tobytes()
        same = (kind, values.shape, part)
        if same not in self._known:
            self._known[same] = {"dtype": kind, "shape": list(values.shape), "at": self._size}
            part += bytes(-len(part) % 8)
            self._parts.append(part)
            self._size += len(part)
        return self._known[same]

    def to_bytes(self) -> bytes:
        """All arrays."""
        return b"".join(self._parts)


class ArrayReader:
    """Reads arrays; their total size is limited, so that references to one array cannot fill the memory."""

    def __init__(self, data: bytes):
        self._data = data
        self._left = _MOST_USES * len(data)

    def read(self, reference: Any, kind: str) -> Array:
        """The array of a reference in the header, which has to be of the type ``kind``."""
        if not isinstance(reference, dict) or set(reference) != {"dtype", "shape", "at"}:
            raise ValueError("an array is missing or of another type")
        shape, begin = reference["shape"], reference["at"]
        if reference["dtype"] != kind or kind not in _TYPES:
            raise ValueError(f"an array has the type {reference['dtype']!r} in place of {kind!r}")
        if not isinstance(shape, list) or not all(_is_count(length) for length in (begin, *shape)) or len(shape) > 3:
            raise ValueError(f"an array has the shape {shape!r}")
        size = prod(shape) * _TYPES[kind].itemsize
        self._left -= size
        if begin + size > len(self._data) or self._left < 0:
            raise ValueError(f"an array of shape {shape} has more values than there are")
        values = np.frombuffer(self._data, _TYPES[kind], prod(shape), begin).reshape(shape)
        return values.astype(values.dtype.newbyteorder("="))


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def write_container(path: str | os.PathLike[str], header: dict[str, Any], arrays: ArrayWriter) -> None:
    """Write a file; it appears when it is complete."""
    header = {"format": _FORMAT, "version": VERSION, **header}
    text = json.dumps(header, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    if len(text) > MOST_HEADER:
        raise ValueError(
            f"The model has {len(text):,} bytes of texts and parameters, and a file has room for {MOST_HEADER:,}: "
            "shorten its notes, or the names of columns and categories."
        )
    with complete_file(path) as unfinished, zipfile.ZipFile(unfinished, "w", zipfile.ZIP_STORED) as archive:
        # Members keep the default date of 1980, so that equal models have equal files.
        archive.writestr(zipfile.ZipInfo(_HEADER), text)
        archive.writestr(zipfile.ZipInfo(_ARRAYS), arrays.to_bytes())


def read_container(path: str | os.PathLike[str]) -> tuple[dict[str, Any], ArrayReader]:
    """The header and the arrays of a file; raises ``ModelFileError`` if it holds none."""
    try:
        with open(path, "rb") as stream:
            require_small_directory(stream)
            with zipfile.ZipFile(stream) as archive:
                header = _parsed(_member(archive, _HEADER, MOST_HEADER))
                arrays = ArrayReader(_member(archive, _ARRAYS, os.fstat(stream.fileno()).st_size))
    except (FileNotFoundError, IsADirectoryError, PermissionError):
        raise
    except (*DAMAGED, RecursionError, struct.error) as error:
        raise damaged(path, error) from error
    version = header.get("version")
    if header.get("format") != _FORMAT or not _is_count(version):
        raise damaged(path, "its header is another one")
    if int(version or 0) > VERSION:
        raise ModelFileError(
            f"{os.fspath(path)} has format {version}, but this version of vanishing reads formats up to {VERSION}: "
            "install a newer one."
        )
    return header, arrays


def damaged(path: str | os.PathLike[str], why: object) -> ModelFileError:
    """The error about a file with wrong contents."""
    return ModelFileError(f"{os.fspath(path)} holds no model, or is damaged ({why}).")


def _member(archive: zipfile.ZipFile, name: str, most_bytes: int) -> bytes:
    """The contents of a member, which must not be compressed."""
    members = archive.infolist()
    if sorted(member.filename for member in members) != sorted([_HEADER, _ARRAYS]):
        raise ValueError("it has other parts than a header and arrays")
    member = archive.getinfo(name)
    if member.compress_type != zipfile.ZIP_STORED or member.file_size != member.compress_size:
        raise ValueError(f"{name} is compressed")
    if member.file_size > most_bytes:
        raise ValueError(f"{name} is too long")
    return archive.read(member)


def _parsed(text: bytes) -> dict[str, Any]:
    def refuse(constant: str) -> None:
        raise ValueError(f"there is {constant} in the header")

    def distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len({key for key, _ in pairs}) < len(pairs):
            raise ValueError("an entry of the header is there twice")
        return dict(pairs)

    header = json.loads(text.decode(), parse_constant=refuse, object_pairs_hook=distinct)
    if not isinstance(header, dict):
        raise ValueError("its header is another one")
    return header
