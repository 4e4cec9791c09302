"""The table of a search: named columns of finite numbers, groups, and the rows that laws are looked for in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..._typing import Array, Float1D, Float2D, Int1D
from ...constants import N_HASHES
from ...rows.array_api import namespace_of, on_device_of, to_host
from ...rows.arrays import ArrayRows
from ...rows.gaps import Gaps, complete_rows
from ...rows.labels import is_missing
from ...rows.protocol import Block, Cost, Rows
from ...rows.reading import (
    finite_blocks,
    input_names,
    is_source,
    open_table,
    read_input,
    require_finite,
    require_numbers,
)
from ...rows.sampling import Lowest, fold_numbers, lowest_of, lowest_of_both

__all__ = ["Table", "column_names", "in_table", "read_table", "standardised", "take"]

SELECTED = 10_000  # rows that the search looks at; all others confirm its laws
_LARGEST = 1e50  # typical size of a column, or its inverse: float64 holds the powers that laws have


@dataclass(frozen=True, eq=False)
class Table:
    """Named columns: the source of all rows, and the rows that laws are looked for in.

    Attributes
    ----------
    names : tuple of str
    rows : Rows
        Its passes raise ValueError at values that are not finite.
    n_rows : int
        Number of all rows.
    X : ndarray of shape (n_selected, n_columns)
        Up to 10,000 of the rows: all of them, or those whose places have the smallest hashes.
    groups : ndarray of shape (n_selected,), optional
        Number of each row's group.
    gaps : Gaps, optional
        Of all rows, those with missing values included, where these were left out.
    places : ndarray of shape (n_rows,), optional
        Places of the rows in memory among those with missing values.
    beyond : tuple of int
        Columns most of whose values float64 cannot raise to the power of six.
    """

    names: tuple[str, ...]
    rows: Rows
    n_rows: int
    X: Float2D
    groups: Int1D | None = None
    gaps: Gaps | None = None
    places: Int1D | None = None
    beyond: tuple[int, ...] = ()

    @property
    def whole(self) -> bool:
        """Whether the selected rows are all there are."""
        return len(self.X) == self.n_rows


def read_table(
    estimator: Any, X: Any, names: Sequence[str] | None, groups: Any, *, drop_missing: bool = False
) -> Table:
    """Check a table, store its columns in the estimator, and select rows.

    Parameters
    ----------
    estimator : estimator
    X : array-like, frame, or another data source
    names : sequence of str, optional
        Of the columns, for arrays.
    groups : str or array-like of shape (n_samples,), optional
        A column of a frame, the label of rows on disk, or the group of each row.
    drop_missing : bool, default=False
        Whether rows with missing values are left out rather than refused.
    """
    X, labels = _split_groups(open_table(X), groups)
    require_numbers(X, "convert or drop {}, or name one in groups= if it says which run a row is from")
    rows = read_input(estimator, X, labels=labels)
    shown = column_names(estimator, names)
    if groups is not None and not rows.labelled:
        raise ValueError("groups of rows on disk are their labels: name the column in open_rows(label=...).")
    gaps, places = None, None
    if drop_missing:
        rows, gaps, kept = complete_rows(rows, shown)
        places = None if kept is None else np.flatnonzero(kept)
    if isinstance(rows, ArrayRows):
        require_finite(rows, shown, may_drop=True)
    else:
        rows = finite_blocks(rows, input_names(estimator), may_drop=True)
    if isinstance(rows, ArrayRows) and len(rows) <= SELECTED:
        selected = _Selected(rows.to_numpy(), rows.labels, len(rows))
    else:
        selected = select_rows(rows, SELECTED)
    if selected.n_rows < len(shown) + 2:
        raise ValueError(
            f"A table with n_samples = {selected.n_rows} rows is too short for laws of {len(shown)} columns: even "
            f"linear ones have {len(shown) + 1} terms; add rows, or leave out columns."
        )
    codes: Int1D | None = None
    if groups is not None and selected.labels is not None:
        codes = np.unique(selected.labels, return_inverse=True)[1].astype(np.int64)
    _check_groups(codes)
    X, beyond = _within_range(selected.X)
    return Table(tuple(shown), rows, selected.n_rows, X, codes, gaps, places, beyond)


def _within_range(X: Float2D) -> tuple[Float2D, tuple[int, ...]]:
    """Rows without values whose powers overflow, and the columns that are mostly made of such values.

    A value beside which float64 loses a typical one becomes smaller: it obeys no law of the others in either case. One
    whose inverse squares overflow becomes 0.
    """
    with np.errstate(all="ignore"):  # a column of zeros has no typical value
        typical = np.nan_to_num(np.nanmedian(np.where(X == 0.0, np.nan, np.abs(X)), axis=0), nan=1.0)
        largest = np.clip(typical, 1.0 / _LARGEST, _LARGEST) / np.finfo(np.float64).eps
    beyond = (typical > _LARGEST) | (typical < 1.0 / _LARGEST)
    X = np.where(np.abs(X) < _LARGEST**-2, 0.0, np.clip(X, -largest, largest))
    return X, tuple(int(j) for j in np.flatnonzero(beyond))


def in_table(values: Array, kept: Sequence[int], n_columns: int) -> Array:
    """Values of the columns ``kept``, along the last axis, among zeros for all others.

    Examples
    --------
    >>> in_table(np.array([[2, 1]]), [0, 2], 4)
    array([[2, 0, 1, 0]])
    """
    whole = np.zeros((*values.shape[:-1], n_columns), dtype=values.dtype)
    whole[..., list(kept)] = values
    return whole


def column_names(estimator: Any, names: Sequence[str] | None) -> list[str]:
    """Names of the columns: ``names``, or those that the estimator has seen."""
    if names is None:
        return input_names(estimator)
    shown = [str(name) for name in names]
    if len(shown) != estimator.n_features_in_:
        raise ValueError(f"names has {len(shown)} entries, but the table has {estimator.n_features_in_} columns.")
    if len(set(shown)) < len(shown):
        raise ValueError("names has the same name twice: laws would be ambiguous.")
    return shown


def _split_groups(X: Any, groups: Any) -> tuple[Any, Any]:
    """The table without its group column, and the groups."""
    if groups is None or not isinstance(groups, str):
        labels = None if groups is None else np.asarray(groups)
        n_rows = X.shape[0] if hasattr(X, "shape") else len(X) if hasattr(X, "__len__") else None
        if labels is not None and (labels.ndim != 1 or (n_rows is not None and len(labels) != n_rows)):
            raise ValueError(f"groups must name a column, or have one entry for each of the {n_rows} rows.")
        return X, labels
    if isinstance(X, Rows):
        return X, None
    if not hasattr(X, "columns"):
        raise ValueError(f"groups={groups!r} names a column, but the table has no names: pass the groups of the rows.")
    if groups not in X.columns:
        raise ValueError(f"There is no column {groups!r} for groups; the columns are {', '.join(map(str, X.columns))}.")
    labels = X[groups]
    rest = X.drop(columns=[groups]) if hasattr(X, "iloc") else X.drop(groups)
    if is_source(X):
        return rest, labels
    labels = np.asarray(labels)
    missing = [is_missing(label) for label in labels.tolist()]
    if any(missing):
        raise ValueError(f"A group is missing in row {missing.index(True)} of column {groups!r}: drop those rows.")
    return rest, labels


def _check_groups(codes: Int1D | None) -> None:
    if codes is None:
        return
    sizes = np.bincount(codes)
    if len(sizes) > len(codes) / 3:
        raise ValueError(
            f"There are {len(sizes)} groups of {len(codes)} rows: a quantity that is conserved along groups needs at "
            "least three rows in each, better ten."
        )


class _Selected(NamedTuple):
    """Selected rows with their labels, and the number of all rows."""

    X: Float2D
    labels: Array | None
    n_rows: int


def select_rows(rows: Rows, most: int) -> _Selected:
    """The rows whose places have the smallest hashes, in one pass.

    Examples
    --------
    >>> from vanishing.rows.arrays import as_rows
    >>> select_rows(as_rows(np.arange(6.0).reshape(6, 1)), 3).X.shape
    (3, 1)
    """
    limit = 1.0
    if rows.n_samples is not None and rows.n_samples > 2 * most:  # by far enough hashes are below this
        limit = 1.5 * most / rows.n_samples

    def kernel(block: Block) -> tuple[Lowest, int]:
        n_rows = block.X.shape[0]
        if block.weights is not None:
            raise ValueError(
                "Laws take no weights, which do not say how much noise a row has: open the rows without weight=..., "
                "and leave out those that should not count."
            )
        hashes = to_host(fold_numbers(block.X, block.part, block.start, n_rows, N_HASHES)) / N_HASHES
        # Lowest has weights, which these rows lack: labels take their place.
        labels = np.zeros(n_rows) if block.labels is None else np.asarray(to_host(block.labels))
        return lowest_of(block.X, labels, hashes, limit, most), n_rows

    def combine(a: tuple[Lowest, int], b: tuple[Lowest, int]) -> tuple[Lowest, int]:
        return lowest_of_both(a[0], b[0], most), a[1] + b[1]

    chosen, n_rows = rows.reduce(kernel, combine, Cost(rows.n_features, 4 * rows.n_features))
    return _Selected(np.array(chosen.Z, dtype=np.float64), chosen.signed if rows.labelled else None, n_rows)


def take(X: Any, index: Int1D, axis: int) -> Any:
    """Some rows or columns of an array, on its device.

    Examples
    --------
    >>> take(np.array([[1.0, 2.0]]), np.array([1]), axis=1)
    array([[2.]])
    """
    return namespace_of(X).take(X, on_device_of(X, index), axis=axis)


def standardised(rows: Rows, kept: Sequence[int], centre: Float1D, scale: Float1D) -> Rows:
    """Rows ``(x - centre) / scale`` of the columns ``kept``.

    Examples
    --------
    >>> from vanishing.rows.arrays import as_rows
    >>> rows = standardised(as_rows(np.array([[1.0, 5.0]])), [1], np.array([3.0]), np.array([2.0]))
    >>> rows.to_numpy()
    array([[1.]])
    """
    return rows.select(kept).changed(_Standardised(centre, scale))


@dataclass(frozen=True)
class _Standardised:
    """Rows ``(x - centre) / scale``: the difference first, which keeps all digits where the centre is far away."""

    centre: Float1D
    scale: Float1D

    def __call__(self, block: Block) -> Block:
        centre, factor = (on_device_of(block.X, values) for values in (self.centre, 1.0 / self.scale))
        return block._replace(X=(block.X - centre) * factor)
