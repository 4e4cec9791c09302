"""
The exact ideal of points, against a computer algebra system
============================================================

Eight points. With psi = 0 OAVI finds the reduced Groebner basis of their vanishing ideal, in floating point. SymPy
intersects the ideals of the single points by elimination, in exact arithmetic, and arrives at the same. The two cubics
meet in a ninth point, as Cayley and Bacharach knew; another generator tells it from the others.
"""

import matplotlib.pyplot as plt
import numpy as np
import sympy

from vanishing import OAVI
from vanishing.plots import plot_zero_set

points = np.array([[1, 5], [2, 1], [3, 7], [4, 4], [5, 2], [6, 6], [7, 3], [8, 8]]) / 8
G = OAVI(psi=0).fit(points).generators_
x, y, w = sympy.symbols("x0 x1 w")
basis = [sympy.Integer(1)]
for a, b in points:  # ideals I and J meet in the elimination ideal of w I + (1 - w) J
    joint = [w * g for g in basis] + [(1 - w) * (x - sympy.Rational(a)), (1 - w) * (y - sympy.Rational(b))]
    basis = [g for g in sympy.groebner(joint, w, x, y, order="lex").exprs if not g.has(w)]
theirs = [sympy.Poly(g, y, x) for g in sympy.groebner(basis, y, x, order="grlex").exprs]
ours = [sympy.Poly(g, y, x) for g in G.to_sympy()]
leading = [sorted(g.monoms(order="grlex")[0] for g in polynomials) for polynomials in (ours, theirs)]
pairs = zip(*(sorted(P, key=lambda g: g.monoms(order="grlex")[0]) for P in (ours, theirs)), strict=True)
error = max(abs(float(c)) for one, other in pairs for c in (one - other).coeffs())
print(f"the same leading terms: {leading[0] == leading[1]}; largest difference of coefficients: {error:.0e}")

lowest = G[[k for k, degree in enumerate(G.degrees) if degree == G.degrees.min()]]
figure, ax = plt.subplots(figsize=(7.5, 7), layout="constrained")
plot_zero_set(lowest, points, ax=ax)
ax.scatter(*points.T, color="black", s=110, zorder=5)
ax.get_legend().remove()
ax.set_title("the two generators of degree 3 vanish at all points", loc="left", fontsize=13)
ax.set(aspect="equal")
