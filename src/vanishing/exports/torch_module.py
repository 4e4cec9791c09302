"""Operations on PyTorch tensors, and models as modules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._typing import Float1D, Float2D, Int1D
from .operations import Ops
from .outputs import n_inputs, outputs


def to_torch(model: Any, *, dtype: Any = None, trainable: bool = False) -> Any:
    """A fitted model as a PyTorch module, for batches on any device.

    Parameters
    ----------
    model : fitted OAVI, ABM, AVI, VCA, PerClass, L1SVC, classifier, detector, or Polynomials
    dtype : torch dtype, optional
        Of the numbers in the module; ``torch.float64`` by default.
    trainable : bool, default=False
        Whether the coefficients are parameters that an optimiser may change; else they are buffers.

    Returns
    -------
    torch.nn.Module
        ``module(X)`` returns a tensor for transformers and polynomials (the values, or ``|g|``), and for classifiers a
        dict of ``scores``, ``label`` (the number of the class) and ``probabilities``. ``torch.export`` and
        ``torch.compile`` accept it. It refuses no row: with NaN the scores are NaN, and the label means nothing. Needs
        PyTorch.

    Examples
    --------
    >>> import numpy as np
    >>> import pytest
    >>> torch = pytest.importorskip("torch")
    >>> from vanishing import OAVI
    >>> from vanishing.exports import to_torch
    >>> x = np.linspace(0, 1, 50)
    >>> layer = to_torch(OAVI(psi=1e-8, max_degree=2).fit(np.column_stack([x, x**2])))
    >>> round(float(layer(torch.tensor([[0.5, 0.5]], dtype=torch.float64))[0, 0]), 3)
    0.25
    """
    try:
        import torch
    except ImportError as error:
        raise ImportError("to_torch needs PyTorch: pip install torch.") from error

    class Module(torch.nn.Module):  # type: ignore[misc]
        """A model of vanishing."""

        def __init__(self) -> None:
            super().__init__()

        def forward(self, X: Any) -> Any:
            """The outputs for a batch of rows."""
            results = outputs(model, _TorchOps(self, torch), X.to(self.dtype))
            return next(iter(results.values())) if len(results) == 1 else results

        @property
        def dtype(self) -> Any:
            """Type of the numbers."""
            return torch.float64 if dtype is None else dtype

    module = Module()
    recorder = _TorchOps(module, torch, trainable=trainable, recording=True)
    outputs(model, recorder, torch.zeros((1, n_inputs(model)), dtype=module.dtype))
    return module


class _TorchOps(Ops):
    """Operations on tensors; the numbers of the model are parameters or buffers of a module, named in order of use.

    With ``recording``, each number is registered in the module; later runs find it there by its name.
    """

    def __init__(self, module: Any, torch: Any, *, trainable: bool = False, recording: bool = False):
        self.module = module
        self.torch = torch
        self.trainable = trainable
        self.recording = recording
        self._next = 0

    def _number(self, values: Any, *, trained: bool = False) -> Any:
        name = f"number_{self._next}"
        self._next += 1
        if self.recording:
            kind = self.torch.int64 if np.asarray(values).dtype.kind in "iu" else self.module.dtype
            tensor = self.torch.tensor(np.asarray(values), dtype=kind)
            if trained and self.trainable:
                self.module.register_parameter(name, self.torch.nn.Parameter(tensor))
            else:
                self.module.register_buffer(name, tensor)
        return getattr(self.module, name)

    def take(self, table: Any, columns: Int1D) -> Any:
        return self.torch.index_select(table, 1, self._number(np.asarray(columns, dtype=np.int64)))

    def concat(self, tables: Sequence[Any]) -> Any:
        return self.torch.cat(list(tables), dim=1)

    def multiply(self, left: Any, right: Any) -> Any:
        return left * right

    def linear(self, table: Any, weights: Float2D, offset: Float1D) -> Any:
        return self.torch.nn.functional.linear(
            table, self._number(weights, trained=True), self._number(offset, trained=True)
        )

    def affine(self, table: Any, scale: Float1D, offset: Float1D) -> Any:
        return table * self._number(scale) + self._number(offset)

    def clip(self, table: Any, low: float, high: float) -> Any:
        return self.torch.clamp(table, low if np.isfinite(low) else None, high if np.isfinite(high) else None)

    def absolute(self, table: Any) -> Any:
        return self.torch.abs(table)

    def asinh(self, table: Any) -> Any:
        return self.torch.asinh(table)

    def interpolate(self, table: Any, knots: Sequence[tuple[Float1D, Float1D]]) -> Any:
        """Piecewise linear: the level of the first knot, plus slopes times how far x is into each piece."""
        columns = []
        for j, (x, y) in enumerate(knots):
            lengths = np.diff(x)
            start, width = self._number(x[:-1]), self._number(lengths)
            slope = self._number(np.diff(y) / lengths)
            into = self.torch.minimum(self.torch.clamp(table[:, j : j + 1] - start, min=0.0), width)
            columns.append((into * slope).sum(dim=1, keepdim=True) + self._number(y[:1]))
        return self.torch.cat(columns, dim=1)

    def fill(self, table: Any, column: int, value: float) -> Any:
        return self.torch.nan_to_num(table[:, column : column + 1], nan=value)

    def missing(self, table: Any, column: int, is_text: bool) -> Any:
        return self.torch.isnan(table[:, column : column + 1]).to(table.dtype)

    def log(self, table: Any) -> Any:
        return self.torch.log(table)

    def log_sum_exp(self, table: Any) -> Any:
        return self.torch.logsumexp(table, dim=1, keepdim=True)

    def softmax(self, table: Any) -> Any:
        return self.torch.softmax(table, dim=1)

    def best(self, scores: Any) -> Any:
        if scores.shape[1] == 1:
            return (scores[:, 0] > 0.0).to(self.torch.int64)
        return self.torch.argmax(scores, dim=1)
