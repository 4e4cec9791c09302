"""Progress bars for passes and searches, off unless the user asks for them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Self

__all__ = ["Progress", "row_progress", "search_progress", "show_progress"]


class Progress:
    """Counts finished units of work; draws a bar on standard error if ``shown``.

    Examples
    --------
    >>> with Progress(2, "folds", shown=False) as progress:
    ...     progress.advance()
    """

    def __init__(self, total: int | None, what: str, *, shown: bool, unit: str = ""):
        self._bar: Any = None
        if shown:
            self._bar = _tqdm()(total=total, desc=what, unit=unit, unit_scale=bool(unit))

    @property
    def shown(self) -> bool:
        """Whether there is a bar."""
        return self._bar is not None

    def advance(self, n: int = 1) -> None:
        """Count ``n`` more units as finished."""
        if self._bar is not None:
            self._bar.update(n)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.close()


def _tqdm() -> Any:
    try:
        from tqdm import tqdm
    except ImportError as error:
        raise ImportError("A progress bar needs tqdm: pip install 'vanishing[progress]'.") from error
    return tqdm


class _Shown:
    """Whether passes over the rows are shown, and how many have been shown so far."""

    depth = 0
    hidden = 0  # searches under way whose own bar replaces those of their passes
    n_passes = 0


_shown = _Shown()


@contextmanager
def show_progress() -> Iterator[None]:
    """Show a bar for every pass over the data: rows done, rows a second, time left.

    Works for every data source. A search for psi and C has a bar of its own, which counts pairs of a psi and a fold; in
    memory, where passes are short, it replaces theirs. Needs ``pip install 'vanishing[progress]'``.

    Examples
    --------
    >>> import numpy as np
    >>> from vanishing import OAVI, show_progress
    >>> with show_progress():
    ...     model = OAVI().fit(np.random.default_rng(0).uniform(size=(1000, 2)))
    """
    _tqdm()
    if _shown.depth == 0:
        _shown.n_passes = 0
    _shown.depth += 1
    try:
        yield
    finally:
        _shown.depth -= 1


def row_progress(n_rows: int | None, *, quiet: bool = False) -> Progress:
    """Make the bar for one pass over ``n_rows`` rows (None if unknown), shown inside :func:`show_progress`."""
    if quiet or not _shown.depth or _shown.hidden:
        return Progress(n_rows, "", shown=False)
    _shown.n_passes += 1
    return Progress(n_rows, f"pass {_shown.n_passes}", shown=True, unit=" rows")


@contextmanager
def search_progress(total: int, *, passes: bool) -> Iterator[Progress]:
    """Show a bar for a search inside :func:`show_progress`: beside those of its passes, or instead of them."""
    with Progress(total, "psi x fold", shown=_shown.depth > 0) as progress:
        _shown.hidden += not passes
        try:
            yield progress
        finally:
            _shown.hidden -= not passes
