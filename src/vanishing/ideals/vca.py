"""Vanishing component analysis (Livni et al. 2013, https://proceedings.mlr.press/v28/livni13.html)."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from .._typing import Float1D
from ..decisions import decide_vca, decide_vca_exact, decide_vca_gradient
from ..engine.construction import Algorithm, Fit
from ..engine.products import ProductBasis, ProductGrams
from ..engine.survey import Survey
from ..files.saved import Object
from ..polynomials.polynomial import Polynomials
from ..polynomials.products import ProductForm
from ..rows.reading import input_names
from ..solvers import Status
from .ideal import VanishingIdeal


class VCA(VanishingIdeal):
    """Vanishing component analysis (Livni et al., 2013).

    VCA needs no term order: the candidates of degree d are the products of the non-vanishing polynomials F of
    degree 1 with those of degree d-1, projected on the orthogonal complement of F. Principal components with
    mean square at most ``psi`` vanish, the others join F.

    Parameters
    ----------
    psi : float, default=0.005
        Largest mean square of a generator over the data, for a unit vector of coefficients on the projected
        products.
    normalization : {"unit", "mean-square", "gradient"}, default="unit"
        "unit": the members of F have Euclidean norm 1 over the data, as published. Their products then
        shrink with the number of rows m (to mean squares of the order 1/m^2), so all polynomials of degree 2
        vanish for m well above 1/sqrt(psi): spurious vanishing. "mean-square": the members have mean square 1,
        which removes that effect, but then VCA tends to run up to ``max_degree`` with very many polynomials.
        "gradient": a combination of products vanishes if ``mean g^2 <= psi * mean |grad g|^2``, so that psi is, to
        first order, a squared distance from the zero set in the units of the columns (arXiv:1911.04174); the members
        have mean square 1, and every degree takes one more pass.
    max_terms : int, default=2000
        As for :class:`OAVI`; smaller, because all products of a degree are decomposed at once.
    max_degree, n_jobs :
        As for :class:`OAVI`.

    Attributes
    ----------
    generators_ : Polynomials
        The vanishing polynomials; expanded into monomials at the first use of their coefficients.
    components_ : Polynomials
        The non-vanishing polynomials F without the constant.
    n_basis_, degree_, complete_, n_features_in_, feature_names_in_ :
        As for :class:`OAVI`; ``n_basis_`` is the size of F with the constant.

    References
    ----------
    Livni, Lehavi, Schein, Nachliely, Shalev-Shwartz and Globerson, "Vanishing Component Analysis", ICML 2013,
    https://proceedings.mlr.press/v28/livni13.html.

    Examples
    --------
    >>> import numpy as np
    >>> from vanishing import VCA
    >>> x = np.linspace(0, 1, 50)
    >>> vca = VCA(psi=1e-6).fit(np.column_stack([x, 0.5 * x]))
    >>> print(vca.generators_.monic()[0])
    x1 - 0.5*x0...
    """

    _fields: ClassVar = {"components_": Object("Polynomials")}
    _choices: ClassVar = {"normalization": ("unit", "mean-square", "gradient")}

    _grams = ProductGrams
    _unique_products = True  # f_i f_j and f_j f_i of degree 2 are one candidate

    def __init__(
        self,
        psi: float = 0.005,
        *,
        normalization: str = "unit",
        max_degree: int = 10,
        max_terms: int = 2000,
        n_jobs: int | None = None,
    ):
        self.psi = psi
        self.normalization = normalization
        self.max_degree = max_degree
        self.max_terms = max_terms
        self.n_jobs = n_jobs

    def _plan(self, survey: Survey) -> tuple[ProductBasis, Algorithm]:
        length = float(1.0 / np.sqrt(survey.total_weight)) if self.normalization == "unit" else 1.0
        options = {"psi": float(self.psi), "length": length}
        algorithm = (
            Algorithm(
                lambda gram, slopes, n_basis, _: decide_vca_gradient(gram, slopes, n_basis, **options),
                whole=True,
                gradients=True,
            )
            if self.normalization == "gradient"
            else Algorithm(
                lambda gram, n_basis, _: decide_vca(gram, n_basis, **options),
                lambda factor, n_basis, _: decide_vca_exact(factor, n_basis, **options),
                whole=True,
            )
        )
        return ProductBasis(survey.low.size, length, self._unique_products), algorithm

    def _finish(self, built: Fit, survey: Survey) -> None:
        super()._finish(built, survey)
        basis: ProductBasis = built.basis
        mse = np.concatenate([decision.mse for decision in basis.decisions])
        self.generators_ = self._polynomials(basis.form(), mse)
        kept = basis.form(kept=True)
        self.components_ = self._polynomials(kept, np.full(kept.chosen.size, basis.constant**2))

    def _polynomials(self, form: ProductForm, mse: Float1D) -> Polynomials:
        return Polynomials(
            form,
            tuple(input_names(self)),
            mse=mse,
            gap=np.full(mse.size, np.nan),
            n_iter=np.zeros(mse.size, dtype=np.int64),
            status=np.array([Status.VANISHING] * mse.size, dtype=object),
        )

    def _output_names(self, names: list[str]) -> list[str]:
        """Numbered names per degree: the monomials of a product of sums would make names of pages."""
        degrees = self.generators_.degrees
        return [f"vca_degree{d}_{np.sum(degrees[:g] == d)}" for g, d in enumerate(degrees)]
