"""Takes fitted pipelines apart: the rows as their model sees them, and the source of each column in the table."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any, NamedTuple

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from ..rows.reading import dense


class Apart(NamedTuple):
    """The model of a pipeline with the names of its columns, its rows, and its columns by column of the table."""

    model: Any
    X: Any
    groups: dict[str, list[int]]


def take_apart(model: Any, X: Any) -> Apart:
    """The last step of a fitted pipeline and its rows; any other model and its rows as they are."""
    if not isinstance(model, Pipeline):
        return Apart(model, X, {})
    check_is_fitted(model)
    *before, last = [step for _, step in model.steps if not (step is None or isinstance(step, str))]
    names = _names_of(before[0] if before else last, X)
    sources = list(names)
    for step in before:
        X = step.transform(X)
        known = dict(zip(names, sources, strict=True))
        try:
            after = [str(name) for name in step.get_feature_names_out(names)]
        except AttributeError:  # a function, say, which names nothing
            after = names if X.shape[1] == len(names) else [f"{step}[{j}]" for j in range(X.shape[1])]
            sources = [known.get(name, name) for name in after]
        else:
            sources = [known.get(name, name) for name in _sources(step, names, after)]
        names = after
    values = np.asarray(dense(X), dtype=np.float64)
    groups: dict[str, list[int]] = {}
    for j, source in enumerate(sources):
        groups.setdefault(source, []).append(j)
    return Apart(_with_names(last, names), _as_frame(values, names), groups)


def _names_of(step: Any, X: Any) -> list[str]:
    names = getattr(step, "feature_names_in_", getattr(X, "columns", None))
    return [f"x{j}" for j in range(step.n_features_in_)] if names is None else [str(name) for name in names]


def _sources(step: Any, names: Sequence[str], after: Sequence[str]) -> list[str]:
    """The input column of each output column of a transformer; the output itself if it has several inputs."""
    if isinstance(step, Pipeline):
        sources, names = list(names), list(names)
        for _, part in step.steps:
            if not (part is None or isinstance(part, str)):
                made = [str(name) for name in part.get_feature_names_out(names)]
                known = dict(zip(names, sources, strict=True))
                sources, names = [known.get(name, name) for name in _sources(part, names, made)], made
        return sources
    if not isinstance(step, ColumnTransformer):
        return [_source(name, names) for name in after]
    found = list(after)
    for key, part, columns in step.transformers_:
        place = step.output_indices_[key]
        own = [str(name) for name in np.array(names, dtype=object)[_places(columns, names)]]
        made = own if isinstance(part, str) else [str(name) for name in part.get_feature_names_out(own)]
        if place.stop > place.start:
            found[place] = _sources(part, own, made) if not isinstance(part, str) else own
    return found


def _places(columns: Any, names: Sequence[str]) -> Any:
    """Columns of a ``ColumnTransformer`` as an index: it takes one or more names, numbers, a slice or flags."""
    listed = [columns] if isinstance(columns, (str, int)) else columns
    if isinstance(listed, slice):
        return listed
    by_name = [list(names).index(column) if isinstance(column, str) else column for column in listed]
    return np.asarray(by_name, dtype=bool if by_name and isinstance(by_name[0], (bool, np.bool_)) else np.int64)


def _source(made: str, names: Sequence[str]) -> str:
    """The longest input name that an output name equals or extends, as encoders and indicators of gaps do."""
    fitting = [
        name
        for name in names
        if made in (name, f"missingindicator_{name}") or made.startswith((f"{name}_", f"{name}=", f"{name} is "))
    ]
    return max(fitting, key=len, default=made)


def _with_names(model: Any, names: Sequence[str]) -> Any:
    """The model, or a copy that knows the names of its columns; what it has learnt is shared."""
    if hasattr(model, "feature_names_in_") or not hasattr(model, "n_features_in_"):
        return model
    model = copy(model)
    model.feature_names_in_ = np.array(names, dtype=object)
    if hasattr(model, "best_estimator_"):
        model.best_estimator_ = _with_names(model.best_estimator_, names)
    if getattr(model, "_generators", None) is not None:
        model._generators = None  # the cached ones have other names
    return model


def _as_frame(values: Any, names: Sequence[str]) -> Any:
    try:
        import pandas as pd
    except ImportError:
        return values
    return pd.DataFrame(values, columns=list(names))


def explain(model: Any, X: Any, *, by: str = "term", towards: Any = None, reference: Any = None) -> Any:
    """Why a classifier decides as it does about rows: the contributions of its terms, or of the columns of the table.

    As :meth:`VanishingIdealClassifier.explain`, also for a pipeline of encoders, scalers and imputers before it. By
    column, what an encoder has made of a column (the categories of a text, the indicator of its gaps) counts together.

    Parameters
    ----------
    model : fitted classifier, or Pipeline that ends in one
    X : array-like of shape (n_features,) or (n_samples, n_features)
        One row, or several, as the pipeline takes them.
    by : {"term", "column"}, default="term"
    towards : label, optional
        The class whose decision to explain, among more than two; the predicted one by default.
    reference : array-like of shape (n_features,), optional
        The row to compare with, by column; by default the mean of the training rows.

    Returns
    -------
    Explanation or table
        As :meth:`VanishingIdealClassifier.explain` gives it.

    Examples
    --------
    >>> import pandas as pd
    >>> import vanishing
    >>> from sklearn.pipeline import make_pipeline
    >>> table = pd.DataFrame({"color": ["red", "blue"] * 100, "size": [1.0, 2.0, 3.0, 4.0] * 50})
    >>> steps = vanishing.TableEncoder(), vanishing.VanishingIdealClassifier()
    >>> model = make_pipeline(*steps).fit(table, (table["color"] == "red") & (table["size"] < 2))
    >>> list(vanishing.explain(model, table[:3], by="column"))
    ['intercept', 'color', 'size']
    """
    is_one = np.ndim(X) == 1
    last, encoded, groups = take_apart(model, _as_rows(X) if is_one and isinstance(model, Pipeline) else X)
    options: dict[str, Any] = {"by": by} if towards is None else {"by": by, "towards": towards}
    if reference is not None:
        options["reference"] = _first(take_apart(model, _as_rows(reference)).X)
    if by == "column" and groups:
        options["groups"] = groups
        if is_one:
            row = _as_rows(X)
            values = dict(zip(_names_of(model[0], row), np.asarray(row, dtype=object)[0], strict=True))
            options["groups"] = {_with_value(name, values): members for name, members in groups.items()}
    return last.explain(_first(encoded) if is_one else encoded, **options)


def _with_value(name: str, values: dict[str, Any]) -> str:
    value = values.get(name)
    if name not in values:
        return name
    return f"{name} = {value:.6g}" if isinstance(value, (float, np.floating)) else f"{name} = {value}"


def _as_rows(X: Any) -> Any:
    """A single row as a table."""
    if np.ndim(X) == 2:
        return X
    if hasattr(X, "to_frame"):
        return X.to_frame().T.infer_objects()
    return np.asarray(X, dtype=object if np.asarray(X).dtype.kind in "OU" else None)[None, :]


def _first(table: Any) -> Any:
    """The first row of numbers."""
    return np.asarray(table, dtype=np.float64).reshape(-1, np.shape(table)[-1])[0]
