"""How much a safe rule would spare the SVM: columns whose weight the duality gap proves to be zero before a step.

    OMP_NUM_THREADS=1 python benchmarks/safe_rules.py

The dual of the SVM is strongly concave: a feasible point a with duality gap g lies near the optimal one a*, as
``sum_i (a_i - a*_i)^2 / (4 C |s_i|) <= g``. Both satisfy ``sum_i a_i y_i = 0``, so with the mean m_j of column j,

    |sum_i (a_i - a*_i) y_i z_ij| <= sqrt(4 C g sum_i |s_i| (z_ij - m_j)^2),

and the weight of the column is zero at the optimum where ``|sum_i a_i y_i z_ij|`` and this radius are less than 1
together. Every quantity is a sum that the method computes anyway.
"""

import warnings

import numpy as np
from sklearn.model_selection import train_test_split
from tables import load

from vanishing import L1SVC, VanishingIdealClassifierCV
from vanishing.svm import newton

TABLES = ("pima", "rice", "phoneme", "magic", "credit", "ionosphere", "breast_cancer", "spam", "electricity")


def proven_zeros(x, C, sums, data) -> int:
    """The columns whose weight is proven to be zero at a point."""
    negative, positive = sums.shortfall
    if min(negative, positive) == 0.0:
        return 0
    shares = np.array([positive, negative]) / max(negative, positive)
    moments = 2.0 * C * np.abs(shares[1] * sums.moments[1] - shares[0] * sums.moments[0])
    steepest = (shares @ sums.shortfall) / (shares**2 @ sums.squares)
    scale = min(steepest, 1.0 / max(moments.max(), 1e-300))
    radius = np.sqrt(2.0 * C * newton.duality_gap(x, C, sums) * data.diagonal[:-1])
    return int(np.count_nonzero(scale * moments + radius < 1.0))


class Count:
    """Columns of all Newton steps, and those that a safe rule would spare, both times the rows."""

    def __init__(self):
        self.spared = self.all = self.steps = 0
        self._search = newton._search
        newton._search = self

    def __call__(self, data, C, x, sums, *rest):
        self.spared += data.rows.n_samples * proven_zeros(x, C, sums, data)
        self.all += data.rows.n_samples * data.n_columns
        self.steps += 1
        return self._search(data, C, x, sums, *rest)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        newton._search = self._search


def main() -> None:
    warnings.simplefilter("ignore")
    print("| table | steps of a search | spared % | steps of one SVM, tol=1e-6 | spared % |\n|---|---|---|---|---|")
    for name in TABLES:
        X, y = load(name)
        X, _, y, _ = train_test_split(X, y, test_size=0.4, stratify=y, random_state=0)
        with Count() as search:
            model = VanishingIdealClassifierCV(n_jobs=1).fit(X, y)
        columns = model.transform(X)
        with Count() as one:
            L1SVC(model.best_params_["C"], tol=1e-6).fit(columns, y)
        shares = [f"{each.steps} | {100 * each.spared / each.all:.1f}" for each in (search, one)]
        print(f"| {name} | " + " | ".join(shares) + " |", flush=True)


if __name__ == "__main__":
    main()
