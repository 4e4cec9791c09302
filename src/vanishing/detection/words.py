"""What a detector decided about its rows, in sentences."""

from __future__ import annotations

from collections.abc import Sequence

from ..checks import warn_user
from .model import Model
from .series import N_BLOCKS, Series, n_levels_needed


def describe_calibration(model: Model, names: Sequence[str]) -> str:
    """How the limit of a model was found, in a sentence."""
    if model.sample is None:
        return "there are no rows: a gamma distribution has the moments of the scores"
    series, n_rows = model.series, len(model.sample.X)
    if series is None:
        n_near = n_rows if model.near is None else int(model.near.sum())
        far = f"; {n_rows - n_near:,} are far from the others and do not count" if n_near < n_rows else ""
        return f"rows are independent: calibrated by {n_near:,} rows, each left out by itself{far}"
    text = (
        f"rows follow each other (lag-1 correlation {series.correlation:.2f}): calibrated by {N_BLOCKS} blocks of "
        f"{-(-n_rows // N_BLOCKS):,}; about {series.n_effective:,.0f} independent rows stand behind the limit"
    )
    return text + (f"; drifting columns are left out: {_listed(series, names)}" if series.left_out else "")


def warn_about_series(series: Series, names: Sequence[str]) -> None:
    """Warn where a rate of false alarms cannot be promised."""
    if series.left_out:
        warn_user(
            f"The level of {_listed(series, names)} drifts in a way that the other columns do not explain: left out of "
            "the score but for tight equations. Give rows of a longer time, or series=False if the order of the rows "
            "means nothing."
        )
    if min(series.n_effective, series.n_levels) < n_levels_needed():
        warn_user(
            f"Only about {series.n_effective:.0f} independent rows stand behind the limit, and the level of the rows "
            f"changed about {series.n_levels:.0f} times, as rows follow each other (lag-1 correlation "
            f"{series.correlation:.2f}): the rate of false alarms may be missed, above all in regimes that the rows do "
            "not show. Give rows of a longer time, or series=False if their order means nothing."
        )


def _listed(series: Series, names: Sequence[str]) -> str:
    return ", ".join(names[j] for j in series.left_out)
