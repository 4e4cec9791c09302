"""HTML reports about models: one file without network, fonts or scripts from elsewhere.

``markup`` makes elements from text, which it escapes; ``mathml`` writes polynomials as mathematics, ``figures`` embeds
pictures of :mod:`vanishing.plots`, ``tables`` makes tables to sort and search, ``glance`` looks at the rows in one
pass and ``checks`` at equations on them; ``page`` puts a page together, and ``reported`` gives models their method
``report``. What a page says about a kind of model stands beside that kind, in its module ``story``.
"""

from .page import HtmlReport
from .reported import Given, Reported, write_report

__all__ = ["Given", "HtmlReport", "Reported", "write_report"]
