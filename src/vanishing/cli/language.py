"""Messages of the library in the words of the command line: flags in place of Python's keywords."""

from __future__ import annotations

import re

#: Patterns in messages of the library, and what people at a shell should read instead.
_PHRASES = [
    (r"convert it, or choose others with columns=\[\.\.\.\]", "leave it out with --exclude"),
    (r"open_rows\(weight=\.\.\.\)", "--weight"),
    (r"open_rows\(label=\.\.\.\)", "--groups"),
    (r"or drop those rows, as missing='drop' does", "or leave such rows out with --drop-missing"),
    (r"or drop those rows", "or drop those rows, or leave the column out with --exclude"),
    (r"need Moments\(degree=(\d+)\)", r"need moments of --degree \1"),
    (r"raise psi", "raise --psi"),
    (
        r"^Input X contains NaN in column (?:\d+ \((.+?)\)|(\d+)): ((?:at least )?[\d,]+) such values?, (.+?)\. Impute "
        "them or",
        r"Column \1\2 has missing values: \3, \4. Fill them, or",
    ),
    (r"^Input X contains (NaN|infinity \(inf\)) in column \d+ \((.+?)\)(?=[:,])", r"Column \2 contains \1"),
    (r"\bn_samples = (\d+)( rows)?", r"\1 rows"),
    (r"\b1 feature\(s\) only", "one column only"),
    (r", or set missing='error' to refuse such rows|, for instance with SimpleImputer", ""),
    (r"set degree=1\b", "give --degree 1"),
    (
        r"^Unknown label type: continuous.*",
        "The column of --target holds numbers, not classes: choose another one, or look for equations with "
        "'vanishing laws'.",
    ),
    (r", or fit VanishingIdealClassifier with a psi and a C of your own", ""),
    (r"but y contains one class only", "but --target has one only"),
    (r"(\.xlsx?): files have to end in .*", r"\1: Excel files cannot be read; save the sheet as .csv."),
    (r"\bseries=False\b", "--series no"),
    (r"regimes=False and a smaller degree", "--no-regimes and a smaller --degree"),
    (r"^(psi|columns|label|weight|noise|units|degree|contamination|scale)\b(?= (must|says|names|has))", r"--\1"),
    (r"\bis the label the right column", "is --target or --label the right column"),
    (
        r"The moments were scaled differently: give both the same scaler",
        "the sites scaled their columns by ranges of their own: collect all with the same --ranges",
    ),
    (r"give both the same n_features and degree", "collect both with the same --columns, --degree and --ranges"),
]
_KEYWORDS = re.compile(r"\b(max_columns|max_degree|max_noise|max_terms|block_rows)\b(=\S+)?")
_CONVERSION = re.compile(r"^(.+?) cannot be read as csv.*In CSV column #(\d+).*invalid value '(.*?)'", re.DOTALL)
_NOT_UTF8 = re.compile(r"^(.+?) cannot be read as csv.*invalid UTF8", re.DOTALL | re.IGNORECASE)


def _column(file: str, number: int) -> str:
    """A column of a CSV file by its name, or by its number, from 1 on, if the name cannot be read."""
    from .columns import column_types

    try:
        return f"the column {list(column_types(file, {})[0])[number]!r}"
    except (ValueError, OSError, IndexError):
        return f"column number {number + 1}"


def in_flags(error: object) -> str:
    """The message of an error or warning, for people at a shell.

    Examples
    --------
    >>> in_flags(ValueError("max_degree must be an integer of at least 1, got 0."))
    '--max-degree must be an integer of at least 1, got 0.'
    >>> in_flags(UserWarning("Give rows of a longer time, or series=False if their order means nothing."))
    'Give rows of a longer time, or --series no if their order means nothing.'
    """
    if isinstance(error, OSError) and error.errno is not None and error.filename is not None:
        return f"{error.filename}: {(error.strerror or 'it cannot be used').lower()}; check the path and its rights."
    if isinstance(error, MemoryError):
        return "There is not enough memory: choose fewer columns with --columns, or a smaller --max-degree."
    text = str(error)
    if match := _CONVERSION.match(text):
        where = _column(match[1], int(match[2]))
        return (
            f"{match[1]} has the value {match[3]!r} in {where}, which is no number: leave the column out with "
            "--exclude, or say how numbers are written with --decimal and --delimiter."
        )
    if match := _NOT_UTF8.match(text):
        return f"{match[1]} is not written in UTF-8: name its encoding, for instance with --encoding latin-1."
    for pattern, replacement in _PHRASES:
        text = re.sub(pattern, replacement, text)
    return _KEYWORDS.sub(lambda match: f"--{match[1].replace('_', '-')}", text)
