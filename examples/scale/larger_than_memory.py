"""A law from files larger than memory: write some, fit, look at the equation, write features.

python examples/larger_than_memory.py            # needs pip install 'vanishing[parquet,progress]'
"""

import tempfile
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.parquet

from vanishing import OAVI, open_rows, show_progress

folder = Path(tempfile.mkdtemp())
rng = np.random.default_rng(0)
for day in range(5):  # the ideal gas law, in units of its own, with a tenth of a percent of noise
    pressure, temperature = rng.uniform(1.0, 3.0, 1_000_000), rng.uniform(280.0, 320.0, 1_000_000)
    volume = 0.0821 * temperature / pressure * rng.normal(1.0, 0.001, 1_000_000)
    table = pyarrow.table({"pressure": pressure, "volume": volume, "temperature": temperature})
    pyarrow.parquet.write_table(table, folder / f"day-{day}.parquet")

rows = open_rows(folder, scale=True)
with show_progress():
    model = OAVI(psi=1e-5, max_degree=2).fit(rows)
print(rows)
print(model.generators_.in_units(rows.scaler).monic()[0])  # pressure * volume = 0.0821 * temperature, nearly

model.transform(rows).write(folder / "features.parquet")
print(f"{len(model.generators_)} features of {rows.n_samples:,} rows in {folder / 'features.parquet'}")
