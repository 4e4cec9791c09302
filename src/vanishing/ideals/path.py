"""Fits models for many psi, and on parts of the data, in shared passes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from sklearn.base import clone

from ..checks import check_ideal, check_numbers
from ..engine.construction import Fit, construct
from ..engine.monomials import MonomialGrams
from ..engine.survey import Survey, surveys
from ..rows.protocol import JoinedRows, Rows
from ..rows.reading import read_input, take_input_from
from ..threads import n_threads
from .ideal import MonomialIdeal, VanishingIdeal


def ideal_path(estimator: Any, X: Any, psis: Any, sample_weight: Any = None) -> list[Any]:
    """Fit models for several psi, at about the cost of the one with the smallest psi.

    Each pass over the data serves all models.

    Parameters
    ----------
    estimator : OAVI, ABM or AVI
        A clone of it is fitted for every psi; its own ``psi`` is not used.
    X : array-like of shape (n_samples, n_features), or another data source
        The guarantees hold for data scaled to [0, 1], for instance by ``MinMaxScaler``.
    psis : array-like of shape (n_psis,)
        Bounds on the mean square.
    sample_weight : array-like of shape (n_samples,), optional
        Weights of the rows in every mean; not all zero.

    Returns
    -------
    list of estimators
        The fitted clones, one for each psi, in the order given.

    Examples
    --------
    >>> import numpy as np
    >>> from vanishing import OAVI, ideal_path
    >>> X = np.random.default_rng(0).uniform(size=(1000, 2))
    >>> X[:, 1] = 0.99 * X[:, 0] ** 2 + 0.01 * X[:, 1]
    >>> for model in ideal_path(OAVI(), X, [0.1, 0.01, 1e-4]):
    ...     print(model.psi, len(model.generators_), model.generators_[0])
    0.1 2 x0 - 0.5053
    0.01 2 x1 - 0.9894*x0 + 0.1588
    0.0001 2 x0^2 - 1.002*x1
    """
    template = _check_shares_passes(estimator)
    models = [clone(template).set_params(psi=psi) for psi in check_numbers("psis", psis, low=0.0)]
    for model in models:
        model._check_parameters()
    strictest = min(models, key=lambda model: float(model.psi))
    rows, survey = strictest._survey(read_input(strictest, X, sample_weight))
    for model in models:
        take_input_from(strictest, model)
    fit_together(models, [rows], [(0,)] * len(models), [survey])
    return models


def _check_shares_passes(estimator: Any) -> MonomialIdeal:
    """Return the estimator; raise ValueError if its fits for several psi cannot share passes."""
    template = check_ideal(estimator, VanishingIdeal)
    if isinstance(template, MonomialIdeal):
        return template
    raise ValueError(
        f"{type(estimator).__name__} shares no passes between psis, because its products depend on psi: use OAVI, ABM "
        "or AVI, or fit it once for every psi."
    )


def fit_together(
    models: Sequence[VanishingIdeal],
    parts: Sequence[Rows],
    members: Sequence[tuple[int, ...]],
    part_surveys: Sequence[Survey] | None = None,
) -> None:
    """Fit every model to the rows of its parts: those whose numbers its entry of ``members`` holds.

    Fits of monomial algorithms share passes. Fits of VCA do not, because their products differ. The models are of one
    class, have the same parameters except ``psi``, and know their input columns. The surveys of the parts are computed
    by default.
    """
    if part_surveys is None:
        part_surveys = surveys(parts, ahead=models[0]._looks_ahead)
    groups: dict[Any, list[tuple[VanishingIdeal, Survey, Fit]]] = defaultdict(list)
    for model, member in zip(models, members, strict=True):
        model._check_parameters()
        model._check_width()
        whole = Survey.of_parts([part_surveys[k] for k in member])
        if not isinstance(model, MonomialIdeal):
            model._fit_rows(parts[member[0]] if len(member) == 1 else JoinedRows([parts[k] for k in member]), whole)
            continue
        basis, rule = model._plan(whole)
        alike = (basis.order, basis.feature_order.tobytes(), model.max_degree, model.max_terms)
        groups[alike].append((model, whole, Fit(basis, rule, member)))
    for (*_, max_degree, max_terms), group in groups.items():
        fits = [fit for *_, fit in group]
        construct(
            MonomialGrams(parts, part_surveys, fits[0].basis),
            fits,
            max_degree=max_degree,
            max_terms=max_terms,
            n_threads=n_threads(group[0][0].n_jobs),
        )
        for model, whole, fit in group:
            model._finish(fit, whole)
