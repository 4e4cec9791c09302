"""The public polynomials: text, LaTeX, SymPy, units, sparsity, evaluation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from itertools import combinations
from typing import Any, ClassVar, overload

import numpy as np
from sklearn.utils import check_array

from .._typing import Array, Float1D, Float2D, Int1D, Int2D
from ..constants import IN_HTML, IN_REPR
from ..display import lines_html
from ..files.container import ArrayReader, ArrayWriter
from ..files.fields import Either, Field, Numbers, Optional, Text, TupleOf, require
from ..files.saved import Saved
from ..rows.arrays import as_rows
from ..rows.reading import require_finite
from ..solvers import Status
from .affine import affine_map
from .arithmetic import Arithmetic
from .forms import MONOMIAL_FORM, MonomialForm, monomials_of, values_over
from .products import PRODUCT_FORM, ProductForm
from .systems import to_macaulay2, to_sage, to_singular
from .terms import Program, Term
from .text import distinct_names, latex_name, monomial_text, signed_sum


@dataclass(frozen=True, eq=False)
class Polynomial(Arithmetic):
    """One polynomial, leading term first: ``sum_i coef[i] * prod_j x_j ** exponents[i, j]``.

    It can be added to, multiplied by and compared with polynomials in the same variables and numbers, differentiated
    (``g.diff("x0")``), and called: ``g(X)``.

    Attributes
    ----------
    exponents : ndarray of shape (n_terms, n_features)
    coef : ndarray of shape (n_terms,)
        Coefficients, all different from zero.
    feature_names : tuple of str
    mse : float
        Mean square over the data it was fitted to.
    gap : float
        Certified upper bound on how much smaller the mean square could be with the same leading term; NaN for AVI and
        VCA, which minimise nothing.
    n_iter : int
        Iterations of the solver.
    status : Status
        Why the solver stopped, see :class:`~vanishing.solvers.Status`; VANISHING for algorithms without a solver.
    """

    exponents: Int2D
    coef: Float1D
    feature_names: tuple[str, ...]
    mse: float
    gap: float
    n_iter: int
    status: Status

    @property
    def degree(self) -> int:
        """Largest total degree of a term."""
        return int(self.exponents.sum(axis=1).max(initial=0))

    def renamed(self, feature_names: Sequence[str]) -> Polynomial:
        """The same polynomial with these variable names."""
        return replace(self, feature_names=tuple(feature_names))

    def evaluate(self, X: Any) -> Float1D:
        """Signed values on the rows of ``X``, shape ``(n_samples,)``."""
        X = check_array(X, dtype=np.float64)
        _check_width(X, self.feature_names)
        return np.asarray(
            sum(c * np.prod(X**e, axis=1) for c, e in zip(self.coef, self.exponents, strict=True)) + np.zeros(len(X))
        )

    def to_text(self, digits: int = 4) -> str:
        """Plain text, for instance ``x0^2 + 0.5*x1 - 1``."""
        terms = [monomial_text(row, self.feature_names) for row in self.exponents]
        return signed_sum(self.coef, terms, digits, times="*")

    def to_latex(self, digits: int = 4) -> str:
        """LaTeX without dollar signs, for instance ``x_{0}^{2} + 0.5 x_{1} - 1``."""
        names = distinct_names(tuple(latex_name(name) for name in self.feature_names))
        powers = [[(name, e) for name, e in zip(names, row, strict=True) if e] for row in self.exponents]
        terms = [" ".join(name if e == 1 else f"{name}^{{{e}}}" for name, e in term) for term in powers]
        return signed_sum(self.coef, terms, digits, times=" ", latex=True)

    def to_sympy(self) -> Any:
        """A SymPy expression in symbols named like the features. Needs ``pip install 'vanishing[sympy]'``."""
        try:
            import sympy
        except ImportError as error:
            raise ImportError("to_sympy needs SymPy: pip install 'vanishing[sympy]'.") from error
        symbols = [sympy.Symbol(name) for name in distinct_names(self.feature_names)]
        terms = (
            sympy.Float(float(c)) * sympy.Mul(*(s ** int(e) for s, e in zip(symbols, row, strict=True) if e))
            for c, row in zip(self.coef, self.exponents, strict=True)
        )
        return sympy.Add(*terms)

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        return f"<Polynomial {self.to_text()}>"

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {self.to_latex()}$"


class _StatusCodes(Field):
    """An array of ``Status``."""

    def pack(self, value: Any, arrays: ArrayWriter) -> Any:
        return arrays.add(np.array([int(status) for status in value], dtype=np.int64))

    def unpack(self, data: Any, arrays: ArrayReader) -> Any:
        return np.array([Status(code) for code in Numbers("i8", (None,)).unpack(data, arrays)], dtype=object)


@dataclass(eq=False, repr=False)
class Polynomials(Saved, Sequence[Polynomial]):
    """A list of polynomials over shared terms, evaluated together.

    Polynomial g is ``sum_t coef[g, t] * prod_j x_j ** exponents[t, j]``. ``generators_`` of a fitted
    estimator is of this type.

    Attributes
    ----------
    mse, gap : ndarray of shape (n_polynomials,)
        Mean square over the training data, and a certified upper bound on how much smaller it could be with the same
        leading term (NaN for AVI and VCA, which minimise nothing).
    n_iter, status : ndarray of shape (n_polynomials,)
        Solver iterations, and why the solver stopped, each a :class:`~vanishing.solvers.Status`.
    feature_names : tuple of str

    Examples
    --------
    >>> import numpy as np
    >>> from vanishing import OAVI
    >>> angle = np.linspace(0, np.pi / 2, 50)
    >>> G = OAVI(psi=1e-10).fit(np.column_stack([np.cos(angle), np.sin(angle)])).generators_
    >>> print(G[0])
    x1^2 + x0^2 - 1
    >>> G[0].degree, G[0].status
    (2, <Status.VANISHING: 0>)
    """

    form: MonomialForm | ProductForm
    feature_names: tuple[str, ...]
    _: KW_ONLY
    mse: Float1D
    gap: Float1D
    n_iter: Int1D
    status: Array
    _n_free: Int1D | None = None  # how many of the first terms each polynomial could have; None if all
    _expansion: tuple[Int2D, Float2D, Int1D] | None = field(default=None, init=False)

    _fields: ClassVar = {
        "form": Either([(MonomialForm, MONOMIAL_FORM), (ProductForm, PRODUCT_FORM)]),
        "feature_names": TupleOf(Text()),
        "mse": Numbers("f8", (None,), low=0.0),
        "gap": Numbers("f8", (None,), finite=False),
        "n_iter": Numbers("i8", (None,), low=0),
        "status": _StatusCodes(),
        "_n_free": Optional(Numbers("i8", (None,), low=0)),
    }

    def _check_saved(self) -> None:
        n_free = [] if self._n_free is None else [self._n_free]
        lengths = {len(values) for values in (self.mse, self.gap, self.n_iter, self.status, *n_free)}
        require(lengths == {self.form.n_polynomials}, "there are other errors than polynomials")
        n = len(self.feature_names)
        if isinstance(self.form, ProductForm):
            require(self.form.scale.size == n, "there are other names than columns")
            return
        columns = np.concatenate([self.form.basis.right, self.form.leads.right])
        require(int(columns.max(initial=0)) < max(n, 1), "a polynomial has a column without a name")
        require(all((counts <= self.form.basis.size).all() for counts in n_free), "a polynomial has missing terms")
        require(self.form.is_closed, "a divisor of a term is missing")

    @property
    def _monomials(self) -> tuple[Int2D, Float2D, Int1D]:
        """Exponents, coefficients and indices of the leading terms; expanded at the first use."""
        # Not a cached_property: before Python 3.12 that holds a lock, which a forked child may inherit locked.
        if self._expansion is None:
            self._expansion = monomials_of(self.form, len(self.feature_names))
        return self._expansion

    @property
    def exponents(self) -> Int2D:
        """Exponents of the shared terms, ``(n_terms, n_features)``."""
        return self._monomials[0]

    @property
    def coef(self) -> Float2D:
        """Coefficients, ``(n_polynomials, n_terms)``."""
        return self._monomials[1]

    @property
    def leading_terms(self) -> Int2D:
        """Exponents of the leading terms, ``(n_polynomials, n_features)``."""
        return self.exponents[self._monomials[2]]

    @property
    def leading_coef(self) -> Float1D:
        """Coefficients of the leading terms."""
        return self.coef[np.arange(len(self)), self._monomials[2]]

    @property
    def degrees(self) -> Int1D:
        """Degree of every polynomial."""
        return self.form.degrees

    @property
    def degree(self) -> int:
        """Largest degree; 0 without polynomials."""
        return int(self.degrees.max(initial=0))

    @property
    def sparsity(self) -> float:
        """The paper's SPAR: share of exact zeros among the coefficients of terms below the leading ones."""
        n_zero = n_all = 0
        for g in range(len(self)):
            coef = (
                self.coef[g, : self._n_free[g]]
                if self._n_free is not None
                else np.delete(self.coef[g], self._monomials[2][g])
            )
            n_zero, n_all = n_zero + int((coef == 0.0).sum()), n_all + coef.size
        return n_zero / n_all if n_all else 0.0

    def evaluate(self, X: Any, *, n_jobs: int | None = None) -> Float2D:
        """Signed values on the rows of ``X``, shape ``(n_samples, n_polynomials)``."""
        rows = as_rows(check_array(X, dtype="numeric", ensure_all_finite=False), n_jobs=n_jobs)
        _check_width(rows.X, self.feature_names)
        require_finite(rows, self.feature_names)
        return np.asarray(values_over(self.form, rows))

    def in_units(self, scaler: Any) -> Polynomials:
        """The same polynomials as functions of the data *before* scaling.

        Exact composition with an affine map: for a model that was fitted to ``scaler.transform(X)``,
        ``in_units(scaler).evaluate(X)`` equals ``evaluate(scaler.transform(X))``.

        Parameters
        ----------
        scaler : fitted MinMaxScaler, StandardScaler, MaxAbsScaler or RobustScaler, or a pair ``(scale, offset)``
            The pair stands for ``x_scaled = scale * x + offset``.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.preprocessing import MinMaxScaler
        >>> from vanishing import OAVI
        >>> X = np.array([[10.0, 30.0], [20.0, 50.0], [30.0, 70.0]])  # y = 2 x + 10
        >>> scaler = MinMaxScaler().fit(X)
        >>> print(OAVI(psi=1e-8).fit(scaler.transform(X)).generators_.in_units(scaler).monic()[0])
        x1 - 2*x0 - 10
        """
        scale, offset = affine_map(scaler, len(self.feature_names))
        return replace(self, form=self.form.compose(scale, offset))

    def monic(self) -> Polynomials:
        """Each polynomial divided by its leading coefficient, its mean square and gap by the square of that."""
        lead = self.leading_coef
        factor = 1.0 / np.where(lead == 0.0, 1.0, lead)  # the zero polynomial, which VCA can return, stays zero
        return replace(self, form=self.form.scaled(factor), mse=self.mse * factor**2, gap=self.gap * factor**2)

    def to_macaulay2(self, tol: float | None = None) -> str:
        """The ideal in the syntax of Macaulay2: over RR, or over QQ with the simplest fractions within ``tol``.

        Parameters
        ----------
        tol : float, optional
            Relative distance of the fractions from the coefficients, of which the leading one is 1; 0 for the exact
            values of the float64 numbers.

        Examples
        --------
        >>> import numpy as np
        >>> from vanishing import OAVI
        >>> x = np.linspace(0, 1, 50)
        >>> G = OAVI(psi=1e-6, max_degree=2).fit(np.column_stack([x, 0.25 * x])).generators_
        >>> print(G[:1].to_macaulay2(tol=1e-6))
        R = QQ[x0, x1];
        I = ideal((1)*x1 + (-1/4)*x0);
        <BLANKLINE>
        """
        return to_macaulay2(self, tol)

    def to_singular(self, tol: float | None = None) -> str:
        """The ideal in the syntax of Singular; see :meth:`to_macaulay2`."""
        return to_singular(self, tol)

    def to_sage(self, tol: float | None = None) -> str:
        """The ideal in the syntax of SageMath; see :meth:`to_macaulay2`."""
        return to_sage(self, tol)

    def to_sympy(self) -> list[Any]:
        """SymPy expressions. Needs ``pip install 'vanishing[sympy]'``."""
        return [polynomial.to_sympy() for polynomial in self]

    def to_latex(self, digits: int = 4) -> str:
        """An ``aligned`` environment with one equation per line."""
        lines = [f"{polynomial.to_latex(digits)} &\\approx 0" for polynomial in self]
        return "\\begin{aligned}\n" + " \\\\\n".join(lines) + "\n\\end{aligned}"

    def __len__(self) -> int:
        return self.mse.size

    @overload
    def __getitem__(self, index: int) -> Polynomial: ...

    @overload
    def __getitem__(self, index: slice | Array | list[int]) -> Polynomials: ...

    def __getitem__(self, index: Any) -> Polynomial | Polynomials:
        if not isinstance(index, (int, np.integer)):
            return self._select(np.arange(len(self))[index])
        if len(self) == 0:
            raise IndexError("There are no polynomials: none has a mean square of at most psi; raise psi.")
        if not -len(self) <= index < len(self):
            raise IndexError(f"There are {len(self)} polynomials, numbered from 0; got number {index}.")
        g = int(index) % len(self)
        coef, lead = self.coef[g], self._monomials[2][g]
        others = [t for t in np.flatnonzero(coef)[::-1] if t != lead]
        others.sort(key=lambda t: -int(self.exponents[t].sum()))
        shown = [lead, *others]
        return Polynomial(
            exponents=self.exponents[shown],
            coef=coef[shown],
            feature_names=self.feature_names,
            mse=float(self.mse[g]),
            gap=float(self.gap[g]),
            n_iter=int(self.n_iter[g]),
            status=self.status[g],
        )

    def __iter__(self) -> Iterator[Polynomial]:
        return (self[g] for g in range(len(self)))

    def first_lines(self, n_shown: int) -> list[str]:
        """The first polynomials with their mean squares, and how many more there are."""
        if len(self) == 0:
            return ["no polynomials"]
        try:
            lines = [f"{polynomial}    (mean square {polynomial.mse:.2g})" for polynomial in self[:n_shown]]
        except ValueError as too_large:
            return [str(too_large)]
        return [*lines, f"... and {len(self) - n_shown} more"] if len(self) > n_shown else lines

    def __str__(self) -> str:
        return "\n".join(self.first_lines(IN_HTML))

    def __repr__(self) -> str:
        title = f"<Polynomials: {len(self)} in {len(self.feature_names)} variables"
        return "\n  ".join([title, *(self.first_lines(IN_REPR) if len(self) else [])]) + ">"

    def _repr_html_(self) -> str:
        return lines_html(self.first_lines(IN_HTML))

    def _repr_latex_(self) -> str | None:
        try:
            return f"$\\displaystyle {self[:IN_HTML].to_latex()}$"
        except ValueError:  # too large to expand
            return None

    def _select(self, index: Int1D) -> Polynomials:
        return Polynomials(
            self.form.select(index),
            self.feature_names,
            mse=self.mse[index],
            gap=self.gap[index],
            n_iter=self.n_iter[index],
            status=self.status[index],
            _n_free=None if self._n_free is None else self._n_free[index],
        )


@dataclass(eq=False, repr=False)
class Terms(Saved, Sequence[str]):
    """Monomials with their exponents; an item is the monomial's text.

    Examples
    --------
    >>> import numpy as np
    >>> list(Terms(np.array([[0, 0], [2, 1]]), ("a", "b")))
    ['1', 'a^2*b']
    """

    exponents: Int2D
    feature_names: tuple[str, ...]

    _fields: ClassVar = {"exponents": Numbers("i8", (None, None), low=0, high=1000), "feature_names": TupleOf(Text())}

    def _check_saved(self) -> None:
        require(self.exponents.shape[1] == len(self.feature_names), "there are other names than columns")

    def __len__(self) -> int:
        return int(self.exponents.shape[0])

    @overload
    def __getitem__(self, index: int) -> str: ...

    @overload
    def __getitem__(self, index: slice) -> Terms: ...

    def __getitem__(self, index: int | slice) -> str | Terms:
        if isinstance(index, slice):
            return Terms(self.exponents[index], self.feature_names)
        return monomial_text(self.exponents[index], self.feature_names) or "1"

    def __repr__(self) -> str:
        return f"<Terms: {', '.join(self[:IN_HTML])}{', ...' if len(self) > IN_HTML else ''}>"


def _check_width(X: Array, feature_names: Sequence[str]) -> None:
    if X.shape[1] != len(feature_names):
        raise ValueError(f"X has {X.shape[1]} columns, but there are {len(feature_names)} variables.")


def join_polynomials(polynomials: Sequence[Polynomial]) -> Polynomials:
    """The list of polynomials in the same variables, as models have it.

    All terms and their divisors stand in the basis; the leading terms of the form have the coefficient 0.

    Examples
    --------
    >>> import numpy as np
    >>> from vanishing import OAVI
    >>> x = np.linspace(0, 1, 50)
    >>> G = OAVI(psi=1e-6, max_degree=2).fit(np.column_stack([x, x**2])).generators_
    >>> X = np.array([[0.5, 0.5]])
    >>> bool(np.allclose(join_polynomials(list(G)).evaluate(X), G.evaluate(X)))
    True
    """
    if not polynomials:
        raise ValueError("There are no polynomials.")
    rows = [[_term(row) for row in polynomial.exponents.tolist()] for polynomial in polynomials]
    closed = {divisor for terms in rows for term in terms for divisor in _divisors(term)} | {()}
    basis = sorted(closed, key=lambda term: (len(term), term))
    place = {term: k for k, term in enumerate(basis)}
    coef = np.zeros((len(rows), len(basis)))
    for g, (terms, polynomial) in enumerate(zip(rows, polynomials, strict=True)):
        np.add.at(coef[g], [place[term] for term in terms], polynomial.coef)
    nothing = np.zeros(len(rows), dtype=np.int64)
    return Polynomials(
        MonomialForm(Program.of(basis), coef, Program(nothing, nothing), np.zeros(len(rows))),
        polynomials[0].feature_names,
        mse=np.array([polynomial.mse for polynomial in polynomials]),
        gap=np.array([polynomial.gap for polynomial in polynomials]),
        n_iter=np.array([polynomial.n_iter for polynomial in polynomials]),
        status=np.array([polynomial.status for polynomial in polynomials], dtype=object),
    )


def _term(exponents: Sequence[int]) -> Term:
    return tuple(j for j, power in enumerate(exponents) for _ in range(power))


def _divisors(term: Term) -> set[Term]:
    return {divisor for size in range(len(term) + 1) for divisor in combinations(term, size)}
