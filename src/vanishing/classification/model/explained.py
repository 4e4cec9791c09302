"""What a classifier says about its columns and about rows: effects on the decision, contributions, and reports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from ..._typing import Float1D, Float2D, Int1D
from ...checks import check_choice
from ...display import as_table
from ...polynomials.text import distinct_names
from ...report import Given, Reported
from ...report.glance import look_at
from ...rows.arrays import ArrayRows, as_rows
from ...rows.labels import as_vector, best_labels, read_labelled
from ...rows.protocol import Rows
from ...rows.reading import dense, finite_blocks, input_names, learn_columns, read_finite
from .effects import Effects, effects_of
from .explain import Explanation, changes_of_label, shares_of_columns
from .transforms import cube_rows


class Explains:
    """The methods that explain the decisions of a classifier, or of the best model of a search."""

    def _single(self) -> Any:
        """The model that predicts."""
        return self

    @property
    def monotone_(self) -> dict[str, int]:
        """The columns with which the decision for the second of two classes never falls (1), or never rises (-1).

        Read from the formula, for every row there could be: such a column is in no term but the column itself and its
        hinges, and their weights have this sign. Columns that are in no term are left out.

        Examples
        --------
        >>> import numpy as np
        >>> from vanishing import OAVI, VanishingIdealClassifier
        >>> X = np.random.default_rng(0).uniform(-1, 1, (500, 2))
        >>> clf = VanishingIdealClassifier(OAVI(0.01), hinges=3, monotone={"x0": 1}).fit(X, X[:, 0] > X[:, 1] ** 2)
        >>> clf.monotone_
        {'x0': 1}
        """
        model = self._single()
        model._require_formula()
        if len(model.classes_) != 2:
            raise AttributeError("Only formulas of two classes have directions, those of the second class.")
        found = model._used_map.directions(model._planes[0][0])
        return {name: int(sign) for name, sign in zip(input_names(model), found, strict=True) if sign}

    def effects(self, X: Any, *, pairs: Any = 6) -> Effects:
        """How each column moves the decision over its range, and which pairs of columns do so beyond that.

        The effect of a column is its partial dependence: the mean decision over the rows of ``X`` if the column had a
        value in all of them, less the mean decision. A formula gives it exactly, as sums over its terms. Decisions are
        log-odds wherever there are probabilities.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or another data source
            Rows over which to take means. From more than 5,000 rows, 5,000 are drawn.
        pairs : int or list of pairs of names, default=6
            How many interactions of two columns to give, the strongest ones by a screening; or of which columns.

        Returns
        -------
        Effects
            Of all columns, the largest first; ``effects["age"]`` is that of one column, ``effects["age", "income"]``
            the map of two, and :func:`~vanishing.plots.plot_effects` draws them.

        Examples
        --------
        >>> import numpy as np
        >>> from vanishing import OAVI, VanishingIdealClassifier
        >>> X = np.random.default_rng(0).uniform(-1, 1, (500, 3))
        >>> clf = VanishingIdealClassifier(OAVI(0.01), monomials=2).fit(X, X[:, 0] + X[:, 1] * X[:, 2] > 0)
        >>> effects = clf.effects(X, pairs=1)
        >>> effects[0].name, effects.pairs[0].name
        ('x0', 'x1 & x2')
        """
        model = self._single()
        model._require_formula()
        if not (isinstance(pairs, (int, np.integer)) and pairs >= 0) and not isinstance(pairs, (list, tuple)):
            raise ValueError(f"pairs must be a number of at least 0 or a list of pairs of names; got {pairs!r}.")
        seen = look_at(read_finite(model, dense(X)))
        return effects_of(model, np.ascontiguousarray(seen.X), input_names(model), pairs)

    def explain(
        self,
        X: Any,
        towards: Any = None,
        *,
        by: str = "term",
        reference: Any = None,
        groups: Mapping[str, Sequence[int]] | None = None,
    ) -> Any:
        """What each term or column contributes to the decision for rows; for one row also how to change its label.

        By term, the contributions and the intercept sum to the decision. By column, they are Shapley's values, and sum
        to the decision less the decision for a ``reference`` row. They are exact for terms of one or two columns; for
        terms of more columns they are the mean over 16 orders of the columns.

        Parameters
        ----------
        X : array-like of shape (n_features,) or (n_samples, n_features)
            One row, or several.
        towards : label, optional
            The class whose decision to explain; that predicted for each row by default. Of two classes the second:
            the decision about the first is the negative one.
        by : {"term", "column"}, default="term"
        reference : array-like of shape (n_features,), optional
            The row to compare with, by column; by default the mean of the training rows (as the formula sees them:
            of ranks or of arcsinh where the columns are scaled so).
        groups : mapping from str to list of int, optional
            Columns that count as one, such as the columns of a category; only with ``by="column"``.

        Returns
        -------
        Explanation or table
            For one row an :class:`Explanation`, which prints the largest contributions first. For several a pandas
            DataFrame (a dict of columns without pandas) with a line for each row: the columns "intercept" and those of
            the contributions, whose sum is the decision.
        """
        check_choice("by", by, ("term", "column"))
        model = self._single()
        formula = model.formula_
        rows, is_one = _rows_of(model, X)
        inside = as_rows(cube_rows(rows, model.scaler_))
        scores = model._used_map.scores(inside, *model._planes)
        labels = np.asarray(best_labels(as_vector(scores), model.classes_))
        chosen = _scores_towards(model, labels, towards)
        if by == "term":
            names: Sequence[str] = [term.text for term in formula.terms]
            curved = rows if formula.transform is None else formula.transform.curve(rows)
            columns = model._used_map.over(inside)
            parts, intercept = formula.contributions(columns, curved, chosen), formula.intercept[chosen]
        else:
            names, parts, intercept = _by_column(model, rows, chosen, reference, groups)
        if not is_one:
            listed = distinct_names(("intercept", *names))
            return as_table(dict(zip(listed, np.column_stack([intercept, parts]).T, strict=True)))
        if by == "column":
            names = [_with_value(name, rows[0], input_names(model)) for name in names]
        pairs = sorted(zip(names, parts[0].tolist(), strict=True), key=lambda pair: -abs(pair[1]))
        low, high = model._input_range
        changes = changes_of_label(model._predict_checked, rows[0], low, high, input_names(model))
        towards = model.classes_[1] if len(model.classes_) == 2 else model.classes_[chosen[0]]
        first = float(intercept[0])
        return Explanation(labels[0], towards, float(first + parts[0].sum()), first, pairs, changes)


def _with_value(name: str, row: Float1D, inputs: Sequence[str]) -> str:
    """``age = 41``; the name of a group as it is."""
    return f"{name} = {row[inputs.index(name)]:.6g}" if name in inputs else name


def _rows_of(model: Any, X: Any) -> tuple[Float2D, bool]:
    """Checked rows in memory, and whether they are a single one."""
    X = dense(X)
    is_one = np.ndim(X) == 1
    if is_one:
        row = np.asarray(X, dtype=np.float64)
        if row.size != model.n_features_in_:
            raise ValueError(f"The row has {row.size} values, the fit had {model.n_features_in_}: pass one of each.")
        X = ArrayRows(row[None, :])
    rows = read_finite(model, X)
    if not isinstance(rows, ArrayRows):
        raise ValueError("explain takes rows in memory: give it an array or a frame of the rows in question.")
    return np.ascontiguousarray(rows.X[:], dtype=np.float64), is_one


def _scores_towards(model: Any, labels: Any, towards: Any) -> Int1D:
    """The number of the score that each row is explained by."""
    classes = model.classes_
    if len(classes) == 2:
        if towards is not None and towards != classes[1]:
            raise ValueError(f"towards must be {str(classes[1])!r}, the second of two classes, got {towards!r}.")
        return np.zeros(len(labels), dtype=np.int64)
    if towards is None:
        return np.asarray(np.searchsorted(classes, labels))
    if towards not in classes:
        raise ValueError(f"towards must be one of {classes.tolist()}, got {towards!r}.")
    return np.full(len(labels), int(np.flatnonzero(classes == towards)[0]))


def _by_column(
    model: Any, rows: Float2D, chosen: Int1D, reference: Any, groups: Mapping[str, Sequence[int]] | None
) -> tuple[list[str], Float2D, Float1D]:
    """Names, contributions of columns ``(n_rows, n_names)``, and the decisions for the reference."""
    names, (coef, intercept) = input_names(model), model._planes
    players = {name: [int(j) for j in members] for name, members in (groups or {}).items()}
    grouped = [j for members in players.values() for j in members]
    if len(set(grouped)) < len(grouped) or not set(grouped) <= set(range(len(names))):
        raise ValueError(f"groups must hold numbers of columns from 0 to {len(names) - 1}, each once; got {groups!r}.")
    players |= {name: [j] for j, name in enumerate(names) if j not in set(grouped)}
    if reference is None:
        centre = getattr(model, "_centre", None)
        if centre is None:
            raise ValueError("The model does not know the mean of its training rows: give a row as reference.")
    else:
        row, is_one = _rows_of(model, reference)
        if not is_one:
            raise ValueError(f"reference must be one row of {len(names)} values; got an array of shape {row.shape}.")
        centre = cube_rows(row, model.scaler_)[0]
    inside = cube_rows(rows, model.scaler_)

    def decide(X: Float2D) -> Float2D:
        return np.asarray(model._used_map.scores(as_rows(X), coef, intercept))

    shares = shares_of_columns(decide, inside, centre, list(players.values()))
    start = decide(centre[None, :])[0]
    return list(players), shares[np.arange(len(rows)), :, chosen], start[chosen]


class _ReportedClasses(Reported):
    """A model of classes that writes reports about itself."""

    def _report_rows(self, X: Any, y: Any) -> Given:
        check_is_fitted(self)
        names = tuple(input_names(self))
        X = X.toarray() if issparse(X) else X
        if y is None and not (isinstance(X, Rows) and X.labelled):
            return Given(read_finite(self, X), names)
        data = read_labelled(X, y, at_least=1)
        if isinstance(data.rows, ArrayRows):
            read_finite(self, X)  # raises an error for other columns than those of the fit
            return Given(data.rows, names, data.classes, data.keys)
        learn_columns(self, data.rows, reset=False)
        return Given(finite_blocks(data.rows, names), names, data.classes, data.keys)


class ReportedClassifier(Explains, _ReportedClasses, ClassifierMixin):  # type: ignore[misc]
    """A classifier that explains its decisions and writes reports about itself."""

    def _report_story(self, subject: Any) -> Any:
        from .story import classifier_story  # only reports need it

        return classifier_story(self, subject)


class ReportedPerClass(_ReportedClasses):
    """One ideal per class that writes reports about itself."""

    def _report_story(self, subject: Any) -> Any:
        from .per_class_story import per_class_story  # only reports need it

        return per_class_story(self, subject)
