"""Curves found in noisy points: python examples/zero_sets.py docs/zero_sets.png  (needs the extra `plots`)."""

import sys

import matplotlib as mpl
import numpy as np

mpl.use("Agg")
import matplotlib.pyplot as plt

from vanishing import OAVI
from vanishing.plots import plot_zero_set

rng = np.random.default_rng(0)
t = rng.uniform(0, 2 * np.pi, 1500)
s = t / (2 * np.pi)
curves = {  # points, degree to look up to, psi
    "ellipse": (0.5 + np.column_stack([0.45 * np.cos(t), 0.25 * np.sin(t)]) @ [[0.8, 0.6], [-0.6, 0.8]], 2, 3e-6),
    "lemniscate": (
        0.5 + 0.45 * np.column_stack([np.cos(t), np.sin(t) * np.cos(t)]) / (1 + np.sin(t) ** 2)[:, None],
        4,
        1e-7,
    ),
    "cubic": (np.column_stack([s, 0.5 + 6 * (s - 0.15) * (s - 0.5) * (s - 0.85)]), 3, 3e-6),
}
figure, axes = plt.subplots(1, 3, figsize=(9, 3.1), layout="constrained")
for ax, (name, (X, degree, psi)) in zip(axes, curves.items(), strict=True):
    noisy = np.clip(X + rng.normal(0, 0.0005, X.shape), 0, 1)
    G = OAVI(psi, max_degree=degree).fit(noisy).generators_
    best = int(np.argmin(G.mse))
    plot_zero_set(G[[best]], noisy, ax=ax)
    ax.set_title(f"{name}: degree {G[best].degree}, {len(G[best].coef)} terms", loc="left", fontsize=10)
    ax.set_aspect("equal")
figure.savefig(sys.argv[1] if len(sys.argv) > 1 else "zero_sets.png", dpi=90)
