"""
Merging the moments of sites
============================

Three sites measure parts of the same orbit and may not share rows. Alone, each finds a conic that fits its own arc
(dotted). They share sums, a matrix of 6 x 6 numbers each; the sum of the sums has the orbit of all (black).
"""

import matplotlib.pyplot as plt
import numpy as np

from vanishing import ABM, Moments

rng, sigma = np.random.default_rng(1), 0.008
ideal = ABM(psi=1.5 * sigma**2, normalization="gradient", max_degree=2)
grid = np.meshgrid(np.linspace(-0.02, 1.02, 400), np.linspace(-0.02, 1.02, 400))
table = np.column_stack([axis.ravel() for axis in grid])
figure, ax = plt.subplots(figsize=(7.5, 6.8), layout="constrained")


def draw(generator, **style):
    ax.contour(*grid, generator.evaluate(table).reshape(400, 400), levels=[0], **style)


together = Moments(n_features=2, degree=2)
for site, colour in enumerate(("#0072b2", "#009e73", "#d55e00")):
    angle = rng.uniform(2.1 * site, 2.1 * site + 1.2, 200)
    orbit = np.column_stack([np.cos(angle), 0.55 * np.sin(angle)]) @ [[0.8, 0.6], [-0.6, 0.8]]
    rows = 0.5 + 0.45 * orbit + rng.normal(0, sigma, orbit.shape)
    moments = Moments(n_features=2, degree=2).update(rows)
    draw(ideal.fit(moments).generators_[0], colors=colour, linestyles="dotted", linewidths=2.5)
    ax.scatter(*rows.T, s=10, color=colour, label=f"site {site + 1}")
    together.merge(moments)
draw(ideal.fit(together).generators_[0], colors="black", linewidths=2.5)
print(together, "\n", ideal.generators_.monic()[0].to_text(3), "= 0")
ax.legend(loc="upper left", fontsize=12, markerscale=2)
ax.set(aspect="equal")
ax.set_title("dotted: what each site finds alone\nblack: from the sum of their moments", loc="left", fontsize=12)
