"""Models and pipelines as ONNX graphs."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from .onnx_graph import graph_of
from .outputs import starts_with_encoder
from .pipelines import pipeline_to_onnx

__all__ = ["to_onnx"]


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
        ``variable``. Needs ``pip install 'vanishing[onnx]'``.

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
