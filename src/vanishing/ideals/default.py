"""What a parameter of None stands for."""

from __future__ import annotations

from typing import Any, Self

from ..checks import check_ideal
from .ideal import VanishingIdeal
from .oavi import OAVI

__all__ = ["DefaultIdeal"]


class DefaultIdeal:
    """For estimators with a parameter ``estimator``, of which None stands for ``OAVI()``."""

    estimator: Any

    def set_params(self, **params: Any) -> Self:
        """Set parameters; those of the estimator as ``estimator__psi``, which turns None into ``OAVI()``.

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
        """The estimator to clone; refuses what is none of ours."""
        template: VanishingIdeal = check_ideal(OAVI() if self.estimator is None else self.estimator, VanishingIdeal)
        return template
