"""Sums, products and derivatives of polynomials, on their exponents and coefficients."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from numbers import Real
from typing import Any, Self

import numpy as np

from .._typing import Float1D, Int2D
from ..solvers import Status


class Arithmetic:
    """Operators of a polynomial with ``exponents``, ``coef`` and ``feature_names``.

    Results have their terms in descending order, by degree and then by DegLex, and know nothing of data.
    """

    exponents: Int2D
    coef: Float1D
    feature_names: tuple[str, ...]

    def __call__(self, X: Any) -> Float1D:
        """Signed values on the rows of ``X``, shape ``(n_samples,)``."""
        return self.evaluate(X)  # type: ignore[attr-defined, no-any-return]

    def __add__(self, other: Any) -> Self:
        terms = self._terms()
        for term, coef in self._read(other).items():
            terms[term] = terms.get(term, 0.0) + coef
        return self._of(terms)

    def __neg__(self) -> Self:
        return self * -1.0

    def __sub__(self, other: Any) -> Self:
        return self.__add__(-other)

    def __rsub__(self, other: Any) -> Self:
        return (-self).__add__(other)

    def __mul__(self, other: Any) -> Self:
        terms: dict[tuple[int, ...], float] = {}
        for left, a in self._terms().items():
            for right, b in self._read(other).items():
                term = tuple(i + j for i, j in zip(left, right, strict=True))
                terms[term] = terms.get(term, 0.0) + a * b
        return self._of(terms)

    __radd__, __rmul__ = __add__, __mul__

    def __truediv__(self, number: float) -> Self:
        return self * (1.0 / number)

    def __pow__(self, power: int) -> Self:
        if not isinstance(power, (int, np.integer)) or power < 0:
            raise ValueError(f"A polynomial can be raised to 0, 1, 2, ..., not to {power!r}.")
        result = self._of({(0,) * len(self.feature_names): 1.0})
        for _ in range(power):
            result = result * self
        return result

    def __eq__(self, other: object) -> bool:
        """Whether the terms, the coefficients and the names of the variables are the same."""
        if not isinstance(other, Arithmetic):
            return NotImplemented
        return self.feature_names == other.feature_names and self._terms() == other._terms()

    def __hash__(self) -> int:
        return hash((self.feature_names, frozenset(self._terms().items())))

    def diff(self, variable: str | int) -> Self:
        """The derivative by a variable, given by its name or number.

        Examples
        --------
        >>> import numpy as np
        >>> from vanishing import OAVI
        >>> angle = np.linspace(0, np.pi / 2, 50)
        >>> circle = OAVI(psi=1e-10).fit(np.column_stack([np.cos(angle), np.sin(angle)])).generators_[0]
        >>> print(circle, "|", circle.diff("x0"), "|", circle * circle.diff(1))
        x1^2 + x0^2 - 1 | 2*x0 | 2*x1^3 + 2*x0^2*x1 - 2*x1
        """
        names = list(self.feature_names)
        if variable not in names and variable not in range(len(names)):
            raise ValueError(f"There is no variable {variable!r}; the variables are {', '.join(names)}.")
        j = names.index(variable) if variable in names else int(variable)
        terms: dict[tuple[int, ...], float] = {}
        for term, coef in self._terms().items():
            if term[j]:
                terms[*term[:j], term[j] - 1, *term[j + 1 :]] = coef * term[j]
        return self._of(terms)

    def _terms(self) -> dict[tuple[int, ...], float]:
        """Coefficients by exponents."""
        return {tuple(term): coef for term, coef in zip(self.exponents.tolist(), self.coef.tolist(), strict=True)}

    def _read(self, other: Any) -> Mapping[tuple[int, ...], float]:
        """The terms of another polynomial in the same variables, or of a number."""
        if isinstance(other, Arithmetic):
            if other.feature_names != self.feature_names:
                raise ValueError(
                    f"Polynomials in {', '.join(self.feature_names)} and in {', '.join(other.feature_names)} have no "
                    "sum or product: rename the variables with renamed([...])."
                )
            return other._terms()
        if isinstance(other, Real):
            return {(0,) * len(self.feature_names): float(other)}
        raise TypeError(f"Expected a polynomial or a number, got {type(other).__name__}.")

    def _of(self, terms: Mapping[tuple[int, ...], float]) -> Self:
        ordered: Sequence[tuple[int, ...]] = sorted(
            (term for term, coef in terms.items() if coef != 0.0), key=lambda term: (-sum(term), term)
        )
        exponents = np.array(ordered, dtype=np.int64).reshape(len(ordered), len(self.feature_names))
        return replace(  # type: ignore[type-var]
            self,
            exponents=exponents,
            coef=np.array([terms[term] for term in ordered], dtype=np.float64),
            mse=np.nan,
            gap=np.nan,
            n_iter=0,
            status=Status.VANISHING,
        )
