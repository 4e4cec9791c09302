"""
A decision boundary, and the generators behind it
=================================================

Two classes near two curves that cross. The classifier finds a polynomial for each (dashed), and weighs how far a point
is from either. The boundary (black) is a formula in these two.
"""

import matplotlib.pyplot as plt
import numpy as np

from vanishing import OAVI, VanishingIdealClassifier

rng = np.random.default_rng(0)
angle, s = rng.uniform(0, 2 * np.pi, 500), rng.uniform(-1.4, 1.4, 500)
circle = np.column_stack([np.cos(angle), np.sin(angle)])
parabola = np.column_stack([s, 0.9 * s**2 - 0.5])
X = np.concatenate([circle, parabola]) + rng.normal(0, 0.08, (1000, 2))
y = np.repeat(["circle", "parabola"], 500)
ideal = OAVI(psi=0.0015, normalization="gradient", max_degree=2)
clf = VanishingIdealClassifier(ideal, C=1.0, append_input=False).fit(X, y)
print(clf)

figure, ax = plt.subplots(figsize=(8.5, 6.5), layout="constrained")
grid = np.meshgrid(np.linspace(-1.8, 1.8, 400), np.linspace(-1.6, 1.6, 400))
table = np.column_stack([axis.ravel() for axis in grid])
score = clf.decision_function(table).reshape(grid[0].shape)
ax.contourf(*grid, np.clip(score, -2, 2), levels=np.linspace(-2, 2, 21), cmap="PuOr", alpha=0.5)
ax.contour(*grid, score, levels=[0], colors="black", linewidths=2.5)
for label, colour in (("circle", "#7f3b08"), ("parabola", "#542788")):
    ax.scatter(*X[y == label].T, s=12, color=colour, linewidths=0, label=label)
    for generator in (g for g in clf.generators_ if g.label == label):
        values = generator.polynomial.evaluate(table).reshape(grid[0].shape)
        ax.contour(*grid, values, levels=[0], colors=colour, linestyles="dashed", linewidths=2)
ax.legend(loc="upper right", markerscale=2)
ax.set(aspect="equal", title="black: decision boundary; dashed: the generators of each class")
