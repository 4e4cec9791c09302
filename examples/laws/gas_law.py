"""
A gas law, with noise and units
===============================

Pressure, volume, amount and temperature of a gas, each with an error of 2% of its spread. The law is found with its
constant and a standard error; nothing is given but the table and the units of its columns.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from vanishing import discover

rng = np.random.default_rng(0)
V, n, T = rng.uniform(0.02, 0.06, 5000), rng.uniform(1, 3, 5000), rng.uniform(280, 400, 5000)
true = pd.DataFrame({"p": 8.314 * n * T / V, "V": V, "n": n, "T": T})
table = true + rng.normal(size=true.shape) * 0.02 * true.std().to_numpy()

law = discover(table, units={"p": "Pa", "V": "m^3", "n": "mol", "T": "K"})[0]
print(law)

figure, ax = plt.subplots(figsize=(9, 4.8), layout="constrained")
V = np.linspace(0.0205, 0.0595, 200)
for n, colour in ((1.2, "#0072b2"), (2.0, "#009e73"), (2.8, "#d55e00")):
    near = table[(abs(table.n - n) < 0.1) & (abs(table["T"] - 340) < 20)]
    ax.scatter(1000 * near.V, near.p / 1000, s=22, color=colour, alpha=0.5, linewidths=0)
    pressure = law.predict("p", pd.DataFrame({"p": 1e5, "V": V, "n": n, "T": 340.0})) / 1000
    ax.plot(1000 * V, pressure, color=colour, linewidth=2.5)
    ax.text(60.5, pressure[-1], f"{n} mol", color=colour, va="center", fontsize=13)
equation = law.equation.replace("^3", "³").replace(" * n*T", " · n T").replace("p*V", "p V").replace("*", " ")
ax.text(31, 370, equation, fontsize=19)
error = law.constants()["n*T"][1]
ax.text(31, 335, f"± {error:.3f}, found in 5,000 noisy rows with four columns", fontsize=12, color="0.35")
ax.set(xlabel="volume in litres", ylabel="pressure in kPa, at 340 K", xlim=(19, 66), ylim=(0, 430))
ax.spines[["top", "right"]].set_visible(False)
