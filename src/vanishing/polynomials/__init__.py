"""Polynomials: ``terms`` and their orders, ``forms`` for evaluation, their ``expansion``, and the public classes."""

from .polynomial import Polynomial, Polynomials, Terms

__all__ = ["Polynomial", "Polynomials", "Terms"]
