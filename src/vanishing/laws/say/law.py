"""A law as users meet it: an equation with uncertainties, tests and predictions; ``laws`` are those of a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from ..._typing import Float1D, Float2D, Int1D, Int2D
from ...constants import WIDE
from ...display import counted, in_percent
from ...files.fields import Flag, Integer, MayBeMissing, Number, Numbers, Optional, Ratio, Text, TupleOf, require
from ...files.saved import Saved
from ...polynomials.text import distinct_names
from .deviations import differentiated, standard_deviations, values_of
from .equation import coordinate_names, equation, monomial, number, with_error

__all__ = ["Law", "sorted_terms"]


@dataclass(frozen=True, eq=False)
class Law(Saved):
    """An equation of the columns of a table: ``sum_k coef[k] * prod_j (x_j - origin_j)^exponents[k, j] = 0``.

    Attributes
    ----------
    columns : tuple of str
        Names of all columns of the table.
    exponents : ndarray of shape (n_terms, n_columns)
        One row per term; the first term leads.
    coef, stderr : ndarray of shape (n_terms,)
        Coefficients of the equation, in the units of the table, and their standard errors given those that are
        ``rational``, whose own are 0. One coefficient is fixed, as an equation may be multiplied by any number.
    rational : tuple of Fraction or None
        Coefficients that were read as rational numbers.
    free_coef, free_stderr : ndarray of shape (n_terms,)
        The same without rational numbers: what the rows say about each coefficient.
    origin : ndarray of shape (n_columns,)
        Where the columns are counted from.
    noise : ndarray of shape (n_columns,)
        Standard deviation of the noise of each column, in its units (for multiplicative noise: as a share of the
        value); NaN for columns that the law does not contain.
    noise_kind : str
        How the noise was estimated.
    level : float
        The noise as a share of the columns' deviations (for multiplicative noise: of their values).
    typical_distance : float
        Root mean square distance of the rows from the law, in deviations of the columns.
    J, dof, p_value : float, int, float
        Test of the law: J is chi^2 with ``dof`` degrees of freedom if it holds, and larger otherwise; ``p_value`` is
        the chance of a J as large as this one.
    audits : tuple of str
        Audits that the law has passed, with their results.
    n_rows : int
        Number of rows behind the coefficients and the test.
    kind : str
        "exact" (up to rounding), "law", or "dense": it holds within the noise, but a smooth curve that is no
        polynomial cannot be excluded.
    why : str
        The same in one sentence.
    conserved : bool
        Whether the polynomial is constant along each group instead of zero.
    units : tuple of str or None
        Units of the coefficients, where the columns have units.
    held_out : float
        In files of earlier versions: how much further away rows are that the coefficients were not fitted to; else NaN.
    share, within : float
        Share of the rows that obey the law, and its relative error on them: two of three are nearer. All rows of a law
        without exceptions do, within the noise.
    off : tuple of int
        Places of the rows that do not obey, worst first, in a table of up to 10,000 rows.

    Examples
    --------
    >>> import numpy as np
    >>> from vanishing import discover
    >>> rng = np.random.default_rng(0)
    >>> angle = rng.uniform(0, 2 * np.pi, 1000)
    >>> X = np.column_stack([2 * np.cos(angle), 2 * np.sin(angle)]) + rng.normal(0, 0.02, (1000, 2))
    >>> law = discover(X)[0]
    >>> print(law.equation)
    x0^2 + x1^2 = 4
    >>> law.kind, law.degree
    ('law', 2)
    """

    columns: tuple[str, ...]
    exponents: Int2D
    coef: Float1D
    stderr: Float1D
    rational: tuple[Fraction | None, ...]
    free_coef: Float1D
    free_stderr: Float1D
    origin: Float1D
    noise: Float1D
    noise_kind: str
    level: float
    typical_distance: float
    J: float
    dof: int
    p_value: float
    audits: tuple[str, ...]
    n_rows: int
    kind: str
    why: str
    scale: Float1D = field(repr=False)
    conserved: bool = False
    units: tuple[str, ...] | None = None
    held_out: float = float("nan")
    share: float = 1.0
    within: float = 0.0
    off: tuple[int, ...] = field(default=(), repr=False)

    _fields: ClassVar = {
        "columns": TupleOf(Text()),
        "exponents": Numbers("i8", (None, None), low=0, high=1000),
        **dict.fromkeys(("coef", "stderr", "free_coef", "free_stderr"), Numbers("f8", (None,))),
        "rational": TupleOf(Optional(Ratio())),
        **dict.fromkeys(("origin", "scale"), Numbers("f8", (None,))),
        "noise": Numbers("f8", (None,), finite=False, low=0.0),
        **dict.fromkeys(("level", "typical_distance", "J", "p_value"), Number(finite=False)),
        **dict.fromkeys(("noise_kind", "kind", "why"), Text()),
        "dof": Integer(low=0),
        "audits": TupleOf(Text()),
        "n_rows": Integer(low=0),
        "conserved": Flag(),
        "units": Optional(TupleOf(Text())),
        **dict.fromkeys(("share", "within"), MayBeMissing(Number())),
        "held_out": MayBeMissing(Number(finite=False)),  # files of earlier versions have it
        "off": MayBeMissing(TupleOf(Integer(low=0))),
    }

    def _check_saved(self) -> None:
        n_terms, n_columns = self.exponents.shape
        require(n_terms > 0, "a law has no terms")
        terms = (self.coef, self.stderr, self.free_coef, self.free_stderr, self.rational, self.units or self.coef)
        require({len(part) for part in terms} == {n_terms}, "a law has other coefficients than terms")
        columns = (self.columns, self.origin, self.noise, self.scale)
        require({len(part) for part in columns} == {n_columns}, "a law has other names than columns")
        require(bool((self.scale >= 0.0).all()), "a column of a law has a negative scale")

    @property
    def degree(self) -> int:
        """Largest total degree of a term."""
        return int(self.exponents.sum(axis=1).max(initial=0))

    @property
    def variables(self) -> tuple[str, ...]:
        """The columns that occur."""
        return tuple(name for j, name in enumerate(self.columns) if self.exponents[:, j].any())

    @property
    def equation(self) -> str:
        """The equation in plain text."""
        return self._written(latex=False)

    @property
    def free_equation(self) -> str:
        """The equation with all coefficients as the rows give them, none read as a rational number."""
        none_rational = (None,) * len(self.coef)
        names = coordinate_names(self.columns, self.origin)
        return equation(self.exponents, self.free_coef, self.free_stderr, none_rational, names)

    def to_latex(self) -> str:
        """The equation in LaTeX, without dollar signs."""
        return self._written(latex=True)

    def _written(self, *, latex: bool) -> str:
        names = coordinate_names(self.columns, self.origin, latex=latex)
        text = equation(self.exponents, self.coef, self.stderr, self.rational, names, latex=latex, units=self.units)
        return _conserved_text(text, latex=latex) if self.conserved else text

    def to_sympy(self) -> Any:
        """The expression that vanishes (or is conserved), in SymPy. Needs ``pip install 'vanishing[sympy]'``."""
        sympy = _sympy("to_sympy")
        symbols = [sympy.Symbol(name) for name in distinct_names(self.columns)]
        shifted = [
            symbol if shift == 0.0 else symbol - sympy.Float(float(shift))
            for symbol, shift in zip(symbols, self.origin, strict=True)
        ]
        return sympy.Add(
            *(
                (sympy.Float(float(c)) if exact is None else sympy.Rational(exact.numerator, exact.denominator))
                * sympy.Mul(*(s ** int(e) for s, e in zip(shifted, row, strict=True) if e))
                for c, exact, row in zip(self.coef, self.rational, self.exponents, strict=True)
            )
        )

    def solve_for(self, column: str) -> list[Any]:
        """Solve the law for a column: SymPy expressions in the others, one for each solution.

        Examples
        --------
        >>> import numpy as np
        >>> from vanishing import discover
        >>> x = np.random.default_rng(0).uniform(1, 2, (200, 2))
        >>> discover(np.column_stack([x, x.prod(axis=1)]), names=["a", "b", "area"]).solve_for("b")
        [area/a]
        """
        sympy = _sympy("solve_for")
        self._position(column)
        if self.conserved:
            raise ValueError("A conserved quantity has another value in each group: solve_for needs an equation.")
        return list(sympy.solve(self.to_sympy(), sympy.Symbol(column)))

    def evaluate(self, X: Any) -> Float1D:
        """The polynomial on the rows of ``X``: zero where the law holds (or its conserved value)."""
        return values_of(self.coef, self.exponents, self._rows(X))

    def residuals(self, X: Any) -> Float1D:
        """Left side minus right side on the rows of ``X``, in the units of the equation."""
        return self.evaluate(X)

    def gradient(self, X: Any) -> Float2D:
        """Derivatives of the polynomial with respect to the columns, ``(n_samples, n_columns)``."""
        rows, columns = self._rows(X), range(len(self.columns))
        return np.column_stack([values_of(*differentiated(self.coef, self.exponents, j), rows) for j in columns])

    def distance(self, X: Any) -> Float1D:
        """Distances of the rows of ``X`` to first order, ``|g| / |grad g|``, in deviations of the columns."""
        steepness = np.sqrt(((self.gradient(X) * self.scale) ** 2).sum(axis=1))
        return np.asarray(np.abs(self.evaluate(X)) / np.maximum(steepness, 1e-12 * steepness.max(initial=1e-300)))

    def exceptions(self, X: Any = None) -> Int1D:
        """Places of the rows that do not obey the law, worst first.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_columns), optional
            Rows to look at; by default, those the law was found in.

        Examples
        --------
        >>> import numpy as np
        >>> from vanishing import discover
        >>> X = np.random.default_rng(0).uniform(1, 2, (200, 3))
        >>> X[:, 2] = X[:, 0] * X[:, 1]
        >>> X[[3, 70], 2] = [5.0, 90.0]
        >>> law = discover(X)[0]
        >>> law.exceptions()
        array([70,  3])
        """
        if X is None:
            return np.array(self.off, dtype=np.int64)
        residual, deviation = standard_deviations(self, self._table(X))
        far = np.abs(residual) / np.maximum(deviation, 1e-300)
        off = np.flatnonzero(far > WIDE)
        return np.asarray(off[np.argsort(-far[off], kind="stable")])

    def plot(self, X: Any, *, ax: Any = None) -> Any:
        """Where the law holds, with rows over it: its zero set, or prediction against measurement; returns the axis.

        Needs ``vanishing[plots]``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_columns)
            Rows to show.
        ax : matplotlib Axes, optional
        """
        from .plots import plot_law  # only pictures need it

        return plot_law(self, X, ax)

    def predict(self, column: str, X: Any) -> Float1D:
        """The column as the law gives it from the others.

        Of several real solutions it is the one nearest to the column's value in ``X``; NaN without a solution.

        Parameters
        ----------
        column : str
        X : array-like of shape (n_samples, n_columns)
            Rows of the whole table; the values of the column itself only choose among solutions.
        """
        j = self._position(column)
        if self.conserved:
            raise ValueError("A conserved quantity has another value in each group: predict needs an equation.")
        rows = self._rows(X)
        degree = int(self.exponents[:, j].max())
        powers = np.zeros((len(rows), degree + 1))
        for c, e in zip(self.coef, self.exponents, strict=True):
            others = e.copy()
            others[j] = 0
            powers[:, e[j]] += c * np.prod(rows**others, axis=1)
        roots = np.array([_nearest_root(row, near) for row, near in zip(powers, rows[:, j], strict=True)])
        return np.asarray(roots + self.origin[j])

    def constants(self) -> dict[str, tuple[float, float]]:
        """Every coefficient that the rows determine, with its standard error, by term.

        Coefficients that were read as rational numbers are there as the rows give them, too. One is fixed, as an
        equation may be multiplied by any number, and an exact law has no errors.

        Examples
        --------
        >>> import numpy as np
        >>> from vanishing import discover
        >>> random = np.random.default_rng(0)
        >>> x = random.uniform(1, 3, 400)
        >>> law = discover(np.column_stack([x, 2 * x]) + random.normal(0, 0.005, (400, 2)), names=["x", "y"])[0]
        >>> law.equation, {term: round(abs(value), 3) for term, (value, _) in law.constants().items()}
        ('2*x = y', {'x': 2.0})
        """
        names = coordinate_names(self.columns, self.origin)
        free = [exact is not None and error > 0.0 for exact, error in zip(self.rational, self.free_stderr, strict=True)]
        coef, errors = np.where(free, self.free_coef, self.coef), np.where(free, self.free_stderr, self.stderr)
        return {
            monomial(e, names) or "1": (float(c), float(error))
            for c, error, e, exact, own in zip(coef, errors, self.exponents, self.rational, free, strict=True)
            if own or exact is None
        }

    def line(self) -> str:
        """Equation, noise, p-value and constants in one line."""
        parts = [self.equation, _noise_text(self) if self.share == 1.0 else _share_text(self)]
        if self.kind != "exact":
            parts.append(f"p-value {self.p_value:.2g}")
        return "   ".join([*parts, *self._real_numbers()[:4]])

    def _real_numbers(self) -> list[str]:
        """The coefficients that are no rational numbers, with their errors."""
        numbers = zip(self.coef, self.stderr, self.rational, strict=True)
        return [with_error(abs(c), error) for c, error, exact in numbers if exact is None and error > 0.0]

    def summary(self) -> str:
        """Everything that is known about the law, in a few lines."""
        lines = [self.equation, f"  {self.why}"]
        names = coordinate_names(self.columns, self.origin)
        for c, error, f, ferror, e, exact in zip(
            self.coef, self.stderr, self.free_coef, self.free_stderr, self.exponents, self.rational, strict=True
        ):
            value = str(exact) if exact is not None else with_error(c, error) if error > 0.0 else number(c)
            own = f"   unsnapped {with_error(f, ferror)}" if exact is not None and ferror > 0.0 else ""
            lines.append(f"  {monomial(e, names) or '1':<16} {value}{own}")
        noise = ", ".join(f"{name} {s:.3g}" for name, s in zip(self.columns, self.noise, strict=True) if s == s)
        lines.append(f"  noise: {noise} ({self.noise_kind})")
        lines.append(f"  test: J = {self.J:.4g} with {degrees_of_freedom(self.dof)}, p-value {self.p_value:.3g}")
        lines.append(f"  audits: {'; '.join(self.audits) or 'none'}; {self.n_rows:,} rows")
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and strings, for JSON; None for numbers that are not known."""
        names = [each.name for each in fields(self) if each.name not in ("held_out", "off")]
        plain = {name: _plain(getattr(self, name)) for name in names}
        return {"equation": self.equation, "free_equation": self.free_equation, **plain}

    def __getstate__(self) -> dict[str, Any]:
        """The state with texts in place of fractions: skops then finds built-in types only."""
        rational = [None if exact is None else str(exact) for exact in self.rational]
        return {**self.__dict__, "rational": rational}

    def __setstate__(self, state: dict[str, Any]) -> None:
        rational = tuple(None if text is None else Fraction(text) for text in state["rational"])
        self.__dict__.update({**state, "rational": rational})

    def __str__(self) -> str:
        return self.line()

    def __repr__(self) -> str:
        return f"<Law {self.equation}>"

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {self.to_latex()}$"

    def _position(self, column: str) -> int:
        if column not in self.variables:
            raise ValueError(f"The law has the columns {', '.join(self.variables)}; got {column!r}.")
        return self.columns.index(column)

    def _rows(self, X: Any) -> Float2D:
        """Rows of the table, counted from the origin."""
        return np.asarray(self._table(X) - self.origin)

    def _table(self, X: Any) -> Float2D:
        """Rows with the columns of the table."""
        if hasattr(X, "columns") and all(name in X.columns for name in self.columns):
            X = X[list(self.columns)]
        rows = np.asarray(X, dtype=np.float64)
        if rows.ndim != 2 or rows.shape[1] != len(self.columns):
            raise ValueError(
                f"X must have the {len(self.columns)} columns of the table ({', '.join(self.columns)}); got shape "
                f"{rows.shape}."
            )
        return rows


def _plain(value: Any) -> Any:
    """A value of a law without arrays, tuples, fractions and NaN."""
    value = value.tolist() if isinstance(value, np.ndarray) else value
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    if isinstance(value, Fraction):
        return str(value)
    return None if value != value else value


def _sympy(what: str) -> Any:
    try:
        import sympy
    except ImportError as error:
        raise ImportError(f"{what} needs SymPy: pip install 'vanishing[sympy]'.") from error
    return sympy


def _conserved_text(text: str, *, latex: bool) -> str:
    """``a - b = const``, from the equation ``a = b``."""
    left, right = text.split(" = ", 1)
    body = left if right == "0" else f"{left} - {right}" if " + " not in right else f"{left} - ({right})"
    return f"{body} = \\mathrm{{const}}" if latex else f"{body} = const"


def _noise_text(law: Law) -> str:
    if law.kind == "exact":
        return "exact"
    about = "about " if law.noise_kind == "estimated for each column" else ""
    of = "the value" if "multiplicative" in law.noise_kind else "a deviation"
    return f"noise {about}{_percent(law.level)} of {of}"


def _percent(share: float) -> str:
    """A share with one decimal, or with one digit if it is smaller.

    Examples
    --------
    >>> _percent(0.0104), _percent(0.00012)
    ('1.0%', '0.01%')
    """
    return f"{share:.1%}" if share >= 0.001 else f"{100.0 * share:.1g}%"


def _share_text(law: Law) -> str:
    within = f"within {100.0 * law.within:.2g}%" if law.within > 1e-9 else "exactly"
    return f"holds on {in_percent(law.share)} of the rows {within}"


def _nearest_root(powers: Float1D, near: float) -> float:
    """The real root of ``sum_k powers[k] x^k`` nearest to a value; NaN if there is none."""
    if len(powers) == 2:
        return float(-powers[0] / powers[1]) if powers[1] else float("nan")
    roots = np.roots(powers[::-1])
    real = roots.real[np.abs(roots.imag) <= 1e-6 * np.maximum(np.abs(roots), 1e-300)]
    return float(real[np.argmin(np.abs(real - near))]) if real.size else float("nan")


def degrees_of_freedom(dof: int) -> str:
    """The degrees of freedom of a test, in words.

    Examples
    --------
    >>> degrees_of_freedom(1), degrees_of_freedom(16)
    ('1 degree of freedom', '16 degrees of freedom')
    """
    return f"{counted(dof, 'degree')} of freedom"


def sorted_terms(exponents: Int2D) -> Sequence[int]:
    """The order in which the terms of an equation stand: higher degrees first, then by columns."""
    keys = [(-int(row.sum()), *(-row).tolist()) for row in exponents]
    return sorted(range(len(keys)), key=lambda k: keys[k])
