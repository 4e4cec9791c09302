"""
Sparse and dense generators
===========================

The same decisions, other coefficients. Inverse Hessian boosting alone (left) gives every generator all terms of the
order ideal; the default (right) looks for few terms with the same mean square bound. White cells are exact zeros.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import LogNorm
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import MinMaxScaler

from vanishing import OAVI

X = MinMaxScaler().fit_transform(load_breast_cancer().data[:, :8])
models = {
    "dense: solver='cg', boost='ihb'": OAVI(psi=0.0005, solver="cg", boost="ihb", max_degree=3).fit(X),
    "sparse: the default": OAVI(psi=0.0005, max_degree=3).fit(X),
}
figure, axes = plt.subplots(1, 2, figsize=(12, 5.2), layout="constrained", sharey=True)
for ax, (title, model) in zip(axes, models.items(), strict=True):
    G = model.generators_
    size = np.ma.masked_equal(np.abs(G.coef), 0.0)
    image = ax.imshow(size, aspect="auto", cmap="viridis_r", norm=LogNorm(1e-3, 10), interpolation="none")
    terms = (G.coef != 0).sum(axis=1)
    ax.set_title(f"{title}\n{len(G)} generators, {terms.mean():.1f} terms each, {G.sparsity:.0%} zeros", loc="left")
    ax.set_xlabel("terms, by degree")
axes[0].set_ylabel("generators")
figure.colorbar(image, ax=axes, label="size of the coefficient", pad=0.01)
