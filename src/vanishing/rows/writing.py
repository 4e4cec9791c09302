"""Atomic writing: a file appears under its name only when it is complete."""

from __future__ import annotations

import errno
import os
import platform
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from .._typing import Float2D

_FULL = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT) if os.name == "posix" else (errno.ENOSPC, errno.EFBIG)


@contextmanager
def complete_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Hand out a temporary name to write to; rename it to ``path`` at the end, or remove it after an error.

    Also removes unfinished files of killed processes that were writing the same file.

    Examples
    --------
    >>> import os, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> with complete_file(os.path.join(folder, "note.txt")) as unfinished:
    ...     _ = unfinished.write_text("complete")
    >>> os.listdir(folder)
    ['note.txt']
    """
    path = Path(path)
    mark = f".{path.name}.{platform.node()}."
    _remove_left_over(path.parent, mark)
    unfinished = path.with_name(f"{mark}{os.getpid()}.{threading.get_ident()}.incomplete")
    try:
        yield unfinished
        os.replace(unfinished, path)
    except OSError as error:
        if error.errno is None or error.errno not in _FULL:
            raise
        raise OSError(
            f"There is no room to write {path} ({os.strerror(error.errno)}), and nothing of it was written: free some "
            "space, or choose another folder."
        ) from error
    finally:
        unfinished.unlink(missing_ok=True)


def _remove_left_over(folder: Path, mark: str) -> None:
    """Remove unfinished files of processes that have ended."""
    if os.name != "posix":  # elsewhere, os.kill(pid, 0) ends the process
        return
    with suppress(OSError):  # the files of another user, or a folder that cannot be listed
        for name in os.listdir(folder):
            pid = name.removeprefix(mark).partition(".")[0]
            if name.startswith(mark) and name.endswith(".incomplete") and pid.isdigit() and not _is_alive(int(pid)):
                (folder / name).unlink(missing_ok=True)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:  # the process of another user
        pass
    return True


def check_target(path: str) -> str:
    """The suffix of an output file; raise an error for an unknown format or a missing folder."""
    suffix = Path(path).suffix.lower()
    if suffix not in (".npy", ".parquet"):
        raise ValueError(f"{path}: features can be written to .npy and .parquet files; choose one of these suffixes.")
    if not Path(path).parent.is_dir():
        raise FileNotFoundError(f"There is no folder {Path(path).parent}: make it first.")
    return suffix


@contextmanager
def feature_writer(path: str, names: list[str]) -> Iterator[_Npy | _Parquet]:
    """Write a .npy or .parquet file block by block; it appears when it is complete.

    Examples
    --------
    >>> import numpy as np, os, tempfile
    >>> file = os.path.join(tempfile.mkdtemp(), "features.npy")
    >>> with feature_writer(file, ["a", "b"]) as writer:
    ...     writer.write(np.ones((3, 2)))
    >>> np.load(file).shape
    (3, 2)
    """
    kind = _Npy if check_target(path) == ".npy" else _Parquet
    with complete_file(path) as unfinished, closing(kind(str(unfinished), names)) as writer:
        yield writer


class _Npy:
    """Writes an .npy file; the header gets the number of rows at the end."""

    def __init__(self, path: str, names: list[str]):
        self._stream = open(path, "wb")  # noqa: SIM115  (closed by close)
        self._width = len(names)
        self._n_rows = 0
        self._header()

    def _header(self) -> None:
        # NumPy pads the header for a growing number of rows, so the final header has the same length as this one.
        description = {"descr": "<f8", "fortran_order": False, "shape": (self._n_rows, self._width)}
        np.lib.format.write_array_header_1_0(self._stream, description)

    def write(self, values: Float2D) -> None:
        self._stream.write(np.ascontiguousarray(values, dtype="<f8").data)
        self._n_rows += len(values)

    def close(self) -> None:
        with self._stream:
            self._stream.seek(0)
            self._header()


class _Parquet:
    """Writes a Parquet file of float64 columns."""

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
