"""``save`` and ``load``, and the notes in a file."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from .container import ArrayWriter, ModelFileError, damaged, read_container
from .fields import Text, require
from .pipelines import PipelineField
from .saved import Saved, class_of, save_object, write_model


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
