"""The search as a plain grid that others can compute, too: |g| of columns scaled by fold, all rows, raw decisions."""

from vanishing import VanishingIdealClassifierCV

PLAIN = {"scale_input": True, "features": "absolute", "Cs": (0.1, 1.0, 10.0), "cv": 3, "search_rows": None}


def grid_search(estimator=None, **options):
    """A search over a grid of psi and C."""
    return VanishingIdealClassifierCV(estimator, **{**PLAIN, "probability": False, **options})
