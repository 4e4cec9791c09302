"""
The twisted cubic, two laws at once
===================================

A curve in space needs more than one equation. Noisy points of (t, t², t³) have three generators of degree 2; the curve
is where the surfaces of the first two meet.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from vanishing import OAVI
from vanishing.plots import plot_zero_set

rng = np.random.default_rng(0)
t = rng.uniform(0.02, 0.98, 600)
points = pd.DataFrame(np.column_stack([t, t**2, t**3]) + rng.normal(0, 0.004, (600, 3)), columns=["x", "y", "z"])
points = points.clip(0, 1)
G = OAVI(psi=4e-5, max_degree=2).fit(points).generators_
print(G)

figure = plt.figure(figsize=(8.5, 7), layout="constrained")
ax = plot_zero_set(G[:2], points, ax=figure.add_subplot(projection="3d"))
ax.scatter(*points.to_numpy().T, color="black", s=12, depthshade=False)
ax.set_title("two generators, and the points", loc="left", fontsize=13)
ax.view_init(elev=22, azim=-115)
