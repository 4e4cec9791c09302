"""Finds the long sentences of pages: those of more than 40 words. Code, tables, formulas and addresses do not count.

python tools/website/sentences.py                              # of the README and of every page in docs
python tools/website/sentences.py --longest 30 docs/laws.md
"""

import argparse
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LONGEST = 40  # words
MADE = {"_build", "made", "gallery", "reference"}
_BLOCKS = re.compile(r"^(```|~~~).*?^\1$|<!--.*?-->|\$\$.*?\$\$", re.M | re.S)
_INLINE = re.compile(r"``.+?``|`[^`]+`|\$[^$\n]+\$")
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_ITEM = re.compile(r"^\s*(?:[-*+]|\d+\.)\s+", re.M)
_NO_PROSE = re.compile(r"^(?:\||#| {4,}\S).*$", re.M)
_END = re.compile(r"(?<=[.!?])[*_)\"']*\s+(?=[*_(\"']*[A-Z0-9¤])")
_WORD = re.compile(r"[\w¤]")


def pages() -> list[Path]:
    """The README and every page that is written by hand."""
    docs = ROOT / "docs"
    return [
        ROOT / "README.md",
        *(p for p in sorted(docs.rglob("*.md")) if not MADE.intersection(p.relative_to(docs).parts)),
    ]


def sentences(text: str) -> Iterator[str]:
    """The sentences of a page in Markdown, with ``¤`` for a piece of code or a formula.

    A list item, a paragraph and what ends in a full stop, a question or an exclamation mark are sentences; colons and
    semicolons end none.
    """
    text = _BLOCKS.sub("\n\n", text)
    text = _ITEM.sub("\n\n", text)
    text = _NO_PROSE.sub("\n", text)
    text = _LINK.sub(r"\1", _INLINE.sub("¤", text))
    for paragraph in re.split(r"\n\s*\n", text):
        yield from (part for part in _END.split(" ".join(paragraph.split())) if part)


def n_words(sentence: str) -> int:
    """Words between blanks; dashes and lone signs are none."""
    return sum(bool(_WORD.search(word)) for word in sentence.split())


def long_sentences(text: str, longest: int = LONGEST) -> list[str]:
    """The sentences of a page with more words than that."""
    return [sentence for sentence in sentences(text) if n_words(sentence) > longest]


def main() -> int:
    parser = argparse.ArgumentParser(description="The long sentences of pages.")
    parser.add_argument("pages", nargs="*", type=Path, default=pages())
    parser.add_argument("--longest", type=int, default=LONGEST, help="words that a sentence may have (default: 40)")
    arguments = parser.parse_args()
    n_found = 0
    for page in arguments.pages:
        found = long_sentences(page.read_text(encoding="utf-8"), arguments.longest)
        n_found += len(found)
        for sentence in found:
            print(f"{page}: {n_words(sentence)} words: {sentence}")
    print(f"{n_found} sentences with more than {arguments.longest} words in {len(arguments.pages)} pages")
    return int(n_found > 0)


if __name__ == "__main__":
    raise SystemExit(main())
