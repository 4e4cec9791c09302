"""Oracle approximate vanishing ideals (Wirth, Kera and Pokutta 2023, arXiv:2207.01236; Algorithm 1)."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar, Self

import numpy as np

from ..checks import check_count, check_flag, check_ideal, check_number, warn_undecided
from ..decisions import Oracle, Stage, decide_gradient, decide_oavi, decide_oavi_exact
from ..engine.construction import Algorithm, Fit
from ..engine.survey import Survey
from ..files.fields import Integer
from ..solvers import SOLVERS, Stop
from .ideal import MonomialIdeal, VanishingIdeal

_WORK_PER_ITER = 2000  # multiplications of exact decisions for each of max_iter; by default a second or two in all


class OAVI(MonomialIdeal):
    """Oracle approximate vanishing ideal algorithm (Wirth, Kera and Pokutta, 2023; Algorithm 1).

    OAVI visits terms in ascending order. A term u leads a generator if some polynomial with leading
    coefficient 1, other terms in the order ideal O and coefficients of l1 norm at most ``tau`` has mean
    square at most ``psi`` over the data; otherwise u joins O. Each decision is one small l1-constrained
    quadratic problem and comes with a certificate.

    Parameters
    ----------
    psi : float, default=0.005
        Largest mean square of a generator over the data. Where a float64 Gram matrix cannot resolve it, and
        for 0 (exact vanishing up to rounding), triangular factors of the evaluated data decide.
    tau : float, default=1000.0
        Bound on the l1 norm of a generator's coefficients, at least 2. The out-of-sample guarantees need it; the
        terms and generators do not, and ``tau=inf`` sets no bound with "omp" and "agd". "agd" does not enforce any.
    solver : {"omp", "bpcg", "pcg", "cg", "agd"}, default="omp"
        "omp": orthogonal matching pursuit for generators of few terms; where the bound tau is active, the exact
        minimum over the l1 ball decides. The others are the paper's first-order methods: (blended) pairwise or plain
        conditional gradients on the l1 ball, or accelerated gradient descent without constraint.
    boost : {"wihb", "ihb", "none"}, default="wihb"
        Inverse Hessian boosting. "ihb" (with cg or agd) starts the solver at the unconstrained minimiser: fastest,
        but generators are dense. "wihb" (with omp, cg, pcg or bpcg) uses the minimiser only to decide, and then runs
        the solver for a sparse generator.
    normalization : {"leading", "gradient"}, default="leading"
        How a polynomial is scaled before its mean square is compared with ``psi``: to leading coefficient 1,
        or by its gradient, ``mean g^2 <= psi * mean |grad g|^2``. Then psi is, to first order, a squared distance from
        the zero set in the units of the columns, and neither their order nor a common scale decides what vanishes.
    order : {"deglex", "degcolex"}, default="deglex"
        Order of the terms of one degree: the paper's, or that of the authors' code.
    feature_order : None, "pearson", "rev-pearson" or permutation, default=None
        Order of the variables: as in the data, by ascending or descending sum of absolute correlations, or the given
        permutation.
    max_degree : int, default=10
        Largest degree to examine.
    max_terms : int, default=5000
        The fit stops, with a warning, before a border that could take ``|G| + |O|`` beyond this.
    tol : float, default=0.01
        A solver may stop if its gap, which certifies its distance from the minimum, is at most ``tol * psi``.
    max_iter : int, default=1_000_000
        Most iterations of a first-order solver for one term. For "omp" it limits the work of exact minima over the l1
        ball: 2,000 multiplications for each of ``max_iter``, over all terms of a fit.
    polish : bool, default=True
        Refit the coefficients of a generator by least squares on its support, for the same terms, the same zeros and a
        smaller mean square. Without it, the coefficients are those at which the solver's loss fell below ``psi``, as
        in the paper.
    n_jobs : int, optional
        Threads for passes over the rows; all cores by default. The result does not depend on it.

    Attributes
    ----------
    generators_ : Polynomials
        Generators of the approximate vanishing ideal, with ``mse``, ``gap``, ``n_iter`` and ``status`` for
        each.
    order_ideal_ : Terms
        The terms O that lead no generator.
    n_basis_ : int
        Number of terms in O.
    degree_ : int
        Last degree examined.
    complete_ : bool
        Whether the border was exhausted within ``max_degree`` and ``max_terms``.
    n_undecided_ : int
        Terms that joined O without a certificate, because a solver gave up.
    n_iter_ : int
        Solver iterations for all terms, also for terms that joined O; 1 if boosting decided about all terms.
    n_features_in_, feature_names_in_ :
        As in scikit-learn.

    References
    ----------
    Wirth, Kera and Pokutta, "Approximate Vanishing Ideal Computations at Scale", ICLR 2023, arXiv:2207.01236.

    Wirth and Pokutta, "Conditional Gradients for the Approximately Vanishing Ideal", AISTATS 2022, arXiv:2202.03349.

    Examples
    --------
    >>> import numpy as np
    >>> from vanishing import OAVI
    >>> angle = np.linspace(0, np.pi / 2, 100)
    >>> X = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> ideal = OAVI(psi=1e-6).fit(X)
    >>> print(ideal.generators_[0])
    x1^2 + x0^2 - 1
    >>> list(ideal.order_ideal_)[:3]
    ['1', 'x0', 'x1']
    >>> ideal.transform([[0.6, 0.8], [0.0, 0.0]])[:, 0].round(3)
    array([0., 1.])
    """

    _fields: ClassVar = {"n_iter_": Integer(low=1)}
    _choices: ClassVar = {
        **MonomialIdeal._choices,
        "solver": SOLVERS,  # read in every fit, because users may add solvers
        "boost": ("none", "ihb", "wihb"),
        "normalization": ("leading", "gradient"),
    }

    _from_constant = False  # whether solvers on the ball start at the constant term
    _least_gain = 0.0  # a solver gives up after a step that gains less than this, relative to psi

    def __init__(
        self,
        psi: float = 0.005,
        *,
        tau: float = 1000.0,
        solver: str = "omp",
        boost: str = "wihb",
        normalization: str = "leading",
        order: str = "deglex",
        feature_order: Any = None,
        max_degree: int = 10,
        max_terms: int = 5000,
        tol: float = 0.01,
        max_iter: int = 1_000_000,
        polish: bool = True,
        n_jobs: int | None = None,
    ):
        self.psi = psi
        self.tau = tau
        self.solver = solver
        self.boost = boost
        self.normalization = normalization
        self.order = order
        self.feature_order = feature_order
        self.max_degree = max_degree
        self.max_terms = max_terms
        self.tol = tol
        self.max_iter = max_iter
        self.polish = polish
        self.n_jobs = n_jobs

    def _check_parameters(self) -> None:
        super()._check_parameters()
        partners = {"none": tuple(SOLVERS), "ihb": ("cg", "agd"), "wihb": ("omp", "cg", "pcg", "bpcg")}[self.boost]
        if self.solver not in partners:
            raise ValueError(
                f"boost={self.boost!r} works with solver {' or '.join(map(repr, partners))}, not with {self.solver!r}."
            )
        if self.normalization == "gradient" and (self.solver, self.boost) != ("omp", "wihb"):
            raise ValueError("normalization='gradient' works with solver='omp' and boost='wihb' only.")
        if self.tau == np.inf and self.solver not in ("agd", "omp"):
            raise ValueError(
                f"tau must be finite for solver={self.solver!r}, which searches the l1 ball of that radius: "
                "tau=inf works with solver='omp' or 'agd'."
            )
        check_number("tau", self.tau, low=2.0, finite=self.solver not in ("agd", "omp"))
        check_number("tol", self.tol, low=0.0, below=1.0)
        check_flag("polish", self.polish)
        check_count("max_iter", self.max_iter)

    def _algorithm(self) -> Algorithm:
        psi, constrained = float(self.psi), self.solver != "agd"
        stop = Stop(psi, float(self.tol * self.psi), float(self._least_gain * self.psi), int(self.max_iter))
        radius = float(self.tau - 1.0) if constrained else np.inf
        oracle = Oracle(
            radius, self.solver, self.boost, bool(self.polish), stop, from_constant=constrained and self._from_constant
        )
        start = Stage(work=float(_WORK_PER_ITER * self.max_iter))
        if self.normalization == "gradient":
            return Algorithm(partial(decide_gradient, psi=psi, oracle=oracle), state=start, gradients=True)
        return Algorithm(partial(decide_oavi, oracle=oracle), partial(decide_oavi_exact, oracle=oracle), state=start)

    def _finish(self, built: Fit, survey: Survey) -> None:
        super()._finish(built, survey)
        # scikit-learn requires n_iter_ >= 1 of a transformer with max_iter; boosting may decide without iterations.
        self.n_iter_ = max(1, built.n_iter)
        if self.n_undecided_:
            warn_undecided(self.n_undecided_, self.solver, self.boost)


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
