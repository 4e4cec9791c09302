"""
A conserved quantity
====================

Twenty runs of a ball that rolls in a double well, each from another start, sampled with noise. Along each run something
stays constant: ``groups`` asks for it, without any derivative.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.integrate import solve_ivp

from vanishing import discover

rng = np.random.default_rng(0)
runs, rows = [], []
for run in range(20):
    start, times = rng.uniform(-1.6, 1.6, 2), np.sort(rng.uniform(0, 12, 100))
    path = solve_ivp(lambda _, s: [s[1], s[0] - s[0] ** 3], (0, 12), start, t_eval=times, rtol=1e-9).y.T
    rows.append(path + rng.normal(0, 0.01, path.shape))
    runs += [run] * len(path)
X = np.concatenate(rows)

law = discover(X, names=["x", "v"], groups=np.array(runs))[0]
print(law)

figure, ax = plt.subplots(figsize=(8, 5.5), layout="constrained")
x, v = np.meshgrid(np.linspace(-2, 2, 300), np.linspace(-2, 2, 300))
energy = law.evaluate(np.column_stack([x.ravel(), v.ravel()])).reshape(x.shape)
levels = np.sort([np.median(law.evaluate(path)) for path in rows])
ax.contour(x, v, energy, levels=levels, cmap="cividis", linewidths=1.2)
ax.scatter(*X.T, c=np.repeat([np.median(law.evaluate(path)) for path in rows], 100), cmap="cividis", s=9)
ax.set(xlabel="position x", ylabel="velocity v", aspect="equal")
ax.set_title(f"found: {law.equation}", loc="left", fontsize=14)
ax.spines[["top", "right"]].set_visible(False)
