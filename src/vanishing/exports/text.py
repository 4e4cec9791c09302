"""Operations as expressions in text: models as a NumPy function, and as SQL."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from keyword import iskeyword
from typing import Any, TypeAlias

import numpy as np
from sklearn.pipeline import Pipeline

from .._typing import Float1D, Float2D, Int1D
from ..polynomials.polynomial import Polynomials
from ..rows.reading import input_names
from ..rows.sql import quote_name, require_distinct_names
from .operations import Ops
from .outputs import n_inputs, outputs, predicted_names

Columns: TypeAlias = list[str]  # one expression for each column


class _Expressions(Ops):
    """Columns as expressions in infix notation.

    A kept table gets names of its own: ``t_0``, ``t_1`` for the first one called ``t``, ``t2_0`` for the second one.
    Names of the user's columns never stand beside them: see :func:`to_numpy_source` and :meth:`_SqlOps.query`.
    """

    is_text = True
    functions: dict[str, str]

    def __init__(self) -> None:
        self._n_kept: Counter[str] = Counter()

    def _new_names(self, name: str, n_columns: int) -> list[str]:
        """A name for each column of a table that is kept; no two tables share one."""
        self._n_kept[name] += 1
        number = self._n_kept[name]
        return [f"{name if number == 1 else f'{name}{number}'}_{k}" for k in range(n_columns)]

    def take(self, table: Columns, columns: Int1D) -> Columns:
        return [table[int(k)] for k in columns]

    def concat(self, tables: Sequence[Columns]) -> Columns:
        return [column for table in tables for column in table]

    def multiply(self, left: Columns, right: Columns) -> Columns:
        return [
            f"{a} * {b}" if _is_product(a) and _is_product(b) else f"({a}) * ({b})"
            for a, b in zip(left, right, strict=True)
        ]

    def linear(self, table: Columns, weights: Float2D, offset: Float1D) -> Columns:
        """``table @ weights.T + offset``; terms with weight 0 are left out."""
        return [self._sum(table, row, b) for row, b in zip(weights.tolist(), offset.tolist(), strict=True)]

    def affine(self, table: Columns, scale: Float1D, offset: Float1D) -> Columns:
        return [
            self._sum([column], [a], b) for column, a, b in zip(table, scale.tolist(), offset.tolist(), strict=True)
        ]

    def _sum(self, table: Columns, weights: Sequence[float], offset: float) -> str:
        terms = [
            _factor(column) if weight == 1.0 else f"{_number(weight)} * {_factor(column)}"
            for column, weight in zip(table, weights, strict=True)
            if weight != 0.0
        ]
        if offset != 0.0 or not terms:
            terms.append(_number(offset))
        return terms[0] if len(terms) == 1 else f"({' + '.join(terms)})"

    def clip(self, table: Columns, low: float, high: float) -> Columns:
        for name, end in (("max", low), ("min", high)):
            if np.isfinite(end):
                table = [f"{self.functions[name]}({column}, {_number(end)})" for column in table]
        return table

    def absolute(self, table: Columns) -> Columns:
        return [f"{self.functions['abs']}({column})" for column in table]

    def asinh(self, table: Columns) -> Columns:
        return [f"{self.functions['asinh']}({column})" for column in table]

    def log(self, table: Columns) -> Columns:
        return [f"{self.functions['log']}({column})" for column in table]


def _number(value: float) -> str:
    return repr(float(value)) if value >= 0.0 else f"({float(value)!r})"


def _is_product(column: str) -> bool:
    """Whether an expression needs no brackets in a product."""
    depth = 0
    for character in column:
        depth += (character == "(") - (character == ")")
        if depth == 0 and character in "+-":
            return False
    return True


def _factor(column: str) -> str:
    return column if _is_product(column) else f"({column})"


class _NumpyOps(_Expressions):
    """Expressions in NumPy, with intermediate results as variables."""

    functions = {"abs": "np.abs", "asinh": "np.arcsinh", "log": "np.log", "max": "np.maximum", "min": "np.minimum"}  # noqa: RUF012

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []
        self.reads_objects = False  # texts and gaps, not only numbers
        self._n_names = 0

    def keep(self, table: Columns, name: str) -> Columns:
        """Assign each column to a variable."""
        names = [f"_{alias}" for alias in self._new_names(name, len(table))]
        self.lines += [f"{variable} = {column}" for variable, column in zip(names, table, strict=True)]
        return names

    def multiply(self, left: Columns, right: Columns) -> Columns:
        """Products of columns, each computed once."""
        names = []
        for product in super().multiply(left, right):
            self._n_names += 1
            names.append(f"p{self._n_names}")
            self.lines.append(f"{names[-1]} = {product}")
        return names

    def fill(self, table: Columns, column: int, value: float) -> Columns:
        self.reads_objects = True
        return [f"np.array([number(v, {_number(value)}) for v in {table[column]}])"]

    def missing(self, table: Columns, column: int, is_text: bool) -> Columns:
        return [f"np.array([float(gap(v)) for v in {table[column]}])"]

    def one_hot(self, table: Columns, column: int, texts: Sequence[str]) -> Columns:
        self.reads_objects = True
        return [f"np.array([float(text(v) == {text!a} and not gap(v)) for v in {table[column]}])" for text in texts]

    def interpolate(self, table: Columns, knots: Sequence[tuple[Float1D, Float1D]]) -> Columns:
        return [f"np.interp({column}, {x.tolist()}, {y.tolist()})" for column, (x, y) in zip(table, knots, strict=True)]

    def softmax(self, table: Columns) -> Columns:
        stacked = f"np.column_stack([{', '.join(table)}])"
        self.lines.append(f"odds = {stacked}")
        self.lines.append("odds = np.exp(odds - odds.max(axis=1, keepdims=True))")
        self.lines.append("odds = odds / odds.sum(axis=1, keepdims=True)")
        return [f"odds[:, {k}]" for k in range(len(table))]

    def log_sum_exp(self, table: Columns) -> Columns:
        self._n_names += 1
        name = f"s{self._n_names}"
        self.lines.append(f"{name} = np.column_stack([{', '.join(table)}])")
        self.lines.append(f"{name} = {name}.max(axis=1), {name}")
        return [f"({name}[0] + np.log(np.exp({name}[1] - {name}[0][:, None]).sum(axis=1)))"]

    def best(self, scores: Columns) -> Columns:
        if len(scores) == 1:
            return [f"({scores[0]} > 0.0).astype(int)"]
        return [f"np.argmax(np.column_stack([{', '.join(scores)}]), axis=1)"]


def to_numpy_source(model: Any, name: str = "predict") -> str:
    """A function of NumPy alone that computes what a fitted model computes.

    Parameters
    ----------
    model : fitted OAVI, ABM, AVI, VCA, PerClass, L1SVC, classifier, detector, Polynomials, or Pipeline
        A pipeline of a :class:`~vanishing.TableEncoder` or scalers before one of these. A detector may have up to
        20,000 coefficients: beyond, the text would be megabytes.
    name : str, default="predict"
        Name of the function.

    Returns
    -------
    str
        The source of ``name(X)``, which returns a dict: for classifiers ``scores``, ``label`` (the number of the class)
        and ``probabilities``, for transformers ``features``, for polynomials ``values``, for detectors ``scores`` (as
        ``score_samples``) and ``label``, 0 for outliers. ``X`` has texts as such where a pipeline takes them. It raises
        ``ValueError`` for NaN, which a ``TableEncoder`` alone takes for a gap, and for infinite values; the values of
        polynomials are NaN there.

    Examples
    --------
    >>> import numpy as np
    >>> from vanishing import OAVI
    >>> from vanishing.exports import to_numpy_source
    >>> x = np.linspace(0, 1, 50)
    >>> model = OAVI(psi=1e-8, max_degree=2).fit(np.column_stack([x, x**2]))
    >>> scope = {}
    >>> exec(to_numpy_source(model), scope)
    >>> scope["predict"](np.array([[0.5, 0.5]]))["features"].round(3)[0, 0]
    np.float64(0.25)
    """
    _require_free_name(name)
    ops = _NumpyOps()
    variables = [f"x{j}" for j in range(n_inputs(model))]
    results = outputs(model, ops, variables)
    lines = [f"x{j} = X[:, {j}]" for j in range(len(variables))] + ops.lines
    for key, columns in results.items():
        if key == "label":
            lines.append(f"label = {columns[0]}")
        else:
            broadcast = ", ".join(f"{column} + np.zeros(len(X))" for column in columns)
            lines.append(f"{key} = np.column_stack([{broadcast}])" if columns else f"{key} = np.empty((len(X), 0))")
    lines.append(f"return {{{', '.join(f'{key!r}: {key}' for key in results)}}}")
    body = "\n".join(f"    {line}" for line in lines)
    what = f"{type(model).__name__} with inputs {', '.join(map(str, _names_of(model)))}"
    kind = "object" if ops.reads_objects else "float"
    head = [f"def {name}(X):", f'    """{_plain(what)}"""', f"    X = np.asarray(X, dtype={kind})"]
    if not ops.reads_objects and not isinstance(model, Polynomials):
        head += [
            "    if not np.isfinite(X).all():",
            '        raise ValueError("X has values that are NaN or infinite.")',
        ]
    return "\n".join(["import numpy as np", "", "", *(_READING if ops.reads_objects else []), *head, body, ""])


def _require_free_name(name: str) -> None:
    """Raise ValueError unless the text can define a function of this name."""
    if not (isinstance(name, str) and name.isidentifier()) or iskeyword(name) or name in _USED_NAMES:
        raise ValueError(f"name must be a free name of a Python function, as 'predict' is, got {name!r}.")


_REFUSING = [
    "    if not np.isfinite(X).all():",
    '        raise ValueError("X has values that are NaN or infinite.")',
]
_USED_NAMES = ("np", "gap", "number", "text")  # the names that the text uses outside of its function
_READING = [
    "def gap(v):",
    '    """Whether a value is missing."""',
    '    return v is None or type(v).__name__ in ("NAType", "NaTType") or v != v',
    "",
    "",
    "def number(v, median):",
    '    """A number; the median where it is missing."""',
    "    value = median if gap(v) else float(v)",
    "    if np.isinf(value):",
    '        raise ValueError("X has values that are infinite.")',
    "    return value",
    "",
    "",
    "def text(v):",
    '    """A category as text, the same for a whole number in every type."""',
    '    return f"{v:.15g}" if isinstance(v, (float, np.floating)) else str(v)',
    "",
    "",
]


def _plain(text: str) -> str:
    """Text that cannot end a docstring, in printable ASCII: a source must not contain NUL, for example."""
    visible = "".join(character if character.isprintable() else "?" for character in text)
    return visible.replace("\\", "/").replace('"', "'").encode("ascii", "replace").decode()


def _names_of(model: Any) -> list[str]:
    if isinstance(model, Polynomials):
        return list(model.feature_names)
    return input_names(model[0] if isinstance(model, Pipeline) else model)


_LARGEST = "1e308"  # a number of which every database knows that infinity is larger
_TABLE = "given"  # what the innermost SELECT calls the table


class _SqlOps(_Expressions):
    """Expressions in SQL; kept tables become columns of a subquery."""

    functions = {"abs": "ABS", "asinh": "ASINH", "log": "LN", "max": "GREATEST", "min": "LEAST"}  # noqa: RUF012

    def __init__(self) -> None:
        super().__init__()
        self._texts: set[str] = set()  # inputs that are compared with texts
        self._filled: set[str] = set()  # inputs whose gaps are filled
        self._kept: list[str] = []  # what each subquery adds to the columns of the one inside of it

    def keep(self, table: Columns, name: str) -> Columns:
        """Columns of a subquery."""
        names = [quote_name(alias) for alias in self._new_names(name, len(table))]
        self._kept.append(",\n  ".join(f"{column} AS {alias}" for column, alias in zip(table, names, strict=True)))
        return names

    def unless_refused(self, selected: Mapping[str, str], inputs: Iterable[str]) -> dict[str, str]:
        """The expressions of the result, NULL for rows with an input that the model refuses.

        ``GREATEST`` and ``CASE`` take no notice of NULL, so that such a row would get the score of another one.
        """
        text = "\n".join([*selected.values(), *self._kept])
        conditions = [
            _is_infinite(name) if name in self._filled else f"{name} IS NULL OR NOT {_is_finite(name)}"
            for name in inputs
            if name in text and name not in self._texts
        ]
        if not conditions:
            return dict(selected)
        (refused,) = self.keep([f"CASE WHEN {' OR '.join(conditions)} THEN 1 ELSE 0 END"], "refused")
        return {name: f"CASE WHEN {refused} = 0 THEN {column} END" for name, column in selected.items()}

    def query(self, selected: Columns, inputs: Mapping[str, str], table: str) -> str:
        """The whole query.

        The innermost SELECT alone sees the table. It takes the columns that are used, numbers in double precision (the
        arithmetic of whole and decimal numbers rounds, or refuses products of many digits), and calls them ``input_0``,
        ``input_1``; everything around it knows those and the kept names, so that nothing can be confused with a column
        of the table, used or not, in either case. Its names are qualified: a column that the table lacks is an error
        in every database, where SQLite takes an unknown name in quotes for a text.

        ``selected`` are the named expressions of the result; ``inputs`` maps names of inputs to columns of the
        ``table``, all of them quoted.
        """
        text = "\n".join([*selected, *self._kept])
        columns = {name: f"{_TABLE}.{column}" for name, column in inputs.items() if name in text}
        used = [
            f"{column if name in self._texts else f'CAST({column} AS DOUBLE PRECISION)'} AS {name}"
            for name, column in columns.items()
        ]
        listed = ",\n  ".join(used) or "1 AS one_row"
        source = f"(SELECT\n  {listed}\n FROM {table} AS {_TABLE}) AS inputs"
        for number, listed in enumerate(self._kept):
            source = f"(SELECT *,\n  {listed}\n FROM {source}) AS step_{number}"
        return "SELECT " + ",\n       ".join(selected) + f"\nFROM {source}"

    def fill(self, table: Columns, column: int, value: float) -> Columns:
        self._filled.add(table[column])
        return [f"CASE WHEN {_is_finite(table[column])} THEN {table[column]} ELSE {_number(value)} END"]

    def missing(self, table: Columns, column: int, is_text: bool) -> Columns:
        if not is_text:
            return [f"CASE WHEN {_is_finite(table[column])} THEN 0.0 ELSE 1.0 END"]
        self._texts.add(table[column])
        return [f"CASE WHEN {table[column]} IS NULL THEN 1.0 ELSE 0.0 END"]

    def one_hot(self, table: Columns, column: int, texts: Sequence[str]) -> Columns:
        self._texts.add(table[column])
        return [f"CASE WHEN {table[column]} = {_text(text)} THEN 1.0 ELSE 0.0 END" for text in texts]

    def interpolate(self, table: Columns, knots: Sequence[tuple[Float1D, Float1D]]) -> Columns:
        return [_cases(column, x.tolist(), y.tolist()) for column, (x, y) in zip(table, knots, strict=True)]

    def softmax(self, table: Columns) -> Columns:
        return [f"1.0 / ({' + '.join(f'EXP(({other}) - ({column}))' for other in table)})" for column in table]

    def log_sum_exp(self, table: Columns) -> Columns:
        table = self.keep(table, "exponent")
        (largest,) = self.keep([f"GREATEST({', '.join(table)})"], "largest")
        return [f"({largest} + LN({' + '.join(f'EXP({column} - {largest})' for column in table)}))"]

    def best(self, scores: Columns) -> Columns:
        if len(scores) == 1:
            return [f"CASE WHEN {scores[0]} > 0 THEN 1 ELSE 0 END"]
        largest = f"GREATEST({', '.join(scores)})"
        cases = " ".join(f"WHEN {score} = {largest} THEN {k}" for k, score in enumerate(scores))
        return [f"CASE {cases} END"]


def _is_finite(column: str) -> str:
    """Not true for NULL, either infinity and NaN, which some databases take for the largest number."""
    return f"ABS({column}) <= {_LARGEST}"


def _is_infinite(column: str) -> str:
    """True for both infinities alone: no database takes NaN for less than a number, nor its negative."""
    return f"{column} < -{_LARGEST} OR -{column} < -{_LARGEST}"


def _text(text: str) -> str:
    """A text as standard SQL quotes it."""
    return "'" + text.replace("'", "''") + "'"


def _cases(column: str, knots: list[float], levels: list[float]) -> str:
    cases = [f"WHEN {column} <= {_number(knots[0])} THEN {_number(levels[0])}"]
    for k in range(len(knots) - 1):
        slope = (levels[k + 1] - levels[k]) / (knots[k + 1] - knots[k])
        line = f"{_number(levels[k])} + {_number(slope)} * ({column} - {_number(knots[k])})"
        cases.append(f"WHEN {column} <= {_number(knots[k + 1])} THEN {line}")
    return f"CASE {' '.join(cases)} ELSE {_number(levels[-1])} END"


def _selected(model: Any, results: dict[str, Columns]) -> dict[str, str]:
    """The columns of a query by their names: for classifiers and detectors those of ``vanishing predict``."""
    if "label" not in results:
        return {f"{key}_{k}": column for key, columns in results.items() for k, column in enumerate(columns)}
    scores, (number,) = results["scores"], results["label"]
    classes = getattr(model, "classes_", None)
    if classes is None:  # a detector, whose label is 0 for outliers
        return {"outlier": f"1 - ({number})", "score": scores[0]}
    cases = " ".join(f"WHEN {k} THEN {_literal(label)}" for k, label in enumerate(np.asarray(classes).tolist()))
    of_scores, of_shares = predicted_names(classes, len(scores))
    shares = results.get("probabilities", [])
    named = zip([*of_scores, *of_shares[: len(shares)]], [*scores, *shares], strict=True)
    return {"label": f"CASE ({number}) {cases} END", **dict(named)}


def _literal(label: Any) -> str:
    """A label in SQL: numbers and truth values as they are, all others as text."""
    if isinstance(label, bool):
        return "TRUE" if label else "FALSE"
    return repr(label) if isinstance(label, (int, float)) else _text(str(label))


def to_sql(model: Any, table: str = "rows") -> str:
    """A SELECT that computes what a fitted model computes, one expression for each generator, score or probability.

    Parameters
    ----------
    model : fitted OAVI, ABM, AVI, VCA, PerClass, L1SVC, classifier, detector, Polynomials, or Pipeline
        A pipeline of a :class:`~vanishing.TableEncoder` or scalers before one of these. A detector may have up to
        20,000 coefficients: beyond, the text would be megabytes.
    table : str, default="rows"
        Name of the table, whose columns have the names that the model was fitted to (``x0``, ``x1``, ... without). They
        must differ in more than case, which most databases do not look at.

    Returns
    -------
    str
        With columns ``features_0``, ... for transformers and ``values_0``, ... for polynomials. For classifiers and
        detectors its columns are named as those of ``vanishing predict``: ``label`` (the label itself), ``score`` or
        ``score_no``, ``score_yes``, ... by class, ``probability_no``, ...; ``outlier`` (1 or 0) and ``score``. It reads
        those columns of the table that the model uses, and takes no notice of the others, whatever their names. A row
        with NULL, NaN or infinity in one of them has NULL everywhere; NULL and NaN are gaps for a ``TableEncoder``.

    Examples
    --------
    >>> import numpy as np
    >>> from vanishing import OAVI
    >>> from vanishing.exports import to_sql
    >>> x = np.linspace(0, 1, 50)
    >>> model = OAVI(psi=1e-8, max_degree=2).fit(np.column_stack([x, x**2]))
    >>> print(to_sql(model.generators_[:1], "points"))
    SELECT ((-1.0) * "input_1" + "input_0" * "input_0") AS "values_0"
    FROM (SELECT
      CAST(given."x0" AS DOUBLE PRECISION) AS "input_0",
      CAST(given."x1" AS DOUBLE PRECISION) AS "input_1"
     FROM "points" AS given) AS inputs
    """
    n_inputs(model)  # refuses a model that is not fitted
    require_distinct_names(_names_of(model))
    ops = _SqlOps()
    inputs = {quote_name(f"input_{j}"): quote_name(str(name)) for j, name in enumerate(_names_of(model))}
    results = outputs(model, ops, list(inputs))
    selected = _selected(model, results)
    if not isinstance(model, Polynomials):
        selected = ops.unless_refused(selected, inputs)
    listed = [f"{column} AS {quote_name(name)}" for name, column in selected.items()]
    if not listed:
        raise ValueError("There is nothing to select: the model has no generators.")
    return ops.query(listed, inputs, quote_name(table))
