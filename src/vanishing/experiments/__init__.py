"""The paper's experiments, compared with the published results.

:func:`reproduce` runs them, and so does the command ``vanishing reproduce``. It stores every finished run in a folder,
and a second call resumes from there.
"""

from ._experiments import EXPERIMENTS, reproduce
from ._protocols import ALGORITHMS, PROTOCOLS, joint_sparsity, published_split
from ._published import PublishedRun, published_runs
from ._report import Report, Table

__all__ = [
    "ALGORITHMS",
    "EXPERIMENTS",
    "PROTOCOLS",
    "PublishedRun",
    "Report",
    "Table",
    "joint_sparsity",
    "published_runs",
    "published_split",
    "reproduce",
]
