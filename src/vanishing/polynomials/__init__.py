"""Polynomials.

``terms`` and their orders; ``forms`` (sums of monomials) and ``products`` (VCA's) evaluate them, ``expansion`` writes
products as monomials; ``polynomial`` has the public classes, with ``arithmetic``, ``text``, ``affine`` (units) and
``systems`` (computer algebra); ``joined`` makes a list of single ones.
"""

from .polynomial import Polynomial, Polynomials, Terms

__all__ = ["Polynomial", "Polynomials", "Terms"]
