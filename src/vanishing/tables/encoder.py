"""The transformer from tables with texts and gaps to numbers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from .._typing import Array, Float1D, Float2D, Int1D
from ..constants import N_HASHES
from ..files.fields import Flag, ListOf, Number, Optional, Record, Text, require
from ..files.saved import SavedEstimator
from ..rows.reading import input_names, require_columns
from ..rows.sampling import Lowest, fold_numbers, lowest_of, lowest_of_both
from .columns import Column, Texts, frame_columns, text_of

_MOST_TEXTS = 10_000  # distinct texts that are counted; a column with more has no categories
_SAMPLED_NUMBERS = 4_000_000  # sampled numbers from which medians are taken: 32 MB


class Tally(NamedTuple):
    """Counts over rows.

    ``gaps`` has the number of missing values of each column, ``texts`` how often each text occurs (None for columns of
    numbers, empty for columns with too many different texts), ``drawn`` a sample of the columns of numbers.
    """

    n_rows: int
    gaps: Int1D
    texts: list[Counter[str] | None]
    drawn: Lowest

    @property
    def medians(self) -> Float1D:
        """Medians of the sampled columns of numbers; 0 for columns without values."""
        known = [column[np.isfinite(column)] for column in self.drawn.Z.T]
        halves = [np.median(0.5 * column) if column.size else 0.0 for column in known]  # a sum of two may overflow
        return 2.0 * np.array(halves)


def tally_columns(columns: Sequence[Column], part: int = 0, start: int = 0) -> Tally:
    """Count the rows of a block."""
    n_rows = len(columns[0].codes if isinstance(columns[0], Texts) else columns[0])
    numbers = [column for column in columns if not isinstance(column, Texts)]
    Z = np.column_stack(numbers) if numbers else np.empty((n_rows, 0))
    places = fold_numbers(Z, part, start, n_rows, N_HASHES) / N_HASHES
    drawn = lowest_of(Z, np.ones(n_rows), places, 1.0, _most_rows(Z.shape[1]))
    gaps = [np.count_nonzero(c.codes < 0 if isinstance(c, Texts) else np.isnan(c)) for c in columns]
    texts = [_count(column) if isinstance(column, Texts) else None for column in columns]
    return Tally(n_rows, np.array(gaps, dtype=np.int64), texts, drawn)


def _most_rows(n_columns: int) -> int:
    return _SAMPLED_NUMBERS // max(n_columns, 1)


def _count(column: Texts) -> Counter[str]:
    times = np.bincount(column.codes[column.codes >= 0], minlength=len(column.values))
    return _limited(Counter({value: int(n) for value, n in zip(column.values, times, strict=True) if n}))


def _limited(counts: Counter[str]) -> Counter[str]:
    """The counts; none if there are too many different texts."""
    return counts if len(counts) <= _MOST_TEXTS else Counter()


def add_tallies(a: Tally, b: Tally) -> Tally:
    """The counts of two blocks together."""
    texts = [None if x is None or y is None else _add(x, y) for x, y in zip(a.texts, b.texts, strict=True)]
    drawn = lowest_of_both(a.drawn, b.drawn, _most_rows(a.drawn.Z.shape[1]))
    return Tally(a.n_rows + b.n_rows, a.gaps + b.gaps, texts, drawn)


def _add(a: Counter[str], b: Counter[str]) -> Counter[str]:
    return _limited(a + b)


_NUMBER = re.compile(r"[-+]?\s*[$€£¥]?\s*\d[\d.,' ]*([eE][-+]?\d+)?\s*[%$€£¥]?")
_DATE = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}([ T][\d:.,]+.*)?")
_DISTINCT_NUMBERS = 5  # numbers or dates among the texts of a column, from which on they are not categories


class NoCategoriesError(ValueError):
    """Columns of texts that cannot be categories.

    ``rare`` has those with ids or free text, ``disguised`` those with numbers or dates, each with one of its texts.
    """

    def __init__(self, rare: dict[str, str], disguised: dict[str, str]):
        self.rare, self.disguised = rare, disguised
        super().__init__(f"There is {self._holds()}: drop {', '.join(map(repr, self.columns))}, or convert to numbers.")

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return [*self.rare, *self.disguised]

    def _holds(self) -> str:
        kinds = {"text that hardly repeats, like ids": self.rare, "text that is numbers or dates": self.disguised}
        return " and ".join(f"{what} in {_shown(columns)}" for what, columns in kinds.items() if columns)


def _shown(columns: dict[str, str]) -> str:
    return ", ".join(f"{name!r}" + (f" (such as {text!r})" if text else "") for name, text in columns.items())


@dataclass(frozen=True)
class InputColumn:
    """How a column becomes numbers: by the ``categories`` of texts, or, if these are None, with ``median`` for gaps.

    ``has_gaps`` says whether values were missing in the fit, ``complete`` whether every text was a category.
    """

    name: str
    categories: list[str] | None
    complete: bool
    median: float
    has_gaps: bool

    @property
    def shown(self) -> list[str]:
        """The categories with a column of 0 and 1; the second one if there are just two and no other texts."""
        categories = self.categories or []
        return categories[1:] if self.complete and len(categories) == 2 else categories

    @property
    def names(self) -> list[str]:
        """Names of the columns of numbers."""
        values = [self.name] if self.categories is None else [f"{self.name}={value}" for value in self.shown]
        return values + ([f"{self.name} is missing"] if self.has_gaps else [])

    def encode(self, column: Column) -> Iterator[Array]:
        """The columns of numbers."""
        if isinstance(column, Texts):
            if self.categories is None:
                raise ValueError(f"Column {self.name!r} holds texts, but numbers in the fit: convert it.")
            place = {value: k for k, value in enumerate(column.values)}
            missing = column.codes < 0
            yield from (column.codes == place.get(value, -2) for value in self.shown)
        elif self.categories is None:
            missing = np.isnan(column)
            yield np.where(missing, self.median, column)
        else:
            yield from self.encode(_as_texts(column))
            return
        if self.has_gaps:
            yield missing


def _as_texts(column: Float1D) -> Texts:
    """Numbers as texts, for columns that held texts in the fit."""
    values, codes = np.unique(column, return_inverse=True)
    return Texts([text_of(value) for value in values], np.where(np.isnan(column), -1, codes.ravel()))


class TableEncoder(SavedEstimator, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Tables with texts and gaps as numbers, with names that can be read.

    A column of texts gives a column of 0 and 1 for each category, ``color=red``; just one if there are two texts only.
    A missing number becomes the median of its column, with a further column ``age is missing`` of 0 and 1 if there were
    such gaps in the fit; missing texts belong to no category. Booleans are 0 and 1.

    Parameters
    ----------
    max_categories : int, default=30
        The most frequent texts of a column that occur at least twice are its categories; other texts belong to none.
        Texts whose categories cover less than half of the rows are ids or free text: ``fit`` refuses them, as well as
        numbers and dates written as text.

    Attributes
    ----------
    columns_ : list
        How each column is encoded: ``name``, ``categories`` or None, ``median``, ``has_gaps``.
    n_features_in_, feature_names_in_ :
        As in scikit-learn.

    Examples
    --------
    >>> import pandas as pd
    >>> from vanishing import TableEncoder
    >>> table = pd.DataFrame({"color": ["red", "blue", "red", "blue"], "age": [20.0, 30.0, None, 60.0]})
    >>> TableEncoder().fit_transform(table)
       color=red   age  age is missing
    0        1.0  20.0             0.0
    1        0.0  30.0             0.0
    2        1.0  30.0             1.0
    3        0.0  60.0             0.0
    """

    _fields: ClassVar = {
        "columns_": ListOf(
            Record(
                InputColumn,
                {
                    "name": Text(),
                    "categories": Optional(ListOf(Text())),
                    "complete": Flag(),
                    "median": Number(),
                    "has_gaps": Flag(),
                },
            )
        )
    }

    def __init__(self, max_categories: int = 30):
        self.max_categories = max_categories

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn categories and medians.

        Parameters
        ----------
        X : frame of pandas or polars, pyarrow Table, or array-like of shape (n_samples, n_features)
        y : ignored
        """
        columns = self._read(X, reset=True)
        return self.learn(input_names(self), tally_columns(columns))

    def learn(self, names: Sequence[str], tally: Tally) -> Self:
        """Learn categories and medians from counts over rows, which passes over files collect."""
        if not (isinstance(self.max_categories, (int, np.integer)) and self.max_categories >= 1):
            raise ValueError(f"max_categories must be a whole number of at least 1, got {self.max_categories!r}.")
        if tally.n_rows == 0:
            raise ValueError("There are no rows in X.")
        medians = iter(tally.medians.tolist())
        columns, rare, disguised = [], {}, {}
        for name, texts, n_gaps in zip(names, tally.texts, tally.gaps.tolist(), strict=True):
            if texts is None:
                columns.append(InputColumn(name, None, True, next(medians), n_gaps > 0))
                continue
            n_known = tally.n_rows - n_gaps
            categories, complete = self._categories(texts, n_known)
            if (example := _disguised(texts, n_known)) is not None:
                disguised[name] = example
            elif categories is None:
                rare[name] = max(texts, key=texts.__getitem__, default="")
            else:
                columns.append(InputColumn(name, categories, complete, 0.0, n_gaps > 0))
        if rare or disguised:
            raise NoCategoriesError(rare, disguised)
        self.columns_ = columns
        return self

    def _categories(self, texts: Counter[str], n_known: int) -> tuple[list[str] | None, bool]:
        """The categories (None for ids and free text), and whether every text of the column is one."""
        often = sorted((-n, text) for text, n in texts.items() if n > 1)[: self.max_categories]
        covered = -sum(n for n, _ in often)
        if 2 * covered < n_known:
            return None, False
        return sorted(text for _, text in often), covered == n_known

    def transform(self, X: Any) -> Any:
        """The columns of numbers: an array, or a frame if ``X`` is one of pandas or polars.

        Parameters
        ----------
        X : frame of pandas or polars, pyarrow Table, or array-like of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        values = self.encode(self._read(X, reset=False))
        kind = type(X).__module__.split(".")[0]
        if kind == "pandas":
            return type(X)(values, columns=list(self.get_feature_names_out()), index=X.index)
        if kind == "polars":
            return type(X)(values, schema=list(self.get_feature_names_out()), orient="row")
        return values

    def encode(self, columns: Sequence[Column]) -> Float2D:
        """The columns of numbers, from columns that :mod:`.columns` has read."""
        parts = [part for known, column in zip(self.columns_, columns, strict=True) for part in known.encode(column)]
        n_rows = len(columns[0].codes if isinstance(columns[0], Texts) else columns[0])
        out = np.empty((len(parts), n_rows))
        for values, part in zip(out, parts, strict=True):
            values[:] = part
        return out.T

    def _read(self, X: Any, *, reset: bool) -> list[Column]:
        frame = type(X).__module__.split(".")[0] in ("pandas", "polars", "pyarrow") and hasattr(X, "columns")
        if not frame:
            plain = X if hasattr(X, "dtype") else np.asarray(X, dtype=object)
            return frame_columns(validate_data(self, plain, dtype=None, ensure_all_finite=False, reset=reset))
        require_columns(X)
        validate_data(self, X, skip_check_array=True, reset=reset)
        return frame_columns(X)

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Names of the columns of numbers."""
        check_is_fitted(self)
        return np.array([name for column in self.columns_ for name in column.names], dtype=object)

    @property
    def changes_nothing(self) -> bool:
        """Whether the columns have neither texts nor gaps."""
        return all(column.categories is None and not column.has_gaps for column in self.columns_)

    def describe(self) -> list[str]:
        """A line for each column with texts or gaps: its categories, or the value that stands for a gap."""
        check_is_fitted(self)
        return [line for column in self.columns_ for line in _describe(column)]

    def _check_saved(self) -> None:
        require(len(self.columns_) == self.n_features_in_, "it encodes other columns than it has")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags


def _disguised(texts: Counter[str], n_known: int) -> str | None:
    """A text that shows why a column of numbers or dates was read as text; None if its texts are categories.

    Columns of digits alone may be codes, and count as categories.
    """
    values = {text: n for text, n in texts.items() if _NUMBER.fullmatch(text) or _DATE.fullmatch(text)}
    if len(values) < _DISTINCT_NUMBERS or 2 * sum(values.values()) < n_known or all(text.isdigit() for text in texts):
        return None
    plain = re.compile(r"[-+]?[\d.]+([eE][-+]?\d+)?")
    return next((text for text in texts if not plain.fullmatch(text)), next(iter(texts)))


def _describe(column: InputColumn) -> Iterator[str]:
    if column.categories is not None:
        others = "" if column.complete else ", and others"
        yield f"{column.name}: categories {', '.join(map(repr, column.categories)) or 'none'}{others}"
    elif column.has_gaps:
        yield f"{column.name}: a missing value counts as {column.median:.6g}, the median"
