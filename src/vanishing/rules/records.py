"""Rules in files: the fields of a rule, and a check that its parts agree."""

from __future__ import annotations

from .._typing import Float1D, Int2D
from ..files.fields import Integer, Number, Numbers, Record, Text, TupleOf, require
from ..polynomials.polynomial import Polynomial
from ..solvers import Status
from .rule import Rule

__all__ = ["RULE"]


def _polynomial(
    exponents: Int2D, coef: Float1D, feature_names: tuple[str, ...], mse: float, gap: float, n_iter: int, status: int
) -> Polynomial:
    require(exponents.shape == (coef.size, len(feature_names)), "a polynomial has other coefficients than terms")
    return Polynomial(exponents, coef, feature_names, mse, gap, n_iter, Status(status))


RULE = Record(
    Rule,
    {
        "polynomial": Record(
            _polynomial,
            {
                "exponents": Numbers("i8", (None, None), low=0, high=1000),
                "coef": Numbers("f8", (None,)),
                "feature_names": TupleOf(Text()),
                "mse": Number(finite=False),
                "gap": Number(finite=False),
                "n_iter": Integer(low=0),
                "status": Integer(),
            },
        ),
        "tolerance": Number(),
        "exceptions": Integer(low=0),
        "n_rows": Integer(low=0),
    },
)
