"""Pipelines of scikit-learn in files: our steps by their fields, a scaling to [0, 1] as numbers, others by skops.

skops reads only classes of scikit-learn and NumPy that it trusts by itself. Our own models never go through it: their
arrays have to be checked before compiled code sees them.
"""

from __future__ import annotations

import io
import zipfile
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MinMaxScaler

from .container import ArrayReader, ArrayWriter
from .fields import Field, ListOf, Optional, Scaler, Text, require
from .saved import SavedEstimator, pack_estimator, unpack_estimator

_NAMES = Optional(ListOf(Text()))
_HARMLESS = ["numpy.dtype"]  # encoders have one, and skops does not trust it by itself


class PipelineField(Field):
    """A fitted ``Pipeline``."""

    def pack(self, value: Any, arrays: ArrayWriter) -> list[dict[str, Any]]:
        return [{"name": str(name), **_pack_step(name, step, arrays)} for name, step in value.steps]

    def unpack(self, data: Any, arrays: ArrayReader) -> Pipeline:
        require(isinstance(data, list) and len(data) > 0, "a pipeline is missing or of another type")
        names = [Text().unpack(step.get("name"), arrays) if isinstance(step, dict) else "" for step in data]
        require(len(set(names)) == len(names), "two steps of a pipeline have the same name")
        return Pipeline([(name, _unpack_step(step, arrays)) for name, step in zip(names, data, strict=True)])


def _pack_step(name: str, step: Any, arrays: ArrayWriter) -> dict[str, Any]:
    if step is None or isinstance(step, str):
        return {"kind": "passthrough", "step": None}
    if isinstance(step, SavedEstimator):
        return {"kind": "model", "step": pack_estimator(step, arrays)}
    if _is_plain_scaler(step):
        names = getattr(step, "feature_names_in_", None)
        packed = {"scaling": Scaler().pack(step, arrays), "names": _NAMES.pack(names, arrays)}
        return {"kind": "scaler", "step": packed}
    return {"kind": "skops", "step": arrays.add(np.frombuffer(_dumped(name, step), dtype=np.uint8), "u1")}


def _unpack_step(step: dict[str, Any], arrays: ArrayReader) -> Any:
    require(set(step) == {"name", "kind", "step"}, "a step is missing or of another type")
    kind, data = step["kind"], step["step"]
    if kind == "passthrough":
        return "passthrough"
    if kind == "model":
        return unpack_estimator(data, arrays)
    if kind == "scaler":
        require(isinstance(data, dict) and set(data) == {"scaling", "names"}, "a scaling is missing or of another type")
        return _scaler(data, arrays)
    require(kind == "skops", f"a step has the kind {kind!r}")
    return _loaded(arrays.read(data, "u1").tobytes())


def _is_plain_scaler(step: Any) -> bool:
    plain = type(step) is MinMaxScaler and tuple(step.feature_range) == (0, 1) and not step.clip
    return bool(plain and hasattr(step, "scale_"))


def _scaler(data: dict[str, Any], arrays: ArrayReader) -> MinMaxScaler:
    scaler, names = Scaler().unpack(data["scaling"], arrays), _NAMES.unpack(data["names"], arrays)
    if names is not None:
        require(len(names) == scaler.n_features_in_, "a scaling has other names than columns")
        scaler.feature_names_in_ = np.array(names, dtype=object)
    return scaler


def _skops() -> Any:
    try:
        import skops.io
    except ImportError as error:
        raise ImportError(
            "Pipelines with steps of scikit-learn are saved and loaded with skops: pip install 'vanishing[skops]'."
        ) from error
    return skops.io


def _dumped(name: str, step: Any) -> bytes:
    skops = _skops()
    data: bytes = skops.dumps(step)
    unknown = [name for name in skops.get_untrusted_types(data=data) if name not in _HARMLESS]
    if unknown:
        raise ValueError(
            f"The step {name!r} of the pipeline contains {unknown[0]}, which cannot be saved: use transformers of "
            "scikit-learn, and models of vanishing as steps of their own."
        )
    return data


def _loaded(data: bytes) -> Any:
    """A step of scikit-learn; refuses compressed members, unknown classes and anything but an estimator."""
    skops = _skops()
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = archive.infolist()
        stored = all(member.compress_type == zipfile.ZIP_STORED for member in members)
        require(stored and sum(member.file_size for member in members) <= len(data), "it is compressed")
        step = skops.loads(data, trusted=_HARMLESS)
    except Exception as error:  # a forged state can make any code of scikit-learn fail in any way
        raise ValueError(f"a step is not a transformer of scikit-learn: {error}") from error
    known = isinstance(step, BaseEstimator) and type(step).__module__.startswith("sklearn.")
    require(known, "a step is not a transformer of scikit-learn")
    return step
