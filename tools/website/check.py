"""Checks a built site: links inside of it lead somewhere, and no page needs the network. python check.py FOLDER"""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

_LOADED = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src"}
_NOT_LOADED = {"canonical", "index", "search", "next", "prev", "license", "author"}


class Page(HTMLParser):
    """The places, links and resources of a page."""

    def __init__(self, path):
        super().__init__()
        self.ids, self.links, self.resources = set(), [], []
        self.feed(path.read_text())

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.ids.update(values[key] for key in ("id", "name") if values.get(key))
        if tag == "a" and values.get("href"):
            self.links.append(values["href"])
        if tag in _LOADED and values.get(_LOADED[tag]) and values.get("rel") not in _NOT_LOADED:
            self.resources.append(values[_LOADED[tag]])


def find_faults(root):
    """A sentence for every link that leads nowhere and every resource that is not in the folder."""
    pages = {path.resolve(): Page(path) for path in root.rglob("*.html") if "_static" not in path.parts}
    faults = []
    for path, page in pages.items():
        here = path.relative_to(root.resolve())
        for address in (*page.links, *page.resources):
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                if address in page.resources and parts.scheme != "data":
                    faults.append(f"{here} loads {address} from the network")
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not target.exists():
                faults.append(f"{here} links to {address}, which is not there")
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].ids:
                faults.append(f"{here} links to {address}: no such place on that page")
    return sorted(set(faults)), len(pages)


if __name__ == "__main__":
    faults, n_pages = find_faults(Path(sys.argv[1]))
    print("\n".join(faults) or f"{n_pages} pages: internal links lead somewhere, nothing is loaded from elsewhere")
    sys.exit(bool(faults))
