"""Pictures as inline SVG, whose text and axes follow the page from light to dark.

Points are an image within the SVG, so that a picture of thousands of rows stays small.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable
from typing import Any

from ..plots.style import ALARM, CYCLE, GRID, INK, LINE, MUTED, POINT
from .markup import Html, tag

_THEMED = {INK: "ink", MUTED: "muted", GRID: "line", POINT: "point", LINE: "blue", ALARM: "red", CYCLE[2]: "green"}
_METADATA = {"Date": None, "Creator": None, "Format": None, "Type": None}
_FONT = re.compile(r"font: ([^;\"']*?)(?:'[^']*'(?:, )?)+[^;\"]*")


def figure(
    draw: Callable[[Any], Any], size: tuple[float, float], caption: str, *, projection: str | None = None
) -> Html:
    """A picture with its caption: ``draw`` gets an axis, and ``size`` is in inches."""
    svg = _svg(draw, size, projection)
    style = f"max-width:{size[0] * 96:.0f}px"
    return tag("figure", tag("div", svg, role="img", aria_label=caption, style=style), tag("figcaption", caption))


def _svg(draw: Callable[[Any], Any], size: tuple[float, float], projection: str | None) -> Html:
    try:
        import matplotlib as mpl
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError("A report needs Matplotlib: pip install 'vanishing[report]'.") from error
    stream = io.StringIO()
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "vanishing"}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing")  # the browser has other fonts
        canvas = Figure(figsize=size, layout="constrained")  # not by pyplot, which would keep it open
        draw(canvas.add_subplot(projection=projection))
        canvas.savefig(stream, format="svg", transparent=True, metadata=_METADATA)
    return Html(_themed(stream.getvalue()))


def _themed(svg: str) -> str:
    """The SVG element alone, with the colours and fonts of the page."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>|<style[^>]*>.*?</style>|<!--.*?-->", "", svg, flags=re.DOTALL)
    svg = re.sub(r'<g id="[^"]*"', "<g", svg)
    svg = re.sub(r'^<svg[^>]*?viewBox="([^"]*)"[^>]*>', r'<svg class="figure" viewBox="\1">', svg, flags=re.DOTALL)
    svg = re.sub(r'style="[^"]*"', lambda match: _themed_style(match[0]), svg)
    return re.sub(r"\n\s*", "\n", svg)


def _themed_style(style: str) -> str:
    style = _FONT.sub(r"font: \1var(--sans)", style)
    for colour, name in _THEMED.items():
        style = style.replace(colour, f"var(--{name})")
    return style


def histogram(counts: Any, label: str) -> Html:
    """A small histogram in one path.

    Examples
    --------
    >>> histogram([1, 2], "column x").count("M")
    2
    """
    top = max(max(counts, default=0), 1)
    width = 96.0 / max(len(counts), 1)
    bars = "".join(
        f"M{k * width:.1f} 24v{-22.0 * n / top:.1f}h{width - 0.8:.1f}V24z" for k, n in enumerate(counts) if n > 0
    )
    return tag("svg", tag("path", d=bars), class_="spark", viewBox="0 0 96 24", role="img", aria_label=label)
