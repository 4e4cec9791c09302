"""Ablation of the detector's rules: each number halved and doubled. ``python benchmarks/ablation_detection.py``.

Columns: mean AUROC of the 18 tables of ADBench trained on normal rows; alarms among faulty rows of the heating plant at
a true 1%; Tennessee Eastman, the share of normal rows flagged at a nominal 1% and of faulty rows detected at a true 1%;
normal rows flagged in three plants over time; F1 of the evidence and false alarms of rows on the pump rig. Rules of
series do not touch independent rows. Tables come from ``VANISHING_DATA``.
"""

from __future__ import annotations

import importlib
import os
import sys
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
    ("equations", "TIGHT"): (5e-4, 2e-3),
    ("equations", "_STEP"): (1.5, 6.0),
    ("equations", "_SLACK"): (0.25, 1.0),
    ("equations", "_MOST_TERMS"): (6, 24),
    ("equations", "_HEAVY_TAILS"): (1.2, 1e9),
    ("christoffel", "MOST_TERMS"): (450, 1800),
    ("regimes", "_SEEDS"): (2, 10),
    ("regimes", "MOST_CENTRES"): (64, 256),
    ("regimes", "NARROW"): (0.0, 0.3),
    ("regimes", "TIGHT"): (1e-4, 1e-2),
    ("series", "N_BLOCKS"): (5, 20),
    ("series", "GAP"): (0.25, 1.0),
    ("series", "WIDE"): (2.5, 10.0),
    ("series", "OVERFIT"): (0.125, 0.5),
    ("series", "TIGHT"): (0.0, 1e-2),
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


def independent_rows():
    """Mean AUROC of ADBench, and alarms among faulty rows of the heating plant at a true 1%."""
    areas = [roc_auc_score(y, detection.ours(train, test)) for _, train, test, y in detection.tables(all_rows=False)]
    found = []
    for seed in range(2):
        model = VanishingIdealDetector().fit(plant(1500, seed))
        limit = np.quantile(model.score_samples(plant(2000, 50 + seed)), 0.01)
        found += [np.mean(model.score_samples(plant(500, 90 + seed, fault)) < limit) for fault in FAULTS]
    return f"{np.mean(areas):.4f} | {np.mean(found):.1%}"


def rows_in_time():
    """Tennessee Eastman, three plants and the pump rig."""
    flagged, detected = detection.tennessee_rows()
    alarms = []
    for seed in (100, 101, 102):
        rows = series_plant(4000, seed)
        alarms.append(np.mean(VanishingIdealDetector().fit(rows[:2000]).predict(rows[2000:]) == -1))
    f1, false_alarms = detection.skab_rows()
    return f"{flagged:.2%} | {detected:.1%} | {np.mean(alarms):.2%} | {f1:.3f} | {false_alarms:.1%}"


def main():
    warnings.simplefilter("ignore")
    print(
        "| rule | value | ADBench | heating plant | Tennessee, flagged | detected | plants | rig, F1 | false alarms |"
    )
    print("|---" * 9 + "|")

    def line(name, value):
        independent = "same | same" if name.startswith("series.") and name != "series.WIDE" else independent_rows()
        print(f"| {name} | {value:g} | {independent} | {rows_in_time()} |", flush=True)

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
