"""Checks of parameters and input, and the package's warnings: one sentence each, with the fix in it."""

from __future__ import annotations

import inspect
import threading
import warnings
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from numbers import Integral, Real
from typing import Any, Self, TypeVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import MinMaxScaler

from ._typing import Float1D, Float2D, Int1D
from .display import counted

T = TypeVar("T")

_NOT_THE_USER = ("vanishing", "sklearn", "joblib")  # packages that a warning's location skips
_OUTSIDE_BY_ROUNDING = 1e-6  # scaled data miss the unit interval by rounding
_WORK_PER_MINUTE = 60 * 10**10  # multiplications of a matrix product on one core


class RangeWarning(UserWarning):
    """The data lie outside the unit cube, so the guarantees of the theory do not hold."""


def check_number(
    name: str,
    value: Any,
    *,
    low: float = -float("inf"),
    above: float = -float("inf"),
    below: float = float("inf"),
    finite: bool = True,
) -> None:
    """Raise ValueError unless ``value`` is a real number, at least ``low``, above ``above`` and below ``below``."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, Real) or value != value:
        raise ValueError(f"{name} must be a number, got {value!r}.")
    try:
        number = float(value)
    except OverflowError:
        raise ValueError(f"{name} is beyond the range of float64: use a number between -1.7e308 and 1.7e308.") from None
    too_large = number >= below if below < float("inf") else finite and number == float("inf")
    if number < low or number <= above or too_large:
        lower = f"above {above:g}" if above > low else f"at least {low:g}"
        upper = f" and below {below:g}" if below < float("inf") else (" and finite" if finite else "")
        raise ValueError(f"{name} must be {lower}{upper}, got {value!r}.")


def check_n_jobs(value: Any) -> None:
    """Raise ValueError unless ``value`` is None or an integer other than 0."""
    if value is not None and (isinstance(value, bool) or not isinstance(value, Integral) or value == 0):
        raise ValueError(f"n_jobs must be None or an integer other than 0, got {value!r}.")


def check_count(name: str, value: Any) -> None:
    """Raise ValueError unless ``value`` is an integer >= 1."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, Integral) or value < 1:
        raise ValueError(f"{name} must be an integer of at least 1, got {value!r}.")


def check_numbers(name: str, values: Any, *, low: float = -float("inf"), above: float = -float("inf")) -> list[float]:
    """Return ``values`` as a list of floats; raise ValueError unless each is at least ``low`` and above ``above``."""
    numbers = np.atleast_1d(np.asarray(values, dtype=object))
    if numbers.ndim != 1 or numbers.size == 0:
        raise ValueError(f"{name} must be a list of numbers, got {values!r}.")
    for number in numbers:
        check_number(f"every entry of {name}", number, low=low, above=above)
    return [float(number) for number in numbers]


def check_flag(name: str, value: Any) -> None:
    """Raise ValueError unless ``value`` is True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{name} must be True or False, got {value!r}.")


def check_choice(name: str, value: Any, choices: Collection[str]) -> None:
    """Raise ValueError unless ``value`` is one of the choices."""
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}; got {value!r}.")


def quoted(label: Any) -> str:
    """Return a label as the user would write it in Python."""
    return repr(label.item() if isinstance(label, np.generic) else label)


def check_ideal(estimator: Any, kind: type) -> Any:
    """Return ``estimator``; raise ValueError unless it is an instance of ``kind``, the class of our transformers."""
    if not isinstance(estimator, kind):
        raise ValueError(f"estimator must be an OAVI, ABM, AVI or VCA (an object, not a class); got {estimator!r}.")
    return estimator


def check_weights(sample_weight: Any, n_samples: int, *, all_zero: bool = False) -> Float1D | None:
    """Return the weights as a float64 vector, not all zero unless ``all_zero`` allows it; None for None."""
    if sample_weight is None:
        return None
    require_unmasked(sample_weight=sample_weight)
    try:
        weights = np.array(sample_weight, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError("sample_weight must be numbers, one per row: convert its values.") from None
    if weights.shape != (n_samples,):
        raise ValueError(f"sample_weight must have shape ({n_samples},), one weight per row; got {weights.shape}.")
    if all_zero and not weights.any():
        return weights
    if not np.isfinite(weights).all() or (weights < 0.0).any() or not (weights > 0.0).any():
        raise ValueError("sample_weight must be finite, not negative and not all zero.")
    if not 1e-100 < weights.max() < 1e100:
        raise ValueError(f"sample_weight goes up to {weights.max():.3g}, out of range; divide it by its mean.")
    return weights


def feature_permutation(feature_order: Any, gram: Float2D) -> Int1D:
    """Return the columns in the order in which terms are built from them.

    ``gram`` is the Gram of the constant and the columns, which determines their correlations.

    Examples
    --------
    >>> import numpy as np
    >>> feature_permutation([1, 0], np.eye(3))
    array([1, 0])
    """
    n = gram.shape[0] - 1
    if feature_order is None:
        return np.arange(n)
    if isinstance(feature_order, str):
        check_choice("feature_order", feature_order, ("pearson", "rev-pearson"))
        covariance = gram[1:, 1:] - np.outer(gram[0, 1:], gram[0, 1:])
        deviation = np.sqrt(np.maximum(np.diag(covariance), 0.0))
        # A column that is constant up to rounding has correlation 0 with every other.
        deviation[deviation <= 1e-8 * np.sqrt(np.diag(gram)[1:])] = np.inf
        total = np.abs(covariance / np.outer(deviation, deviation)).sum(axis=1)
        return np.argsort(total if feature_order == "pearson" else -total, kind="stable")
    permutation = np.asarray(feature_order)
    if permutation.shape != (n,) or not np.array_equal(np.sort(permutation), np.arange(n)):
        choices = f"None, 'pearson', 'rev-pearson' or a permutation of 0..{n - 1}"
        raise ValueError(f"feature_order must be {choices}; got {feature_order!r}.")
    return permutation.astype(np.int64)


def check_scaler(name: str, scaler: Any, n_features: int) -> Any:
    """Return ``scaler``; raise ValueError unless it is a fitted MinMaxScaler of ``n_features`` columns."""
    if not (isinstance(scaler, MinMaxScaler) and hasattr(scaler, "scale_")) or scaler.clip:
        raise ValueError(f"{name} must be a fitted MinMaxScaler without clip; got {scaler!r}.")
    if len(scaler.scale_) != n_features:
        raise ValueError(f"The scaler is for {len(scaler.scale_)} columns, but there are {n_features}.")
    return scaler


@contextmanager
def all_or_nothing(estimator: Any) -> Iterator[None]:
    """Restore the estimator's attributes if a fit fails or is interrupted."""
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise


def require_unmasked(**given: Any) -> None:
    """Raise ValueError for masked values in arrays or lists of arrays: plain arrays would uncover them.

    Examples
    --------
    >>> import numpy as np
    >>> require_unmasked(X=np.ma.array([1.0, 2.0]))
    """
    for name, values in given.items():
        parts = values if isinstance(values, (list, tuple)) else [values]
        n_masked = sum([np.count_nonzero(part.mask) for part in parts if isinstance(part, np.ma.MaskedArray)])
        if n_masked:
            raise ValueError(
                f"{name} has masked values ({n_masked} of them): drop those rows, or fill them in with "
                f"{name}.filled(...)."
            )


class _Held(threading.local):
    """Warnings of this thread that another thread will issue; None where the thread issues them itself."""

    warnings: list[tuple[str, type[Warning]]] | None = None


_held = _Held()


class WarningRelay:
    """Issues the warnings of tasks that run in other threads, whose stacks do not contain the user's line.

    Leaving the context issues them in this thread, in the order of the tasks.

    Examples
    --------
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> with WarningRelay() as relay, ThreadPoolExecutor() as pool:
    ...     list(pool.map(relay.task(abs), [-1, 2]))
    [1, 2]
    """

    def __init__(self) -> None:
        self._collected: list[list[tuple[str, type[Warning]]]] = []

    def task(self, work: Callable[..., T]) -> Callable[..., T]:
        """Return the same task, with its warnings collected instead of issued."""
        collected: list[tuple[str, type[Warning]]] = []
        self._collected.append(collected)

        def run(*arguments: Any) -> T:
            before, _held.warnings = _held.warnings, collected
            try:
                return work(*arguments)
            finally:
                _held.warnings = before

        return run

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            for message, category in chain(*self._collected):
                _warn(message, category)


def _warn(message: str, category: type[Warning]) -> None:
    """Issue a warning that points at the user's line: the nearest one outside vanishing, scikit-learn and joblib."""
    if _held.warnings is not None:
        _held.warnings.append((message, category))
        return
    frame, level = inspect.currentframe(), 0
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] in _NOT_THE_USER:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level + 1)


def warn_user(message: str) -> None:
    """Issue a UserWarning that points at the user's line."""
    _warn(message, UserWarning)


def warn_outside_unit_cube(low: Float1D, high: Float1D, names: Sequence[str]) -> None:
    """Warn that the bounds do not hold if the data leave [0, 1]."""
    outside = np.flatnonzero((low < -_OUTSIDE_BY_ROUNDING) | (high > 1.0 + _OUTSIDE_BY_ROUNDING))
    if outside.size:
        j = outside[0]
        others = f" and {counted(outside.size - 1, 'other column')}" if outside.size > 1 else ""
        _warn(
            f"Values outside [0, 1] in column {names[j]!r} (range {low[j]:.4g} to {high[j]:.4g}){others}: the bounds "
            "on degree, size and out-of-sample error do not hold; scale with sklearn.preprocessing.MinMaxScaler first.",
            RangeWarning,
        )


def warn_clipped(n_clipped: int, n_rows: int, name: str) -> None:
    """Warn that the values of some rows were clipped, as they lie far outside of the training range."""
    _warn(
        f"{n_clipped} of {n_rows} rows {'lies' if n_clipped == 1 else 'lie'} outside of the range of the "
        f"training rows by more than that range, most of them in column {name!r}: their values were clipped to a "
        "quarter of the range beyond it; check these rows, or fit with rows like them.",
        RangeWarning,
    )


def warn_single_precision(psi: float) -> None:
    """Warn if psi is below the mean squares that float32 rounding of the input alone produces."""
    rounding = float(np.finfo(np.float32).eps) ** 2
    if psi < rounding:
        _warn(
            f"X has float32 values, whose rounding alone gives polynomials mean squares of about {rounding:.0e}; "
            f"psi={psi:g} is below that: raise psi, or provide the data as float64.",
            RangeWarning,
        )


def warn_moments_end(degree: int) -> None:
    """Warn that the model ends at the degree of the moments."""
    _warn(
        f"The moments go up to degree {degree}, and so does the model: for generators of higher degree collect moments "
        f"with degree={degree + 1}, or set max_degree={degree} if this is enough.",
        ConvergenceWarning,
    )


def no_generator(psi: float) -> str:
    """Return the message that no class has a generator."""
    return f"No class has a polynomial with mean square at most psi={psi:g}: raise psi or max_degree."


def warn_no_generator(psi: float) -> None:
    """Warn that no class has a generator, so the transform has no columns."""
    _warn(no_generator(psi), ConvergenceWarning)


def warn_overflow(degree: int, max_terms: int, psi: float) -> None:
    """Warn that the next border exceeds ``max_terms``."""
    _warn(
        f"The border of degree {degree + 1} would take |G| + |O| beyond max_terms={max_terms}; the model is complete "
        f"up to degree {degree} only. Raise psi (now {psi:g}) for a smaller model, or max_terms for a larger one.",
        ConvergenceWarning,
    )


def warn_long(degree: int, work: int) -> None:
    """Warn, before a degree that takes minutes, how to make the model smaller."""
    minutes = work / _WORK_PER_MINUTE
    if minutes > 1.0:
        _warn(
            f"Degree {degree} takes about {minutes:.3g} minutes of one core: raise psi, or lower max_degree or "
            "max_terms, for a smaller model.",
            UserWarning,
        )


def warn_undecided(n_undecided: int, solver: str, boost: str) -> None:
    """Warn that a solver gave up on some terms."""
    cure = "scale the columns to [0, 1], raise tau or raise max_iter"
    if solver != "omp" or boost == "none":
        cure = "use solver='omp' with boost='wihb', or raise max_iter or tol"
    _warn(
        f"{n_undecided} terms joined the order ideal without proof that they lead no generator, because "
        f"solver={solver!r} gave up on them: {cure}.",
        ConvergenceWarning,
    )


def warn_few_rows(n_samples: int, n_terms: int) -> None:
    """Warn that a detector has too few rows for quadratic equations."""
    _warn(
        f"There are {n_samples} rows, fewer than the {n_terms} terms of degree 2: the detector uses degree 1, which "
        "finds linear equations only. Give more rows, or set degree=1 if that is enough.",
        ConvergenceWarning,
    )


def warn_incomplete(n_rows: int) -> None:
    """Warn that rows with missing values were left out of the fit."""
    rows = f"{counted(n_rows, 'row')} with NaN {'was' if n_rows == 1 else 'were'}"
    _warn(f"{rows} left out of the fit: impute them, or set missing='error' to refuse them.", UserWarning)


def warn_fitted_tail(degree: int) -> None:
    """Warn that p-values from moments rest on a fitted distribution."""
    _warn(
        "Moments have no rows to hold out: p-values and offset_ come from a gamma distribution fitted to the score, "
        f"for equations up to degree {degree}. Fit to rows for p-values without assumptions.",
        UserWarning,
    )


def warn_gap(svm: Any) -> None:
    """Warn that an SVM stopped before its duality gap reached the tolerance."""
    worst = float((svm.gap_ / svm.objective_).max())
    _warn(
        f"L1SVC stopped after {svm.n_iter_.max()} steps with a duality gap of {worst:.2g} times the objective "
        f"(tol={svm.tol:g}): scale the columns, raise max_iter={svm.max_iter} or tol, or lower C={svm.C:g}.",
        ConvergenceWarning,
    )
