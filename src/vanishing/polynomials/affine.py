"""The affine map of a scaler, between the units of the data and those of a model, and what its rounding leaves."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler
from sklearn.utils.validation import check_is_fitted

from .._typing import Float1D
from ..constants import ROOT_EPS


def affine_map(scaler: Any, n_features: int) -> tuple[Float1D, Float1D]:
    """Scale and offset of ``x_scaled = scale * x + offset`` for a fitted scikit-learn scaler, or for that pair itself.

    Examples
    --------
    >>> from sklearn.preprocessing import MinMaxScaler
    >>> affine_map(MinMaxScaler().fit([[10.0], [30.0]]), 1)
    (array([0.05]), array([-0.5]))
    """
    if isinstance(scaler, (tuple, list)) and len(scaler) == 2:
        scale, offset = scaler
    elif isinstance(scaler, MinMaxScaler):
        check_is_fitted(scaler)
        if scaler.clip:
            raise ValueError("A MinMaxScaler with clip=True is not affine; fit one without it.")
        scale, offset = scaler.scale_, scaler.min_
    elif isinstance(scaler, (StandardScaler, MaxAbsScaler, RobustScaler)):
        check_is_fitted(scaler)
        # StandardScaler stores mean_ even with with_mean=False.
        centre = getattr(scaler, "mean_", None) if getattr(scaler, "with_mean", True) else None
        centre = getattr(scaler, "center_", centre)
        width = 1.0 if getattr(scaler, "scale_", None) is None else np.asarray(scaler.scale_)
        scale, offset = 1.0 / width, (0.0 if centre is None else -np.asarray(centre) / width)
    else:
        raise TypeError(
            "in_units needs a fitted MinMaxScaler, StandardScaler, MaxAbsScaler or RobustScaler, or a pair "
            f"(scale, offset) with x_scaled = scale * x + offset; got {type(scaler).__name__}."
        )
    try:
        full = [np.broadcast_to(np.asarray(part, dtype=np.float64), (n_features,)).copy() for part in (scale, offset)]
    except ValueError as error:
        raise ValueError(f"The scaler was fitted to another number of columns than {n_features}.") from error
    if not np.isfinite(full).all() or (full[0] == 0.0).any():
        raise ValueError("The scale must be finite and not zero, and the offset finite.")
    return full[0], full[1]


def without_rounding(polynomial: Any, size: Float1D | None) -> Any:
    """A polynomial without terms that are rounding of a scaling, for columns of this size; its first coefficient is 1.

    Without a size nothing was scaled, and the polynomial stays as it is.
    """
    if size is None:
        return polynomial
    share = np.abs(polynomial.coef) * np.prod(size**polynomial.exponents, axis=1)
    kept = share > ROOT_EPS * share.max()
    coef = polynomial.coef[kept]
    return replace(polynomial, exponents=polynomial.exponents[kept], coef=coef / coef[0])
