"""ONNX models: a graph of operators, the models that it is built for, and converters of our estimators for skl2onnx."""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from .._typing import Array, Float1D, Float2D, Int1D
from ..classification import PerClass, VanishingIdealClassifier, VanishingIdealClassifierCV
from ..detection import VanishingIdealDetector
from ..ideals import ABM, AVI, OAVI, VCA
from ..svm import L1SVC
from .operations import Ops
from .outputs import n_inputs, outputs, predicted_names, starts_with_encoder

_OPSET, _IR_VERSION = 18, 9  # operators and format that runtimes since 2023 have
_MACHINE_LEARNING, _OPSET_LEARNING = "ai.onnx.ml", 3  # operators on texts


def graph_of(model: Any, dtype: np.dtype[Any]) -> Any:
    """A fitted model of this package as an ONNX graph of plain operators."""
    import onnx

    helper, kind = onnx.helper, onnx.helper.np_dtype_to_tensor_dtype(dtype)
    # Tight equations are differences of large numbers: a detector computes in float64, whatever its input is.
    is_detector = isinstance(model, VanishingIdealDetector)
    inputs = _inputs(onnx, model, kind)
    ops = OnnxOps(onnx, np.dtype(np.float64) if is_detector else dtype, {each.name for each in inputs})
    classes = np.array([-1, 1]) if is_detector else getattr(model, "classes_", None)
    x: Any = [each.name for each in inputs] if starts_with_encoder(model) else "X"
    results = outputs(model, ops, ops.node("Cast", "X", to=onnx.TensorProto.DOUBLE) if is_detector else x)
    declared = []
    for key, value in results.items():
        if key in ops.taken:
            raise ValueError(f"The column {key!r} has the name of an output of the graph: rename it before the fit.")
        if key == "label":
            value, label_kind = ops.labels(value, classes)
            declared.append(helper.make_tensor_value_info("label", label_kind, ["n"]))
        else:
            value = ops.node("Cast", value, to=kind) if is_detector else value
            declared.append(helper.make_tensor_value_info(key, kind, ["n", None]))
        ops.nodes.append(helper.make_node("Identity", [value], [key]))
    graph = helper.make_graph(ops.nodes, type(model).__name__, inputs, declared, ops.constants)
    domains = [helper.make_opsetid("", _OPSET), helper.make_opsetid(_MACHINE_LEARNING, _OPSET_LEARNING)]
    opsets = domains if starts_with_encoder(model) else domains[:1]
    whole = helper.make_model(graph, opset_imports=opsets, ir_version=_IR_VERSION, producer_name="vanishing")
    if "label" in results and classes is not None and not is_detector:
        columns = predicted_names(classes, len(classes) if len(classes) > 2 else 1)
        named = {"scores": columns[0], "probabilities": columns[1]}
        helper.set_model_props(whole, {key: ",".join(names) for key, names in named.items() if key in results})
    return whole


def _inputs(onnx: Any, model: Any, kind: int) -> list[Any]:
    """One matrix of numbers; before an encoder, a column of numbers or texts for each column of the table."""
    make = onnx.helper.make_tensor_value_info
    if not starts_with_encoder(model):
        return [make("X", kind, ["n", n_inputs(model)])]
    columns = model[0].columns_
    kinds = [kind if column.categories is None else onnx.TensorProto.STRING for column in columns]
    return [make(column.name, each, ["n", 1]) for column, each in zip(columns, kinds, strict=True)]


class OnnxOps(Ops):
    """Nodes of a graph; a table is the name of a tensor. Names of inputs are taken, and no node gets one."""

    def __init__(self, onnx: Any, dtype: np.dtype[Any], taken: Set[str] = frozenset()):
        self.onnx = onnx
        self.dtype = dtype
        self.taken = taken
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self._n_names = 0

    def _name(self) -> str:
        self._n_names += 1
        name = f"v{self._n_names}"
        return self._name() if name in self.taken else name

    def constant(self, values: Array) -> str:
        """The name of a constant tensor."""
        name = self._name()
        self.constants.append(self.onnx.numpy_helper.from_array(np.ascontiguousarray(values), name))
        return name

    def number(self, values: Any) -> str:
        """The name of a constant tensor of the graph's floating type."""
        return self.constant(np.asarray(values, dtype=self.dtype))

    def node(self, kind: str, *inputs: str, **attributes: Any) -> str:
        """The name of the result of an operator."""
        name = self._name()
        self.nodes.append(self.onnx.helper.make_node(kind, list(inputs), [name], **attributes))
        return name

    def take(self, table: str, columns: Int1D) -> str:
        return self.node("Gather", table, self.constant(np.asarray(columns, dtype=np.int64)), axis=1)

    def concat(self, tables: Sequence[str]) -> str:
        return tables[0] if len(tables) == 1 else self.node("Concat", *tables, axis=1)

    def multiply(self, left: str, right: str) -> str:
        return self.node("Mul", left, right)

    def linear(self, table: str, weights: Float2D, offset: Float1D) -> str:
        product = self.node("MatMul", table, self.number(weights.T))
        return self.node("Add", product, self.number(offset))

    def affine(self, table: str, scale: Float1D, offset: Float1D) -> str:
        return self.node("Add", self.node("Mul", table, self.number(scale)), self.number(offset))

    def clip(self, table: str, low: float, high: float) -> str:
        ends = [self.number(end) if np.isfinite(end) else "" for end in (low, high)]
        return self.node("Clip", table, *ends)

    def absolute(self, table: str) -> str:
        return self.node("Abs", table)

    def asinh(self, table: str) -> str:
        """``sign(x) log(|x| + sqrt(x^2 + 1))``: not all runtimes have Asinh in float64."""
        size = self.node("Abs", table)
        root = self.node("Sqrt", self.node("Add", self.node("Mul", size, size), self.number(1.0)))
        return self.node("Mul", self.node("Sign", table), self.node("Log", self.node("Add", size, root)))

    def interpolate(self, table: str, knots: Sequence[tuple[Float1D, Float1D]]) -> str:
        """Piecewise linear: the level of the first knot, plus slopes times how far x is into each piece."""
        columns = []
        for j, (x, y) in enumerate(knots):
            column = self.take(table, np.array([j]))
            lengths = np.diff(x)
            into = self.node("Sub", column, self.number(x[None, :-1]))
            into = self.node("Min", self.node("Max", into, self.number(0.0)), self.number(lengths[None, :]))
            columns.append(self.linear(into, (np.diff(y) / lengths)[None, :], y[:1]))
        return self.concat(columns)

    def fill(self, table: Any, column: int, value: float) -> str:
        numbers = table[column]
        return self.node("Where", self.node("IsNaN", numbers), self.number([[value]]), numbers)

    def missing(self, table: Any, column: int, is_text: bool) -> str:
        """1 where a number is NaN, or a text is empty."""
        if is_text:
            return self.one_hot(table, column, [""])
        return self.node("Cast", self.node("IsNaN", table[column]), to=self._kind)

    def one_hot(self, table: Any, column: int, texts: Sequence[str]) -> str:
        options = {"domain": _MACHINE_LEARNING, "cats_strings": list(texts), "zeros": 1}
        layers = self.node("OneHotEncoder", table[column], **options)  # (n, 1, texts)
        return self.node("Cast", self.node("Squeeze", layers, self.constant(np.array([1]))), to=self._kind)

    @property
    def _kind(self) -> int:
        return int(self.onnx.helper.np_dtype_to_tensor_dtype(self.dtype))

    def log(self, table: str) -> str:
        return self.node("Log", table)

    def log_sum_exp(self, table: str) -> str:
        columns = self.constant(np.array([1], dtype=np.int64))
        largest = self.node("ReduceMax", table, columns, keepdims=1)
        total = self.node("ReduceSum", self.node("Exp", self.node("Sub", table, largest)), columns, keepdims=1)
        return self.node("Add", largest, self.node("Log", total))

    def softmax(self, table: str) -> str:
        return self.node("Softmax", table, axis=1)

    def best(self, scores: str) -> str:
        """The scores themselves, which :meth:`labels` turns into labels."""
        return scores

    def labels(self, scores: str, classes: Any) -> tuple[str, int]:
        """Labels of the largest scores, and their type; other labels than numbers and truth values are texts."""
        n_classes = 2 if classes is None else len(classes)
        if n_classes == 2:
            positive = self.node("Greater", scores, self.number(0.0))
            number = self.node("Cast", positive, to=self.onnx.TensorProto.INT64)
            number = self.node("Squeeze", number, self.constant(np.array([1], dtype=np.int64)))
        else:
            number = self.node("ArgMax", scores, axis=1, keepdims=0)
        kind = self.onnx.TensorProto.INT64
        if classes is None:
            return number, kind
        values = np.asarray(classes)
        if values.dtype.kind in "iu":
            values = values.astype(np.int64)
        elif values.dtype.kind == "f":
            kind, values = self.onnx.TensorProto.DOUBLE, values.astype(np.float64)
        elif values.dtype.kind == "b":
            kind = self.onnx.TensorProto.BOOL
        else:
            kind, values = self.onnx.TensorProto.STRING, np.array([str(label) for label in classes], dtype=object)
        return self.node("Gather", self.constant(values), number, axis=0), kind


def to_onnx(model: Any, dtype: Any = np.float32) -> Any:
    """A fitted model as an ONNX graph of plain operators.

    Terms are products of earlier terms, which is faster than powers.

    Parameters
    ----------
    model : fitted estimator of this package, Polynomials, or a fitted Pipeline that ends in such an estimator
        A pipeline, with scikit-learn's own scalers and encoders before our steps, is converted by skl2onnx. One that
        starts with a :class:`~vanishing.TableEncoder` takes an input of shape (n, 1) for each column of the table,
        under its name; an empty text is a missing one.
    dtype : numpy dtype, default=float32
        float32 or float64, of the input ``X`` and of the numbers in the graph.

    Returns
    -------
    onnx.ModelProto
        Outputs ``features``, or ``scores``, ``label`` (the label itself) and ``probabilities``; the metadata have the
        names of the columns of scores and probabilities, those of ``vanishing predict``. A detector has ``scores`` and
        ``label`` (-1 or 1), computed in float64; a pipeline what skl2onnx gives, ``label`` and ``probabilities``, or
        ``variable``. A graph cannot refuse a row: with NaN its scores are NaN, and its label means nothing. Needs
        ``pip install 'vanishing[onnx]'``.

    Examples
    --------
    >>> import numpy as np
    >>> import pytest
    >>> _ = pytest.importorskip("onnx")
    >>> from vanishing import OAVI
    >>> from vanishing.exports import to_onnx
    >>> x = np.linspace(0, 1, 50)
    >>> graph = to_onnx(OAVI(psi=1e-8, max_degree=2).fit(np.column_stack([x, x**2]))).graph
    >>> [output.name for output in graph.output]
    ['features']
    """
    try:
        import onnx  # noqa: F401  (the graph is built with it)
    except ImportError as error:
        raise ImportError("to_onnx needs ONNX: pip install 'vanishing[onnx]'.") from error
    dtype = np.dtype(dtype)
    if dtype not in (np.float32, np.float64):
        raise ValueError(f"dtype must be float32 or float64, got {dtype}.")
    if isinstance(model, Pipeline) and not starts_with_encoder(model):
        check_is_fitted(model)
        return pipeline_to_onnx(model, dtype)
    return graph_of(model, dtype)


_TRANSFORMERS: tuple[type, ...] = (OAVI, ABM, AVI, VCA, PerClass)
_CLASSIFIERS: tuple[type, ...] = (L1SVC, VanishingIdealClassifier, VanishingIdealClassifierCV)


def register_converters() -> None:
    """Tell skl2onnx how to convert our estimators, alone or as steps of a pipeline.

    Afterwards ``skl2onnx.to_onnx(pipeline, X[:1])`` works, with skl2onnx's own options. Outputs of classifiers are
    ``label`` and ``probabilities``; without calibrated probabilities the latter are scores, as for a linear SVM.
    Needs ``pip install 'vanishing[onnx]'``.

    Examples
    --------
    >>> import numpy as np
    >>> import pytest
    >>> skl2onnx = pytest.importorskip("skl2onnx")
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import MinMaxScaler
    >>> from vanishing import OAVI
    >>> from vanishing.exports import register_converters
    >>> X = np.random.default_rng(0).normal(size=(100, 2)).astype(np.float32)
    >>> pipeline = make_pipeline(MinMaxScaler(), OAVI()).fit(X)
    >>> register_converters()
    >>> graph = skl2onnx.to_onnx(pipeline, X[:1]).graph
    >>> [output.name for output in graph.output]
    ['variable']
    """
    try:
        from skl2onnx import update_registered_converter
        from skl2onnx.common.shape_calculator import calculate_linear_classifier_output_shapes
    except ImportError as error:
        raise ImportError("Converting pipelines needs skl2onnx: pip install 'vanishing[onnx]'.") from error
    for kind in _TRANSFORMERS:
        update_registered_converter(
            kind, f"Vanishing{kind.__name__}", _set_output_shape, _convert_transformer, overwrite=True
        )
    options = {"zipmap": [True, False, "columns"], "nocl": [True, False]}
    for kind in _CLASSIFIERS:
        shapes = calculate_linear_classifier_output_shapes
        update_registered_converter(
            kind, f"Vanishing{kind.__name__}", shapes, _convert_classifier, overwrite=True, options=options
        )


def pipeline_to_onnx(pipeline: Any, dtype: np.dtype[Any]) -> Any:
    """A fitted pipeline of scikit-learn's and our steps, for one input ``X`` of numbers."""
    register_converters()
    from skl2onnx import convert_sklearn
    from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType

    kind = DoubleTensorType if dtype == np.float64 else FloatTensorType
    last = pipeline[-1] if hasattr(pipeline, "steps") else pipeline
    options = {id(last): {"zipmap": False}} if is_classifier(last) else None
    inputs = [("X", kind([None, pipeline.n_features_in_]))]
    return convert_sklearn(pipeline, initial_types=inputs, options=options)


class _ConverterOps(OnnxOps):
    """Nodes in the container of skl2onnx, with names from its scope."""

    def __init__(self, scope: Any, container: Any, dtype: np.dtype[Any]):
        import onnx

        super().__init__(onnx, dtype)
        self.scope, self.container = scope, container

    def _name(self) -> str:
        return str(self.scope.get_unique_variable_name("vanishing"))

    def constant(self, values: Array) -> str:
        """The name of a constant tensor."""
        name = self._name()
        self.container.initializers.append(self.onnx.numpy_helper.from_array(np.ascontiguousarray(values), name))
        return name

    def node(self, kind: str, *inputs: str, **attributes: Any) -> str:
        """The name of the result of an operator."""
        name = self._name()
        self.add(kind, inputs, name, **attributes)
        return name

    def add(self, kind: str, inputs: Any, output: str, **attributes: Any) -> None:
        """Add an operator whose result has a given name."""
        unique = self.scope.get_unique_operator_name(f"vanishing{kind}")
        self.container.add_node(kind, list(inputs), [output], name=unique, **attributes)


def _set_output_shape(operator: Any) -> None:
    """Set the type and shape of a transformer's output."""
    from skl2onnx.common.data_types import guess_tensor_type

    n_columns = len(operator.raw_operator.get_feature_names_out())
    rows = operator.inputs[0].get_first_dimension()
    operator.outputs[0].type = guess_tensor_type(operator.inputs[0].type)
    operator.outputs[0].type.shape = [rows, n_columns]


def _convert_transformer(scope: Any, operator: Any, container: Any) -> None:
    ops, table = _start(scope, operator, container)
    ops.add("Identity", [outputs(operator.raw_operator, ops, table)["features"]], operator.outputs[0].full_name)


def _convert_classifier(scope: Any, operator: Any, container: Any) -> None:
    ops, table = _start(scope, operator, container)
    model = operator.raw_operator
    results = outputs(model, ops, table)
    numbers = container.get_options(model, {}).get("nocl") or model.classes_.dtype.kind not in "iuUO"
    labels, _ = ops.labels(results["label"], None if numbers else model.classes_)
    scores = results["scores"]
    if len(model.classes_) == 2:
        scores = ops.linear(scores, np.array([[-1.0], [1.0]]), np.zeros(2))
    ops.add("Identity", [labels], operator.outputs[0].full_name)
    ops.add("Identity", [results.get("probabilities", scores)], operator.outputs[1].full_name)


def _start(scope: Any, operator: Any, container: Any) -> tuple[_ConverterOps, str]:
    """The operations of a converter, and its input as one table of numbers."""
    from skl2onnx.common.data_types import DoubleTensorType

    double = isinstance(operator.inputs[0].type, DoubleTensorType)
    ops = _ConverterOps(scope, container, np.dtype(np.float64 if double else np.float32))
    kind = ops.onnx.helper.np_dtype_to_tensor_dtype(ops.dtype)
    return ops, ops.concat([ops.node("Cast", part.full_name, to=kind) for part in operator.inputs])
