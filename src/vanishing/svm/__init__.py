"""The l1-penalised linear SVM as sums over rows.

``sums`` reads the data, ``newton`` is the method with the small problem of a step, ``estimator`` the scikit-learn
classifier.
"""

from .estimator import L1SVC, svm_path, svms_along
from .newton import Hyperplane, duality_gap, hyperplanes
from .sums import SquaredHinge, Sums

__all__ = ["L1SVC", "Hyperplane", "SquaredHinge", "Sums", "duality_gap", "hyperplanes", "svm_path", "svms_along"]
