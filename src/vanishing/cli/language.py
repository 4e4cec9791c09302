"""Errors of the library in the words of the command line: flags in place of Python's keywords."""

from __future__ import annotations

import re

__all__ = ["in_flags"]

_PHRASES = [
    (r"convert it, or choose others with columns=\[\.\.\.\]", "leave it out with --exclude"),
    (r"open_rows\(weight=\.\.\.\)", "--weight"),
    (r"open_rows\(label=\.\.\.\)", "--groups"),
    (r"drop those rows", "drop those rows, or leave the column out with --exclude"),
    (r"raise psi", "raise --psi"),
    (r"regimes=False and a smaller degree", "--no-regimes and a smaller --degree"),
    (r"^(psi|columns|label|weight|noise|units|degree|contamination|scale)\b(?= (must|says|names|has))", r"--\1"),
    (r"\bIs the label the right column", "Is --target or --label the right column"),
    (r"give both the same n_features and degree", "collect both with the same --columns, --degree and --ranges"),
]
_KEYWORDS = re.compile(r"\b(max_degree|max_noise|max_terms|block_rows)\b(=\S+)?")
_CONVERSION = re.compile(r"^(.+?) cannot be read as csv.*In CSV column #(\d+).*invalid value '(.*?)'", re.DOTALL)
_NOT_UTF8 = re.compile(r"^(.+?) cannot be read as csv.*invalid UTF8", re.DOTALL | re.IGNORECASE)


def in_flags(error: object) -> str:
    """The message of an error or warning, for people who see a shell.

    Examples
    --------
    >>> in_flags(ValueError("max_degree must be an integer of at least 1, got 0."))
    '--max-degree must be an integer of at least 1, got 0.'
    """
    if isinstance(error, OSError) and error.errno is not None and error.filename is not None:
        return f"{error.filename}: {(error.strerror or 'it cannot be used').lower()}; check the path and its rights."
    if isinstance(error, MemoryError):
        return "There is not enough memory: choose fewer columns with --columns, or a smaller --max-degree."
    text = str(error)
    if found := _CONVERSION.match(text):
        return (
            f"{found[1]} has the value {found[3]!r} in column number {int(found[2])}, which is no number: leave the "
            "column out with --exclude, or say how numbers are written with --decimal and --delimiter."
        )
    if found := _NOT_UTF8.match(text):
        return f"{found[1]} is not written in UTF-8: name its encoding, for instance with --encoding latin-1."
    for pattern, replacement in _PHRASES:
        text = re.sub(pattern, replacement, text)
    return _KEYWORDS.sub(lambda match: f"--{match[1].replace('_', '-')}", text)
