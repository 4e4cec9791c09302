"""Generators that relate columns, and those that independently permuted columns have as well."""

import pickle
from itertools import permutations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.preprocessing import minmax_scale

from vanishing import ABM, AVI, OAVI, VCA, Moments, ideal_path, open_rows
from vanishing.cli.main import main

N_ROWS = 1000
NO_LAW = "No law: the same polynomials vanish about as well on independently permuted columns."


def noise(n_columns=3, m=N_ROWS, seed=0):
    return np.random.default_rng(seed).uniform(size=(m, n_columns))


def parabola(m=N_ROWS, seed=0):
    """Columns x and x^2 with noise."""
    X = noise(2, m, seed)
    X[:, 1] = np.clip(0.98 * X[:, 0] ** 2 + 0.02 * X[:, 1], 0.0, 1.0)
    return X


def product(m=N_ROWS, seed=0):
    """Two independent columns and their product with noise."""
    X = noise(3, m, seed)
    X[:, 2] = 0.98 * X[:, 0] * X[:, 1] + 0.02 * X[:, 2]
    return X


@pytest.mark.parametrize("algorithm", [OAVI(), OAVI(feature_order=[2, 0, 1]), ABM(), AVI()], ids=str)
def test_independent_columns_have_no_law(algorithm):
    model = clone(algorithm).fit(noise())
    relations = model.relations()
    assert relations.related.size == len(model.generators_) > 5
    assert not relations.related.any()
    assert not relations.unclear.any()
    assert str(relations).startswith(NO_LAW)
    assert str(model).splitlines()[-1] == str(relations)


@pytest.mark.parametrize("algorithm", [OAVI(1e-3), ABM(1e-4), AVI(1e-3)], ids=str)
def test_a_parabola_with_noise_is_a_relation(algorithm):
    model = clone(algorithm).fit(parabola())
    assert model.relations().related[0]
    assert list(model.generators_.leading_terms[0]) == [2, 0]
    assert "No law" not in str(model)
    assert "relate" in str(model).splitlines()[-1]


def test_the_law_is_told_from_the_range_of_the_columns_beside_it():
    model = OAVI(2e-3, max_degree=3).fit(product())
    relations = model.relations()
    named = {tuple(term) for term in model.generators_.leading_terms[relations.related]}
    assert (1, 1, 0) in named
    others = model.generators_.leading_terms[~relations.related]
    assert (3, 0, 0) in {tuple(term) for term in others}
    text = str(model).splitlines()
    assert text[1].startswith("  x0*x1 - ")
    assert len(text) == 2 + len(model.generators_)
    assert text[-1].startswith("The first")
    assert "about as well on independently permuted columns" in text[-1]


@pytest.mark.parametrize("algorithm", [OAVI(1e-3), OAVI(1e-3, feature_order=[1, 0]), ABM(1e-4), AVI(1e-4)], ids=str)
def test_the_mean_square_is_that_of_all_permutations(algorithm):
    X = np.random.default_rng(3).uniform(size=(6, 2))
    model = clone(algorithm).fit(X)
    assert len(model.generators_) > 2
    orders = [np.column_stack([X[:, 0], X[list(order), 1]]) for order in permutations(range(len(X)))]
    expected = (model.generators_.evaluate(np.vstack(orders)) ** 2).mean(axis=0)
    np.testing.assert_allclose(model.relations().permuted_mse, expected, rtol=1e-6, atol=1e-14)


COLUMNS = {
    "uniform": lambda rng, shape: rng.uniform(size=shape),
    "normal": lambda rng, shape: minmax_scale(rng.normal(size=shape)),
    "lognormal": lambda rng, shape: minmax_scale(rng.lognormal(size=shape)),
    "cauchy": lambda rng, shape: minmax_scale(rng.standard_cauchy(size=shape)),
    "binary": lambda rng, shape: rng.integers(0, 2, shape).astype(float),
    "rare": lambda rng, shape: (rng.uniform(size=shape) < 0.05).astype(float),
}


@pytest.mark.parametrize(
    "m", [10, pytest.param(30, marks=pytest.mark.slow), 100, pytest.param(1000, marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("kind", list(COLUMNS))
def test_independent_columns_of_any_kind_and_length_show_no_relation(kind, m):
    rng = np.random.default_rng(m)
    for _ in range(5):
        X = COLUMNS[kind](rng, (m, 3))
        for algorithm in (OAVI(5e-3, max_degree=4), OAVI(1e-4, max_degree=4), AVI(1e-3, max_degree=3)):
            assert not algorithm.fit(X).relations().related.any()


def test_few_rows_may_show_a_relation_by_chance():
    model = OAVI(1e-6).fit(parabola(12))
    relations = model.relations()
    assert not relations.related.any()
    assert relations.unclear.any()
    assert "which on 12 rows may be chance" in str(relations)


def test_columns_that_exclude_each_other_are_related_and_single_columns_are_not():
    X = np.eye(3)[np.random.default_rng(0).integers(0, 3, N_ROWS)]
    model = OAVI(1e-6).fit(X)
    leads = {tuple(t): bool(r) for t, r in zip(model.generators_.leading_terms, model.relations().related, strict=True)}
    assert leads == {(0, 0, 1): True, (2, 0, 0): False, (1, 1, 0): True, (0, 2, 0): False}


def test_constant_columns_relate_nothing():
    X = noise()
    X[:, 1] = 0.25
    relations = OAVI().fit(X).relations()
    assert not relations.related.any()
    assert not relations.unclear.any()
    assert str(OAVI().fit(np.full((50, 2), 0.5)).relations()).startswith(NO_LAW)


def test_one_column_has_a_range_only():
    model = OAVI().fit(noise(1))
    assert not model.relations().related.any()
    assert str(model).splitlines()[-1] == "There is only one column: the polynomials describe its range."


def test_rows_without_weight_do_not_hide_a_relation():
    X = np.vstack([parabola(), noise(2)])
    weights = np.repeat([1.0, 0.0], N_ROWS)
    assert not OAVI(1e-3).fit(X).relations().related[0]
    model = OAVI(1e-3).fit(X, sample_weight=weights)
    assert list(model.generators_.leading_terms[0]) == [2, 0]
    assert model.relations().related[0]


@pytest.mark.slow
def test_every_way_to_fit_gives_the_same_answer(tmp_path):
    X = product()
    expected = OAVI(2e-3, max_degree=3).fit(X).relations()
    np.save(tmp_path / "rows.npy", X)
    moments = Moments(3, degree=3)
    moments.update(X[:300])
    moments.update(X[300:])
    array = pytest.importorskip("dask.array")
    models = [OAVI(2e-3, max_degree=3).fit(Z) for Z in (open_rows(tmp_path), moments, array.from_array(X, (300, 3)))]
    for model in (*models, ideal_path(OAVI(max_degree=3), X, [2e-3, 1e-3])[0]):
        np.testing.assert_array_equal(model.relations().related, expected.related)
        np.testing.assert_allclose(model.relations().permuted_mse, expected.permuted_mse, rtol=1e-9)
        assert str(model.relations()) == str(expected)


def test_printing_begins_with_the_constructor_call():
    model = OAVI(1e-3)
    assert str(model) == repr(model) == "OAVI(psi=0.001)"
    model.fit(parabola())
    assert repr(model).startswith("OAVI(psi=0.001)\n  x0^2 ")
    assert str(model).startswith(f"OAVI(psi=0.001): {len(model.generators_)} generators\n  x0^2 ")
    assert str(pickle.loads(pickle.dumps(model))) == str(model)
    assert str(clone(model)) == "OAVI(psi=0.001)"


def test_printing_models_without_generators_or_term_order():
    assert str(OAVI(1e-12, max_degree=1).fit(noise())).splitlines()[1:] == ["  no polynomials"]
    vca = VCA().fit(noise())
    assert len(str(vca).splitlines()) == 1 + len(vca.generators_)


def test_no_polynomials_is_what_the_error_says():
    generators = OAVI(1e-12, max_degree=1).fit(noise()).generators_
    with pytest.raises(IndexError, match=r"There are no polynomials: .* raise psi\."):
        generators.monic()[0]
    assert list(generators) == []
    assert len(generators[:3]) == 0


def test_relations_need_a_fit():
    with pytest.raises(NotFittedError):
        OAVI().relations()


def test_the_command_says_when_there_is_no_law(tmp_path, capsys):
    np.save(tmp_path / "rows.npy", 40.0 + 7.0 * noise())
    assert main(["fit", str(tmp_path / "rows.npy"), "--quiet"]) == 0
    title, *equations, last = capsys.readouterr().out.splitlines()
    assert "10 equations" in title
    assert len(equations) == 10
    assert last.startswith(NO_LAW)


def test_the_command_shows_relations_first_for_each_class(tmp_path, capsys):
    X = np.vstack([product(), noise()])
    np.save(tmp_path / "rows.npy", np.column_stack([X, np.repeat([0.0, 1.0], N_ROWS)]))
    assert main(["fit", str(tmp_path / "rows.npy"), "--label", "3", "--psi", "0.002", "--quiet"]) == 0
    law, no_law = capsys.readouterr().out.split("class ")[1:]
    assert law.splitlines()[1].startswith("  x0*x1 - ")
    assert law.splitlines()[-1].startswith("The first")
    assert no_law.splitlines()[-1].startswith(NO_LAW)


def test_the_command_prints_the_equations_of_vca(tmp_path, capsys):
    np.save(tmp_path / "rows.npy", noise())
    assert main(["fit", str(tmp_path / "rows.npy"), "--algorithm", "vca", "--quiet"]) == 0
    title, *equations = capsys.readouterr().out.splitlines()
    assert f"{len(equations)} equations" in title
