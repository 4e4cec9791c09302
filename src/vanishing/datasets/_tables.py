"""The paper's six data sets: finds or fetches them, and checks their size, labels and values."""

from __future__ import annotations

import gzip
import hashlib
import os
import sys
import warnings
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import IO, Any

import numpy as np
from sklearn.utils import Bunch

from .._typing import Float2D
from ..checks import check_choice, check_flag
from ..rows.writing import complete_file


@dataclass(frozen=True)
class _Table:
    """The content, source and expected values of a data set."""

    title: str
    features: tuple[str, ...]
    classes: tuple[tuple[int, str, int], ...]  # label, meaning, number of rows
    citation: str
    doi: str
    openml: int  # data id
    digest: str  # digest of the values, see _digest
    openml_shift: int = 0  # OpenML's labels minus the labels of the source
    unused: tuple[str, ...] = ()  # first features, which the paper does not use
    paper: str = ""  # a paper to cite as well

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows, and of columns including the label."""
        return sum(count for _, _, count in self.classes), len(self.features) + 1

    @property
    def counts(self) -> dict[int, int]:
        """Number of rows by label."""
        return {label: count for label, _, count in self.classes}

    @property
    def source(self) -> str:
        """URL of the original."""
        return f"https://doi.org/{self.doi}"

    @property
    def description(self) -> str:
        """Name, content, source, citation and licence."""
        rows, columns = self.shape
        also = f"; {self.paper}" if self.paper else ""
        classes = ", ".join(f"{label} ({meaning}): {count}" for label, meaning, count in self.classes)
        return (
            f"{self.title}\n\n{rows} rows, {columns - 1} features. Rows by label: {classes}.\n"
            f"Source: UCI Machine Learning Repository, {self.source}\n"
            f"Citation: {self.citation} UCI Machine Learning Repository. doi:{self.doi}{also}\n"
            "Licence: CC BY 4.0"
        )


_SPAM_WORDS = (
    "make address all 3d our over remove internet order mail receive will people report addresses free business email "
    "you credit your font 000 money hp hpl george 650 lab labs telnet 857 data 415 85 technology 1999 parts pm direct "
    "cs meeting original project re edu table conference"
)
_SPAM_CHARACTERS = "semicolon lparen lbracket exclamation dollar hash"

_KNOWN = {
    "bank": _Table(
        title="Banknote Authentication",
        features=("variance", "skewness", "curtosis", "entropy"),
        classes=((0, "0", 762), (1, "1", 610)),  # the source does not say which of them is genuine
        citation="Lohweg, V. (2012). Banknote Authentication.",
        doi="10.24432/C55P57",
        openml=1462,
        digest="87d26d560b7ebb9c7327612d1f66962b8e7d08e34c2ac91f85d507974cecae26",
        openml_shift=1,
    ),
    "credit": _Table(
        title="Default of Credit Card Clients",
        features=(
            *("LIMIT_BAL", "SEX", "EDUCATION", "MARRIAGE", "AGE"),
            *(f"PAY_{month}" for month in (0, 2, 3, 4, 5, 6)),
            *(f"{amount}{month}" for amount in ("BILL_AMT", "PAY_AMT") for month in range(1, 7)),
        ),
        classes=((0, "no default", 23364), (1, "default", 6636)),
        citation="Yeh, I-C. (2009). Default of Credit Card Clients.",
        doi="10.24432/C55S3H",
        openml=42477,
        digest="9c3c9ae60f343b5fba1102e0f539176c277cfd1065702542e5890fd4cf9f2f79",
        unused=("LIMIT_BAL",),
        paper="Yeh, I-C. & Lien, C. (2009). Expert Systems with Applications 36(2), 2473-2480.",
    ),
    "htru": _Table(
        title="HTRU2",
        features=tuple(
            f"{of}_{what}" for of in ("ip", "dmsnr") for what in ("mean", "std", "excess_kurtosis", "skewness")
        ),
        classes=((0, "no pulsar", 16259), (1, "pulsar", 1639)),
        citation="Lyon, R. (2015). HTRU2.",
        doi="10.24432/C5DK6R",
        openml=45558,
        digest="bff7e0d962f5762938f833075d6bbfd3ce229cdcfb30091b4ecaa7dca4a81a74",
        paper="Lyon, R. et al. (2016). Monthly Notices of the Royal Astronomical Society 459(1), 1104-1123.",
    ),
    "skin": _Table(
        title="Skin Segmentation",
        features=("B", "G", "R"),
        classes=((1, "skin", 50859), (2, "no skin", 194198)),
        citation="Bhatt, R. & Dhall, A. (2009). Skin Segmentation.",
        doi="10.24432/C5T30C",
        openml=1502,
        digest="c42a3cc872cbea704e547adf3daaa854a340c880acaa8e129515ecd6d6fe35c2",
    ),
    "spam": _Table(
        title="Spambase",
        features=(
            *(f"word_freq_{word}" for word in _SPAM_WORDS.split()),
            *(f"char_freq_{character}" for character in _SPAM_CHARACTERS.split()),
            *(f"capital_run_length_{which}" for which in ("average", "longest", "total")),
        ),
        classes=((0, "no spam", 2788), (1, "spam", 1813)),
        citation="Hopkins, M., Reeber, E., Forman, G. & Suermondt, J. (1999). Spambase.",
        doi="10.24432/C53G6X",
        openml=44,
        digest="706f0f74d9834f661de15274da6727d81955b258cdd7c50a4d80d15f15e5e5b4",
    ),
    "seeds": _Table(
        title="Seeds",
        features=("area", "perimeter", "compactness", "kernel_length", "kernel_width", "asymmetry", "groove_length"),
        classes=((1, "Kama", 70), (2, "Rosa", 70), (3, "Canadian", 70)),
        citation="Charytanowicz, M., Niewczas, J., Kulczycki, P., Kowalski, P. & Lukasik, S. (2010). Seeds.",
        doi="10.24432/C5H30K",
        openml=1499,
        digest="1df01b571e636d41f6de3e93e3e645f05a9a31c88b50104cc69c2a09b7f3f2ee",
    ),
}

#: Names of the data sets that :func:`load` knows.
TABLES = tuple(_KNOWN)

_LAYOUT = "one header row, the label in the last column"


def load(
    name: str,
    *,
    data_dir: str | os.PathLike[str] | None = None,
    all_features: bool = False,
    return_X_y: bool = False,
) -> Any:
    """Load one of the six data sets of the paper's experiments.

    Reads the table from ``<name>.csv.gz`` or ``<name>.csv`` (one header row, the label in the last column): from
    ``data_dir`` if given; else from the folder that the environment variable ``VANISHING_DATA`` names, or from
    :func:`cache_folder`. If there is none, it is fetched from OpenML and stored in the cache. Its size, labels and
    values are checked in every case.

    Parameters
    ----------
    name : {"bank", "credit", "htru", "skin", "spam", "seeds"}
    data_dir : path, optional
    all_features : bool, default=False
        Include the features that the paper leaves out. There is one: LIMIT_BAL, the first feature of credit.
    return_X_y : bool, default=False
        Return ``(data, target)`` only.

    Returns
    -------
    table : Bunch
        With ``data`` of shape (n_samples, n_features), ``target`` (labels as in the source: 1 and 2 for skin, 1 to 3
        for seeds, else 0 and 1), ``feature_names``, ``target_names`` (what the labels mean, in ascending order),
        ``name`` and ``DESCR`` (source, citation, licence).

    Warns
    -----
    UserWarning
        If the values or their order differ from the source.

    Examples
    --------
    >>> from vanishing.datasets import load
    >>> X, y = load("seeds", return_X_y=True)  # doctest: +SKIP
    >>> X.shape  # doctest: +SKIP
    (210, 7)
    """
    check_choice("name", name, TABLES)
    check_flag("all_features", all_features)
    check_flag("return_X_y", return_X_y)
    known = _KNOWN[name]
    table, where = _obtain(name, data_dir)
    if _digest(table) != known.digest:
        warnings.warn(
            f"{where} has its rows in another order, or numbers with other digits, than {known.source}: the published "
            "splits are not exactly reproduced.",
            UserWarning,
            stacklevel=2,
        )
    first = 0 if all_features else len(known.unused)
    X, y = np.ascontiguousarray(table[:, first:-1]), table[:, -1].astype(np.int64)
    if return_X_y:
        return X, y
    return Bunch(
        data=X,
        target=y,
        feature_names=list(known.features[first:]),
        target_names=[meaning for _, meaning, _ in known.classes],
        name=name,
        DESCR=known.description,
    )


def cache_folder() -> Path:
    r"""The folder that stores downloaded tables.

    It is ``$XDG_CACHE_HOME/vanishing`` or ``~/.cache/vanishing``, and ``%LOCALAPPDATA%\vanishing`` on Windows.

    Examples
    --------
    >>> cache_folder().name
    'vanishing'
    """
    windows = sys.platform == "win32"
    given = os.environ.get("LOCALAPPDATA" if windows else "XDG_CACHE_HOME")
    return (Path(given) if given else Path.home() / ("AppData/Local" if windows else ".cache")) / "vanishing"


def _obtain(name: str, data_dir: str | os.PathLike[str] | None) -> tuple[Float2D, str]:
    """The checked table, and its source in words."""
    known, path = _KNOWN[name], _find(name, data_dir)
    if path is not None:
        table = _read(path, known)
        _verify(table, known, str(path))
        return table, str(path)
    table = _download(name)
    _verify(table, known, _openml_name(known))
    _write(cache_folder() / f"{name}.csv.gz", table, known.features)
    return table, _openml_name(known)


def _find(name: str, data_dir: str | os.PathLike[str] | None) -> Path | None:
    """The file of a data set; None if it must be fetched."""
    given = os.environ.get("VANISHING_DATA")
    if data_dir is not None:
        folders = [Path(data_dir).expanduser()]
    else:
        folders = [Path(given).expanduser(), cache_folder()] if given else [cache_folder()]
    for path in (folder / f"{name}{suffix}" for folder in folders for suffix in (".csv.gz", ".csv")):
        if path.is_file():
            return path
    if data_dir is not None:
        raise FileNotFoundError(
            f"There is no {name}.csv.gz in {folders[0]}. Put it there ({_LAYOUT}; from {_KNOWN[name].source}), or "
            "leave out data_dir to have it fetched from OpenML."
        )
    return None


def _remedy(known: _Table) -> str:
    return f"Get it again from {known.source} (as a table with {_LAYOUT})."


def _openml_name(known: _Table) -> str:
    return f"OpenML data set {known.openml}"


def _read(path: Path, known: _Table) -> Float2D:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the check of its shape reports a file without rows
            opened = gzip.open if path.suffix == ".gz" else open
            with opened(path, "rt", encoding="utf-8") as stream:
                return np.loadtxt(_lines(stream, known), delimiter=",", skiprows=1, ndmin=2, comments=None)
    except (ValueError, EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise ValueError(f"{path} is damaged, or not a CSV file of numbers ({error}). {_remedy(known)}") from error


def _lines(stream: IO[str], known: _Table) -> Iterator[str]:
    """At most one line more than the table has, of limited length: a small file may unpack to a huge one."""
    rows, columns = known.shape
    longest = 64 * columns
    for _ in range(rows + 2):
        line = stream.readline(longest)
        if len(line) == longest:
            raise ValueError(f"a line has more than {longest} characters")
        yield line


def _download(name: str) -> Float2D:
    from sklearn.datasets import fetch_openml  # imported here, because few users need it

    known, folder = _KNOWN[name], cache_folder()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # every attempt warns; the error below reports them once
            fetched = fetch_openml(data_id=known.openml, as_frame=False, data_home=str(folder), parser="liac-arff")
    except (OSError, HTTPException, ValueError) as error:  # no connection, or an invalid response
        raise FileNotFoundError(
            f"{name}.csv.gz is not on this computer, and {_openml_name(known)} cannot be fetched ({error}). Put "
            f"{name}.csv.gz into {folder} ({_LAYOUT}; from {known.source}), or name the folder that has it in "
            "VANISHING_DATA, data_dir or --data-dir."
        ) from error
    try:
        return _as_table(fetched, known)
    except ValueError as error:
        raise ValueError(f"{_openml_name(known)} has text in place of numbers: {error}") from error


def _as_table(fetched: Any, known: _Table) -> Float2D:
    """Features and label as in the source, from OpenML's version of the table."""
    X = np.array(fetched.data, dtype=np.float64)
    for name, texts in (fetched.categories or {}).items():
        # Numbers that OpenML treats as categories arrive as indices into the list of categories.
        column = X[:, list(fetched.feature_names).index(name)]
        finite = np.isfinite(column)
        column[finite] = np.array(texts, dtype=np.float64)[column[finite].astype(np.int64)]
    # Without a target, the label is the last column.
    table = X if fetched.target is None else np.column_stack([X, np.asarray(fetched.target, dtype=np.float64)])
    table[:, -1] -= known.openml_shift
    return table


def _verify(table: Float2D, known: _Table, where: str) -> None:
    """Raise ValueError for a table with other rows, labels or columns than the data set, or with missing values."""
    labels, counts = np.unique(table[:, -1], return_counts=True)
    if table.shape != known.shape:
        actual, expected = (f"{rows} rows and {columns} columns" for rows, columns in (table.shape, known.shape))
        if len(table) > known.shape[0]:
            actual = f"at least {actual}"  # reading stops after one row too many
    elif not np.isfinite(table).all():
        actual, expected = "values that are missing or infinite", "numbers only"
    elif dict(zip(labels.tolist(), counts.tolist(), strict=True)) != known.counts:
        ours = [f"{label}: {count}" for label, count in known.counts.items()]
        theirs = [f"{label:g}: {count}" for label, count in zip(labels[:5], counts[:5], strict=True)]
        actual, expected = (f"rows by label {', '.join(both)}" for both in (theirs, ours))
    else:
        return
    raise ValueError(f"{where} has {actual}, but {known.title} has {expected}. {_remedy(known)}")


def _digest(table: Float2D) -> str:
    """SHA-256 of the values, row by row, as little-endian float64."""
    return hashlib.sha256(table.astype("<f8", order="C").tobytes()).hexdigest()


def _write(path: Path, table: Float2D, features: tuple[str, ...]) -> None:
    """Write a table atomically, with digits that read back exactly."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with (
        complete_file(path) as unfinished,
        gzip.open(unfinished, "wt", encoding="ascii", newline="\n") as file,
    ):
        file.write(",".join([*features, "label"]) + "\n")
        file.writelines(",".join(repr(x).removesuffix(".0") for x in row) + "\n" for row in table.tolist())
