"""A progress bar, if one is wanted."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Self

__all__ = ["Progress"]


class Progress:
    """Counts finished pieces of work; shows a bar on the standard error when ``shown``, else nothing.

    Examples
    --------
    >>> with Progress(2, "folds", shown=False) as progress:
    ...     progress.advance()
    """

    def __init__(self, total: int, what: str, *, shown: bool):
        self._bar: Any = None
        if shown:
            try:
                from tqdm import tqdm
            except ImportError as error:
                raise ImportError("A progress bar needs tqdm: pip install 'vanishing[progress]'.") from error
            self._bar = tqdm(total=total, desc=what, unit="")

    def advance(self, n: int = 1) -> None:
        """Some pieces are done."""
        if self._bar is not None:
            self._bar.update(n)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.close()
