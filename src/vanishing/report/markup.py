"""Elements of HTML. All text that is not marked as ``Html`` is escaped, so names and labels never become markup."""

from __future__ import annotations

import html

_VOID = {"meta", "link", "input", "br", "img"}


class Html(str):
    """Text that is markup, and goes into a page unchanged. Only functions of this package make it."""

    __slots__ = ()


EMPTY = Html("")


def tag(name: str, /, *children: str | None, **attributes: str | float | bool | None) -> Html:
    """An element. Children are escaped unless they are ``Html``, and values of attributes always.

    Attributes that are None or False are left out; ``class_`` is class, and underscores are hyphens.

    Examples
    --------
    >>> tag("p", "a < b", tag("b", "bold"), class_="note", data_n=3)
    '<p class="note" data-n="3">a &lt; b<b>bold</b></p>'
    """
    written = "".join(
        f" {key.rstrip('_').replace('_', '-')}" + ("" if value is True else f'="{html.escape(str(value))}"')
        for key, value in attributes.items()
        if value is not None and value is not False
    )
    if name in _VOID:
        return Html(f"<{name}{written}>")
    return Html(f"<{name}{written}>{join(*children)}</{name}>")


def join(*parts: str | None) -> Html:
    """Parts one after the other, escaped unless they are markup.

    Examples
    --------
    >>> join("a & b", Html("<br>"), None)
    'a &amp; b<br>'
    """
    return Html("".join(part if isinstance(part, Html) else html.escape(part) for part in parts if part is not None))


def paragraph(*parts: str | None, class_: str | None = None) -> Html:
    """A paragraph.

    Examples
    --------
    >>> paragraph("a < b")
    '<p>a &lt; b</p>'
    """
    return tag("p", *parts, class_=class_)
