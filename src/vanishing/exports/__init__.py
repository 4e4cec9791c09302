"""Fitted models as programs of other systems: ONNX, PyTorch, NumPy source, SQL.

``outputs`` (with ``detectors``, ``encoders`` and ``evaluation``) describes once how each model computes its outputs, in
``operations`` on tables of columns. ``onnx``, ``torch_module`` and ``text`` carry these out, each in its system.
``onnx`` also teaches skl2onnx to convert our estimators as steps of a pipeline.
"""

from .onnx import register_converters, to_onnx
from .text import to_numpy_source, to_sql
from .torch_module import to_torch

__all__ = ["register_converters", "to_numpy_source", "to_onnx", "to_sql", "to_torch"]
