"""The paper's experiments, next to what was published.

One function runs them: :func:`reproduce`, which is also what ``vanishing reproduce`` calls. Results are kept in a
folder as they come, and a second call goes on from there.
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
