"""The reader of .npy files."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from .._typing import Array
from .arrays import as_block
from .protocol import Block
from .readers import Piece, Reader


class NpyReader(Reader):
    """Arrays saved by NumPy, one below the other."""

    named = False

    def __init__(self, files: list[str], columns: Sequence[Any] | None, label: Any, weight: Any):
        super().__init__(files)
        self.headers = [_npy_header(file) for file in files]
        widths = {header.shape[1] for header in self.headers}
        if len(widths) > 1:
            odd = next(k for k, header in enumerate(self.headers) if header.shape[1] != self.headers[0].shape[1])
            raise ValueError(
                f"{files[odd]} has {self.headers[odd].shape[1]} columns, but {files[0]} has "
                f"{self.headers[0].shape[1]}: all files must have the same columns."
            )
        width = widths.pop()
        self.label, self.weight = (
            _npy_column(name, value, width) for name, value in (("label", label), ("weight", weight))
        )
        chosen = range(width) if columns is None else [_npy_column("columns", column, width) for column in columns]
        self.columns = [j for j in chosen if columns is not None or j not in (self.label, self.weight)]
        if not self.columns or len(set(self.columns)) < len(self.columns):
            raise ValueError(f"columns must name at least one column, and none twice; got {self.columns}.")
        self.names = [f"x{j}" for j in self.columns]
        self.n_samples = sum(header.shape[0] for header in self.headers)
        self.single_precision = any(h.dtype.kind == "f" and h.dtype.itemsize < 8 for h in self.headers)
        self._all = self.columns == list(range(width))
        self._local = threading.local()

    def pieces(self, block_rows: int, *, only_labels: bool = False) -> Iterator[Piece]:
        for part, header in enumerate(self.headers):
            for start in range(0, header.shape[0], block_rows):
                yield Piece(part, start, min(block_rows, header.shape[0] - start), None)

    def block(self, piece: Piece, *, only_labels: bool = False) -> Block:
        rows = self._read(piece)
        labels = None if self.label is None else rows[:, self.label]
        weights = None if self.weight is None else np.array(rows[:, self.weight], dtype=np.float64)
        if weights is not None:
            self.check_weights(weights, piece)
        X = rows if self._all else rows[:, [] if only_labels else self.columns]
        if labels is not None:
            labels = labels.copy()
        return Block(as_block(X), weights, labels, piece.part, piece.start)

    def _read(self, piece: Piece) -> Array:
        """Read the rows into this thread's buffer, which the next call overwrites."""
        file, header = self.files[piece.part], self.headers[piece.part]
        n, width = header.shape
        buffer = self._buffer(piece.n_rows * width * header.dtype.itemsize)
        with open(file, "rb", buffering=0) as stream:
            if not header.fortran:
                _fill(stream, header.offset + piece.start * width * header.dtype.itemsize, buffer, file)
                return buffer.view(header.dtype).reshape(piece.n_rows, width)
            length = piece.n_rows * header.dtype.itemsize
            for j in range(width):
                position = header.offset + (j * n + piece.start) * header.dtype.itemsize
                _fill(stream, position, buffer[j * length : (j + 1) * length], file)
            return buffer.view(header.dtype).reshape(width, piece.n_rows).T

    def _buffer(self, n_bytes: int) -> Array:
        if not hasattr(self._local, "buffer") or self._local.buffer.size < n_bytes:
            self._local.buffer = np.empty(n_bytes, dtype=np.uint8)
        buffer: Array = self._local.buffer[:n_bytes]
        return buffer


class _NpyHeader(NamedTuple):
    shape: tuple[int, int]
    fortran: bool
    dtype: np.dtype[Any]
    offset: int


def _npy_header(file: str) -> _NpyHeader:
    try:
        with open(file, "rb") as stream:
            version = np.lib.format.read_magic(stream)
            read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
            shape, fortran, dtype = read(stream)
            offset = stream.tell()
            size = os.fstat(stream.fileno()).st_size - offset
    except ValueError as error:
        raise ValueError(f"{file} is not a .npy file: {error}") from error
    if len(shape) != 2 or dtype.kind not in "biuf" or shape[1] == 0:
        raise ValueError(f"{file} has an array of shape {shape} and type {dtype}; save a table of numbers instead.")
    if size < shape[0] * shape[1] * dtype.itemsize:
        raise ValueError(
            f"{file} is truncated: it has {size} bytes of data instead of {shape[0] * shape[1] * dtype.itemsize}."
        )
    return _NpyHeader((shape[0], shape[1]), fortran, dtype, offset)


def _npy_column(what: str, column: Any, width: int) -> Any:
    if column is None:
        return None
    if isinstance(column, bool) or not isinstance(column, (int, np.integer)) or not -width <= column < width:
        raise ValueError(f"{what} must be the number of a column, 0 to {width - 1}, for .npy files; got {column!r}.")
    return int(column) % width


def _fill(stream: Any, position: int, buffer: Array, file: str) -> None:
    """Fill ``buffer`` with the bytes from ``position`` on."""
    stream.seek(position)
    view, done = buffer.data, 0
    while done < len(view):
        n = stream.readinto(view[done:])
        if not n:
            raise ValueError(f"{file} ends before its last row: it is truncated.")
        done += n
