"""Files of computed columns that are complete or not there."""

from __future__ import annotations

import os
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np

from ._typing import Float2D

__all__ = ["FeatureWriter", "check_target"]


def check_target(path: str) -> str:
    """The suffix of a file that is to be written; refuses one that cannot be."""
    suffix = Path(path).suffix.lower()
    if suffix not in (".npy", ".parquet"):
        raise ValueError(f"{path}: features can be written to .npy and .parquet files.")
    if not Path(path).parent.is_dir():
        raise FileNotFoundError(f"There is no folder {Path(path).parent}: make it first.")
    return suffix


class FeatureWriter:
    """Writes a .npy or .parquet file row by row, under a temporary name until it is complete.

    Examples
    --------
    >>> import numpy as np, os, tempfile
    >>> file = os.path.join(tempfile.mkdtemp(), "features.npy")
    >>> with FeatureWriter(file, ["a", "b"]) as writer:
    ...     writer.write(np.ones((3, 2)))
    >>> np.load(file).shape
    (3, 2)
    """

    def __init__(self, path: str, names: list[str]):
        suffix = check_target(path)
        self.path = path
        self._temporary = str(Path(path).with_name(f".{Path(path).name}.{os.getpid()}.incomplete"))
        self._file: _Npy | _Parquet = (_Npy if suffix == ".npy" else _Parquet)(self._temporary, names)

    def write(self, values: Float2D) -> None:
        """Append rows."""
        self._file.write(values)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._file.close()
            if error is None:
                os.replace(self._temporary, self.path)
        finally:
            if os.path.exists(self._temporary):
                os.unlink(self._temporary)


class _Npy:
    """An array whose number of rows is known at the end."""

    def __init__(self, path: str, names: list[str]):
        self._stream = open(path, "wb")  # noqa: SIM115  (closed by close)
        self._width = len(names)
        self._n_rows = 0
        self._header()

    def _header(self) -> None:
        # NumPy leaves room for more digits of the first length, so a later header fits into the place of this one.
        description = {"descr": "<f8", "fortran_order": False, "shape": (self._n_rows, self._width)}
        np.lib.format.write_array_header_1_0(self._stream, description)

    def write(self, values: Float2D) -> None:
        self._stream.write(np.ascontiguousarray(values, dtype="<f8").data)
        self._n_rows += len(values)

    def close(self) -> None:
        self._stream.seek(0)
        self._header()
        self._stream.close()


class _Parquet:
    """A table of float64 columns."""

    def __init__(self, path: str, names: list[str]):
        try:
            import pyarrow
            import pyarrow.parquet as parquet
        except ImportError as error:
            raise ImportError("Writing Parquet files needs pyarrow: pip install 'vanishing[parquet]'.") from error
        self._schema = pyarrow.schema([(name, pyarrow.float64()) for name in names])
        self._writer: Any = parquet.ParquetWriter(path, self._schema)

    def write(self, values: Float2D) -> None:
        import pyarrow

        columns = [pyarrow.array(np.ascontiguousarray(column)) for column in values.T]
        self._writer.write_table(pyarrow.Table.from_arrays(columns, schema=self._schema), row_group_size=1 << 20)

    def close(self) -> None:
        self._writer.close()
