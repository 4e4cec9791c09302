"""HTML reports about models: one file without network, fonts or scripts from elsewhere.

``vanishing.report(model, X, y)`` writes one; so does the method ``report`` of a model.

``markup`` makes elements and escapes text; ``mathml`` writes polynomials as mathematics, ``figures`` embeds pictures of
:mod:`vanishing.plots`, ``tables`` makes tables to sort and search. ``glance`` summarises the rows in one pass, and
``checks`` evaluates equations on them in another. ``page`` puts a page together, and ``reported`` gives models their
method ``report``. The text about a kind of model is in the module ``story`` beside that kind.
"""

import os
import sys
from types import ModuleType
from typing import Any

from .page import HtmlReport
from .reported import Given, Reported, report_on, write_report

__all__ = ["Given", "HtmlReport", "Reported", "report_on", "write_report"]


class _Callable(ModuleType):
    """The package of reports, which is also a function: ``vanishing.report(model, X, y)``."""

    def __call__(
        self, model: Any, X: Any, y: Any = None, path: str | os.PathLike[str] | None = None, *, title: str | None = None
    ) -> HtmlReport:
        """See :func:`report_on`."""
        return report_on(model, X, y, path, title=title)


sys.modules[__name__].__class__ = _Callable
