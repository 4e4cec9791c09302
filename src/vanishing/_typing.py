"""Shape-named array aliases used in signatures."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Float1D: TypeAlias = npt.NDArray[np.float64]
Float2D: TypeAlias = npt.NDArray[np.float64]
Bool1D: TypeAlias = npt.NDArray[np.bool_]
Int1D: TypeAlias = npt.NDArray[np.int64]
Int2D: TypeAlias = npt.NDArray[np.int64]
Array: TypeAlias = npt.NDArray[Any]
