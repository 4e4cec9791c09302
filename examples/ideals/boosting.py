"""
Solvers, with and without boosting
==================================

Inverse Hessian boosting (IHB) decides about a term by a formula and not by iterations. Its weak form (WIHB) does so as
well, and then looks for a sparse generator. CPU time and sparsity on the same rows, with the same decisions.
"""

import time

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import MinMaxScaler

from vanishing import OAVI

X = MinMaxScaler().fit_transform(load_breast_cancer().data[:, :6])
settings = [
    ("pcg", "none"), ("bpcg", "none"), ("cg", "none"), ("agd", "none"),
    ("cg", "ihb"), ("agd", "ihb"), ("bpcg", "wihb"), ("omp", "wihb"),
]  # fmt: skip
names = [solver.upper() + ("" if boost == "none" else f" + {boost.upper()}") for solver, boost in settings]
milliseconds, zeros = [], []
for solver, boost in settings:
    model = OAVI(psi=0.0001, solver=solver, boost=boost, max_degree=4, n_jobs=1).fit(X)  # the first fit compiles
    start = time.process_time()
    zeros.append(100 * model.fit(X).generators_.sparsity)
    milliseconds.append(1000 * (time.process_time() - start))

colours = [{"none": "#8b939d", "ihb": "#0072b2", "wihb": "#d55e00"}[boost] for _, boost in settings]
figure, axes = plt.subplots(1, 2, figsize=(10.5, 4.4), layout="constrained", sharey=True)
for ax, values, title in zip(axes, (milliseconds, zeros), ("CPU milliseconds", "zero coefficients, %"), strict=True):
    ax.bar_label(ax.barh(names, values, color=colours), fmt="%.0f", padding=4)
    ax.set_title(title, loc="left")
    ax.spines[["top", "right"]].set_visible(False)
axes[0].set(xscale="log", xlim=(1, 400))
axes[0].invert_yaxis()
