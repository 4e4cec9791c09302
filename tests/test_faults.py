"""Faults while something is under way: what comes out is right, or a clear error, and no half of a file stays."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


# --- workers of a Dask cluster ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "level"), [("gram", 0), ("gram", 1), ("ideal", 1)])
def test_a_worker_killed_after_sums_were_made_changes_no_bit_while_progress_is_shown(name, level):
    pytest.importorskip("distributed", reason="needs distributed: pip install 'vanishing[dask]'")
    pytest.importorskip("tqdm", reason="needs tqdm: pip install 'vanishing[progress]'")
    chaos = runpy.run_path(str(BENCHMARKS / "chaos.py"))
    work = chaos["WORK"][name]
    expected = work(chaos["slow_blocks"](128, 0.0))
    found, n_killed = chaos["disturbed"](work, chaos["slow_blocks"](128, 0.02), level, 0.1)
    assert n_killed == 1
    np.testing.assert_array_equal(found, expected)
