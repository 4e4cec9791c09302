"""
Along psi
=========

The smaller psi, the more polynomials are needed, up to a bound that does not depend on the number of rows.
``ideal_path`` fits all of them in the passes of one fit. The points lie near a circle, with noise: the plateau in the
middle is the circle.
"""

import matplotlib.pyplot as plt
import numpy as np

from vanishing import OAVI, ideal_path, size_bound
from vanishing.plots import plot_psi_path

rng = np.random.default_rng(0)
angle = rng.uniform(0, 2 * np.pi, 5000)
X = 0.5 + 0.45 * np.column_stack([np.cos(angle), np.sin(angle)]) + rng.normal(0, 0.003, (5000, 2))
psis = np.logspace(-1, -6, 26)
models = ideal_path(OAVI(max_degree=12), X, psis)

figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.6), layout="constrained")
plot_psi_path(models, ax=left)
right.step(psis, [size_bound(psi, 2) for psi in psis], where="mid", color="0.5", label="the bound of the theory")
right.step(psis, [len(m.generators_) + m.n_basis_ for m in models], where="mid", color="#0072b2", label="|G| + |O|")
right.step(psis, [m.n_basis_ for m in models], where="mid", color="#e69f00", label="|O|, terms that lead no generator")
right.axvline(0.003**2, color="#d55e00", linestyle=":", label="variance of the noise")
right.set(xscale="log", xlabel="psi", ylabel="number of polynomials and terms")
right.legend(frameon=False, fontsize=11)
right.spines[["top", "right"]].set_visible(False)
