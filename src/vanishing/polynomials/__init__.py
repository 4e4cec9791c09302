"""Polynomials: ``terms`` and their orders, ``forms`` that are evaluated, their ``expansion``, and what users meet."""

from .polynomial import Polynomial, Polynomials, Terms

__all__ = ["Polynomial", "Polynomials", "Terms"]
