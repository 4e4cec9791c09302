"""``vanishing check``: whether laws, rules or a detector still hold on new rows."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from ..constants import IN_HTML
from .inputs import add_format_arguments, add_missing_argument, progress_bars
from .outputs import TABLES, add_output_arguments, check_output, print_json, table_writer

if TYPE_CHECKING:
    from .._typing import Array, Float1D, Float2D, Int1D
    from ..rows.disk import DiskRows
    from ..rows.gaps import Gaps
    from ..rows.protocol import Block
    from .models import Loaded

_PARTS = ("origin", "noise", "scale")  # parts of a law with a number for each column

EXAMPLES = (
    "vanishing check pipes.vi pipes.csv",
    "vanishing check normal.vi new.csv -o offending.csv || echo 'look at offending.csv'",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("model", metavar="MODEL", help="laws, rules or a detector")
    parser.add_argument("files", nargs="+", metavar="FILE", help="tables with the columns that the model uses")
    add_missing_argument(parser)
    parser.add_argument(
        "--width",
        type=float,
        default=5.0,
        help="how far a row may be from a law, in standard deviations of its noise (default: 5)",
    )
    parser.add_argument(
        "--allow",
        type=float,
        metavar="SHARE",
        help="share of rows that may offend (default: for laws, what normal noise explains, 6e-7 for a width of 5; "
        "for rules and detectors, what they had before; none for rules written by hand)",
    )
    parser.add_argument(
        "--groups", metavar="COLUMN", help="column that numbers the runs, for quantities conserved along each run"
    )
    add_output_arguments(parser, "write all offending rows to a .csv, .parquet or .json file")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    add_format_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Check block by block; 1 if something is wrong."""
    from .models import load_model

    if not arguments.width > 0.0 or (arguments.allow is not None and not 0.0 <= arguments.allow <= 1.0):
        raise ValueError("--width must be above 0, and --allow between 0 and 1.")
    check_output(arguments.output, arguments.force, TABLES, [arguments.model])
    loaded = load_model(arguments.model, "check", "laws", "rules", "detector")
    return int(not _check_rows(arguments, loaded))


def _check_rows(arguments: argparse.Namespace, loaded: Loaded) -> bool:
    """Whether the rows pass; prints the result, and writes the offending rows."""
    from ..rules.report import SIGNIFICANT

    groups = arguments.groups or loaded.notes.get("groups")
    loaded = _in_use(loaded, arguments.files)
    rows = loaded.open(arguments, label=groups if _conserved(loaded) else None)
    names = loaded.names or [f"x{j}" for j in range(rows.n_features)]
    complete = _Complete(tuple(names), arguments.drop_missing, loaded.kind == "detector")
    standard = _standard(loaded, rows, arguments, complete)
    gaps, counts, shown = _scan(arguments, loaded, rows, standard, complete)
    total = gaps.n_rows - gaps.n_missing
    if not total:
        raise ValueError(f"Every row has a missing value, so none can be checked: {gaps.to_text(names)}")
    p_values = [standard.p_value(k, int(n), total, arguments.allow) for k, n in enumerate(counts)]
    passed = all(p * len(p_values) >= SIGNIFICANT for p in p_values)
    content = {
        "passed": passed,
        "rows": total,
        "missing": gaps.n_missing,
        "checks": [
            {
                "equation": name,
                "offending": int(n),
                "expected": standard.expected(k, total, arguments.allow),
                "p_value": p,
            }
            for k, (name, n, p) in enumerate(zip(standard.names, counts, p_values, strict=True))
        ],
        "offending": shown,
    }
    if arguments.json:
        print_json(content)
    else:
        print("\n".join([*_lines(content, arguments.output), *([gaps.to_text(names)] if gaps.n_missing else [])]))
    return passed


def _lines(content: dict[str, Any], output: str | None) -> list[str]:
    """The result in words."""
    from ..display import counted

    lines = [f"{counted(content['rows'], 'row')}: {'passed' if content['passed'] else 'FAILED'}"]
    for entry in content["checks"]:
        n = entry["offending"]
        offend = f"{counted(n, 'row')} {'offends' if n == 1 else 'offend'}"
        expected = f"{float(format(entry['expected'], '.2g')):,g}"
        outcome = "holds" if n == 0 else f"{offend}, {expected} expected, p = {entry['p_value']:.2g}"
        lines.append(f"  {entry['equation']}   {outcome}")
    offending = content["offending"]
    lines += [f"    row {row['row']} of {row['file']}: {row['times_limit']:.3g} times the limit" for row in offending]
    if sum(entry["offending"] for entry in content["checks"]) > len(offending):
        lines.append("    ..." if output is None else f"    ... all in {output}")
    return lines


def _in_use(loaded: Loaded, files: list[str]) -> Loaded:
    """The model, about the columns that it uses; tables without names have all columns of the fit."""
    if loaded.kind == "detector" or not len(loaded.model) or files[0].lower().endswith(".npy"):
        return loaded
    if loaded.kind == "rules":
        return replace(loaded, model=loaded.model._in_use())
    from ..laws import Laws

    used = [j for j in range(len(loaded.model.columns)) if any(law.exponents[:, j].any() for law in loaded.model)]
    names = tuple(loaded.model.columns[j] for j in used)
    laws = [
        replace(
            law, columns=names, exponents=law.exponents[:, used], **{part: getattr(law, part)[used] for part in _PARTS}
        )
        for law in loaded.model
    ]
    return replace(loaded, model=Laws(laws, names, loaded.model.n_rows))


# --- one pass over the rows -------------------------------------------------------------------------------------------


class Offences(NamedTuple):
    """Offending rows of a block: their places, the equations that they miss, and their residuals over the limits."""

    gaps: Gaps
    file: Array
    row: Array
    equation: Array
    size: Array


def _scan(
    arguments: argparse.Namespace, loaded: Loaded, rows: DiskRows, standard: Standard, complete: _Complete
) -> tuple[Gaps, Int1D, list[dict[str, Any]]]:
    """The gaps, offences against each equation, and the worst ones, worst first; all go to the output file."""
    import numpy as np

    from ..rows.gaps import Gaps, add_gaps

    gaps = Gaps(0, 0, np.zeros(len(complete.names), dtype=np.int64))
    counts = np.zeros(len(standard.names), dtype=np.int64)
    shown: list[dict[str, Any]] = []
    with ExitStack() as stack:
        stack.enter_context(progress_bars(shown=not arguments.quiet))
        writer = stack.enter_context(table_writer(arguments.output, loaded.about())) if arguments.output else None
        for offences in loaded.each_block(rows, partial(_offences, standard, rows, complete)):
            gaps = add_gaps(gaps, offences.gaps)
            counts += np.bincount(offences.equation, minlength=len(counts))
            records = {
                "file": offences.file,
                "row": offences.row,
                "equation": np.array(standard.names)[offences.equation],
                "times_limit": offences.size,
            }
            worst = np.argsort(-offences.size, kind="stable")[:IN_HTML]
            columns = [values[worst].tolist() for values in records.values()]
            shown += [dict(zip(records, row, strict=True)) for row in zip(*columns, strict=True)]
            shown = sorted(shown, key=lambda record: -record["times_limit"])[:IN_HTML]
            if writer is not None:
                writer.write(records)
    return gaps, counts, shown


def _offences(standard: Standard, rows: DiskRows, complete: _Complete, block: Block, inside: Any) -> Offences:
    """The offending rows of a block."""
    import numpy as np

    gaps, places, block, inside = complete(block, inside)
    sizes = standard.sizes(block, inside) if len(inside) else np.empty((0, len(standard.names)))
    row, equation = np.nonzero(sizes > 1.0)
    file = np.full(row.size, rows.reader.name_of(block.part))
    return Offences(gaps, file, places[row] + block.start, equation, sizes[row, equation])


@dataclass(frozen=True)
class _Complete:
    """The complete rows of a block, beside the gaps in it and their places.

    Without ``drop``, missing values raise an error that names the column; a model that ``takes_gaps`` gets them.
    """

    names: tuple[str, ...]
    drop: bool
    takes_gaps: bool

    def __call__(self, block: Block, inside: Any) -> tuple[Gaps, Int1D, Block, Any]:
        import numpy as np

        from ..rows.gaps import Gaps, gaps_in
        from ..rows.protocol import where
        from ..rows.reading import require_finite

        n_rows = len(inside)
        if not (self.drop or self.takes_gaps):
            require_finite(inside, self.names, may_drop=True, whole=False)
        gaps, kept = Gaps(n_rows, 0, np.zeros(len(self.names), dtype=np.int64)), None
        if self.drop:
            gaps, kept = gaps_in(block._replace(X=inside.X), self.names, inside.place)
        if kept is None:
            return gaps, np.arange(n_rows), block, inside
        inside = inside.where(kept)
        inside.quiet = True
        return gaps, np.flatnonzero(kept), where(block, kept), inside


# --- standards --------------------------------------------------------------------------------------------------------


@dataclass
class Standard:
    """The standard that rows are compared with.

    ``names`` are the equations, and ``sizes`` gives the residuals of a block's rows over the limits, ``(n_rows,
    n_equations)``. How often a row may offend is either ``before``, offences and rows at the fit, or ``chance``, the
    probability that the noise of a law alone makes a row offend; it is 0 for equations written by hand. The noise of a
    law is an estimate with ``freedom`` degrees of freedom.
    """

    names: list[str]
    sizes: Callable[[Block, Any], Float2D]
    chance: float
    before: list[tuple[int, int] | None] = field(default_factory=list)
    freedom: list[int] = field(default_factory=list)

    def _chances(self, k: int, allowed: float | None) -> Float1D:
        """The probability that a row offends, for each of the noise levels that the rows of the fit leave possible.

        A variance estimated with d degrees of freedom is the true one times ``chi2(d) / d``.
        """
        import numpy as np
        from scipy import stats

        from ..ideals.relations import GRID_POINTS

        if allowed is not None or not self.freedom:
            return np.array([self.chance if allowed is None else allowed])
        shares = (np.arange(GRID_POINTS) + 0.5) / GRID_POINTS  # quantiles of the noise level
        ratio = stats.chi2.ppf(shares, self.freedom[k]) / self.freedom[k]
        width = stats.norm.isf(0.5 * self.chance)  # the limit in deviations
        return np.asarray(2.0 * stats.norm.sf(width * np.sqrt(ratio)))

    def expected(self, k: int, n_rows: int, allowed: float | None) -> float:
        """The number of offences against equation ``k`` if nothing has changed."""
        before = self.before[k] if self.before and allowed is None else None
        missed, seen = before or (float(self._chances(k, allowed).mean()), 1)
        return n_rows * missed / seen

    def p_value(self, k: int, n_offences: int, n_rows: int, allowed: float | None) -> float:
        """The probability of ``n_offences`` against equation ``k``, or more, if nothing has changed.

        A row offends with a known probability, so the number of offences is binomial, for every noise level that the
        rows of the fit leave possible. Where rows offended at the fit, Fisher's exact test compares both numbers.
        """
        from scipy import stats

        before = self.before[k] if self.before and allowed is None else None
        if before is None:
            return float(stats.binom.sf(n_offences - 1, n_rows, self._chances(k, allowed)).mean())
        missed, seen = before
        table = [[n_offences, n_rows - n_offences], [missed, seen - missed]]
        return float(stats.fisher_exact(table, alternative="greater").pvalue)


def _standard(loaded: Loaded, rows: DiskRows, arguments: argparse.Namespace, complete: _Complete) -> Standard:
    """The standard that a model sets."""
    model = loaded.model
    if loaded.kind == "detector":
        rate, sample = model.contamination, model._current().sample
        seen = model.n_samples_seen_ if sample is None else len(sample.X)  # the rows behind the limit
        return Standard(["rows are normal"], partial(_alarms, model), rate, [(round(rate * seen), seen)])
    if not len(model):
        raise ValueError(f"{loaded.path} holds no {loaded.kind}, so there is nothing to check.")
    if loaded.kind == "rules":
        before = [(rule.exceptions, rule.n_rows) if rule.n_rows else None for rule in model]
        return Standard([str(rule) for rule in model], partial(_rule_sizes, list(model)), 0.0, before)
    from scipy import stats

    means = _group_means(loaded, rows, complete) if _conserved(loaded) else {}
    beyond = 2.0 * float(stats.norm.sf(arguments.width))  # normal noise beyond the limit: 5.7e-7 for five deviations
    sizes = partial(_law_sizes, list(model), means, arguments.width)
    # A law with a share below 1 had exceptions at the fit.
    exceptions = [None if law.share == 1.0 else _of_all(law) for law in model]
    freedom = [max(law.n_rows - len(law.coef), 1) for law in model]
    return Standard([law.equation for law in model], sizes, beyond, exceptions, freedom)


def _of_all(law: Any) -> tuple[int, int]:
    """The rows that did not obey a law, and all rows of its table."""
    n_rows = round(law.n_rows / law.share)
    return n_rows - law.n_rows, n_rows


def _alarms(detector: Any, _: Block, inside: Any) -> Float2D:
    """The rate of false alarms over the p-values of rows, above 1 for outliers only."""
    import numpy as np

    from .models import scores_and_p_values

    scores, p_values = scores_and_p_values(detector, inside, alarms_only=True)
    with np.errstate(divide="ignore"):
        ratio = detector.contamination / p_values
    outlier = scores < detector.offset_
    return np.asarray(np.where(outlier, np.maximum(ratio, np.nextafter(1.0, 2.0)), np.minimum(ratio, 1.0)))[:, None]


def _rule_sizes(rules: list[Any], _: Block, inside: Any) -> Float2D:
    """Residuals of rules over their tolerances, which may be 0 for rules written by hand."""
    import numpy as np

    from ..rules.rule import absolute_values

    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        return np.asarray(absolute_values(rules, inside.X) / [rule.tolerance for rule in rules])


def _law_sizes(laws: list[Any], means: dict[Any, dict[int, float]], width: float, block: Block, inside: Any) -> Float2D:
    """Residuals of laws over ``width`` standard deviations."""
    import numpy as np

    from ..laws.say.deviations import standard_deviations

    X, sizes = inside.X, []
    for law in laws:
        residual, deviation = standard_deviations(law, X)
        if law.conserved:
            residual = residual - np.array([means[label][id(law)] for label in block.labels.tolist()])
        sizes.append(np.abs(residual) / (width * deviation))
    return np.column_stack(sizes)


def _conserved(loaded: Loaded) -> bool:
    """Whether the model has quantities conserved along runs."""
    return loaded.kind == "laws" and any(law.conserved for law in loaded.model)


def _group_means(loaded: Loaded, rows: DiskRows, complete: _Complete) -> dict[Any, dict[int, float]]:
    """The mean of each conserved quantity in every group, in a pass of its own."""
    import numpy as np

    from ..laws.say.deviations import standard_deviations

    if not rows.labelled:
        raise ValueError(f"{loaded.path} holds quantities conserved along runs: name their column with --groups.")
    laws = [law for law in loaded.model if law.conserved]

    def sums(block: Block, inside: Any) -> tuple[Array, Float2D]:
        _, _, block, inside = complete(block, inside)
        labels, place = np.unique(block.labels, return_inverse=True)
        values = np.column_stack([np.ones(len(place)), *(standard_deviations(law, inside.X)[0] for law in laws)])
        total = np.zeros((len(labels), values.shape[1]))
        np.add.at(total, np.asarray(place).ravel(), values)
        return labels, total

    totals: dict[Any, Array] = {}
    for labels, part in loaded.each_block(rows, sums):
        for label, row in zip(labels.tolist(), part, strict=True):
            totals[label] = totals.get(label, 0.0) + row
    return {label: {id(law): float(row[1 + k] / row[0]) for k, law in enumerate(laws)} for label, row in totals.items()}
