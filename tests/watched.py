"""Sources of rows that tests watch from outside: they count passes, or act before a pass or while a block is read."""

from __future__ import annotations

from vanishing.rows.disk import DiskRows
from vanishing.rows.protocol import Rows


class Watched(Rows):
    """The rows of another source; ``before(number)`` is called before each pass over them, counted from 1."""

    def __init__(self, source, before=lambda number: None):
        self.source, self.before, self.n_passes = source, before, 0
        for name in ("n_samples", "n_features", "feature_names", "labelled", "reading_dominates", "single_precision"):
            setattr(self, name, getattr(source, name))
        self.place, self.head = source.place, source.head

    def reduce(self, kernel, combine, cost):
        self.n_passes += 1
        self.before(self.n_passes)
        return self.source.reduce(kernel, combine, cost)

    def map(self, kernel, n_columns, cost, out=None):
        return self.source.map(kernel, n_columns, cost, out)


def interrupt_in(number):
    """A function for :class:`Watched` that raises KeyboardInterrupt before one of the passes."""

    def before(current):
        if current == number:
            raise KeyboardInterrupt

    return before


def rows_with_blocks(rows, convert):
    """The same rows on disk, whose reader makes ``convert(block, piece)`` of each block."""
    kind = type(rows.reader)

    class WatchedReader(kind):
        def __init__(self):
            vars(self).update(vars(rows.reader))

        def block(self, piece, **options):
            return convert(super().block(piece, **options), piece)

    return DiskRows(WatchedReader(), rows.n_jobs)
