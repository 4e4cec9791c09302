"""Laws of integer or rational rows in exact arithmetic, and their Groebner bases."""

from .ideals import ExactLaw, binary_denominator, exact_laws, groebner

__all__ = ["ExactLaw", "binary_denominator", "exact_laws", "groebner"]
