"""What a report says about a classifier: its formula, its predictions, the generators of each class, the search."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ..._typing import Array, Float1D, Float2D
from ...checks import RangeWarning
from ...constants import IN_REPR, IN_TEXT
from ...display import counted
from ...plots import plot_confusion, plot_effects, plot_tuning, plot_weights
from ...plots.style import CYCLE, MUTED, PANEL, add_legend, escape, finish, shorten
from ...report.figures import figure
from ...report.markup import Html, join, paragraph, tag
from ...report.mathml import polynomial, variable
from ...report.page import Section, Story, Tile
from ...report.reported import Subject
from ...report.tables import MOST_ROWS, Cell, figures, percent, table
from ...rows.array_api import to_host
from ...rows.arrays import ArrayRows
from ...rows.protocol import Block, Cost
from ...svm import L1SVC
from .effects import effects_of
from .explain import Formula
from .per_class import owner_name
from .rates import Thresholds, counts_by_score

MOST_CLASSES = 40  # classes in a picture of confusions: cells of a fifth of an inch


class _Predicted(NamedTuple):
    """Sums over rows: counts of labels by predictions, log-likelihood, and confidence and success by confidence.

    ``by_score`` counts the rows of each class and the others by their scores for it; that of the second of two.
    """

    counts: Float2D
    log_likelihood: float
    confidence: Float1D
    right: Float1D
    sizes: Float1D
    by_score: Any = 0.0


def classifier_story(classifier: Any, subject: Subject) -> Story:
    """The story of a classifier."""
    model = getattr(classifier, "best_estimator_", classifier)
    linear = isinstance(model.final_estimator_, L1SVC)
    with subject.clock.part("predicting"):
        predicted = _predict(classifier, subject)
    sections = []
    with subject.clock.part("formulas and pictures"):
        sections.append(Section("Predictions", _predictions(classifier, predicted, subject)))
        if linear:
            sections.append(Section("The decision", _decision(model)))
            sections.append(Section("Effects of the columns", _effects(model, subject)))
        sections.append(Section("Generators of each class", _generators(model)))
        if hasattr(classifier, "cv_results_"):
            sections.append(Section("Search for psi and C", _search(classifier)))
    classes = [str(label) for label in classifier.classes_]
    shown = ", ".join(classes[:4]) + (" ..." if len(classes) > 4 else "")
    apart = " and ".join(classes) if len(classes) == 2 else shown
    tiles = [
        *_score_tiles(classifier, predicted, subject),
        Tile(f"{len(classes)}", "classes", shown),
        Tile(f"{model.n_columns_:,}", "terms with a weight", f"of {model._map.n_columns:,}"),
    ]
    return Story(f"Classifier, {type(classifier).__name__}", f"Telling {apart} apart", tiles, sections)


def _predict(classifier: Any, subject: Subject) -> _Predicted:
    """Predict all rows in one pass."""
    classes, (true, keys) = classifier.classes_, (subject.given.classes, list(subject.given.keys))
    known = {label: k for k, label in enumerate(classes.tolist())}
    own = np.array([known.get(label, -1) for label in ([] if true is None else true.tolist())], dtype=np.int64)
    has_probabilities, has_decisions = (hasattr(classifier, name) for name in ("predict_proba", "decision_function"))

    def look(block: Block) -> _Predicted:
        rows = ArrayRows(np.asarray(to_host(block.X), dtype=np.float64), n_jobs=1)
        rows.quiet = True
        chosen = np.searchsorted(classes, np.asarray(to_host(classifier.predict(rows))))
        labels = codes_of(block.labels, keys)
        counts, nothing = np.zeros((max(len(keys), 1), len(classes))), np.zeros(IN_TEXT)
        np.add.at(counts, (labels, chosen), 1.0)
        if not len(own):
            return _Predicted(counts, 0.0, nothing, nothing, nothing)
        if not has_probabilities:
            scores = np.asarray(classifier.decision_function(rows)) if has_decisions else None
            by_score = 0.0 if scores is None else _by_score(scores.reshape(len(chosen), -1), own[labels])
            return _Predicted(counts, 0.0, nothing, nothing, nothing, by_score)
        given = np.asarray(classifier.predict_proba(rows))
        with np.errstate(divide="ignore"):
            log_odds = np.log(given) - np.log1p(-given)
        scores = _by_score(log_odds[:, 1:] if len(classes) == 2 else log_odds, own[labels])
        loss, sure, right, sizes = _likelihood(given, own[labels], chosen)
        return _Predicted(counts, loss, sure, right, sizes, scores)

    n = subject.rows.n_features
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RangeWarning)  # once for each block
        return subject.rows.reduce(look, _add_predicted, Cost(50 * n, 50 * n))


def codes_of(labels: Any, keys: Sequence[Any]) -> Array:
    """The number of each row's class; 0 without labels."""
    if labels is None or not keys:
        return np.asarray(0)
    own = np.asarray(to_host(labels))
    return np.asarray(np.argmax(own[:, None] == np.array(keys, dtype=own.dtype)[None, :], axis=1))


def _by_score(scores: Float2D, own: Array) -> Array:
    """Counts by the score for each class, or for the second one of two."""
    first = 2 - scores.shape[1] if scores.shape[1] == 1 else 0
    return np.stack([counts_by_score(column, own == k) for k, column in enumerate(scores.T, first)])


def _likelihood(probability: Float2D, own: Array, chosen: Array) -> tuple[float, Float1D, Float1D, Float1D]:
    rows = np.arange(len(probability))
    there = np.where(own >= 0, probability[rows, own], 0.0)
    sure = probability[rows, chosen]
    bins = np.minimum((sure * IN_TEXT).astype(np.int64), IN_TEXT - 1)
    confidence, right, sizes = (
        np.bincount(bins, weights, IN_TEXT).astype(np.float64) for weights in (sure, own == chosen, np.ones(len(bins)))
    )
    return float(np.log(np.maximum(there, 1e-15)).sum()), confidence, right, sizes


def _add_predicted(a: _Predicted, b: _Predicted) -> _Predicted:
    sums = [np.asarray(x) + np.asarray(y) for x, y in zip(a, b, strict=True)]
    return _Predicted(sums[0], float(sums[1]), *sums[2:])


def _score_tiles(classifier: Any, predicted: _Predicted, subject: Subject) -> list[Tile]:
    n = float(predicted.counts.sum())
    tiles = []
    if subject.given.classes is not None:
        right = float(np.trace(square_of(classifier.classes_, predicted.counts, subject)))
        tiles.append(Tile(f"{right / n:.2%}", "of these rows are right", f"{right:,.0f} of {n:,.0f}"))
        tiles += _uneven_tiles(classifier, predicted, subject)
    if hasattr(classifier, "best_score_"):
        tiles.append(Tile(f"{classifier.best_score_:.4g}", "cross-validated score", f"{classifier.n_splits_} folds"))
    if predicted.sizes.any():
        tiles.append(Tile(f"{-predicted.log_likelihood / n:.3g}", "log loss", "of the probabilities, on these rows"))
        error = float(np.abs(predicted.confidence - predicted.right).sum() / n)
        tiles.append(Tile(f"{error:.2%}", "calibration error", "confidence against success, ten bins"))
    return tiles


def _uneven_tiles(classifier: Any, predicted: _Predicted, subject: Subject) -> list[Tile]:
    """What the share of right rows hides where a class is common: the mean of the recalls, and the order of scores."""
    square = square_of(classifier.classes_, predicted.counts, subject)
    sizes, classes = square.sum(axis=1), [str(label) for label in classifier.classes_]
    if not sizes.any():
        return []
    commonest, recalls = int(np.argmax(sizes)), np.diag(square)[sizes > 0.0] / sizes[sizes > 0.0]
    note = f"{sizes[commonest] / sizes.sum():.1%} of the rows are {classes[commonest]}"
    tiles = [Tile(f"{recalls.mean():.2%}", "balanced accuracy", note)]
    if np.ndim(predicted.by_score) and (found := areas(predicted.by_score)):
        against = "of the probabilities" if len(classes) == 2 else "mean of each class against the rest"
        tiles.append(Tile(f"{np.mean(found):.3f}", "area under the ROC curve", against))
    return tiles


def square_of(classes: Array, counts: Float2D, subject: Subject) -> Float2D:
    """Rows of each known class by the one that was found for them, from counts by the labels of the rows."""
    known, true = classes.tolist(), subject.given.classes
    square = np.zeros((len(known), len(known)))
    for k, label in enumerate([] if true is None else true.tolist()):
        if label in known:
            square[known.index(label)] = counts[k]
    return square


def _decision(model: Any) -> Html:
    formula: Formula = model.formula_
    order = sorted(range(len(formula.terms)), key=lambda k: -formula.terms[k].spread)
    written = _write_terms(formula)
    scores = model._score_names
    lines = [
        [written[k], *(figures(w) for w in formula.terms[k].weight), figures(formula.terms[k].spread, 3)] for k in order
    ]
    start = ", ".join(f"{name}: {value:.4g}" for name, value in zip(scores, formula.intercept, strict=True))
    heads = ["term", *(scores if len(scores) > 1 else ["weight"]), "spread"]
    used = formula.meanings(formula.terms)
    text = (
        "The decision is the intercept plus the sum of weight times term. "
        + (
            f"{model.classes_[1]} is predicted where it is positive, {model.classes_[0]} elsewhere. "
            if len(scores) == 1
            else "The class with the largest one is predicted. "
        )
        + "Spread is the deviation of weight times term over the rows of the fit: what the term is worth."
    )
    picture = tag("div", figure(lambda ax: plot_weights(model, ax=ax), (8.0, 4.6), "The largest terms."), class_="wide")
    return join(
        paragraph(text),
        paragraph(f"Intercept of {start}."),
        picture,
        table(heads, lines, name="terms"),
        tag("details", tag("summary", "Variables u of the formula"), tag("pre", "\n".join(used))) if used else None,
    )


def _effects(model: Any, subject: Subject) -> Html:
    """Curves and maps of the columns that move the decision most."""
    effects = effects_of(model, subject.seen.complete, subject.names, IN_REPR)
    curves: list[Any] = [effect for effect in effects if effect.importance > 0.0]
    maps: list[Any] = [pair for pair in effects.pairs if pair.importance > 0.0]
    by_curves, by_all = (f"{share:.1%}" for share in effects.explained)
    text = (
        "The mean decision over these rows if a column had one value in all of them, less the mean decision; grey: how "
        "many rows have it. Maps: what two columns do beyond both curves. "
        f"The curves account for {by_curves} of the variance of the decision"
        + (f", with these maps {by_all}." if maps else ".")
    )
    lines = [[effect.name, *(figures(v, 3) for v in (effect.importance, effect.values.min(), effect.values.max()))]
             for effect in [*curves, *maps]]  # fmt: skip
    drawn = [figure(partial(_draw_effect, one), PANEL, f"Effect of {one.name}.") for one in [*curves[:IN_TEXT], *maps]]
    heads = ["column", "deviation", "lowest", "highest"]
    return join(paragraph(text), tag("div", *drawn, class_="figures thirds"), table(heads, lines, name="effects"))


def _draw_effect(effect: Any, ax: Any) -> None:
    plot_effects(effect, ax=ax)


def _write_terms(formula: Formula) -> list[Html]:
    """The terms of a formula as mathematics, in its order."""
    mapping, polynomials = formula._mapping, formula._polynomials()
    written = [polynomial(polynomials[g], bars=True) for g in mapping.absolute]
    written += [polynomial(polynomials[g]) for g in mapping.signed]
    written += [tag("span", tag("math", variable(formula.variables[j])), class_="eq") for j in mapping.extras.inputs]
    return written + [tag("span", term.text) for term in formula.terms[len(written) :]]


def _predictions(classifier: Any, predicted: _Predicted, subject: Subject) -> Html:
    classes, counts = classifier.classes_.tolist(), predicted.counts
    if subject.given.classes is None:
        lines = [
            [str(label), figures(int(n)), percent(n / counts.sum())]
            for label, n in zip(classes, counts[0], strict=True)
        ]
        text = "These rows came without labels, so nothing can be said about errors."
        return join(paragraph(text), table(["class", "predicted", "share"], lines, name="classes"))
    true, square = subject.given.classes.tolist(), square_of(classifier.classes_, predicted.counts, subject)
    lines = [_class_line(str(label), square, k) for k, label in enumerate(classes)]
    unknown = [str(label) for label in true if label not in classes]
    note = paragraph(f"The classifier does not know the labels {', '.join(unknown)}.") if unknown else None
    drawn = None
    if len(classes) <= MOST_CLASSES:
        side = min(2.6 + 0.55 * len(classes), 8.0)
        caption = "True classes against predicted ones: rows, and shares of the true class."
        drawn = tag(
            "div",
            figure(lambda ax: plot_confusion(square, classes, ax=ax), (side + 0.6, side), caption),
            class_="figures",
        )
    by_class = table(["class", "rows", "found", "right if predicted", "F1"], lines, name="classes")
    if not np.ndim(predicted.by_score):
        return join(note, drawn, by_class)
    return join(
        note, drawn, by_class, threshold_section(predicted.by_score, classes, log_odds=bool(predicted.sizes.any()))
    )


def _class_line(label: str, square: Float2D, k: int) -> list[Any]:
    own, predicted, right = square[k].sum(), square[:, k].sum(), square[k, k]
    shares = [percent(right / total) if total else Cell("", float("nan")) for total in (own, predicted)]
    both = own + predicted
    return [label, figures(int(own)), *shares, figures(2.0 * right / both if both else float("nan"), 4)]


def _generators(model: Any) -> Html:
    generators = model.generators_
    weights = [generators.weights, generators.signed_weights]
    size = (
        np.zeros(len(generators))
        if weights[0] is None
        else sum(np.abs(w).max(axis=0) for w in weights if w is not None)
    )
    order = np.argsort(-np.asarray(size), kind="stable")
    lines = []
    for i in order[:MOST_ROWS]:
        label, g, weight, exact, signed, half = generators[int(i)]
        both = [] if weight is None else [_weight_cell(weight), _weight_cell(signed)]
        sizes = [figures(g.degree), figures(g.mse, 3)]
        lines.append([polynomial(g, zero=True), owner_name(label, half), *sizes, *both, "yes" if exact else ""])
    heads = ["vanishes on the class", "class", "degree", "mean square", "weight of |g|", "weight of g", "exact"]
    if weights[0] is None:
        heads = [*heads[:4], heads[-1]]
    numbers = np.bincount(generators.owners, [len(own) for own in generators.lists])
    counts = ", ".join(f"{label}: {n:.0f}" for label, n in zip(generators.labels, numbers, strict=True))
    used = int(np.count_nonzero(size))
    size_of = counted(len(generators), "generator")
    text = f"{size_of} ({counts}), {used:,} with a weight; those with the largest weights first."
    n_more = len(order) - MOST_ROWS
    more = paragraph(f"Not shown: {n_more:,} more.", class_="note") if n_more > 0 else None
    return join(paragraph(text), table(heads, lines, name="generators"), more)


def _weight_cell(weight: Any) -> Cell:
    values = np.atleast_1d(weight)
    return Cell(" ".join(f"{value:.3g}" for value in values), float(np.abs(values).max()))


def _search(search: Any) -> Html:
    results = search.cv_results_
    keys = ["param_psi", "param_C", "mean_test_score", "std_test_score", "mean_n_generators", "mean_n_columns"]
    columns = [np.asarray(results[key], dtype=np.float64) for key in keys]
    order = np.argsort(results["rank_test_score"], kind="stable")
    lines = [[*(figures(column[k]) for column in columns), figures(int(results["rank_test_score"][k]))] for k in order]
    heads = ["psi", "C", "mean score", "deviation", "generators", "columns used", "rank"]
    n_psis, n_cs = (np.unique(column).size for column in columns[:2])
    size = (max(1.9 + 0.75 * n_cs, 4.2), max(1.6 + 0.42 * n_psis, 2.4))
    caption = f"Scores over {search.n_splits_} folds. Columns are scaled by {search.best_scaling_!r}."
    picture = tag("div", figure(lambda ax: plot_tuning(search, ax=ax), size, caption), class_="figures")
    return join(picture, table(heads, lines, name="pairs"))


_COSTS = (1, 2, 5, 10, 20, 50, 100)  # false alarms that a miss costs as much as


def areas(by_score: Array) -> list[float]:
    """The area under the ROC curve of each class that has rows beside others."""
    return [Thresholds.of(counts).area_under_roc for counts in by_score if counts.sum(axis=1).all()]


def threshold_section(by_score: Array, classes: Sequence[Any], *, log_odds: bool) -> Html | None:
    """The curves of each class, or of the rarer one of two; with log-odds, its costs at their best thresholds.

    ``by_score`` counts the rows of each class, and those of the others, by their scores for it.
    """
    names = [str(label) for label in (classes[1:] if len(by_score) == 1 else classes)]
    two = len(by_score) == 1
    if two and by_score[0, 1].sum() > by_score[0, 0].sum():
        by_score, names = by_score[:, ::-1, ::-1], [str(classes[0])]
    pairs = zip(names, by_score, strict=True)
    known = [(name, Thresholds.of(counts)) for name, counts in pairs if counts.sum(axis=1).all()]
    if not known:
        return None
    shown = sorted(known, key=lambda pair: pair[1].area_under_roc)[: len(CYCLE)]
    which = (
        f"Those of {names[0]}, the rarer class." if two else f"Each class against the rest, up to {len(CYCLE)} of them."
    )
    size = (4.6, 3.9)
    drawn = tag(
        "div",
        figure(lambda ax: _roc(shown, ax), size, f"ROC curves; in brackets the areas below them. {which}"),
        figure(lambda ax: _precision(shown, ax), size, f"Precision and recall; in brackets mean precisions. {which}"),
        class_="figures",
    )
    return join(drawn, _costs(*known[0]) if two and log_odds else None)


def _roc(shown: Sequence[tuple[str, Thresholds]], ax: Any) -> None:
    for colour, (name, curve) in zip(CYCLE, shown, strict=False):
        label = escape(f"{shorten(name, 18)} ({curve.area_under_roc:.3f})")
        ax.plot(curve.false / curve.false[-1], curve.true / curve.true[-1], color=colour, linewidth=1.6, label=label)
    ax.plot([0.0, 1.0], [0.0, 1.0], color=MUTED, linewidth=0.8, linestyle=":")
    add_legend(ax, loc="lower right")
    finish(ax, x="false alarms, of the others", y="found, of the class")


def _precision(shown: Sequence[tuple[str, Thresholds]], ax: Any) -> None:
    for colour, (name, curve) in zip(CYCLE, shown, strict=False):
        label = escape(f"{shorten(name, 18)} ({curve.average_precision:.3f})")
        some = curve.true + curve.false > 0.0
        precision = curve.true[some] / (curve.true[some] + curve.false[some])
        ax.step(curve.true[some] / curve.true[-1], precision, color=colour, linewidth=1.6, label=label, where="pre")
        share = curve.true[-1] / (curve.true[-1] + curve.false[-1])
        ax.axhline(share, color=colour, linewidth=0.8, linestyle=":")
    ax.set(xlim=(-0.02, 1.02), ylim=(0.0, 1.04))
    add_legend(ax, loc="lower left")
    finish(ax, x="found, of the class (recall)", y="right, if predicted (precision)")


def _costs(name: str, curve: Thresholds) -> Html:
    """A line for each ratio of costs, with the threshold that calibrated probabilities make the best one."""
    n, n_true = curve.true[-1] + curve.false[-1], curve.true[-1]
    lines = []
    for cost in _COSTS:
        false, true = curve.above(-np.log(cost))
        half_false, half_true = curve.above(0.0)
        spent, at_half = (1000.0 * (cost * (n_true - t) + f) / n for f, t in ((false, true), (half_false, half_true)))
        right = percent(true / (true + false)) if true + false else ""
        alarms = [figures(int(true + false)), percent(true / n_true), right]
        lines.append(
            [figures(cost), percent(1.0 / (1.0 + cost)), *alarms, figures(round(spent)), figures(round(at_half))]
        )
    text = (
        f"Each line assumes that to miss a row of {name} costs as much as this number of false alarms. To predict "
        f"{name} from the threshold on is then cheapest, if probabilities are calibrated. Costs are in false "
        "alarms per 1,000 of these rows."
    )
    heads = ["false alarms per miss", "threshold", "predicted", "found", "right if predicted", "cost", "cost at 50%"]
    return join(tag("h3", "Thresholds and what they cost"), paragraph(text), table(heads, lines, name="thresholds"))
