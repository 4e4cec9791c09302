"""HTML reports about models: one file without network, fonts or scripts from elsewhere.

``markup`` makes elements and escapes text; ``mathml`` writes polynomials as mathematics, ``figures`` embeds pictures of
:mod:`vanishing.plots`, ``tables`` makes tables to sort and search. ``glance`` summarises the rows in one pass, and
``checks`` evaluates equations on them in another. ``page`` puts a page together, and ``reported`` gives models their
method ``report``. The text about a kind of model is in the module ``story`` beside that kind.
"""

from .page import HtmlReport
from .reported import Given, Reported, write_report

__all__ = ["Given", "HtmlReport", "Reported", "write_report"]
