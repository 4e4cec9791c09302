"""Reports of classifiers and of one ideal per class: the rows with their labels."""

from __future__ import annotations

from typing import Any

from scipy.sparse import issparse
from sklearn.base import ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted

from ...report import Given, Reported
from ...rows.arrays import ArrayRows
from ...rows.labels import read_labelled
from ...rows.protocol import Rows
from ...rows.reading import finite_blocks, input_names, read_finite
from .explained import Explains

__all__ = ["ReportedClassifier", "ReportedPerClass"]


class _ReportedClasses(Reported):
    """A model of classes that writes reports about itself."""

    def _report_rows(self, X: Any, y: Any) -> Given:
        check_is_fitted(self)
        names = tuple(input_names(self))
        X = X.toarray() if issparse(X) else X
        if y is None and not (isinstance(X, Rows) and X.labelled):
            return Given(read_finite(self, X), names)
        data = read_labelled(clone(self), X, y, at_least=1)
        if isinstance(data.rows, ArrayRows):
            read_finite(self, X)  # with the columns of the fit
            return Given(data.rows, names, data.classes, data.keys)
        return Given(finite_blocks(self, data.rows), names, data.classes, data.keys)


class ReportedClassifier(Explains, _ReportedClasses, ClassifierMixin):  # type: ignore[misc]
    """A classifier that explains its decisions and writes reports about itself."""

    def _report_story(self, subject: Any) -> Any:
        from .story import classifier_story  # only reports need it

        return classifier_story(self, subject)


class ReportedPerClass(_ReportedClasses):
    """One ideal per class that writes reports about itself."""

    def _report_story(self, subject: Any) -> Any:
        from .per_class_story import per_class_story  # only reports need it

        return per_class_story(self, subject)
