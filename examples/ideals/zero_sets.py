"""
Curves in noisy points
======================

Four sets of 400 points with noise, and the polynomial of lowest degree that vanishes on each within the noise. With
``normalization="gradient"``, psi is the mean squared distance of the points from the curve, so a little above the
variance of the noise is right for all of them.
"""

import matplotlib.pyplot as plt
import numpy as np

from vanishing import ABM
from vanishing.plots import plot_zero_set

rng = np.random.default_rng(0)
t, s = rng.uniform(0, 2 * np.pi, 400), rng.uniform(-1.3, 1.3, 400)
curves = {
    "ellipse": np.column_stack([np.cos(t), 0.5 * np.sin(t)]) @ [[0.8, 0.6], [-0.6, 0.8]],
    "lemniscate": np.column_stack([np.cos(t), np.sin(t) * np.cos(t)]) / (1 + np.sin(t) ** 2)[:, None],
    "node": np.column_stack([s**2 - 1, s * (s**2 - 1)]),
    "deltoid": np.column_stack([2 * np.cos(t) + np.cos(2 * t), 2 * np.sin(t) - np.sin(2 * t)]) / 3,
}
sigma = 0.006
figure, axes = plt.subplots(1, 4, figsize=(13, 3.8), layout="constrained")
for ax, (name, X) in zip(axes, curves.items(), strict=True):
    X = 0.5 + 0.4 * X + rng.normal(0, sigma, X.shape)
    G = ABM(psi=1.1 * sigma**2, normalization="gradient", max_degree=4).fit(X).generators_
    ax.scatter(*X.T, s=14, color="#e69f00", linewidths=0, zorder=1)
    plot_zero_set(G[:1], X, ax=ax)
    ax.set_title(f"{name}: degree {G[0].degree}", loc="left", fontsize=13)
    ax.set(xlim=(0, 1), ylim=(0, 1), aspect="equal", xlabel="", ylabel="")
