"""Polynomials.

``terms`` have orders and values; ``forms`` (sums of monomials) and ``products`` (VCA's) are evaluated on rows,
``expansion`` writes products as monomials; ``polynomial`` has the public classes, with ``arithmetic``, ``text``,
``affine`` (units) and ``systems`` (computer algebra).
"""

from .polynomial import Polynomial, Polynomials, Terms

__all__ = ["Polynomial", "Polynomials", "Terms"]
