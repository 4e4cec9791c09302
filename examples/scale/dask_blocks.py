"""
Four million rows on Dask
=========================

The rows are made where they are needed, in blocks, and never exist in one place. A fit collects sums of small matrices
from them; the picture collects a histogram.
"""

import dask.array as da
import matplotlib.pyplot as plt
import numpy as np

from vanishing import ABM

random, size = da.random.default_rng(0), {"size": 4_000_000, "chunks": 500_000}
angle = random.uniform(0, 2 * np.pi, **size)
x = 0.5 + 0.4 * da.cos(angle) + random.normal(0, 0.01, **size)
y = 0.5 + 0.4 * da.sin(angle) * da.cos(angle) + random.normal(0, 0.01, **size)
X = da.stack([x, y], axis=1).rechunk((500_000, 2))

G = ABM(psi=1.1e-4, normalization="gradient", max_degree=4).fit(X).generators_
print(f"{X.shape[0]:,} rows in {X.numblocks[0]} blocks: {G[0].to_text(2)} = 0")

across, up = np.linspace(0.03, 0.97, 471), np.linspace(0.22, 0.78, 281)
counts, *_ = da.histogram2d(X[:, 0], X[:, 1], bins=[across, up])
figure, ax = plt.subplots(figsize=(9.5, 5.2), layout="constrained")
counts = np.ma.masked_equal(counts.compute().T, 0)
image = ax.pcolormesh(across, up, counts, cmap="cividis", norm="log", rasterized=True)
grid = np.meshgrid(across, up)
values = G[0].evaluate(np.column_stack([axis.ravel() for axis in grid])).reshape(grid[0].shape)
ax.contour(*grid, values, levels=[0], colors="#d55e00", linewidths=2.5)
figure.colorbar(image, ax=ax, label="rows in a cell")
ax.set(aspect="equal", xlabel="x", ylabel="y")
ax.set_title("4,000,000 rows, and the equation found in them", loc="left", fontsize=13)
