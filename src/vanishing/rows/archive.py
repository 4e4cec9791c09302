"""Reads arrays from .npz files of unknown origin, after comparing type, shape and size with the expected ones."""

from __future__ import annotations

import re
import struct
import zipfile
import zlib
from collections.abc import Sequence
from io import DEFAULT_BUFFER_SIZE
from math import prod
from typing import IO, Any

import numpy as np

from .._typing import Array

DAMAGED = (  # the errors that reading a truncated or foreign file may raise
    ValueError,
    KeyError,
    EOFError,
    OSError,
    OverflowError,
    RuntimeError,
    TypeError,
    struct.error,
    zipfile.BadZipFile,
    zlib.error,
)

_MOST_DIRECTORY = 65_536  # bytes: a thousand members, which take a megabyte of memory once they are read
_END = struct.Struct("<4s4H2LH")
_HEADER = re.compile(
    r"\{'descr': '([<>|])([a-zA-Z])(\d{1,9})', 'fortran_order': False, 'shape': \(((?:\d{1,9},? ?)*)\), \} *\n"
)


class Archive:
    """The arrays of an open .npz file as ``numpy.savez`` writes it; any other file raises one of ``DAMAGED``.

    Examples
    --------
    >>> import io
    >>> import numpy as np
    >>> stream = io.BytesIO()
    >>> np.savez(stream, a=np.arange(3.0))
    >>> archive = Archive(stream)
    >>> archive.names, archive.read("a", "f8", [(3,)])
    (['a'], array([0., 1., 2.]))
    """

    def __init__(self, stream: IO[bytes]):
        require_small_directory(stream)
        self._file = zipfile.ZipFile(stream)
        members = self._file.infolist()
        self._members = {member.filename.removesuffix(".npy"): member for member in members}
        if len(self._members) < len(members):
            raise ValueError("two arrays have the same name")

    @property
    def names(self) -> list[str]:
        """Names of the arrays."""
        return sorted(self._members)

    def read(self, name: str, kind: str, shapes: Sequence[tuple[int, ...]], most_bytes: int | None = None) -> Array:
        """Read an array of the type ``kind`` and of one of the ``shapes``; refuse any other.

        ``kind`` is the letter and size of a type, ``"f8"``, or the letter alone for any size. In that case
        ``most_bytes`` limits the array.
        """
        member = self._members[name]
        if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise ValueError(f"{name} is compressed in an unusual way")
        with self._file.open(member) as stream:
            dtype, shape, n_header = _read_header(stream, name)
            size = prod(shape) * dtype.itemsize
            if dtype.str[1:] != kind and dtype.kind != kind:
                raise ValueError(f"{name} has values of type {dtype}")
            if shape not in shapes:
                raise ValueError(f"{name} has shape {shape}")
            if n_header + size != member.file_size or (most_bytes is not None and size > most_bytes):
                raise ValueError(f"{name} has {member.file_size} bytes")
            return _unpack(stream, dtype, shape)


def require_small_directory(stream: IO[bytes]) -> None:
    """Raise ValueError for zip files with many members, whose directory alone would fill the memory."""
    size = stream.seek(0, 2)
    stream.seek(max(size - _END.size - 20, 0))
    tail = stream.read()
    if len(tail) < _END.size + 20:
        raise ValueError("it is too short")
    mark, *_, directory, _, _ = _END.unpack(tail[-_END.size :])
    # A locator before the end record points at a second, zip64 directory.
    if mark != b"PK\5\6" or tail[:4] == b"PK\6\7" or directory > _MOST_DIRECTORY:
        raise ValueError("it is not an archive of a few arrays")


def _read_header(stream: IO[bytes], name: str) -> tuple[np.dtype[Any], tuple[int, ...], int]:
    """Type and shape of the array, and the length of the header; matched, where NumPy would evaluate it."""
    start = stream.read(10)
    if start[:8] != b"\x93NUMPY\1\0" or len(start) < 10:
        raise ValueError(f"{name} is not an array")
    text = stream.read(int.from_bytes(start[8:], "little"))
    header = _HEADER.fullmatch(text.decode("latin1"))
    if not header or header[2] not in "biufU":
        raise ValueError(f"{name} is not an array of numbers or names")
    shape = tuple(int(n) for n in header[4].replace(" ", "").split(",") if n)
    return np.dtype("".join(header.group(1, 2, 3))), shape, len(start) + len(text)


def _unpack(stream: IO[bytes], dtype: np.dtype[Any], shape: tuple[int, ...]) -> Array:
    values = np.zeros(shape, dtype)
    buffer = values.reshape(-1).view(np.uint8)
    for begin in range(0, buffer.size, DEFAULT_BUFFER_SIZE):
        place = buffer[begin : begin + DEFAULT_BUFFER_SIZE]
        place[:] = np.frombuffer(stream.read(place.size), dtype=np.uint8)  # ValueError if the part is too short
    return values.astype(dtype.newbyteorder("="), copy=False)
