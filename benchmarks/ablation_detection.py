"""Ablation of the detector's rules: each number halved and doubled. ``python benchmarks/ablation_detection.py``.

Columns: mean AUROC of the 18 tables of ADBench trained on normal rows, alarms among faulty rows of the heating plant at
a true 1%, Tennessee Eastman (share of normal rows flagged at a nominal 1%, and of faulty rows detected at a true 1%),
and the share of normal rows flagged in a plant over time. Tables come from ``VANISHING_DATA``.
"""

from __future__ import annotations

import importlib
import os
import sys
import time
import warnings
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from sklearn.metrics import roc_auc_score

from vanishing import VanishingIdealDetector

sys.path.insert(0, str(Path(__file__).parent))
import detection

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "detection"))
from plant import FAULTS, plant, series_plant

RULES = {  # module and name of each number, with the values that are tried beside its own
    ("equations", "_TIGHT"): (5e-4, 2e-3),
    ("equations", "_STEP"): (1.5, 6.0),
    ("equations", "_SLACK"): (0.25, 1.0),
    ("equations", "_MOST_TERMS"): (6, 24),
    ("equations", "_HEAVY"): (1.2, 1e9),
    ("equations", "_POINTS"): (150, 600),
    ("equations", "_FAR"): (15.0, 60.0),
    ("christoffel", "MOST_TERMS"): (450, 1800),
    ("regimes", "_SEEDS"): (2, 10),
    ("regimes", "_MOST_CENTRES"): (64, 256),
    ("regimes", "_MOST_COLUMNS"): (20, 80),
    ("regimes", "_HEAVY"): (0.0, 0.3),
    ("regimes", "_FLAT"): (5e-4, 2e-3),
    ("series", "N_BLOCKS"): (5, 20),
    ("series", "GAP"): (0.25, 1.0),
    ("series", "OVERFIT"): (0.125, 0.5),
    ("series", "DRIFTING"): (0.3, 1.2),
    ("series", "DETERMINED"): (0.8, 0.95),
}


@contextmanager
def changed(module, name, value):
    place = importlib.import_module(f"vanishing.detection.{module}")
    before = getattr(place, name)
    setattr(place, name, value)
    try:
        yield
    finally:
        setattr(place, name, before)


def measure():
    """The figures of one setting, and the CPU time."""
    start = time.process_time()
    areas = [roc_auc_score(y, detection.ours(train, test)) for _, train, test, y in detection.tables(all_rows=False)]
    found = []
    for seed in range(2):
        model = VanishingIdealDetector().fit(plant(1500, seed))
        limit = np.quantile(model.score_samples(plant(2000, 50 + seed)), 0.01)
        found += [np.mean(model.score_samples(plant(500, 90 + seed, fault)) < limit) for fault in FAULTS]
    flagged, detected = detection.tennessee_rows()
    alarms = []
    for seed in range(3):
        rows = series_plant(4000, 100 + seed)
        alarms.append(np.mean(VanishingIdealDetector().fit(rows[:1500]).predict(rows[1500:]) == -1))
    return np.mean(areas), np.mean(found), flagged, detected, np.mean(alarms), time.process_time() - start


def main():
    warnings.simplefilter("ignore")
    print("| rule | value | ADBench | heating plant | Tennessee, flagged | detected | plant over time | CPU s |")
    print("|---" * 8 + "|")

    def line(name, value):
        a, b, c, d, e, t = measure()
        print(f"| {name} | {value:g} | {a:.4f} | {b:.1%} | {c:.2%} | {d:.1%} | {e:.2%} | {t:.0f} |", flush=True)

    line("as it is", np.nan)
    chosen = sys.argv[1:]
    for (module, name), values in RULES.items():
        if chosen and f"{module}.{name}" not in chosen:
            continue
        for value in values:
            with changed(module, name, value):
                line(f"{module}.{name.lstrip('_')}", value)


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
