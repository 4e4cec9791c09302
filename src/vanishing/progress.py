"""Progress bars for passes and searches, off unless the user asks for them.

In a terminal every pass has a line of its own, drawn by tqdm. In a notebook one output shows all active bars.
"""

from __future__ import annotations

import html
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Self


class Progress:
    """Counts finished units of work; draws a bar on standard error if ``shown``.

    Examples
    --------
    >>> with Progress(2, "folds", shown=False) as progress:
    ...     progress.advance()
    """

    def __init__(self, total: int | None, what: str, *, shown: bool, unit: str = ""):
        self._bar: Any = None
        self._left = total or 0
        if shown and passes_shown.notebook is not None:
            self._bar = _NotebookBar(passes_shown.notebook, total, what, unit)
        elif shown:
            self._bar = _tqdm()(total=total, desc=what, unit=unit, unit_scale=bool(unit), delay=passes_shown.delay)

    @property
    def shown(self) -> bool:
        """Whether there is a bar."""
        return self._bar is not None

    def advance(self, n: int = 1) -> None:
        """Count ``n`` more units as finished."""
        self._left -= n
        if self._bar is not None:
            self._bar.update(n)

    def complete(self) -> None:
        """Count the remaining units as finished: they were not needed."""
        self.advance(max(self._left, 0))

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


class _Notebook:
    """The output of a notebook with the active bars, updated in place at most ten times a second."""

    def __init__(self) -> None:
        self.bars: list[_NotebookBar] = []
        self._output: Any = None
        self._last = 0.0

    def draw(self, *, now: bool = False) -> None:
        """Update the output."""
        if not now and time.monotonic() < self._last + 0.1:
            return
        from IPython.display import HTML, display

        self._last = time.monotonic()
        content = HTML("<br>".join(bar.to_html() for bar in self.bars))
        if self._output is None:
            self._output = display(content, display_id=True)
        else:
            self._output.update(content)


class _NotebookBar:
    """One bar in the output of a notebook."""

    def __init__(self, notebook: _Notebook, total: int | None, what: str, unit: str):
        self.notebook, self.total, self.what, self.unit = notebook, total, what, unit
        self.done, self.closed = 0, False
        self.started = time.monotonic()
        others = [bar for bar in notebook.bars if not bar.closed and bar.unit != unit]
        notebook.bars[:] = [*others, self]  # a finished pass makes room for the next
        notebook.draw()

    def update(self, n: int) -> None:
        """Count ``n`` more units as finished."""
        self.done += n
        self.notebook.draw()

    def close(self) -> None:
        """Show the final state."""
        self.closed = True
        self.notebook.draw()

    def to_html(self) -> str:
        """The bar, with the units done, their rate, and the time."""
        seconds = time.monotonic() - self.started
        limits = "" if self.total is None else f' max="{max(self.total, 1)}"'
        of_all = "" if self.total is None else f" of {self.total:,}"
        speed = f", {self.done / seconds:,.0f}{self.unit}/s" if self.unit and seconds > 0.0 else ""
        text = html.escape(f"{self.what}: {self.done:,}{of_all}{self.unit}, {seconds:.1f} s{speed}")
        return f'<progress value="{self.done}"{limits}></progress> {text}'


def _find_notebook() -> _Notebook | None:
    """A new output in a notebook, which has a shell of its own; None in a terminal."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return None if getattr(shell, "kernel", None) is None else _Notebook()


class _PassesShown:
    """Whether passes over the rows are shown, and how many have been shown so far."""

    depth = 0
    hidden = 0  # active searches, each with one bar in place of the bars of its passes
    n_passes = 0
    delay = 0.0  # seconds until a bar appears
    notebook: _Notebook | None = None


passes_shown = _PassesShown()


@contextmanager
def show_progress(delay: float = 0.0) -> Iterator[None]:
    """Show a bar for every pass over the data: rows done, rows a second, time left.

    Works for every data source. A search for psi and C has a bar of its own, which counts pairs of a psi and a fold; in
    memory, where passes are short, it replaces theirs. In a notebook one output shows the bars of the search and of the
    current pass. Elsewhere needs ``pip install 'vanishing[progress]'``.

    Parameters
    ----------
    delay : float, default=0.0
        Seconds after which a bar appears in a terminal; a pass that ends before shows none.

    Examples
    --------
    >>> import numpy as np
    >>> from vanishing import OAVI, show_progress
    >>> with show_progress():
    ...     model = OAVI().fit(np.random.default_rng(0).uniform(size=(1000, 2)))
    """
    if passes_shown.depth == 0:
        passes_shown.n_passes, passes_shown.notebook, passes_shown.delay = 0, _find_notebook(), float(delay)
    if passes_shown.notebook is None:
        _tqdm()
    passes_shown.depth += 1
    try:
        yield
    finally:
        passes_shown.depth -= 1
        if passes_shown.depth == 0 and passes_shown.notebook is not None:
            passes_shown.notebook.draw(now=True)
            passes_shown.notebook = None


def row_progress(n_rows: int | None, *, quiet: bool = False) -> Progress:
    """Make the bar for one pass over ``n_rows`` rows (None if unknown), shown inside :func:`show_progress`."""
    if quiet or not passes_shown.depth or passes_shown.hidden:
        return Progress(n_rows, "", shown=False)
    passes_shown.n_passes += 1
    return Progress(n_rows, f"pass {passes_shown.n_passes}", shown=True, unit=" rows")


@contextmanager
def search_progress(total: int, *, passes: bool) -> Iterator[Progress]:
    """Show a bar for a search inside :func:`show_progress`, beside the bars of its passes or in their place."""
    with Progress(total, "psi x fold", shown=passes_shown.depth > 0) as progress:
        passes_shown.hidden += not passes
        try:
            yield progress
            progress.complete()
        finally:
            passes_shown.hidden -= not passes
