"""Rows on disk that are scaled to [0, 1] on their way."""

from __future__ import annotations

import numpy as np
import pytest
from makers import (
    THREE,
    labelled_npy,
    labelled_parquet,
    labelled_tiny_groups,
    name_of,
    numbers,
    surface,
    write_npy,
    write_parquet,
)
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.preprocessing import MinMaxScaler

from vanishing import L1SVC, OAVI, PerClass, VanishingIdealClassifier, open_rows

parquet = pytest.importorskip("pyarrow.parquet")


def raw_data(kind):
    """Data in units of their own, of which the first rows may tell little."""
    X = surface(3000)
    return {
        "moderate": 10.0 - 3.0 * X,
        "large offset": 1e6 + 1e-3 * X,
        "constant column": np.column_stack([X[:, :2], np.full(3000, 7.0)]),
        "constant first rows": np.vstack([np.tile(X[:1], (10_000, 1)), X]),
        "constant first rows, large offset": 1e6 + np.vstack([np.tile(X[:1], (10_000, 1)), X]),
        "narrow first rows": np.vstack([np.tile(X[:1], (10_000, 1)) + 1e-9 * np.tile(X, (4, 1))[:10_000], X]),
        "far first rows": np.vstack([X[:1] + 1e-6 * np.tile(X, (2, 1)), 1e4 * X]),
    }[kind]


KINDS = [
    "moderate", "large offset", "constant column", "constant first rows", "constant first rows, large offset",
    "narrow first rows", "far first rows",
]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("suffix", [".npy", ".parquet"])
def test_the_scaling_that_a_fit_finds_is_that_of_all_rows(kind, suffix, tmp_path):
    X = raw_data(kind)
    write_npy(tmp_path, X) if suffix == ".npy" else write_parquet(tmp_path, X, n_files=2)
    rows = open_rows(tmp_path, scale=True)
    found = OAVI(1e-3, max_degree=3).fit(rows)
    scaler = MinMaxScaler().fit(X)
    np.testing.assert_allclose(rows.scaler.transform(X), scaler.transform(X), rtol=0, atol=1e-12)
    assert rows.scaler.n_samples_seen_ == len(X)
    expected = OAVI(1e-3, max_degree=3).fit(scaler.transform(X))
    assert len(found.generators_) == len(expected.generators_)
    np.testing.assert_array_equal(found.generators_.leading_terms, expected.generators_.leading_terms)
    mse = np.mean(found.generators_.evaluate(scaler.transform(X)) ** 2, axis=0)
    rounding = 1e-6 if kind == "large offset" else 1e-12  # scale * x + offset is 1e9 - 1e9 there
    np.testing.assert_allclose(mse, found.generators_.mse, rtol=1e-6, atol=rounding)
    values = found.transform(rows).to_numpy()
    np.testing.assert_allclose(values, np.abs(found.generators_.evaluate(scaler.transform(X))), rtol=1e-9, atol=1e-9)


def test_the_scaling_is_exact_to_the_last_bit_where_a_bit_matters(tmp_path):
    for seed in range(10):
        X = 1e6 + 1e-3 * np.random.default_rng(seed).random((9000, 2))
        X[:4500] = X[0] + 1e-11 * np.arange(4500)[:, None]  # few bits apart
        write_npy(tmp_path, X)
        rows = open_rows(tmp_path, scale=True)
        OAVI(1e-2, max_degree=1).fit(rows)
        scaler = MinMaxScaler().fit(X)
        np.testing.assert_array_equal(rows.scaler.data_min_, scaler.data_min_)
        np.testing.assert_array_equal(rows.scaler.data_max_, scaler.data_max_)


@pytest.mark.parametrize("kind", ["moderate", "constant first rows", "narrow first rows"])
def test_generators_vanish_on_the_raw_data_in_their_units(kind, tmp_path):
    X = raw_data(kind)
    write_parquet(tmp_path, X, n_files=3)
    rows = open_rows(tmp_path, scale=True)
    generators = OAVI(1e-3, max_degree=3).fit(rows).generators_
    mse = np.mean(generators.in_units(rows.scaler).evaluate(X) ** 2, axis=0)
    np.testing.assert_allclose(mse, generators.mse, rtol=1e-6, atol=1e-12)


def test_a_scaling_is_used_for_new_rows(tmp_path):
    X, new = raw_data("moderate"), 10.0 - 3.0 * surface(500, seed=5)
    np.save(tmp_path / "train.npy", X)
    np.save(tmp_path / "test.npy", new)
    train = open_rows(tmp_path / "train.npy", scale=True)
    model = OAVI(1e-3, max_degree=2).fit(train)
    test = open_rows(tmp_path / "test.npy", scale=train.scaler)
    expected = model.transform(train.scaler.transform(new))
    np.testing.assert_allclose(model.transform(test).to_numpy(), expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(test.head(), train.scaler.transform(new), rtol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("make", [labelled_npy, labelled_parquet, labelled_tiny_groups], ids=name_of)
@pytest.mark.parametrize(
    "model",
    [
        pytest.param(PerClass(OAVI(1e-3, max_degree=2)), id="PerClass"),
        pytest.param(VanishingIdealClassifier(OAVI(1e-3, max_degree=2)), id="VanishingIdealClassifier"),
        pytest.param(L1SVC(tol=1e-9), id="L1SVC"),
    ],
)
def test_classifiers_fit_rows_that_are_scaled_on_the_way(model, make, tmp_path):
    X, y = THREE
    make(5.0 + 3.0 * X, y, tmp_path)
    rows = open_rows(tmp_path, label=3 if make is labelled_npy else "y", scale=True)
    found = clone(model).fit(rows)
    scaled = MinMaxScaler().fit_transform(X)
    expected = clone(model).fit(scaled, y)
    if isinstance(model, PerClass):
        np.testing.assert_allclose(numbers(found.transform(rows)), expected.transform(scaled), rtol=1e-7, atol=1e-9)
    else:
        scores = expected.decision_function(scaled)
        np.testing.assert_allclose(found.decision_function(rows), scores, rtol=1e-4, atol=1e-4 * np.abs(scores).max())


@pytest.mark.parametrize(
    "scale",
    [MinMaxScaler(), MinMaxScaler().fit(np.eye(2)), "yes", 1],
    ids=["unfitted", "other width", "text", "number"],
)
def test_a_scaling_that_cannot_be_used_is_refused_when_rows_are_opened(scale, tmp_path):
    write_npy(tmp_path, surface())
    with pytest.raises((ValueError, TypeError, NotFittedError), match=r"scale|fitted"):
        open_rows(tmp_path, scale=scale)
