"""Every number of the default search: its unit, and its line in ``benchmarks/ablation.md``."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

__all__ = ["Budget"]


@dataclass(frozen=True)
class Budget:
    """What the default search may spend.

    Parameters
    ----------
    n_psis : int
        Values of psi, from the largest variance of a column within a class down.
    psis_per_decade : int
        Values of psi in a power of ten.
    psis_to_compare : int
        Values of psi after which the walk goes on with the better scaling of the inputs.
    patience : int
        Values of psi in a row without a better one, after which the walk ends.
    Cs : tuple of float
        Weights of the SVM's loss: the largest psi is tried with all of them, later ones with the last best and those
        beside it.
    n_folds : int
        Folds of the cross-validation.
    n_repeats : int
        How often folds are drawn for fewer rows than ``rows_of_one_draw``.
    rows_of_one_draw : int
        Rows from which on one draw of the folds says enough.
    terms_per_root_row : float
        The ideal of one of K classes of m rows may have ``terms_per_root_row * sqrt(m) / K`` terms.
    fewest_terms : int
        Terms that the ideal of a class may have however few rows there are.
    step_work : float
        Multiplications of the Hessians of one Newton step; they bound the columns that the SVMs see.
    hinges : int
        Hinges for every input that are tried at the best psi.
    few_errors : int
        Held-out rows with a wrong label, below which a sample of the rows cannot tell values of psi apart.
    larger : int
        How many times the rows of the sample are searched on then.
    svm_tol : float
        Relative duality gap of an SVM that only helps to choose.
    """

    n_psis: int = 14
    psis_per_decade: int = 2
    psis_to_compare: int = 3
    patience: int = 4
    Cs: tuple[float, ...] = (0.01, 0.03, 0.1, 0.3, 1.0, 10.0)
    n_folds: int = 3
    n_repeats: int = 3
    rows_of_one_draw: int = 1000
    terms_per_root_row: float = 12.0
    fewest_terms: int = 40
    step_work: float = 6e9
    hinges: int = 5
    few_errors: int = 100
    larger: int = 4
    svm_tol: float = 5e-3

    def psis(self, largest: float) -> list[float]:
        """Values of psi from the largest down.

        Examples
        --------
        >>> [float(f"{psi:.2g}") for psi in Budget().psis(0.1)[:3]]
        [0.1, 0.032, 0.01]
        """
        return [largest * 10.0 ** (-step / self.psis_per_decade) for step in range(self.n_psis)]

    def max_terms(self, n_rows: int, n_features: int, n_classes: int) -> int:
        """Terms and generators that the ideal of a class may have; always enough for degree 1.

        Examples
        --------
        >>> Budget().max_terms(100, 4, 2), Budget().max_terms(10_000, 4, 2), Budget().max_terms(10_000, 500, 2)
        (60, 600, 1002)
        """
        by_rows = int(self.terms_per_root_row * np.sqrt(n_rows) / n_classes)
        return max(by_rows, self.fewest_terms, 2 * n_features + 2)

    def max_columns(self, n_rows: int, n_classes: int) -> int:
        """Columns that the SVMs may see, ``sqrt(step_work / (planes * rows))``.

        Examples
        --------
        >>> Budget().max_columns(6000, 2), Budget().max_columns(6000, 10)
        (1000, 316)
        """
        n_planes = 1 if n_classes == 2 else n_classes
        return int(np.sqrt(self.step_work / (n_planes * n_rows)))
