"""Rows with weights are refused: laws would ignore them."""

import numpy as np
import pytest

from vanishing import discover, open_rows


def test_rows_with_weights_are_refused(tmp_path):
    X = np.random.default_rng(0).random((200, 3))
    X[:, 1] = X[:, 0] ** 2
    np.save(tmp_path / "rows.npy", X)
    assert len(discover(open_rows(tmp_path / "rows.npy", columns=[0, 1]))) == 1
    with pytest.raises(ValueError, match="Laws take no weights"):
        discover(open_rows(tmp_path / "rows.npy", columns=[0, 1], weight=2))
