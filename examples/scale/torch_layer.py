"""
A layer of PyTorch
==================

A fitted ideal is a layer whose coefficients can be trained. The instrument has been moved: the layer that was fitted
to the old rows follows the new ones in some steps of gradient descent.
"""

import matplotlib.pyplot as plt
import numpy as np
import torch

from vanishing import OAVI
from vanishing.exports import to_torch

rng = np.random.default_rng(0)
angle = rng.uniform(0, 2 * np.pi, 400)
orbit = np.column_stack([np.cos(angle), np.sin(angle)])
old, new = (c + r * orbit + rng.normal(0, 0.006, orbit.shape) for c, r in ((0.45, 0.3), (0.55, 0.38)))
circle = OAVI(psi=2e-4, normalization="gradient", max_degree=2).fit(old).generators_[:1]
layer = to_torch(circle, trainable=True)
optimiser = torch.optim.Adam(layer.parameters(), lr=0.003)
grid = np.meshgrid(np.linspace(0, 1, 300), np.linspace(0, 1, 300))
table = torch.tensor(np.column_stack([axis.ravel() for axis in grid]))
figure, ax = plt.subplots(figsize=(7.5, 6.8), layout="constrained")
ax.scatter(*old.T, s=8, color="0.75", label="rows that the ideal was fitted to")
ax.scatter(*new.T, s=8, color="#56b4e9", label="new rows")
for step in range(401):
    if step in (0, 10, 25, 50, 400):
        values = layer(table).detach().numpy().reshape(300, 300)
        colour = plt.cm.plasma(0.85 - 0.85 * step**0.3 / 6.1)
        ax.contour(*grid, values, levels=[0], linewidths=2, colors=[colour])
        ax.plot([], [], color=colour, linewidth=2, label=f"layer after {step} steps")
    optimiser.zero_grad()
    (layer(torch.tensor(new)) ** 2).mean().backward()
    optimiser.step()
ax.legend(loc="upper left", fontsize=10)
ax.set(aspect="equal", xlim=(0, 1), ylim=(0, 1.3))
