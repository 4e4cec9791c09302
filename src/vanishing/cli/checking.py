"""Checks of laws, rules or a detector on the rows of files, block by block."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from .._typing import Array, Float2D, Int1D
from ..detection.rule import absolute_values
from ..laws.deviations import standard_deviations
from ..rows.disk import DiskRows
from ..rows.protocol import Block
from .inputs import progress_bars
from .models import Loaded, each_block, scores_and_p_values
from .outputs import print_json, table_writer

__all__ = ["check_rows"]

_SHOWN = 10  # offending rows that are printed
_SIGNIFICANT = 0.01  # chance of a failed check although nothing has changed
_TINY = 1e-300  # in place of the tolerance 0, which rules written by hand may have


class Offences(NamedTuple):
    """Offending rows of a block: their places, the equations that they offend, and their residuals over the limits."""

    n_rows: int
    file: Array
    row: Array
    equation: Array
    size: Array


@dataclass
class Standard:
    """What rows are compared with.

    ``names`` are the equations, ``sizes`` gives the residuals of a block's rows over the limits, ``(n_rows,
    n_equations)``, and ``before`` has offences and rows at the fit, where these are known.
    """

    names: list[str]
    sizes: Callable[[Block, Any], Float2D]
    before: list[tuple[int, int] | None] = field(default_factory=list)

    def p_value(self, k: int, n_offences: int, n_rows: int, allowed: float | None) -> float:
        """The chance of ``n_offences`` against equation ``k``, or more, if nothing has changed."""
        before = self.before[k] if self.before else None
        if allowed is not None:
            return float(stats.binom.sf(n_offences - 1, n_rows, allowed)) if allowed else float(n_offences == 0)
        if before is None:
            return float(n_offences == 0)
        missed, seen = before
        table = [[n_offences, n_rows - n_offences], [missed, seen - missed]]
        return float(stats.fisher_exact(table, alternative="greater").pvalue)


def check_rows(arguments: argparse.Namespace, loaded: Loaded) -> bool:
    """Whether the rows pass; prints the result, and writes the rows that offend."""
    groups = arguments.groups or loaded.notes.get("groups")
    rows = loaded.open(arguments, label=groups if _conserved(loaded) else None)
    standard = _standard(loaded, rows, arguments)
    total, counts, shown = _scan(arguments, loaded, rows, standard)
    p_values = [standard.p_value(k, int(n), total, arguments.allow) for k, n in enumerate(counts)]
    passed = all(p * len(p_values) >= _SIGNIFICANT for p in p_values)
    content = {
        "passed": passed,
        "rows": total,
        "checks": [
            {"equation": name, "offending": int(n), "p_value": p}
            for name, n, p in zip(standard.names, counts, p_values, strict=True)
        ],
        "offending": shown,
    }
    if arguments.json:
        print_json(content)
    else:
        print("\n".join(_lines(content, arguments.output)))
    return passed


def _scan(
    arguments: argparse.Namespace, loaded: Loaded, rows: DiskRows, standard: Standard
) -> tuple[int, Int1D, list[dict[str, Any]]]:
    """Number of rows, offences against each equation, and the first offending rows; all go to the output file."""
    total, counts = 0, np.zeros(len(standard.names), dtype=np.int64)
    shown: list[dict[str, Any]] = []
    with ExitStack() as stack:
        stack.enter_context(progress_bars(shown=not arguments.quiet))
        writer = stack.enter_context(table_writer(arguments.output, loaded.about())) if arguments.output else None
        for offences in each_block(rows, loaded, lambda block, inside: _offences(standard, rows, block, inside)):
            total += offences.n_rows
            counts += np.bincount(offences.equation, minlength=len(counts))
            records = _records(standard, offences)
            shown += _as_dicts(records, _SHOWN - len(shown))
            if writer is not None:
                writer.write(records)
    return total, counts, shown


def _offences(standard: Standard, rows: DiskRows, block: Block, inside: Any) -> Offences:
    sizes = standard.sizes(block, inside)
    row, equation = np.nonzero(sizes > 1.0)
    file = np.full(row.size, rows.reader.name_of(block.part))
    return Offences(len(sizes), file, row + block.start, equation, sizes[row, equation])


def _records(standard: Standard, offences: Offences) -> dict[str, Array]:
    """The columns of the output file."""
    equations = np.array(standard.names)[offences.equation] if offences.equation.size else np.array([], dtype=str)
    return {"file": offences.file, "row": offences.row, "equation": equations, "times_limit": offences.size}


def _as_dicts(records: dict[str, Array], n: int) -> list[dict[str, Any]]:
    columns = [values[: max(n, 0)].tolist() for values in records.values()]
    return [dict(zip(records, row, strict=True)) for row in zip(*columns, strict=True)]


def _lines(content: dict[str, Any], output: str | None) -> list[str]:
    lines = [f"{content['rows']:,} rows: {'passed' if content['passed'] else 'FAILED'}"]
    for entry in content["checks"]:
        n = entry["offending"]
        offend = "1 row offends" if n == 1 else f"{n:,} rows offend"
        outcome = "holds" if n == 0 else f"{offend}, p = {entry['p_value']:.2g}"
        lines.append(f"  {entry['equation']}   {outcome}")
    offending = content["offending"]
    lines += [f"    row {row['row']} of {row['file']}: {row['times_limit']:.3g} times the limit" for row in offending]
    if sum(entry["offending"] for entry in content["checks"]) > len(offending):
        lines.append("    ..." if output is None else f"    ... all in {output}")
    return lines


# --- standards --------------------------------------------------------------------------------------------------------


def _conserved(loaded: Loaded) -> bool:
    return loaded.kind == "laws" and any(law.conserved for law in loaded.model)


def _standard(loaded: Loaded, rows: DiskRows, arguments: argparse.Namespace) -> Standard:
    model = loaded.model
    if loaded.kind == "detector":
        rate, sample = model.contamination, model._current().sample
        seen = model.n_samples_seen_ if sample is None else len(sample.X)  # the rows behind the limit
        return Standard(["rows are normal"], partial(_alarms, model), [(round(rate * seen), seen)])
    if not len(model):
        raise ValueError(f"{loaded.path} holds no {loaded.kind}, so there is nothing to check.")
    if loaded.kind == "rules":
        tolerance = np.maximum([rule.tolerance for rule in model], _TINY)
        before = [(rule.exceptions, rule.n_rows) if rule.n_rows else None for rule in model]

        def rule_sizes(_: Block, inside: Any) -> Float2D:
            with np.errstate(over="ignore"):
                return np.asarray(absolute_values(list(model), _finite(inside)) / tolerance)

        return Standard([str(rule) for rule in model], rule_sizes, before)
    means = _group_means(loaded, rows) if _conserved(loaded) else {}

    def law_sizes(block: Block, inside: Any) -> Float2D:
        X, sizes = _finite(inside), []
        for law in model:
            residual, deviation = standard_deviations(law, X)
            if law.conserved:
                residual = residual - np.array([means[label][id(law)] for label in block.labels.tolist()])
            sizes.append(np.abs(residual) / (arguments.width * deviation))
        return np.column_stack(sizes)

    return Standard([law.equation for law in model], law_sizes)


def _alarms(detector: Any, _: Block, inside: Any) -> Float2D:
    """The rate of false alarms over the p-values of rows, above 1 for outliers only."""
    scores, p_values = scores_and_p_values(detector, inside, alarms_only=True)
    ratio, outlier = detector.contamination / np.maximum(p_values, 1e-300), scores < detector.offset_
    return np.asarray(np.where(outlier, np.maximum(ratio, 1.0 + 1e-9), np.minimum(ratio, 1.0)))[:, None]


def _finite(inside: Any) -> Float2D:
    """The rows; an error names the place of a missing or infinite value."""
    X: Float2D = inside.X
    if not np.isfinite(X).all():
        row, column = (int(index[0]) for index in np.nonzero(~np.isfinite(X)))
        raise ValueError(f"A value is missing or infinite in column number {column + 1} {inside.place(0, row)}.")
    return X


def _group_means(loaded: Loaded, rows: DiskRows) -> dict[Any, dict[int, float]]:
    """The mean of each conserved quantity in every group, in a pass of its own."""
    if not rows.labelled:
        raise ValueError(f"{loaded.path} holds quantities conserved along runs: name their column with --groups.")
    laws = [law for law in loaded.model if law.conserved]

    def sums(block: Block, inside: Any) -> tuple[Array, Float2D]:
        labels, place = np.unique(block.labels, return_inverse=True)
        values = np.column_stack([np.ones(len(place)), *(standard_deviations(law, _finite(inside))[0] for law in laws)])
        total = np.zeros((len(labels), values.shape[1]))
        np.add.at(total, np.asarray(place).ravel(), values)
        return labels, total

    totals: dict[Any, Array] = {}
    for labels, part in each_block(rows, loaded, sums):
        for label, row in zip(labels.tolist(), part, strict=True):
            totals[label] = totals.get(label, 0.0) + row
    return {label: {id(law): float(row[1 + k] / row[0]) for k, law in enumerate(laws)} for label, row in totals.items()}
