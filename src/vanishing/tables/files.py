"""Tables on disk with texts and gaps, read in passes as the numbers of an encoder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..rows.dialects import Dialect
from ..rows.disk import DiskRows, find_files, format_of
from ..rows.protocol import Block, Cost
from ..rows.readers import ArrowReader, Piece, naming
from .columns import Column, Texts, arrow_column, holds_texts
from .encoder import TableEncoder, add_tallies, tally_columns


def learn_encoder(files: Any, columns: Sequence[str], dialect: Mapping[str, str] | None = None) -> TableEncoder:
    """An encoder for columns of tables on disk, by one pass over them."""
    reader = _TableReader(find_files(files), columns, dialect=dialect)
    tally = DiskRows(reader).reduce(
        lambda block: tally_columns(block.X, block.part, block.start),
        add_tallies,
        Cost(20 * len(columns), len(columns)),
    )
    encoder = TableEncoder()
    encoder.n_features_in_ = len(columns)
    encoder.feature_names_in_ = np.array(columns, dtype=object)
    return encoder.learn(columns, tally)


def open_encoded(
    files: Any,
    encoder: TableEncoder,
    *,
    label: str | None = None,
    weight: str | None = None,
    dialect: Mapping[str, str] | None = None,
) -> DiskRows:
    """Rows of tables on disk, in the columns of numbers of an encoder."""
    names = [str(name) for name in encoder.feature_names_in_]
    return DiskRows(_TableReader(find_files(files), names, encoder, label, weight, dialect))


class _TableReader(ArrowReader):
    """Reads columns with texts and gaps; blocks hold the encoder's numbers, or, without an encoder, the columns."""

    def __init__(
        self,
        files: list[str],
        columns: Sequence[str],
        encoder: TableEncoder | None = None,
        label: str | None = None,
        weight: str | None = None,
        dialect: Mapping[str, str] | None = None,
    ):
        self.encoder = encoder
        self.texts: set[str] = set()
        self._first_texts: set[str] | None = None
        super().__init__(files, format_of(files[0]), columns, label, weight, dialect)
        self.columns = self.names
        if encoder is not None:
            self.names = [str(name) for name in encoder.get_feature_names_out()]

    def require_numbers(self, schema: Any, origin: str) -> None:
        """Note which columns hold texts, by the encoder or else by the files, which have to agree."""
        if self.encoder is not None:
            self.texts = {column.name for column in self.encoder.columns_ if column.categories is not None}
            return
        here = {name for name in self.names if holds_texts(schema.field(name).type)}
        if self.kind != "csv" and self._first_texts is not None and self._first_texts != here:
            name = min(self._first_texts ^ here)
            raise ValueError(f"Column {name!r} holds texts in {origin} or in {self.files[0]}, not in both: convert it.")
        self._first_texts = here
        self.texts |= here  # some CSV files may have digits only in a column of texts

    def has_single(self, schema: Any) -> bool:
        """False: an encoder reads all numbers as float64, whatever the files hold."""
        return False

    def _read_numbers(self, dialect: Dialect, schema: Any) -> None:
        """Read numbers of CSV files as float64, texts as such, and empty cells as missing."""
        import pyarrow
        import pyarrow.dataset as dataset
        import pyarrow.types as types

        names = [*self.names, *([] if self.weight is None else [self.weight])]
        chosen = {name: pyarrow.string() if name in self.texts else pyarrow.float64() for name in names}
        flags = [name for name in names if types.is_boolean(schema.field(name).type) and name not in self.texts]
        kind = dialect.csv_format(chosen | dict.fromkeys(flags, pyarrow.bool_()))
        options = kind.default_fragment_scan_options.convert_options
        options.strings_can_be_null = True
        kind.default_fragment_scan_options = dataset.CsvFragmentScanOptions(convert_options=options)
        with naming(self.files[0], self.kind):
            self.fragments = list(dataset.dataset(self.files, format=kind).get_fragments())

    def read_columns(self, *, only_labels: bool) -> list[str]:
        names = [self.label] if only_labels else [*self.columns, self.label, self.weight]
        return list(dict.fromkeys(name for name in names if name is not None))

    def block(self, piece: Piece, *, only_labels: bool = False) -> Block:
        import pyarrow

        if only_labels:
            return super().block(piece, only_labels=True)
        with naming(self.name_of(piece.part), self.kind):
            table = pyarrow.Table.from_batches(piece.content)
            labels = None if self.label is None else self._labels(table.column(self.label), piece)
            columns: list[Column] = [arrow_column(name, table.column(name)) for name in self.columns]
            weights = None if self.weight is None else self._weights(table, piece)
        X = columns if self.encoder is None else self.encoder.encode(columns)
        return Block(X, weights, labels, piece.part, piece.start)

    def _weights(self, table: Any, piece: Piece) -> Any:
        weights = arrow_column(self.weight, table.column(self.weight))
        if isinstance(weights, Texts):
            raise ValueError(f"The weights in column {self.weight!r} are texts: name a column of numbers.")
        self.check_weights(weights, piece)
        return weights
