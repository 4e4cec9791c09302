"""The method ``report`` of models: it summarises the rows, asks the model for its story, and writes the page."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from .._typing import Array
from ..rows.protocol import Rows
from ..tables.pipelines import take_apart
from .glance import Glance, describe_columns, look_at
from .page import Clock, HtmlReport, Section, Story, write_page


class Given(NamedTuple):
    """The rows of a report, the names of their columns, and, if they have labels, their classes.

    Blocks of the rows label class ``classes[k]`` with ``keys[k]``. An ideal that was fitted to scaled columns needs the
    ``scaler`` if the rows are not scaled. Rows may have ``times``.
    """

    rows: Rows
    names: tuple[str, ...]
    classes: Array | None = None
    keys: Sequence[Any] = ()
    scaler: Any = None
    times: Array | None = None


@dataclass(frozen=True)
class Subject:
    """The subject of a story: the rows, their summary, and a clock for its parts."""

    given: Given
    seen: Glance
    clock: Clock

    @property
    def rows(self) -> Rows:
        """All rows."""
        return self.given.rows

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return self.given.names


class Reported:
    """A model that writes reports about itself."""

    def report(
        self, X: Any, y: Any = None, path: str | os.PathLike[str] | None = None, *, title: str | None = None
    ) -> HtmlReport:
        """A page about this model and rows: equations, checks on these rows, pictures, and the data at a glance.

        One HTML file without network access, to be read in any browser, on a phone or on paper. Give rows that the
        model was not fitted to, and the checks are held-out ones. All rows count in the checks, in passes, so they may
        be larger than memory; pictures show up to 5,000 of them. Needs ``pip install 'vanishing[report]'``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or another data source
        y : array-like of shape (n_samples,), optional
            Labels, for classifiers; rows on disk bring their own.
        path : str or path, optional
            File to write the page to.
        title : str, optional
            Heading of the page.

        Returns
        -------
        HtmlReport
            Shown by notebooks; ``save(path)`` writes it.
        """
        return write_report(self, self._report_rows(X, y), path, title)

    def _report_rows(self, X: Any, y: Any) -> Given:
        """The rows of a report, with labels if there are any."""
        raise NotImplementedError

    def _report_story(self, subject: Subject) -> Story:
        """The content of the page about the model and the rows."""
        raise NotImplementedError


def write_report(
    model: Reported, given: Given, path: str | os.PathLike[str] | None = None, title: str | None = None
) -> HtmlReport:
    """The report of a model on given rows; with a ``path``, it is also written to that file."""
    clock = Clock()
    with clock.part("looking at the rows"):
        seen = look_at(given.rows)
        data = Section("Data at a glance", describe_columns(seen, given.names))
    story = model._report_story(Subject(given, seen, clock))
    story = replace(story, title=title or story.title, sections=[*story.sections, data])
    parameters = model.get_params(deep=False) if hasattr(model, "get_params") else {}
    page = HtmlReport(write_page(story, clock, parameters))
    if path is not None:
        page.save(path)
    return page


def report_on(
    model: Any, X: Any, y: Any = None, path: str | os.PathLike[str] | None = None, *, title: str | None = None
) -> HtmlReport:
    """A page about a model and rows, also for a pipeline of encoders, scalers and imputers before a model.

    As :meth:`Reported.report`; the page of a pipeline shows its last step, on the columns that the steps before make.
    ``vanishing.report`` is this function, too.

    Parameters
    ----------
    model : fitted model, or Pipeline that ends in one
    X : array-like of shape (n_samples, n_features)
        Rows as the pipeline takes them.
    y : array-like of shape (n_samples,), optional
        Labels, for classifiers.
    path : str or path, optional
        File to write the page to.
    title : str, optional
        Heading of the page.

    Returns
    -------
    HtmlReport

    Examples
    --------
    >>> import pandas as pd
    >>> import vanishing
    >>> from sklearn.pipeline import make_pipeline
    >>> table = pd.DataFrame({"color": ["red", "blue"] * 100, "size": [1.0, 2.0, 3.0, 4.0] * 50})
    >>> y = (table["color"] == "red") & (table["size"] < 2)
    >>> steps = vanishing.TableEncoder(), vanishing.VanishingIdealClassifier()
    >>> page = vanishing.report(make_pipeline(*steps).fit(table, y), table, y)
    >>> "color=red" in page.html
    True
    """
    last, rows, _ = take_apart(model, X)
    if not hasattr(last, "report"):
        kind = type(last).__name__
        raise ValueError(f"{kind} has no report: give a model of vanishing, or a pipeline that ends in one.")
    page: HtmlReport = last.report(rows, y, path, title=title)
    return page
