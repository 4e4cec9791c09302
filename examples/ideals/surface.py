"""
An implicit surface
===================

Points near a torus, in no order and with noise. The equation that is found has degree 4; the surface is drawn where it
vanishes.
"""

import matplotlib.pyplot as plt
import numpy as np

from vanishing import discover
from vanishing.plots import plot_zero_set

rng = np.random.default_rng(0)
u, v = rng.uniform(0, 2 * np.pi, (2, 3000))
torus = np.column_stack([(2 + np.cos(u)) * np.cos(v), (2 + np.cos(u)) * np.sin(v), np.sin(u)])
points = torus + rng.normal(0, 0.02, torus.shape)

laws = discover(points, names=["x", "y", "z"])
print(laws)

figure = plt.figure(figsize=(8, 6.5), layout="constrained")
ax = plot_zero_set(laws[0], points, ax=figure.add_subplot(projection="3d"))
ax.set_title(f"a surface of degree {laws[0].degree}, found in {len(points):,} points", loc="left", fontsize=13)
ax.set(xlim=(-3, 3), ylim=(-3, 3), zlim=(-2, 2))
ax.set_box_aspect((3, 3, 2), zoom=1.1)
ax.view_init(elev=38, azim=-60)
