"""
Larger than memory
==================

Files of 200,000 rows each, read block by block: the time of a fit grows with the rows, its memory does not.
"""

import tempfile
import time
import tracemalloc
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from vanishing import OAVI, open_rows

folder, rng = Path(tempfile.mkdtemp()), np.random.default_rng(0)
for part in range(32):
    p, T = rng.uniform(1.0, 3.0, 200_000), rng.uniform(280.0, 320.0, 200_000)
    np.save(folder / f"part-{part:02d}.npy", np.column_stack([p, 0.0821 * T / p * rng.normal(1, 0.001, T.size), T]))


def measure(count):
    rows = open_rows(sorted(folder.glob("*.npy"))[:count], scale=True)
    tracemalloc.start()
    start = time.process_time()
    model = OAVI(psi=1e-5, max_degree=2, n_jobs=1).fit(rows)
    print(f"{rows.n_samples:,} rows:", model.generators_.in_units(rows.scaler).monic()[0].to_text(3), "= 0")
    return rows.n_samples / 1e6, time.process_time() - start, tracemalloc.get_traced_memory()[1] / 1e6


millions, seconds, megabytes = np.array([measure(count) for count in (1, 1, 4, 8, 16, 24, 32)][1:]).T
figure, axes = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
axes[0].plot(millions, seconds, "o-", color="#0072b2")
axes[0].set(xlabel="million rows", ylabel="CPU seconds of a fit", ylim=(0, None))
axes[1].plot(millions, 24 * millions, "--", color="0.5", label="the rows")
axes[1].plot(millions, megabytes, "o-", color="#d55e00", label="peak memory of the fit")
axes[1].set(xlabel="million rows", ylabel="megabytes", ylim=(0, None))
axes[1].legend(frameon=False, fontsize=12)
