"""Laws of integer or rational rows in exact arithmetic, and their Groebner bases."""

from .ideals import SPARE_ROWS, ExactLaw, ExactLaws, binary_denominator, exact_laws, few_points, groebner, rescaled

__all__ = [
    "SPARE_ROWS",
    "ExactLaw",
    "ExactLaws",
    "binary_denominator",
    "exact_laws",
    "few_points",
    "groebner",
    "rescaled",
]
