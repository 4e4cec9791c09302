"""Terms whose products an earlier pass has summed already need no pass."""

from __future__ import annotations

import numpy as np
import pytest
from makers import surface
from sums import all_terms, direct_gram, program

from vanishing.engine.gram import Foreseen, mean_gram
from vanishing.engine.survey import early_terms, foreseen, surveys
from vanishing.rows.arrays import as_rows
from vanishing.rows.protocol import Rows


class NoRows(Rows):
    """Rows that must not be read."""

    def __init__(self, n_features):
        self.n_features = n_features

    def reduce_blocks(self, kernel, combine, *, block_rows, width):
        raise AssertionError("a pass")

    def map_blocks(self, kernel, n_columns, *, block_rows, width, out=None):
        raise AssertionError("a pass")


def test_what_is_foreseen_needs_no_pass():
    X, terms = surface(), all_terms(3, 3)
    whole = direct_gram(X, terms)
    known = Foreseen(NoRows(3), terms, whole)
    chosen = [(), (0,), (1,), (0, 0), (0, 1), (0, 0, 1)]
    assert known.knows(chosen, 3)
    found = mean_gram(known, *program(chosen), 3)
    np.testing.assert_allclose(np.tril(found, 3), np.tril(direct_gram(X, chosen)[3:], 3), rtol=1e-12)


def test_what_is_not_foreseen_needs_a_pass():
    known = Foreseen(NoRows(3), all_terms(3, 2), np.eye(10))
    assert not known.knows(all_terms(3, 3), 10)
    with pytest.raises(AssertionError, match="a pass"):
        mean_gram(known, *program(all_terms(3, 3)), 10)


@pytest.mark.parametrize("n_features", [1, 2, 3])
def test_a_pass_takes_along_the_next_degree(n_features):
    X = np.random.default_rng(0).random((500, n_features))
    rows = as_rows(X)
    (found,) = surveys([rows], ahead=True)
    assert found.ahead is None  # rows in memory are quick to come by
    rows.reading_dominates = True
    (found,) = surveys([rows], ahead=True)
    np.testing.assert_allclose(found.ahead, direct_gram(X, early_terms(n_features)), rtol=1e-12)
    scale, offset = np.arange(1.0, 1.0 + n_features), np.linspace(-1.0, 0.0, n_features)
    converted = found.scaled(scale, offset).ahead
    np.testing.assert_allclose(converted, direct_gram(X * scale + offset, early_terms(n_features)), rtol=1e-10)
    ahead = foreseen(rows, found)
    first, second = all_terms(n_features, 2), all_terms(n_features, 3)
    mean_gram(ahead, *program(first), 1 + n_features)
    n_basis = len(first)
    found = mean_gram(ahead, *program(second), n_basis)
    expected = direct_gram(X, second)[n_basis:]
    np.testing.assert_allclose(np.tril(found, n_basis), np.tril(expected, n_basis), rtol=1e-12)
