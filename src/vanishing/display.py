"""How models and lists of polynomials show themselves: their first equations, in text and in HTML."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils import estimator_html_repr

from .constants import IN_HTML, IN_REPR


def first_lines(lines: Sequence[str], n_shown: int = IN_REPR) -> list[str]:
    """The first lines, and how many more there are.

    Examples
    --------
    >>> first_lines(["x", "y", "z"], 2)
    ['x', 'y', '... and 1 more']
    """
    return list(lines) if len(lines) <= n_shown else [*lines[:n_shown], f"... and {len(lines) - n_shown} more"]


def moment(time: Any) -> str:
    """A time, or the number of a row, as text: without seconds or smaller units that are zero.

    Examples
    --------
    >>> import numpy as np
    >>> moment(np.datetime64("2026-02-01T08:15:00.000000")), moment(np.int64(7))
    ('2026-02-01 08:15', '7')
    """
    if isinstance(time, np.datetime64):
        return str(np.datetime_as_string(time, unit="auto")).replace("T", " ")
    return str(time)


def lines_html(lines: Sequence[str]) -> str:
    """Lines as HTML, with raised exponents.

    Examples
    --------
    >>> lines_html(["x0^2 - x1 < 1"])
    '<pre>x0<sup>2</sup> - x1 &lt; 1</pre>'
    """
    text = html.escape("\n".join(lines))
    return "<pre>" + re.sub(r"\^(\d+)", r"<sup>\1</sup>", text) + "</pre>"


def in_percent(share: float) -> str:
    """A share of rows, rounded, but to 100% only if it is all of them.

    Examples
    --------
    >>> in_percent(0.874), in_percent(0.9957), in_percent(1.0)
    ('87%', '99.5%', '100%')
    """
    return f"{share:.0%}" if share < 0.995 or share == 1.0 else f"{int(1000 * share) / 10}%"


def counted(n: int, noun: str) -> str:
    """A number of things, whose plural ends in s or, after s, in es.

    Examples
    --------
    >>> counted(1, "class"), counted(2, "class"), counted(1200, "row")
    ('1 class', '2 classes', '1,200 rows')
    """
    plural = "" if n == 1 else "es" if noun.endswith("s") else "s"
    return f"{n:,} {noun}{plural}"


def as_table(columns: Mapping[str, Any]) -> Any:
    """A pandas DataFrame of these columns; a dict of them where pandas is not installed."""
    try:
        import pandas as pd
    except ImportError:
        return dict(columns)
    return pd.DataFrame(dict(columns))


class ShownEstimator:
    """A scikit-learn estimator that shows its equations when it is fitted, and says so when it is not."""

    def _first_equations(self, n_shown: int) -> list[str]:
        """The first equations of the fitted estimator in about ``n_shown`` lines, and how many more there are."""
        return []

    def _constructor(self) -> str:
        """The call that makes the estimator, as scikit-learn prints it."""
        return super().__repr__()

    def _lines(self, n_shown: int) -> list[str]:
        return self._first_equations(n_shown) if _is_fitted(self) else []

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        return "\n  ".join([super().__repr__(N_CHAR_MAX), *self._lines(IN_REPR)])  # type: ignore[call-arg]

    def _repr_html_inner(self) -> str:
        """HTML for notebooks: scikit-learn's diagram, and the equations below it."""
        lines = self._lines(IN_HTML)
        return str(estimator_html_repr(self)) + (lines_html(lines) if lines else "")

    def _repr_mimebundle_(self, **options: Any) -> dict[str, Any]:
        bundle: dict[str, Any] = super()._repr_mimebundle_(**options)  # type: ignore[misc]
        return {**bundle, "text/html": self._repr_html_inner()} if "text/html" in bundle else bundle

    if not TYPE_CHECKING:  # a type checker would take every attribute for granted

        def __getattr__(self, name: str) -> Any:
            """Say that the estimator is not fitted where a fitted attribute is missing for that reason."""
            # A fitted model may have no feature_names_in_; scikit-learn asks for them in every fit.
            if name.endswith("_") and name[0] != "_" and name != "feature_names_in_" and not _is_fitted(self):
                raise NotFittedError(f"This {type(self).__name__} is not fitted yet: call fit before you use {name}.")
            return object.__getattribute__(self, name)  # raises the error that led here


def _is_fitted(estimator: Any) -> bool:
    """Whether there is a fitted attribute, by scikit-learn's convention."""
    return any(name.endswith("_") and not name.startswith("__") for name in vars(estimator))
