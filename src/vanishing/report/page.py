"""The page of a report: head, tiles, sections, and how it was made, in one file."""

from __future__ import annotations

import base64
import hashlib
import html
import os
import platform
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import metadata, resources
from typing import Any, NamedTuple

from .._version import __version__
from ..plots.style import shorten
from ..rows.writing import complete_file
from .markup import EMPTY, Html, join, paragraph, tag
from .tables import facts

_PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "matplotlib", "pandas", "pyarrow")
_LONGEST_VALUE = 120  # characters of a parameter
_CITE = """@inproceedings{wirth2023approximate,
  title = {Approximate Vanishing Ideal Computations at Scale},
  author = {Wirth, Elias and Kera, Hiroshi and Pokutta, Sebastian},
  booktitle = {International Conference on Learning Representations},
  year = {2023},
  note = {arXiv:2207.01236}
}"""


class Tile(NamedTuple):
    """A number at the top of the page, its meaning, and what to compare it with."""

    value: str
    label: str
    note: str = ""


class Section(NamedTuple):
    """A part of the page."""

    title: str
    body: Html


@dataclass(frozen=True)
class Story:
    """The content of a page about a model: its kind in words, a title, tiles and sections."""

    kind: str
    title: str
    tiles: Sequence[Tile]
    sections: Sequence[Section]


@dataclass
class Clock:
    """Seconds of the parts of a report."""

    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        """Add the time of a block of code to a part."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - start


class HtmlReport:
    """A report: one HTML page, which a notebook shows and :meth:`save` writes.

    Attributes
    ----------
    html : str
        The page.

    Examples
    --------
    >>> import numpy as np
    >>> from vanishing import OAVI
    >>> x = np.linspace(0, 1, 50)
    >>> X = np.column_stack([x, x**2])
    >>> report = OAVI(psi=1e-6).fit(X).report(X)
    >>> report.html.startswith("<!DOCTYPE html>")
    True
    """

    def __init__(self, html: str):
        self.html = html

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page to a file, which appears when it is complete.

        Parameters
        ----------
        path : str or path
        """
        with complete_file(path) as unfinished:
            unfinished.write_text(self.html, encoding="utf-8")

    def __repr__(self) -> str:
        return f"<HtmlReport: {len(self.html.encode()):,} bytes; save(path) writes it>"

    def _repr_html_(self) -> str:
        return f'<iframe srcdoc="{html.escape(self.html)}" width="100%" height="700" style="border:0"></iframe>'


def write_page(story: Story, clock: Clock, parameters: dict[str, Any]) -> str:
    """The page as text."""
    style, script = (resources.files(__package__).joinpath(f"page.{kind}").read_text("utf-8") for kind in ("css", "js"))
    sections = [*story.sections, _making(clock, parameters), _citing()]
    names = [f"s{k}" for k in range(len(sections))]
    parts = [tag("section", tag("h2", s.title), s.body, id=name) for s, name in zip(sections, names, strict=True)]
    links = [tag("a", s.title, href=f"#{name}") for s, name in zip(sections, names, strict=True)]
    toggle = tag("button", "Light or dark", type="button", id="theme", aria_label="Switch between light and dark")
    header = tag(
        "header",
        paragraph(story.kind, class_="kind"),
        tag("h1", story.title),
        tag("div", *map(_tile, story.tiles), class_="tiles"),
    )
    body = [
        tag("nav", tag("div", *links, class_="links"), toggle, aria_label="Sections"),
        tag("main", header, *parts),
        tag("footer", f"Made by vanishing {__version__} on {time.strftime('%Y-%m-%d %H:%M')}."),
        tag("script", Html(script)),
    ]
    head = [
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=_policy(script)),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("link", rel="icon", href="data:,"),
        tag("title", story.title),
        tag("style", Html(style)),
    ]
    return f"<!DOCTYPE html>\n{tag('html', tag('head', *head), tag('body', *body), lang='en')}\n"


def _policy(script: str) -> str:
    """The content security policy: nothing from elsewhere, and no script but the page's own."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    own = f"script-src 'sha256-{digest}'; style-src 'unsafe-inline'; img-src data:"
    return f"default-src 'none'; {own}; base-uri 'none'; form-action 'none'"


def _tile(tile: Tile) -> Html:
    note = tag("span", tile.note, class_="note") if tile.note else EMPTY
    return tag("div", tag("strong", tile.value), tag("span", tile.label), note, class_="tile")


def _making(clock: Clock, parameters: dict[str, Any]) -> Section:
    """The section with parameters, timings and versions."""
    total = sum(clock.seconds.values())
    lists = {
        "Parameters of the model": [(name, _shown(value)) for name, value in parameters.items()],
        "Time of this report": [
            (name, f"{seconds:.2f} s") for name, seconds in [*clock.seconds.items(), ("together", total)]
        ],
        "Versions": [("vanishing", __version__), ("Python", platform.python_version()), *_versions()],
    }
    parts = [tag("div", tag("h3", name), facts(entries)) for name, entries in lists.items() if entries]
    machine = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores."
    body = join(tag("div", *parts, class_="columns"), paragraph(machine, class_="note"))
    return Section("How this was made", body)


def _shown(value: Any) -> str:
    return shorten(" ".join(repr(value).split()), _LONGEST_VALUE)


def _versions() -> list[tuple[str, str]]:
    known = []
    for name in _PACKAGES:
        try:
            known.append((name, metadata.version(name)))
        except metadata.PackageNotFoundError:
            continue
    return known


def _citing() -> Section:
    text = f"The vanishing developers: vanishing {__version__}, approximate vanishing ideals at scale."
    paper = "The algorithms are those of this paper:"
    return Section("How to cite", join(paragraph(text), paragraph(paper), tag("pre", _CITE)))
