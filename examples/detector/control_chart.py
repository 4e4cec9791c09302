"""
A control chart with reasons
============================

Two streams of water mix and are heated. The detector has learnt the balances from normal rows. From row 150 on a flow
meter reads a little too much, from row 220 on the heater has lost power: the chart says when, the bars which sensor.
"""

import numpy as np
import pandas as pd

from vanishing import VanishingIdealDetector


def run_plant(m, seed, heater=1.0):
    rng = np.random.default_rng(seed)
    F1, F2, Q = rng.uniform(2, 6, m), rng.uniform(1, 5, m), rng.uniform(50, 300, m)
    T1, T2 = rng.uniform(10, 30, m), rng.uniform(40, 80, m)
    T3 = (F1 * T1 + F2 * T2) / (F1 + F2)
    T4 = T3 + heater * Q / (F1 + F2)
    clean = pd.DataFrame({"F1": F1, "F2": F2, "F3": F1 + F2, "T1": T1, "T2": T2, "T3": T3, "T4": T4, "Q": Q})
    return clean + 0.01 * clean.std().to_numpy() * rng.normal(size=clean.shape)


detector = VanishingIdealDetector(contamination=0.002).fit(run_plant(2000, seed=0))
biased = run_plant(70, seed=2)
biased["F1"] += 0.15
today = pd.concat([run_plant(150, seed=1), biased, run_plant(80, seed=3, heater=0.9)], ignore_index=True)
print(detector.explain(today.iloc[200]).head(3).to_string(index=False))

figure = detector.plot_chart(today)
