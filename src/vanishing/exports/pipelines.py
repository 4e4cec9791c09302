"""Converters for skl2onnx, so that pipelines of scikit-learn with our steps become ONNX graphs."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import is_classifier

from .._typing import Array
from ..classification import PerClass, VanishingIdealClassifier, VanishingIdealClassifierCV
from ..ideals import ABM, AVI, OAVI, VCA
from ..svm import L1SVC
from .onnx import OnnxOps
from .outputs import outputs

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
