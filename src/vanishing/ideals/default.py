"""The default of the parameter ``estimator``."""

from __future__ import annotations

from typing import Any, Self

from ..checks import check_ideal
from .ideal import VanishingIdeal
from .oavi import OAVI

__all__ = ["DefaultIdeal"]


class DefaultIdeal:
    """Mixin for estimators with a parameter ``estimator``, where None means ``OAVI()``."""

    estimator: Any

    def set_params(self, **params: Any) -> Self:
        """Set parameters; a nested one such as ``estimator__psi`` replaces an ``estimator`` of None by ``OAVI()``.

        Parameters
        ----------
        **params :
            Names and values.

        Returns
        -------
        self
        """
        nested = any(name.startswith("estimator__") for name in params)
        if nested and params.get("estimator", self.estimator) is None:
            params["estimator"] = OAVI()
        super().set_params(**params)  # type: ignore[misc]
        return self

    def _template(self) -> VanishingIdeal:
        """The estimator to clone; raise ValueError unless it is an OAVI, ABM, AVI or VCA."""
        template: VanishingIdeal = check_ideal(OAVI() if self.estimator is None else self.estimator, VanishingIdeal)
        return template
