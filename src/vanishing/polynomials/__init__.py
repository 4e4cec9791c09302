"""Polynomials.

``terms`` have orders and values; ``forms`` (sums of monomials) and ``products`` (VCA's, which ``forms`` writes as
monomials) are evaluated on rows; ``polynomial`` has the public classes, with ``arithmetic``, ``text``, ``affine``
(units) and ``systems`` (computer algebra).
"""

from .polynomial import Polynomial, Polynomials, Terms

__all__ = ["Polynomial", "Polynomials", "Terms"]
