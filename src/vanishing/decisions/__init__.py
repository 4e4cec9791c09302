"""The decision of an algorithm at one degree: which candidates join the basis, and which lead a generator.

A decision is a function of the Gram of ``[O|C]`` (O: basis, C: candidates; one row and column each), or, where a
float64 Gram cannot resolve ``psi``, of the triangular factor R of that Gram (``..._exact``). It never sees data.
From a Gram it returns None if rounding would decide about a candidate; the caller then passes the factor.

``psi`` means the same everywhere: a bound on the mean square of a polynomial over the data. The algorithms
differ in how they normalise a polynomial: OAVI sets its leading coefficient to 1, ABM and AVI the Euclidean
norm of its coefficients, and VCA that of its coefficients on the projected products.
"""

from .abm import decide_abm, decide_abm_exact
from .avi import decide_avi, decide_avi_exact
from .border import Combinations, Decision
from .gradient import decide_gradient, decide_vca_gradient
from .oavi import Oracle, Stage, decide_oavi, decide_oavi_exact
from .vca import decide_vca, decide_vca_exact

__all__ = [
    "Combinations",
    "Decision",
    "Oracle",
    "Stage",
    "decide_abm",
    "decide_abm_exact",
    "decide_avi",
    "decide_avi_exact",
    "decide_gradient",
    "decide_oavi",
    "decide_oavi_exact",
    "decide_vca",
    "decide_vca_exact",
    "decide_vca_gradient",
]
