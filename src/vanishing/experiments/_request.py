"""The checked request for an experiment, and the rows that it runs on."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from .._typing import Array, Float2D
from ..datasets import load, make_synthetic
from ._protocols import published_split

SYNTHETIC = "synthetic"


@dataclass(frozen=True)
class Request:
    """A request for an experiment: data sets, algorithms, number of runs, and options."""

    experiment: str
    data: tuple[str, ...]
    algorithms: tuple[str, ...]
    runs: int
    protocol: str
    quick: bool
    data_dir: str | None
    jobs: int
    psi: float | None  # None if it is tuned, or all are used

    @property
    def n_threads(self) -> int | None:
        """Threads of one task if ``jobs`` tasks run in parallel; None means all cores."""
        return None if self.jobs == 1 else max(1, (os.cpu_count() or 1) // self.jobs)

    @property
    def name(self) -> str:
        """Name of the folder for the results."""
        psi = "" if self.psi is None else f"-psi{self.psi:g}"
        return f"{self.experiment}-{self.protocol}{psi}{'-quick' if self.quick else ''}"

    @property
    def title(self) -> str:
        """Title of the report."""
        runs = f", {self.runs} run{'s' if self.runs > 1 else ''}" if self.runs else ""
        psi = "" if self.psi is None else f", psi = {self.psi:g}"
        return f"{self.experiment}, {self.protocol} protocol{psi}{runs}"


@cache
def dataset(name: str, data_dir: str | None = None) -> tuple[Float2D, Array]:
    """Rows and labels of a data set of the paper; cached, because many runs use them."""
    if name == SYNTHETIC:
        return make_synthetic(random_state=3)
    X, y = load(name, data_dir=data_dir, return_X_y=True)
    return X, y


@cache
def origin(name: str, data_dir: str | None = None) -> str:
    """A digest of the rows and labels of a data set."""
    digest = hashlib.sha256()
    for values in dataset(name, data_dir):
        digest.update(np.ascontiguousarray(values).tobytes())
    return digest.hexdigest()[:16]


def permuted(name: str, run: int, data_dir: str | None) -> tuple[Float2D, Array]:
    """All rows in the permutation of a run, scaled to [0, 1]."""
    X, y = dataset(name, data_dir)
    order = np.concatenate(published_split(len(y), run))
    low, high = X.min(axis=0), X.max(axis=0)
    return (X[order] - low) / np.where(high > low, high - low, 1.0), y[order]


def settings(request: Request) -> dict[str, Any]:
    """Settings that all results of a folder share."""
    return {"experiment": request.experiment, "protocol": request.protocol, "quick": request.quick}
