"""Hashes of rows: choices without an order of rows or columns."""

import numpy as np

from vanishing.detection.hashes import distinct_rows, row_keys, symmetric_keys

X = np.random.default_rng(0).normal(size=(5000, 4))


def test_different_rows_have_different_keys_and_equal_rows_the_same():
    for keys in (row_keys(X), symmetric_keys(X), symmetric_keys(X, 3)):
        assert len(np.unique(keys)) == len(X)
    np.testing.assert_array_equal(row_keys(X[::-1]), row_keys(X)[::-1])
    np.testing.assert_array_equal(row_keys(np.array([[0.0, 1.0]])), row_keys(np.array([[-0.0, 1.0]])))


def test_symmetric_keys_do_not_see_the_order_of_columns():
    np.testing.assert_array_equal(symmetric_keys(X[:, [2, 0, 3, 1]]), symmetric_keys(X))
    assert (row_keys(X[:, [2, 0, 3, 1]]) != row_keys(X)).all()


def test_every_bit_of_a_key_is_set_in_half_of_the_rows():
    for keys in (row_keys(X), symmetric_keys(X)):
        bits = (keys[:, None] >> np.arange(64, dtype=np.uint64)) & np.uint64(1)
        assert np.abs(bits.mean(axis=0) - 0.5).max() < 5.0 * 0.5 / np.sqrt(len(X))


def test_chosen_rows_are_a_sample_of_the_values_with_their_weights():
    rng = np.random.default_rng(1)
    twice = np.vstack([X, X])[rng.permutation(2 * len(X))]
    few, weights = distinct_rows(twice, np.ones(len(twice)), 300)
    assert len(few) == 300
    assert (weights == 2.0).all()
    np.testing.assert_array_equal(few, distinct_rows(X, np.ones(len(X)), 300)[0])
    assert np.abs(few.mean(axis=0)).max() < 4.0 / np.sqrt(300)
