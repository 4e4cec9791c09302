"""A gas: pressure, volume, amount, temperature, with 1% of noise in every column."""

import numpy as np
import pandas as pd

rng = np.random.default_rng(0)
n, T, V = rng.uniform(1, 3, 2000), rng.uniform(280, 400, 2000), rng.uniform(0.02, 0.06, 2000)
table = pd.DataFrame({"p": 8.314 * n * T / V, "V": V, "n": n, "T": T})
table += rng.normal(size=table.shape) * 0.01 * table.std().to_numpy()
