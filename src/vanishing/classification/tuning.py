"""The search itself: the folds, the values of psi and the scalings to compare, in memory or in passes.

Functions take the ``search``, the estimator whose parameters say what to do, and do not change it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.metrics import check_scoring
from sklearn.model_selection import RepeatedStratifiedKFold, StratifiedKFold, StratifiedShuffleSplit, check_cv
from sklearn.preprocessing import MinMaxScaler

from .._typing import Float1D, Int1D
from ..checks import check_numbers, quoted
from ..engine.survey import survey_parts
from ..ideals.abm import ABM
from ..ideals.avi import AVI
from ..ideals.ideal import VanishingIdeal
from ..progress import Progress, search_progress
from ..rows.arrays import ArrayRows
from ..rows.disk import ScaledOnDisk
from ..rows.labels import Labelled
from ..rows.reading import input_names, take_input_from
from ..rows.sampling import Sample, stratified_sample
from .class_weights import class_factors, class_weighted
from .crossval import Fold, Study, fit_ideals, score_ideals
from .crossval_source import Options, score_source, survey_folds
from .extras import ColumnOptions
from .fitting import SAMPLE_ROWS, SEARCH_TOL, rows_by_class
from .refitting import fold_classifier
from .results import Searched
from .scoring import Scores, Speaks, scorer_of_predictions
from .transforms import transform_of
from .walk import Walk, explore_in_turns, most_terms, psi_grid, screen_of

__all__ = ["run_search"]

_ONE_THREAD = 5000  # rows below which threads wait for each other longer than they compute
_FEW_ROWS = 1000  # below which folds are repeated, and accuracy says too little to choose by
_FEW_CLASSES = 6  # up to which folds are repeated three times, and twice beyond, where every fold costs more
_CS = (0.01, 0.03, 0.1, 0.3, 1.0, 10.0)
_MANY_ROWS = 2000  # from which on ranks are tried
_RIVALS = ("arcsinh", "rank")  # scalings that "auto" compares
_ALIKE = 0.05  # largest difference of columns in the unit cube that need not be compared
_SEARCH_STEPS = 50  # Newton steps of an SVM in an automatic search
_ABUNDANT = 2  # times search_rows, from which on two halves of a larger sample stand for three folds
_FEW_ERRORS = 100  # of the best pair on held-out rows, with which psi cannot be told apart to a tenth of the error
_LARGER = 4  # times search_rows are sampled then, for the usual folds ...
_MUCH_LARGER = 12  # ... or up to as many, where there are more: enough for one split ...
_HELD_OUT = 0.55  # ... with this share to test on
_ONLY_OURS = "final_estimator must be None for data outside of memory: only the built-in SVM fits them in passes."


class _Prepared(NamedTuple):
    """A search with nothing scored yet, and its study."""

    searched: Searched
    study: Study


def run_search(search: Any, data: Labelled) -> tuple[list[Searched], Sample | None]:
    """The search, the best scaling first, and for an average others; and the rows searched on, if these are not all."""
    rows, most = data.rows, search.search_rows
    if isinstance(rows, ArrayRows) and (most is None or rows.n_samples <= most):
        return _search_in_memory(search, data, _splitter(search, data)), None
    return (_search_in_passes(search, data), None) if most is None else _search_sample(search, data)


def _search_sample(search: Any, data: Labelled) -> tuple[list[Searched], Sample]:
    """The search on a sample, and on a larger one from its best psi on, once its errors are too few to compare psi.

    Few rows of an almost exact law cannot tell it from a coarser one: a small sample prefers a large psi.
    """
    sample, splitter = _first_sample(search, data)
    few, n_rows = int(search.search_rows), int(sample.n_rows.sum())
    one_split = isinstance(search.cv, str) and n_rows > _LARGER * few
    most = min(n_rows, (_MUCH_LARGER if one_split else _LARGER) * few)
    enough = 1.0 - _FEW_ERRORS / len(sample.rows) if len(sample.rows) < most else np.inf
    searches = _search_in_memory(search, data._replace(rows=sample.rows), splitter, sample, enough=enough)
    if len(sample.rows) < most and _counts_few_errors(searches[0], len(sample.rows)):
        sample = stratified_sample(data, most, input_names(search))
        rows = data._replace(rows=sample.rows)
        one = StratifiedShuffleSplit(1, test_size=_HELD_OUT, random_state=0)
        splitter = one if one_split else _splitter(search, rows)
        searches = _search_in_memory(search, rows, splitter, sample, searches[0])
    return searches, sample


def _first_sample(search: Any, data: Labelled) -> tuple[Sample, Any]:
    """Rows to search on, and their folds: of ``search_rows`` rows the usual ones, of a third more rows two halves.

    A half has as many rows to train on as two of three folds. Where rows abound, two such models that share no row say
    as much as three.
    """
    if search.final_estimator is not None and not isinstance(data.rows, ArrayRows):
        raise ValueError(_ONLY_OURS)
    _find_scaling(search, data)
    few, names = int(search.search_rows), input_names(search)
    halves = isinstance(search.cv, str) and search.cv == "auto" and not search.average
    if halves and (data.rows.n_samples or np.inf) >= _ABUNDANT * few:
        sample = stratified_sample(data, 4 * few // 3, names)
        if sample.n_rows.sum() >= _ABUNDANT * few:
            return sample, StratifiedKFold(2, shuffle=True, random_state=0)
    sample = stratified_sample(data, few, names)
    return sample, _splitter(search, data._replace(rows=sample.rows))


def _find_scaling(search: Any, data: Labelled) -> None:
    """By a pass over a file that was opened to be scaled."""
    if isinstance(data.rows, ScaledOnDisk) and data.rows.scaler is None:
        survey_parts(data.rows, input_names(search))


def _best_psi(searched: Searched) -> float:
    return searched.psis[searched.best[0]]


def _counts_few_errors(searched: Searched, n_rows: int) -> bool:
    if not (searched.automatic and searched.counts):
        return False
    return bool((1.0 - searched.scores.scores[searched.best].mean()) * n_rows < _FEW_ERRORS)


def _search_in_memory(
    search: Any,
    data: Labelled,
    splitter: Any,
    sample: Sample | None = None,
    before: Searched | None = None,
    *,
    enough: float = np.inf,
) -> list[Searched]:
    """Score pairs on folds of rows in memory, with the scaling that does best; for an average, others after it.

    ``before`` is a search on fewer rows, from whose best psi to go on with its scaling; ``enough`` is an accuracy that
    ends a walk.
    """
    splits = _splits(splitter, data)
    scalings = _scalings(search, data.rows.n_samples or 0) if before is None else (before.scaling,)
    prepared = [_prepare(search, data, sample, splits, scaling) for scaling in scalings]
    if not search.average and all(_are_alike(prepared[0], other) for other in prepared[1:]):
        prepared = prepared[:1]
    n_steps = len(prepared) * len(prepared[0].searched.psis) * len(splits)
    with search_progress(n_steps, passes=False) as progress:
        if prepared[0].searched.automatic:
            return _walk(search, prepared, progress, before, enough, sample)
        return _score_all(search, prepared, progress)


def _are_alike(one: _Prepared, other: _Prepared) -> bool:
    """Whether two scalings give almost the same columns: ranks of uniform columns, and of columns of two values."""
    return bool(np.abs(one.study.X - other.study.X).max() < _ALIKE)


def _scalings(search: Any, n_rows: int) -> Sequence[Any]:
    """The scalings to compare; those of few rows are compared for an average only."""
    if search.scale_input != "auto":
        return (search.scale_input,)
    return _RIVALS if n_rows >= _MANY_ROWS or search.average else _RIVALS[:1]


def _score_all(search: Any, prepared: list[_Prepared], progress: Progress) -> list[Searched]:
    """Every pair for every scaling."""
    searches = []
    for searched, study in prepared:
        scores = score_ideals(study, fit_ideals(study, searched.psis), searched.Cs, progress)
        searches.append(searched._replace(scores=scores))
    bests = [float(np.nanmax(each.scores.scores.mean(axis=2), initial=-np.inf)) for each in searches]
    return [searches[k] for k in _order(search, prepared, bests)]


def _walk(
    search: Any,
    prepared: list[_Prepared],
    progress: Progress,
    before: Searched | None,
    enough: float,
    sample: Sample | None,
) -> list[Searched]:
    """Walk down psi: first a little for every scaling, then to the end with the best; for an average with all."""
    window = isinstance(search.Cs, str) and search.max_columns is None
    enough = enough if prepared[0].searched.counts else np.inf
    walks = []
    for searched, study in prepared:
        psis, C = (searched.psis, None) if before is None else (_psis_onwards(before), before.best[1])
        new = partial(Walk, window=window, onwards_from=C, enough=enough, sampled=sample is not None)
        walks.append(new(study, psis, searched.Cs, progress))
    if len(walks) > 1:
        explore_in_turns(walks)
    order = _order(search, prepared, [walk.best for walk in walks])
    for k in order:
        walks[k].finish()
    searches = [prepared[k].searched._replace(psis=walks[k].psis, scores=walks[k].scores) for k in order]
    few_errors = before is not None or walks[order[0]].is_good_enough
    with_more = None if few_errors else _try_more_columns(search, prepared, walks, order[0], sample)
    return searches if with_more is None else [with_more]


def _try_more_columns(
    search: Any, prepared: list[_Prepared], walks: list[Walk], best: int, sample: Sample | None
) -> Searched | None:
    """The best psi of a scaling that is not far behind, with hinges, products or halves, if that is ahead of all walks.

    Such columns cost readers, so that they must be ahead by more than chance. Few rows cannot tell. Halves of many rows
    take long, too: where rows abound, they must be ahead in accuracy, and not in likelihood alone.
    """
    study = prepared[best].study
    simple = search.average or search.sparsity is not None or search.max_columns is not None
    if simple or len(study.codes) < _FEW_ROWS:
        return None
    near = [(k, walk) for k, walk in enumerate(walks) if not walks[best].is_clearly_ahead_of(walk)]
    richer = [(k, walk.with_columns(more)) for k, walk in near for more in study.columns.richer(search)]
    tried = [(k, walk) for k, walk in richer if walk is not None]
    ahead = [(k, walk) for k, walk in tried if walk.is_ahead_of(walks[best])]
    if not ahead:
        abound = sample is not None and sample.n_rows.sum() >= _ABUNDANT * search.search_rows
        cheap = [(k, walk) for k, walk in tried if not (abound and walk.study.columns.halves)]
        ahead = [(k, walk) for k, walk in cheap if walk.is_likelier_than(walks[best])]
    if not ahead:
        return None
    k, walk = max(ahead, key=lambda each: each[1].best)
    psis = [*walks[k].psis, *walk.psis]
    return prepared[k].searched._replace(psis=psis, scores=walks[k].followed_by(walk), study=walk.study)


def _psis_onwards(before: Searched) -> list[float]:
    """From the best psi of a walk down."""
    return sorted({psi for psi in before.psis if psi <= _best_psi(before)}, reverse=True)


def _order(search: Any, prepared: list[_Prepared], bests: list[float]) -> list[int]:
    """The best scaling first, but as given where few rows make scores say little; one, unless for an average."""
    few = len(prepared[0].study.codes) < _MANY_ROWS
    order = sorted(range(len(bests)), key=lambda k: 0.0 if few else -bests[k])  # of equals, the first
    return order if search.average else order[:1]


def _prepare(search: Any, data: Labelled, sample: Sample | None, splits: Any, scaling: Any) -> _Prepared:
    """The study of rows in memory with one scaling."""
    rows = data.rows
    assert isinstance(rows, ArrayRows)
    assert rows.labels is not None
    raw, codes, classes, transform = rows.X, rows.labels, data.classes, None
    if isinstance(scaling, str):
        transform = transform_of(scaling, rows.without_zero_weights(), sample)
        X = np.asarray(transform(np.asarray(raw, dtype=np.float64)))
        rows = ArrayRows(X, rows.sample_weight, codes, rows.n_jobs)
    scale = transform is None and bool(scaling)
    variance = partial(_largest_variance, rows, scale=scale)
    template, psis, automatic = _psi_values(search, variance, len(codes), len(classes))
    scorer = None
    if search.scoring is not None or search.final_estimator is not None:
        scorer = check_scoring(Speaks() if search.final_estimator is None else search.final_estimator, search.scoring)
    study = Study(
        [
            Fold(k, train, test, MinMaxScaler().fit(rows.X[train]) if scale else None)
            for k, (train, test) in enumerate(splits)
        ],
        rows.X,
        classes,
        codes,
        _fit_weights(search, data._replace(rows=rows)),
        rows.sample_weight,
        template,
        ColumnOptions.of(search, auto=True),
        scorer,
        1 if len(codes) < _ONE_THREAD else search.n_jobs,
        final_estimator=search.final_estimator,
        whole_model=None
        if _scores_answers(search)
        else partial(fold_classifier, search=search, scaling=scaling, classes=classes, transform=transform),
        whole_rows=raw,
        tol=SEARCH_TOL if automatic else 1e-6,
        max_iter=_SEARCH_STEPS if automatic else 200,
        screen=screen_of(min(len(train) for train, _ in splits), len(classes)) if automatic else None,
        calibrated=search.probability and len(classes) > 2,
        may_mix=len(classes) > 2 and search.sparsity is None and search.max_columns is None,
        by_likelihood=automatic and scorer is None and len(codes) < _FEW_ROWS,
        ascending=automatic and scorer is None and len(codes) >= _FEW_ROWS and isinstance(search.Cs, str),
        keep_models=search.average,
    )
    counts = isinstance(search.scoring, str | None) and search.scoring in (None, "accuracy")
    nothing = Scores.empty(len(psis), len(_c_values(search)), len(splits))
    searched = Searched(scaling, transform, psis, _c_values(search), nothing, len(splits), automatic, counts, study)
    return _Prepared(searched, study)


def _scores_answers(search: Any) -> bool:
    """Whether the score needs no more than answers of a classifier, and not the classifier itself."""
    scoring = search.scoring
    return scoring is None or isinstance(scoring, str) or hasattr(scoring, "_response_method")


def _fit_weights(search: Any, data: Labelled) -> Float1D | None:
    """The weights of the rows in the fit, with those of their classes."""
    rows = data.rows
    assert isinstance(rows, ArrayRows)
    if search.class_weight is None:
        return rows.sample_weight
    counts = rows_by_class(data.without_zero_weights())
    weighted = class_weighted(data, class_factors(search.class_weight, data.classes, counts)).rows
    assert isinstance(weighted, ArrayRows)
    return weighted.sample_weight


def _largest_variance(rows: ArrayRows, *, scale: bool) -> float:
    """Of a column within a class, in scaled units."""
    rows = rows.without_zero_weights()
    assert rows.labels is not None
    span = np.ptp(rows.X.astype(np.float64), axis=0) if scale else np.ones(rows.X.shape[1])
    span = np.where(span > 0.0, span, 1.0)
    return max(_variance(rows.where_label(code), span) for code in np.unique(rows.labels))


def _variance(rows: ArrayRows, span: Float1D) -> float:
    X = rows.X / span
    mean = np.average(X, axis=0, weights=rows.sample_weight)
    return float(np.average((X - mean) ** 2, axis=0, weights=rows.sample_weight).max())


def _splitter(search: Any, data: Labelled) -> Any:
    """The folds: for "auto" three, shuffled, repeated for less than 1,000 rows, two where a class has two rows."""
    rows = data.rows
    assert isinstance(rows, ArrayRows)
    assert rows.labels is not None
    if not isinstance(search.cv, str):
        return check_cv(search.cv, rows.labels, classifier=True)
    if search.cv != "auto":
        raise ValueError(f"cv must be 'auto', a number, a splitter or a list of folds; got {search.cv!r}.")
    counts = np.bincount(rows.labels)
    n_splits = min(int(counts.min()), 3)
    if n_splits < 2:
        raise ValueError(
            f"Class {quoted(data.classes[int(np.argmin(counts))])} has one row, but a search needs two: leave out the "
            "class, or fit VanishingIdealClassifier with a psi and a C of your own."
        )
    if len(rows) < _FEW_ROWS:
        n_repeats = 3 if len(counts) <= _FEW_CLASSES else 2
        return RepeatedStratifiedKFold(n_splits=n_splits, n_repeats=n_repeats, random_state=0)
    return StratifiedKFold(n_splits, shuffle=True, random_state=0)


def _splits(splitter: Any, data: Labelled) -> list[tuple[Int1D, Int1D]]:
    """The rows to train and to test on in each fold, without those of weight 0; some of every class to train on."""
    rows, classes = data.rows, data.classes
    assert isinstance(rows, ArrayRows)
    assert rows.labels is not None
    codes, weights = rows.labels, rows.sample_weight
    counts, y = np.bincount(codes), classes[codes]
    fewest, n_folds = int(np.argmin(counts)), splitter.get_n_splits(rows.X, y)
    if isinstance(splitter, StratifiedKFold) and counts[fewest] < n_folds:
        raise ValueError(
            f"Class {quoted(classes[fewest])} has {counts[fewest]} rows, fewer than the {n_folds} folds: lower cv, or "
            "leave out the class."
        )
    indices = np.arange(len(codes))  # turns boolean masks and negative indices into plain ones
    splits = [(indices[train], indices[test]) for train, test in splitter.split(rows.X, y)]
    if weights is not None:
        splits = [(train[weights[train] > 0.0], test[weights[test] > 0.0]) for train, test in splits]
    if not splits:
        raise ValueError("cv gives no fold at all; cv=3 gives three.")
    for k, (train, test) in enumerate(splits):
        if test.size == 0:
            raise ValueError(f"There are no rows to test on in fold {k} of cv; cv=3 gives three folds with some.")
        missing = np.setdiff1d(np.arange(len(classes)), codes[train])
        if missing.size:
            raise ValueError(
                f"The training rows of fold {k} have none of class {quoted(classes[missing[0]])}: use stratified "
                "folds (cv=3), or leave out the class."
            )
    return splits


def _search_in_passes(search: Any, data: Labelled) -> list[Searched]:
    """Score all pairs on all rows of a source that is not in memory."""
    n_folds, names = _number_of_folds(search), input_names(search)
    scorer = scorer_of_predictions(search.scoring)
    _find_scaling(search, data)
    columns, sample, transform = ColumnOptions.of(search, auto=True), None, None
    if isinstance(search.scale_input, str) or columns.hinges or search.class_weight is not None:
        sample = stratified_sample(data, SAMPLE_ROWS, names)
        data = class_weighted(data, class_factors(search.class_weight, data.classes, sample.n_rows))
    head = np.empty((0, search.n_features_in_)) if sample is None else sample.rows.X
    scaling = _scalings(search, 0)[0]
    if isinstance(scaling, str):
        transform = transform_of(scaling, data.rows, sample)
        data, head = data._replace(rows=transform.over(data.rows)), transform(head)
    scale = transform is None and bool(scaling)
    ahead = search._template()._looks_ahead
    folds = survey_folds(data, n_folds, names, scale_input=scale, ahead=ahead)
    n_rows = sum(part.n_samples for parts in folds.surveys[0] for part in parts)
    template, psis, automatic = _psi_values(search, folds.largest_variance, n_rows, len(data.classes))
    Cs = _c_values(search)
    options = Options(template, Cs, scorer, columns, columns.extras(head), search.n_jobs)
    with search_progress(len(psis) * n_folds, passes=True) as progress:
        scores = score_source(folds, options, psis, progress)
    return [Searched(scaling, transform, psis, Cs, scores, n_folds, automatic)]


def _number_of_folds(search: Any) -> int:
    """The folds of a search in passes, whose other parameters it checks, too."""
    if search.final_estimator is not None:
        raise ValueError(_ONLY_OURS)
    cv = 3 if isinstance(search.cv, str) and search.cv == "auto" else search.cv
    if isinstance(cv, bool) or not isinstance(cv, Integral) or int(cv) < 2:
        raise ValueError(f"cv must be a number of folds, at least 2, for data outside of memory; got {search.cv!r}.")
    for name, value in (("average", search.average), ("halves", search.halves is True)):
        if value:
            raise ValueError(f"{name}=True needs a search in memory: set search_rows, for instance to 10_000.")
    return int(cv)


def _psi_values(
    search: Any, variance: Callable[[], float], n_rows: int, n_classes: int
) -> tuple[VanishingIdeal, list[float], bool]:
    """The ideal to fit, the values of psi, and whether these were proposed; then the ideal is kept small."""
    template = clone(search._template())
    take_input_from(search, template)
    if not isinstance(search.psis, str):
        return template, check_numbers("psis", search.psis, low=0.0), False
    if search.psis != "auto":
        raise ValueError(f"psis must be 'auto' or a list of numbers, got {search.psis!r}.")
    largest = variance() or 0.1
    if isinstance(template, (ABM, AVI)):  # whose psi has to be below 1
        largest = min(largest, 0.5)
    enough = most_terms(n_rows, search.n_features_in_, n_classes)
    template.set_params(max_terms=min(template.max_terms, enough))
    return template, psi_grid(largest), True


def _c_values(search: Any) -> list[float]:
    return list(_CS) if isinstance(search.Cs, str) else check_numbers("Cs", search.Cs, above=0.0)
