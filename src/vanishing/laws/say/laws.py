"""The laws of a table as users meet them: what holds, what was rejected and why, and the noise of the columns."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any, ClassVar, overload

import numpy as np

from ..._typing import Float1D
from ...display import first_lines
from ...files.fields import Integer, Number, Record, Text, TupleOf, require
from ...files.saved import Object, Saved
from ...polynomials.text import distinct_names
from ...report import Given, Reported
from ..estimate.settings import LAW, Attempt
from ..exact.ideals import groebner
from .law import Law

__all__ = ["Laws"]

_FORMAT = 1  # version of the JSON
_NUMBER = re.compile(r"(?<![\w.^])[0-9](?:[0-9,]*[0-9])?(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?%?")  # not within a name
_ATTEMPT = Record(
    Attempt,
    {"degree": Integer(low=0), "n_terms": Integer(low=0), "noise": Number(finite=False), "reason": Text()}
    | {"J": Number(finite=False), "dof": Integer(low=0)},
)


class Laws(Saved, Reported, Sequence[Law]):
    """The laws of a table, those of lower degree first.

    Attributes
    ----------
    columns : tuple of str
    n_rows : int
        Rows of the table.
    dense : tuple of Law
        Polynomials that vanish within the noise but may approximate a smooth curve: no laws.
    rejected : tuple of Attempt
        Attempts, degree by degree, that found no law, with the reason.
    notes : tuple of str
        What else a reader should know: columns or degrees that were left out, and why.

    Examples
    --------
    >>> import numpy as np
    >>> from vanishing import discover
    >>> x = np.random.default_rng(0).normal(size=(500, 2))
    >>> laws = discover(x)
    >>> len(laws)
    0
    >>> print(str(laws).splitlines()[0])
    No law up to degree 4 in 500 rows x 2 columns.
    """

    _fields: ClassVar = {
        "_laws": TupleOf(Object("Law")),
        "columns": TupleOf(Text()),
        "n_rows": Integer(low=0),
        "dense": TupleOf(Object("Law")),
        "notes": TupleOf(Text()),
        "attempts": TupleOf(_ATTEMPT),
    }

    def _check_saved(self) -> None:
        require(all(law.columns == self.columns for law in (*self, *self.dense)), "a law is about other columns")

    def __init__(
        self,
        laws: Sequence[Law],
        columns: Sequence[str],
        n_rows: int,
        *,
        dense: Sequence[Law] = (),
        attempts: Sequence[Attempt] = (),
        notes: Sequence[str] = (),
    ):
        self._laws = tuple(laws)
        self.columns, self.n_rows = tuple(columns), n_rows
        self.dense, self.notes = tuple(dense), tuple(notes)
        self.attempts = tuple(attempts)

    @property
    def rejected(self) -> tuple[Attempt, ...]:
        """The attempts that found no law, with the reason."""
        return tuple(attempt for attempt in self.attempts if attempt.reason != LAW)

    @property
    def noise(self) -> dict[str, float]:
        """Standard deviation of the noise of each column, by the first law that contains it; NaN where none does."""
        noise = {name: float("nan") for name in self.columns}
        for law in (*self, *self.dense):
            for name, sigma in zip(self.columns, law.noise, strict=True):
                if np.isnan(noise[name]):
                    noise[name] = float(sigma)
        return noise

    def __len__(self) -> int:
        return len(self._laws)

    @overload
    def __getitem__(self, index: int) -> Law: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[Law, ...]: ...

    def __getitem__(self, index: int | slice) -> Law | tuple[Law, ...]:
        if isinstance(index, slice):
            return self._laws[index]
        if not -len(self) <= index < len(self):
            raise IndexError(f"There are {len(self)} laws, numbered from 0; got number {index}.")
        return self._laws[index]

    def __iter__(self) -> Iterator[Law]:
        return iter(self._laws)

    def __str__(self) -> str:
        between = [law for law in self if len(law.variables) > 1]
        alone = [law.equation for law in self if len(law.variables) < 2]
        lines = [str(law) for law in between]
        if not lines:
            lines = [f"No law {self._reach()} in {self.n_rows:,} rows x {len(self.columns)} columns."]
            lines += self._tried()
        lines += [f"within the noise, perhaps an approximation only: {law}" for law in self.dense]
        lines += [f"columns with few values: {'; '.join(alone)}"] if alone else []
        return "\n".join([*lines, *self.notes])

    def __repr__(self) -> str:
        lines = first_lines(str(self).splitlines())
        return "\n  ".join([f"<Laws: {len(self)} in {len(self.columns)} columns", *lines]) + ">"

    def summary(self) -> str:
        """All laws with their coefficients, tests and audits, and what was rejected."""
        parts = [law.summary() for law in self] or [f"No law {self._reach()}."]
        parts += [f"dense: {law.summary()}" for law in self.dense]
        tried = self._tried()
        return "\n\n".join([*parts, *(["\n".join(["Tried:", *tried])] if tried else []), *self.notes])

    def _reach(self) -> str:
        degree = max((a.degree for a in self.attempts if not a.reason.startswith("skipped")), default=0)
        return f"up to degree {degree}" if degree else "that half of the rows obey"

    def _tried(self) -> list[str]:
        """A line for each reason, with the attempts that failed for it."""
        alike: dict[str, list[Attempt]] = {}
        for attempt in self.attempts:
            shape = attempt.reason if "*" in attempt.reason else _NUMBER.sub("0", attempt.reason)
            alike.setdefault(shape if attempt.degree else f"short: {shape}", []).append(attempt)
        return [f"  {_attempts(group)}: {_merged([a.reason for a in group])}" for group in alike.values()]

    def to_sympy(self) -> list[Any]:
        """The expressions that vanish. Needs ``pip install 'vanishing[sympy]'``."""
        return [law.to_sympy() for law in self]

    def groebner(self, order: str = "grevlex") -> list[Any]:
        """Reduced Groebner basis of the ideal that the laws generate, as SymPy expressions.

        Needs ``pip install 'vanishing[sympy]'``, and laws whose coefficients are all rational numbers.

        Parameters
        ----------
        order : {"grevlex", "grlex", "lex"}, default="grevlex"
            The order of the terms, as SymPy names it; the columns come in descending order.

        Examples
        --------
        >>> import numpy as np
        >>> from vanishing import discover
        >>> t = np.arange(-10, 10)
        >>> discover(np.column_stack([t, t**2, t**3]), names=["x", "y", "z"]).groebner("lex")
        [x**2 - y, x*y - z, x*z - y**2, y**3 - z**2]
        """
        for law in self:
            if law.conserved or None in law.rational or law.origin.any():
                raise ValueError(
                    f"A Groebner basis needs equations with rational coefficients, counted from zero; {law.equation!r} "
                    "is none: leave such laws out, or pass origin=None."
                )
        return groebner([(law.exponents, list(law.rational)) for law in self], distinct_names(self.columns), order)

    def to_latex(self) -> str:
        """An ``aligned`` environment with one equation per line."""
        lines = [law.to_latex().replace(" = ", " &= ", 1) for law in self]
        return "\\begin{aligned}\n" + " \\\\\n".join(lines) + "\n\\end{aligned}"

    def solve_for(self, column: str) -> list[Any]:
        """A column as SymPy expressions in the others, by the law in which it has the lowest power."""
        return self._with(column).solve_for(column)

    def predict(self, column: str, X: Any) -> Float1D:
        """A column from the others, by the law in which it has the lowest power."""
        return self._with(column).predict(column, X)

    def _with(self, column: str) -> Law:
        """The law in which a column has the lowest power, the first of several."""
        if column not in self.columns:
            raise ValueError(f"The table has the columns {', '.join(self.columns)}; got {column!r}.")
        candidates = [law for law in self if column in law.variables and not law.conserved]
        if not candidates:
            raise ValueError(f"No law contains the column {column!r}.")
        return min(candidates, key=lambda law: law.exponents[:, law.columns.index(column)].max())

    def plot(self, X: Any = None, **options: Any) -> Any:
        """Pictures of the first law: its zero set over the rows of ``X``, and more. Needs ``vanishing[plots]``."""
        from .plots import plot_laws

        return plot_laws(self, X, **options)

    def _report_rows(self, X: Any, y: Any) -> Given:
        from .story import rows_of_laws  # only reports need it

        return Given(rows_of_laws(self, X, y), self.columns)

    def _report_story(self, subject: Any) -> Any:
        from .story import laws_story

        return laws_story(self, subject)

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and strings, for JSON."""
        return {
            "format": _FORMAT,
            "columns": list(self.columns),
            "n_rows": self.n_rows,
            "laws": [law.to_dict() for law in self],
            "dense": [law.to_dict() for law in self.dense],
            "attempts": [asdict(attempt) for attempt in self.attempts],
            "notes": list(self.notes),
        }

    def to_json(self, *, indent: int | None = 2) -> str:
        """The laws as JSON; numbers that are not finite are null."""
        return json.dumps(_finite(self.to_dict()), indent=indent, allow_nan=False)

    def _repr_html_(self) -> str:
        if not len(self):
            return f"<pre>{html.escape(str(self))}</pre>"
        head = "".join(f"<th>{name}</th>" for name in ("law", "noise", "p-value", "constants", "kind"))
        rows = ["".join(f"<td>{entry}</td>" for entry in _html_cells(law)) for law in (*self, *self.dense)]
        body = "".join(f"<tr>{row}</tr>" for row in rows)
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _attempts(attempts: Sequence[Attempt]) -> str:
    """The degrees and numbers of terms of attempts.

    Examples
    --------
    >>> _attempts([Attempt(1, 4, 0.1, "a law"), Attempt(2, 10, 0.1, "a law")])
    'degrees 1 to 2, 4 to 10 terms'
    """
    if not attempts[0].degree:
        return "short equations"
    degrees = sorted({a.degree for a in attempts})
    text = _merged([f"degree {a.degree}, {a.n_terms} terms" for a in attempts])
    return text if len(degrees) == 1 else f"degrees{text[6:]}"


def _merged(texts: Sequence[str]) -> str:
    """Texts that differ in numbers only, as one text with the range of each number.

    Examples
    --------
    >>> _merged(["noise of 12.5% in 2,000 rows", "noise of 7% in 2,000 rows"])
    'noise of 7% to 12.5% in 2,000 rows'
    """
    words, columns = _NUMBER.split(texts[0]), zip(*(_NUMBER.findall(text) for text in texts), strict=True)
    ends = [sorted(column, key=lambda number: float(number.strip("%").replace(",", ""))) for column in columns]
    numbers = [low if low == high else f"{low} to {high}" for low, *_, high in ([*end, end[-1]] for end in ends)]
    return "".join(word + number for word, number in zip(words, [*numbers, ""], strict=True))


def _html_cells(law: Law) -> list[str]:
    constants = ", ".join(law._real_numbers())
    cells = [law.equation, f"{law.level:.2%}", f"{law.p_value:.2g}", constants, law.kind]
    return [html.escape(cell) for cell in cells]


def _finite(value: Any) -> Any:
    """The same with None for numbers that JSON does not have."""
    if isinstance(value, dict):
        return {key: _finite(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [_finite(entry) for entry in value]
    return None if isinstance(value, float) and not np.isfinite(value) else value
