"""The search as a plain grid that others can compute, too: |g| of columns scaled by fold, all rows, raw decisions."""

from vanishing import L1SVC, Columns, VanishingIdealClassifierCV

PLAIN = {
    "final_estimator": L1SVC(),
    "scale_input": True,
    "columns": Columns("absolute"),
    "Cs": (0.1, 1.0, 10.0),
    "cv": 3,
    "search_rows": None,
}


def grid_search(estimator=None, **options):
    """A search over a grid of psi and C."""
    return VanishingIdealClassifierCV(estimator, **{**PLAIN, **options})
