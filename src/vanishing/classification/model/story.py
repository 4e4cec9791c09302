"""What a report says about a classifier: its formula, its predictions, the generators of each class, the search."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ..._typing import Array, Float1D, Float2D
from ...checks import RangeWarning
from ...display import counted
from ...plots import plot_confusion, plot_effects, plot_tuning, plot_weights
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
from .rates import counts_by_score
from .threshold_story import areas, threshold_section

__all__ = ["MOST_CLASSES", "classifier_story"]

MOST_CLASSES = 40  # that a picture of confusions has room for: cells of a fifth of an inch
_BINS = 10  # of confidences, from 0 to 1: each has rows enough for its share of right answers
_MOST_CURVES, _MOST_MAPS, _PANEL = 9, 3, (3.6, 2.8)  # pictures of effects, and their inches


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
        labels = _codes(block.labels, keys)
        counts, nothing = np.zeros((max(len(keys), 1), len(classes))), np.zeros(_BINS)
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


def _codes(labels: Any, keys: Sequence[Any]) -> Array:
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
    bins = np.minimum((sure * _BINS).astype(np.int64), _BINS - 1)
    confidence, right, sizes = (
        np.bincount(bins, weights, _BINS).astype(np.float64) for weights in (sure, own == chosen, np.ones(len(bins)))
    )
    return float(np.log(np.maximum(there, 1e-15)).sum()), confidence, right, sizes


def _add_predicted(a: _Predicted, b: _Predicted) -> _Predicted:
    sums = [np.asarray(x) + np.asarray(y) for x, y in zip(a, b, strict=True)]
    return _Predicted(sums[0], float(sums[1]), *sums[2:])


def _score_tiles(classifier: Any, predicted: _Predicted, subject: Subject) -> list[Tile]:
    n = float(predicted.counts.sum())
    tiles = []
    if subject.given.classes is not None:
        right = _right(classifier, predicted, subject)
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
    square = _square(classifier, predicted, subject)
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


def _square(classifier: Any, predicted: _Predicted, subject: Subject) -> Float2D:
    """Rows of each known class by the predicted one."""
    classes, true = classifier.classes_.tolist(), subject.given.classes
    square = np.zeros((len(classes), len(classes)))
    for k, label in enumerate([] if true is None else true.tolist()):
        if label in classes:
            square[classes.index(label)] = predicted.counts[k]
    return square


def _right(classifier: Any, predicted: _Predicted, subject: Subject) -> float:
    true, known = subject.given.classes, classifier.classes_.tolist()
    assert true is not None
    return float(sum(predicted.counts[k, known.index(y)] for k, y in enumerate(true.tolist()) if y in known))


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
    effects = effects_of(model, subject.seen.complete, subject.names, _MOST_MAPS)
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
    drawn = [
        figure(partial(_draw_effect, one), _PANEL, f"Effect of {one.name}.") for one in [*curves[:_MOST_CURVES], *maps]
    ]
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
    true, square = subject.given.classes.tolist(), _square(classifier, predicted, subject)
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
