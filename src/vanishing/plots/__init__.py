"""Pictures of equations, laws, classifiers and detectors. They need ``pip install 'vanishing[plots]'``.

Every function takes an axis (``ax=``), or makes a new figure, and returns the axis. ``style`` has the colours and
helpers of all pictures; ``zero_sets`` draws where equations hold, ``residuals`` how far rows are from them,
``coefficients`` their terms, ``searches`` how they were found, ``decisions`` what a classifier does with them,
``effects`` how each column moves its decision, and ``charts`` the scores of a detector over time.

>>> import numpy as np
>>> from vanishing import OAVI
>>> from vanishing.plots import plot_zero_set
>>> angle = np.linspace(0, np.pi / 2, 50)
>>> X = np.column_stack([np.cos(angle), np.sin(angle)])
>>> ax = plot_zero_set(OAVI(psi=1e-10).fit(X).generators_[:1], X)
>>> ax.get_title(loc="left")
'x1^2 + x0^2 - 1 = 0'
"""

from .charts import plot_control_chart, plot_episodes
from .coefficients import plot_coefficients
from .decisions import plot_confusion, plot_contributions, plot_weights
from .effects import plot_effects
from .residuals import plot_distances, plot_prediction, plot_residuals
from .searches import plot_attempts, plot_psi_path, plot_tuning
from .zero_sets import plot_projection, plot_zero_set

__all__ = [
    "plot_attempts",
    "plot_coefficients",
    "plot_confusion",
    "plot_contributions",
    "plot_control_chart",
    "plot_distances",
    "plot_effects",
    "plot_episodes",
    "plot_prediction",
    "plot_projection",
    "plot_psi_path",
    "plot_residuals",
    "plot_tuning",
    "plot_weights",
    "plot_zero_set",
]
