"""Normal and new rows of a small plant, and a table of shipments."""

import numpy as np
import pandas as pd


def plant(m, seed):
    rng = np.random.default_rng(seed)
    flow, heat = rng.uniform(2, 6, m), rng.uniform(50, 300, m)
    rise = heat / flow
    return pd.DataFrame({"flow": flow, "heat": heat, "rise": rise + rng.normal(0, 0.1, m)})


normal, new, more = plant(1000, 0), plant(400, 1), plant(300, 2)
rng = np.random.default_rng(0)
shipments = pd.DataFrame({"price": rng.integers(100, 9000, 800) / 100, "quantity": rng.integers(1, 9, 800) * 1.0})
shipments["discount"] = rng.integers(0, 300, 800) / 100
shipments["total"] = shipments.price * shipments.quantity - shipments.discount
new_shipments = shipments.sample(200, random_state=0)
