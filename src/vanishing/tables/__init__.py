"""Tables with texts and gaps, as numbers.

``columns`` reads the columns of frames and Arrow tables, ``encoder`` counts their values and turns them into numbers,
``files`` does so for tables on disk, in passes, and ``pipelines`` takes fitted pipelines apart.
"""

from .encoder import TableEncoder

__all__ = ["TableEncoder"]
