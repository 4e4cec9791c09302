"""Save models to files, and load them; also whole pipelines of scikit-learn."""

from __future__ import annotations

import io
import os
import zipfile
from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.utils.validation import check_is_fitted

from .container import ArrayReader, ArrayWriter, ModelFileError, damaged, read_container
from .fields import Field, ListOf, Optional, Scaler, Text, require
from .saved import Saved, SavedEstimator, class_of, pack_estimator, save_object, unpack_estimator, write_model


def save(model: Any, path: str | os.PathLike[str], *, notes: Mapping[str, str] | None = None) -> None:
    """Write a fitted model, laws, rules, or a pipeline that ends in a model of ours, to a file.

    Parameters
    ----------
    model : object with a method ``save``, or Pipeline
        The steps of a pipeline are models of vanishing, ``MinMaxScaler``, and, with ``pip install
        'vanishing[skops]'``, scikit-learn's other transformers: scalers, ``ColumnTransformer``, ``OneHotEncoder``,
        ``SimpleImputer`` and so on.
    path : str or path
        By custom, it ends in ``.vi``.
    notes : mapping from str to str, optional
        Texts to keep with the model; :func:`~vanishing.files.notes_of` reads them.

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np
    >>> import vanishing
    >>> x = np.linspace(0, 1, 50)
    >>> model = vanishing.OAVI(psi=1e-6).fit(np.column_stack([x, x**2]))
    >>> file = os.path.join(tempfile.mkdtemp(), "parabola.vi")
    >>> model.save(file)
    >>> print(vanishing.load(file).generators_[0])
    x0^2 - x1
    """
    if isinstance(model, Saved):
        save_object(model, path, notes)
        return
    if not isinstance(model, Pipeline):
        raise ValueError(f"{type(model).__name__} cannot be saved: give a model of vanishing, or a Pipeline of them.")
    check_is_fitted(model)
    arrays = ArrayWriter()
    write_model(path, "Pipeline", PipelineField().pack(model, arrays), arrays, notes)


def load(path: str | os.PathLike[str]) -> Any:
    """Read a saved model.

    Files of this version and of all earlier ones can be read. Loading executes nothing, and refuses damaged or hostile
    files with a :class:`~vanishing.ModelFileError`.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    object
        Of the class that was saved; its predictions are the same to the last bit.

    Examples
    --------
    >>> import vanishing
    >>> vanishing.load("nowhere.vi")
    Traceback (most recent call last):
    FileNotFoundError: [Errno 2] No such file or directory: 'nowhere.vi'
    """
    header, arrays = read_container(path)
    kind, model = header.get("kind"), header.get("model")
    known = class_of(kind)
    if known is None and kind != "Pipeline":
        raise ModelFileError(f"{os.fspath(path)} holds a model of an unknown kind ({kind!r}).")
    try:
        return PipelineField().unpack(model, arrays) if known is None else known._unpack(model, arrays)
    except (ValueError, TypeError, KeyError, IndexError, OverflowError, RecursionError, AttributeError) as error:
        raise damaged(path, error) from error


def notes_of(path: str | os.PathLike[str]) -> dict[str, str]:
    """The notes that were saved with a model.

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np
    >>> import vanishing
    >>> from vanishing.files import notes_of
    >>> file = os.path.join(tempfile.mkdtemp(), "model.vi")
    >>> vanishing.save(vanishing.OAVI().fit(np.eye(2)), file, notes={"site": "north"})
    >>> notes_of(file)
    {'site': 'north'}
    """
    header, arrays = read_container(path)
    try:
        notes = header.get("notes", {})
        require(isinstance(notes, dict), "notes are missing or of another type")
        return {Text().unpack(key, arrays): Text().unpack(text, arrays) for key, text in notes.items()}
    except ValueError as error:
        raise damaged(path, error) from error


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
