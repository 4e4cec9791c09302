"""Sweeps and splits: decisions from Grams and factors, against the algorithms done naively on the data."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from reference import (
    as_variables,
    constrained_minimum,
    naive_abm,
    naive_abm_split,
    naive_oavi,
    naive_oavi_split,
    naive_vca,
    naive_vca_split,
    term_columns,
    updated_inverse,
)

from vanishing.decisions import (
    Oracle,
    Stage,
    decide_abm,
    decide_abm_exact,
    decide_avi,
    decide_avi_exact,
    decide_oavi,
    decide_oavi_exact,
    decide_vca,
    decide_vca_exact,
)
from vanishing.decisions.border import CholeskySweep, QRSweep
from vanishing.polynomials.terms import border
from vanishing.solvers import Status, Stop

QUADRATIC = [(0, 0), (1, 0), (0, 1), (2, 0), (1, 1), (0, 2)]  # the first three are the basis of most tests
seeds = st.integers(0, 2**32 - 1)
psis = st.sampled_from([0.03, 0.01, 3e-3, 1e-3, 1e-4])


def curve(seed, m=200, noise=0.03):
    """Points in the unit square near a parabola: some quadratic terms vanish on them, to a degree, and some do not."""
    rng = np.random.default_rng(seed)
    x = rng.random(m)
    y = rng.random() * x**2 + rng.random() * (1.0 - x) ** 2
    return np.clip(np.column_stack([x, y + noise * rng.standard_normal(m)]), 0.0, 1.0)


def gram_of(columns):
    """Gram of the columns, exactly symmetric."""
    gram = columns.T @ columns / columns.shape[0]
    return (gram + gram.T) / 2.0


def factor_of(columns):
    R = np.linalg.qr(columns, mode="r") / np.sqrt(columns.shape[0])
    return np.vstack([R, np.zeros((columns.shape[1] - R.shape[0], columns.shape[1]))])


def random_columns(seed, n_basis=3, n_candidates=5, m=40):
    return np.random.default_rng(seed).standard_normal((m, n_basis + n_candidates))


def oavi(matrix, n_basis, psi, *, exact=False, **options):
    defaults = {
        "radius": 999.0,
        "solver": "bpcg",
        "boost": "wihb",
        "polish": True,
        "stop": Stop(psi, 0.01 * psi, 0.0, 100_000),
    }
    search = {**defaults, **options}
    state = {"stage": Stage(search.pop("boosting"))} if "boosting" in search else {}
    return (decide_oavi_exact if exact else decide_oavi)(matrix, n_basis, oracle=Oracle(**search), **state)


def generator_values(columns, n_basis, split):
    """Values of the generators on the data, one per column: directly, from terms and coefficients."""
    terms = columns[:, [*range(n_basis), *(n_basis + split.kept)]]
    return terms @ split.coef.T + columns[:, n_basis + split.generators] * split.lead_coef


def assert_partition(split, n_candidates):
    """Every candidate is either kept or leads a generator, both in their order; shapes agree."""
    assert sorted([*split.kept, *split.generators]) == list(range(n_candidates))
    assert list(split.kept) == sorted(split.kept)
    assert list(split.generators) == sorted(split.generators)
    n_generators = len(split.generators)
    for field in (split.coef, split.lead_coef, split.n_free, split.mse, split.gap, split.n_iter, split.status):
        assert len(field) == n_generators


def assert_generators_use_earlier_terms_only(split, n_basis):
    """Generator g is free in the basis and the candidates kept before it, and has zeros elsewhere."""
    assert split.coef.shape[1] == n_basis + len(split.kept)
    for g, j in enumerate(split.generators):
        assert split.n_free[g] == n_basis + np.sum(split.kept < j)
        np.testing.assert_array_equal(split.coef[g, split.n_free[g] :], 0.0)


def assert_same_decision(split, decision):
    assert list(split.kept) == decision.kept
    assert list(split.generators) == decision.generators


# --- sweeps -----------------------------------------------------------------------------------------------------------


def sweeps(columns, n_basis):
    return [CholeskySweep(gram_of(columns), n_basis), QRSweep(factor_of(columns), n_basis)]


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(seed=seeds, skipped=st.sets(st.integers(0, 4)))
def test_sweeps_follow_least_squares_while_columns_join(seed, skipped):
    columns = random_columns(seed)
    m = columns.shape[0]
    for sweep in sweeps(columns, 3):
        members = [0, 1, 2]
        for joining in range(5):
            for j in range(5):
                if 3 + j in members:
                    continue
                A, b = columns[:, members], columns[:, 3 + j]
                y, residual, *_ = np.linalg.lstsq(A, b, rcond=None)
                assert sweep.pivot(j) == pytest.approx(residual[0] / m, rel=1e-9)
                np.testing.assert_allclose(-sweep.minimiser(j), y, rtol=1e-8, atol=1e-10)
            if joining not in skipped:
                sweep.append(joining)
                members.append(3 + joining)
                assert sweep.n == len(members)


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(seed=seeds)
def test_sweeps_carry_the_inverse_of_the_ihb_theorem(seed):
    columns = random_columns(seed)
    gram = gram_of(columns)
    for sweep in sweeps(columns, 3):
        N, members = np.linalg.inv(gram[:3, :3]), [0, 1, 2]
        for j in range(5):
            u = 3 + j
            Ab, bb = gram[members, u], gram[u, u]
            np.testing.assert_allclose(-sweep.minimiser(j), N @ Ab, rtol=1e-8, atol=1e-10)
            assert sweep.pivot(j) == pytest.approx(bb - Ab @ N @ Ab, rel=1e-8)
            N = updated_inverse(N, Ab, bb)
            sweep.append(j)
            members.append(u)
            L = sweep.L[: sweep.n, : sweep.n]
            np.testing.assert_allclose(np.linalg.inv(L @ L.T), N, rtol=1e-7, atol=1e-9)


def test_paper_formulas_invert_the_larger_gram():
    gram = gram_of(random_columns(0))
    found = updated_inverse(np.linalg.inv(gram[:7, :7]), gram[:7, 7], gram[7, 7])
    np.testing.assert_allclose(found, np.linalg.inv(gram), rtol=1e-10, atol=1e-12)


def test_qr_sweep_resolves_residuals_that_a_gram_cannot():
    rng = np.random.default_rng(0)
    A, dust = rng.standard_normal((50, 3)), rng.standard_normal((50, 2))
    dust -= A @ np.linalg.lstsq(A, dust, rcond=None)[0]
    columns = np.column_stack([A, A @ np.ones((3, 2)) + 1e-9 * dust])
    sweep = QRSweep(factor_of(columns), 3)
    assert sweep.pivot(0) == pytest.approx(1e-18 * np.mean(dust[:, 0] ** 2), rel=1e-5)
    sweep.append(0)
    residual = dust[:, 1] - dust[:, 0] * (dust[:, 0] @ dust[:, 1]) / (dust[:, 0] @ dust[:, 0])
    assert sweep.pivot(1) == pytest.approx(1e-18 * np.mean(residual**2), rel=1e-5)


def test_dependent_basis_has_no_cholesky_sweep():
    with pytest.raises(np.linalg.LinAlgError):
        CholeskySweep(np.ones((3, 3)), 2)


def test_sweeps_do_not_change_their_input():
    columns = random_columns(1)
    gram, factor = gram_of(columns), factor_of(columns)
    kept = gram.copy(), factor.copy()
    for sweep in (CholeskySweep(gram, 3), QRSweep(factor, 3)):
        sweep.append(0)
        sweep.append(3)
    np.testing.assert_array_equal(gram, kept[0])
    np.testing.assert_array_equal(factor, kept[1])


# --- OAVI -------------------------------------------------------------------------------------------------------------

OAVI_CONFIGURATIONS = [
    ("cg", "ihb"),
    ("agd", "ihb"),
    ("bpcg", "wihb"),
    ("pcg", "wihb"),
    ("cg", "wihb"),
    ("bpcg", "none"),
    ("pcg", "none"),
]
by_configuration = pytest.mark.parametrize(("solver", "boost"), OAVI_CONFIGURATIONS)
by_exact = pytest.mark.parametrize("exact", [False, True], ids=["gram", "factor"])


def matrix_of(columns, exact):
    return factor_of(columns) if exact else gram_of(columns)


@pytest.mark.slow
@by_exact
@by_configuration
@settings(max_examples=25, deadline=None)
@given(seed=seeds, psi=psis, polish=st.booleans())
def test_oavi_decides_as_least_squares_on_the_data_does(solver, boost, exact, seed, psi, polish):
    columns = term_columns(curve(seed), QUADRATIC)
    decision = naive_oavi_split(columns, 3, psi)
    assume(decision.margin > 0.02)
    radius = np.inf if solver == "agd" else 999.0
    split = oavi(
        matrix_of(columns, exact), 3, psi, exact=exact, solver=solver, boost=boost, polish=polish, radius=radius
    )
    assert_same_decision(split, decision)
    assert_partition(split, 3)
    assert_generators_use_earlier_terms_only(split, 3)
    assert split.n_undecided == 0
    np.testing.assert_array_equal(split.lead_coef, 1.0)
    mse = np.mean(generator_values(columns, 3, split) ** 2, axis=0)
    np.testing.assert_allclose(split.mse, mse, rtol=1e-6, atol=1e-13)
    assert np.all(mse <= psi * (1.0 + 1e-9))
    assert np.all(mse >= np.array(decision.mse) * (1.0 - 1e-6))


@by_exact
def test_oavi_with_ihb_gives_the_least_squares_polynomials(exact):
    columns = term_columns(curve(0), QUADRATIC)
    decision = naive_oavi_split(columns, 3, 0.003)
    split = oavi(matrix_of(columns, exact), 3, 0.003, exact=exact, solver="cg", boost="ihb")
    assert decision.generators
    assert_same_decision(split, decision)
    for g, expected in enumerate(decision.coef):
        np.testing.assert_allclose(split.coef[g, : split.n_free[g]], expected[:-1], rtol=1e-7, atol=1e-9)
        assert split.mse[g] == pytest.approx(decision.mse[g], rel=1e-8)


def test_oavi_degree_by_degree_is_algorithm_1():
    for seed, order in ((0, "deglex"), (1, "degcolex"), (2, "deglex")):
        X, psi = np.column_stack([curve(seed), curve(seed + 10)[:, 1]]), 0.002
        expected = naive_oavi(X, psi, order, max_degree=6)
        assert expected.margin > 1e-6
        found = run_algorithm(X, lambda gram, n, psi=psi: oavi(gram, n, psi), order)
        assert found == ([as_variables(e) for e in expected.order_ideal], [as_variables(e) for e in expected.leads])


def test_abm_degree_by_degree_is_algorithm_1_with_unit_coefficients():
    for seed, order in ((0, "deglex"), (1, "degcolex"), (2, "deglex")):
        X, psi = np.column_stack([curve(seed), curve(seed + 10)[:, 1]]), 0.001
        expected = naive_abm(X, psi, order, max_degree=6)
        assert expected.margin > 1e-6
        found = run_algorithm(X, lambda gram, n, psi=psi: decide_abm(gram, n, psi=psi), order)
        assert found == ([as_variables(e) for e in expected.order_ideal], [as_variables(e) for e in expected.leads])


def run_algorithm(X, decide, order, max_degree=6):
    """Order ideal and leading terms from the library's border and a split, on Grams of directly evaluated terms."""
    n = X.shape[1]
    terms, leads, new = [()], [], [(v,) for v in range(n)]
    for _ in range(max_degree):
        if not new:
            break
        columns = term_columns(X, [[t.count(v) for v in range(n)] for t in [*terms, *new]])
        split = decide(gram_of(columns), len(terms))
        kept = [new[j] for j in split.kept]
        terms, leads = terms + kept, leads + [new[j] for j in split.generators]
        new = border(kept, order, limit=10_000)
    return terms, leads


def wihb_case():
    """Columns whose first candidate is a sum of two basis columns plus noise; the other two columns are idle."""
    rng = np.random.default_rng(5)
    basis = rng.standard_normal((400, 4))
    return np.column_stack([basis, basis[:, 1] - 0.5 * basis[:, 3] + 0.05 * rng.standard_normal(400)])


@by_exact
def test_weak_boosting_gives_sparse_and_boosting_dense_generators(exact):
    matrix = matrix_of(wihb_case(), exact)
    sparse = oavi(matrix, 4, 0.01, exact=exact, radius=2.0)
    dense = oavi(matrix, 4, 0.01, exact=exact, radius=2.0, solver="cg", boost="ihb")
    assert sparse.generators == dense.generators == [0]
    np.testing.assert_array_equal(sparse.coef[0] != 0.0, [False, True, False, True])
    assert np.all(dense.coef[0] != 0.0)
    assert dense.mse[0] <= sparse.mse[0] <= 0.01


def test_polish_is_least_squares_on_the_support():
    columns = wihb_case()
    gram = gram_of(columns)
    rough, fine = (oavi(gram, 4, 0.01, radius=2.0, polish=polish) for polish in (False, True))
    np.testing.assert_array_equal(rough.coef != 0.0, fine.coef != 0.0)
    expected = np.linalg.lstsq(columns[:, [1, 3]], -columns[:, 4], rcond=None)[0]
    np.testing.assert_allclose(fine.coef[0, [1, 3]], expected, rtol=1e-9)
    assert fine.mse[0] < rough.mse[0]


def test_weak_boosting_falls_back_on_the_dense_generator_when_the_solver_gives_up():
    gram = gram_of(wihb_case())
    pivot = CholeskySweep(gram, 4).pivot(0)
    psi = pivot * (1.0 + 1e-6)
    split = oavi(gram, 4, psi, radius=2.0, polish=False, stop=Stop(psi, 0.0, 0.0, 2))
    assert list(split.generators) == [0]
    assert split.mse[0] <= psi
    np.testing.assert_allclose(split.coef[0], CholeskySweep(gram, 4).minimiser(0), rtol=1e-9)
    assert split.n_undecided == 0


def test_without_boosting_a_solver_that_gives_up_leaves_terms_undecided():
    gram = gram_of(wihb_case())
    psi = CholeskySweep(gram, 4).pivot(0) * (1.0 + 1e-6)
    split = oavi(gram, 4, psi, radius=2.0, boost="none", stop=Stop(psi, 0.0, 0.0, 2))
    assert list(split.kept) == [0]
    assert split.n_undecided == 1


# --- OAVI outside the ball: (INF) -------------------------------------------------------------------------------------


def inf_columns(seed):
    """Nearly dependent basis columns: least squares needs large coefficients, and the ball forbids them."""
    rng = np.random.default_rng(seed)
    basis = rng.standard_normal((60, 2)) @ np.array([[1.0, 1.0, 0.3], [0.0, 0.05, 1.0]])
    basis += 0.02 * rng.standard_normal((60, 3))
    candidates = basis @ rng.uniform(-3.0, 3.0, (3, 4)) + 0.1 * rng.standard_normal((60, 4))
    return np.column_stack([basis, candidates])


@pytest.mark.slow
@by_exact
@pytest.mark.parametrize("boost", ["none", "ihb", "wihb"])
@settings(max_examples=40, deadline=None)
@given(seed=seeds, radius=st.sampled_from([0.5, 1.0, 2.0, 4.0]), psi=st.sampled_from([0.02, 0.1, 0.5]))
def test_oavi_in_a_small_ball_decides_as_the_exact_constrained_problem_does(exact, boost, seed, radius, psi):
    columns = inf_columns(seed)
    decision = naive_oavi_split(columns, 3, psi, radius)
    assume(decision.margin > 0.01)
    solver = "cg" if boost == "ihb" else "bpcg"
    stop = Stop(psi, 1e-4 * psi, 0.0, 200_000)
    split = oavi(matrix_of(columns, exact), 3, psi, exact=exact, radius=radius, solver=solver, boost=boost, stop=stop)
    assume(split.n_undecided == 0)
    assert_same_decision(split, decision)
    assert np.all(np.abs(split.coef).sum(axis=1) <= radius * (1.0 + 1e-9))
    mse = np.mean(generator_values(columns, 3, split) ** 2, axis=0)
    assert np.all(mse <= psi * (1.0 + 1e-9))


@by_exact
def test_boosting_ends_at_the_first_generator_outside_the_ball(exact):
    for seed in range(10):
        columns = inf_columns(seed)
        matrix, radius, psi = matrix_of(columns, exact), 1.0, 0.1
        # The first candidate whose least-squares polynomial vanishes without fitting in the ball.
        members, inf = [0, 1, 2], False
        for j in range(4):
            A, b = columns[:, members], columns[:, 3 + j]
            y = np.linalg.lstsq(A, -b, rcond=None)[0]
            if np.mean((A @ y + b) ** 2) > psi:
                members.append(3 + j)
            elif np.abs(y).sum() > radius:
                inf = True
                break
        assert oavi(matrix, 3, psi, exact=exact, radius=radius).state.boosting == (not inf)
        assert oavi(matrix, 3, psi, exact=exact, radius=1e6).state.boosting


@by_exact
def test_large_coefficients_of_a_term_that_does_not_vanish_do_not_end_boosting(exact):
    rng = np.random.default_rng(0)
    basis = rng.standard_normal((100, 1))
    columns = np.column_stack([basis, 5.0 * basis + rng.standard_normal((100, 1))])
    split = oavi(matrix_of(columns, exact), 1, 0.01, exact=exact, radius=1.0)
    assert split.state.boosting
    assert list(split.kept) == [0]


@by_exact
def test_boosting_that_has_ended_stays_off(exact):
    columns = term_columns(curve(0), QUADRATIC)
    split = oavi(matrix_of(columns, exact), 3, 0.003, exact=exact, boosting=False)
    assert not split.state.boosting
    assert_same_decision(split, naive_oavi_split(columns, 3, 0.003))


@pytest.mark.parametrize(("factor", "kept"), [(0.99, [0]), (1.01, [])])
def test_term_outside_the_ball_is_decided_by_the_constrained_optimum(factor, kept):
    columns = inf_columns(3)[:, :4]
    gram = gram_of(columns)
    optimum = constrained_minimum(gram[:3, :3], gram[:3, 3], gram[3, 3], 1.0).loss
    assert CholeskySweep(gram, 3).pivot(0) < 0.5 * optimum
    split = oavi(gram, 3, factor * optimum, radius=1.0)
    assert not split.state.boosting
    assert list(split.kept) == kept


# --- ABM --------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@by_exact
@settings(max_examples=60, deadline=None)
@given(seed=seeds, psi=psis)
def test_abm_decides_as_singular_values_of_the_data_do(exact, seed, psi):
    columns = term_columns(curve(seed), QUADRATIC)
    assume(np.linalg.eigvalsh(gram_of(columns[:, :3]))[0] > 1.01 * psi)
    decision = naive_abm_split(columns, 3, psi)
    assume(decision.margin > 1e-6)
    split = (decide_abm_exact if exact else decide_abm)(matrix_of(columns, exact), 3, psi=psi)
    assert_same_decision(split, decision)
    assert_partition(split, 3)
    assert_generators_use_earlier_terms_only(split, 3)
    mse = np.mean(generator_values(columns, 3, split) ** 2, axis=0)
    np.testing.assert_allclose(split.mse, mse, rtol=1e-6, atol=1e-14)
    assert np.all(mse <= psi * (1.0 + 1e-9))


@by_exact
def test_abm_generators_are_eigenvectors_of_their_sub_blocks(exact):
    for seed in range(10):
        columns = term_columns(curve(seed), QUADRATIC)
        gram = gram_of(columns)
        psi = 1.2 * np.linalg.eigvalsh(gram)[1]
        if np.linalg.eigvalsh(gram[:3, :3])[0] <= 1.01 * psi:
            continue
        split = (decide_abm_exact if exact else decide_abm)(matrix_of(columns, exact), 3, psi=psi)
        assert split.generators.size
        members = [0, 1, 2, *(3 + split.kept)]
        for g, j in enumerate(split.generators):
            block = [*members[: split.n_free[g]], 3 + j]
            values, vectors = np.linalg.eigh(gram[np.ix_(block, block)])
            expected = vectors[:, 0] * np.sign(vectors[-1, 0])
            found = np.append(split.coef[g, : split.n_free[g]], split.lead_coef[g])
            np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-8)
            assert np.linalg.norm(found) == pytest.approx(1.0, abs=1e-12)
            assert split.lead_coef[g] > 0.0
            assert split.mse[g] == pytest.approx(values[0], rel=1e-8)


def test_abm_of_a_zero_column_is_that_column():
    columns = np.column_stack([np.ones(10), np.zeros(10)])
    for split in (decide_abm(gram_of(columns), 1, psi=0.1), decide_abm_exact(factor_of(columns), 1, psi=0.1)):
        np.testing.assert_array_equal(split.coef, [[0.0]])
        np.testing.assert_array_equal(split.lead_coef, [1.0])
        np.testing.assert_allclose(split.mse, [0.0], atol=1e-15)


# --- AVI --------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@by_exact
@settings(max_examples=60, deadline=None)
@given(seed=seeds, psi=psis, pivot_tol=st.sampled_from([0.0, 1e-3, 0.3]))
def test_avi_generators_have_unit_coefficients_and_vanish(exact, seed, psi, pivot_tol):
    X = np.column_stack([curve(seed), curve(seed + 1)[:, 1]])
    terms = [e for d in (0, 1, 2) for e in sorted(np.ndindex(3, 3, 3), reverse=True) if sum(e) == d]
    columns = term_columns(X, terms)
    values = np.linalg.eigvalsh(gram_of(columns))
    assume(np.abs(values - psi).min() > 1e-9)
    split = (decide_avi_exact if exact else decide_avi)(matrix_of(columns, exact), 4, psi=psi, pivot_tol=pivot_tol)
    assert_partition(split, 6)
    assert_generators_use_earlier_terms_only(split, 4)
    assert len(split.generators) <= np.sum(values <= psi)
    norms = np.sqrt((split.coef**2).sum(axis=1) + split.lead_coef**2)
    np.testing.assert_allclose(norms, 1.0, rtol=1e-12)
    mse = np.mean(generator_values(columns, 4, split) ** 2, axis=0)
    assert np.all(mse <= psi * (1.0 + 1e-9))
    np.testing.assert_allclose(split.mse, mse, rtol=1e-6, atol=1e-13)
    assert np.all(split.status == Status.VANISHING)


def test_avi_finds_the_exact_kernel_and_its_leading_terms():
    x = np.linspace(0.0, 1.0, 50)
    # Of 1, x, x^2, x^3 and 2x - 1, x^2 + x: the last two are combinations of the others.
    columns = np.column_stack([np.ones(50), x, x**2, 2.0 * x - 1.0, x**3, x**2 + x])
    for split in (
        decide_avi(gram_of(columns), 2, psi=1e-8, pivot_tol=1e-3),
        decide_avi_exact(factor_of(columns), 2, psi=1e-12, pivot_tol=1e-3),
    ):
        np.testing.assert_array_equal(split.generators, [1, 3])
        np.testing.assert_array_equal(split.kept, [0, 2])
        monic = split.coef / split.lead_coef[:, None]
        np.testing.assert_allclose(monic, [[1.0, -2.0, 0.0, 0.0], [0.0, -1.0, -1.0, 0.0]], atol=1e-6)


def test_avi_passes_over_leading_terms_below_the_pivot_tolerance():
    # The kernel of 1, u / 100, u is (0, 1, -0.01) up to a factor: the last column hardly counts. Without it, the row
    # is u / 100 itself, of mean square 1e-4. With a psi below that, sqrt(psi) is below 0.01, and the column counts.
    u = np.random.default_rng(0).standard_normal(100)
    u /= np.sqrt(np.mean(u**2))
    gram = gram_of(np.column_stack([np.ones(100), u / 100.0, u]))
    for psi, tolerance, generators in ((1e-3, 1e-3, [1]), (1e-3, 0.1, [0]), (1e-5, 1e-3, [1]), (1e-5, 0.1, [1])):
        assert list(decide_avi(gram, 1, psi=psi, pivot_tol=tolerance).generators) == generators


def test_avi_without_small_eigenvalues_keeps_everything():
    columns = random_columns(0)
    for split in (
        decide_avi(gram_of(columns), 3, psi=1e-6, pivot_tol=1e-3),
        decide_avi_exact(factor_of(columns), 3, psi=1e-6, pivot_tol=1e-3),
    ):
        assert list(split.kept) == [0, 1, 2, 3, 4]
        assert split.coef.shape == (0, 8)


# --- VCA --------------------------------------------------------------------------------------------------------------


def assert_same_subspace(a, b):
    """The columns of a and b, orthonormal, span the same space."""
    np.testing.assert_allclose(a @ a.T, b @ b.T, atol=1e-6)


@pytest.mark.slow
@by_exact
@settings(max_examples=60, deadline=None)
@given(seed=seeds, psi=psis, length=st.sampled_from([1.0, 0.1]))
def test_vca_split_is_that_of_the_data(exact, seed, psi, length):
    columns = term_columns(curve(seed), QUADRATIC)
    F, C = columns[:, :3], columns[:, 3:]
    expected = naive_vca_split(F, C, psi, length)
    assume(np.abs(expected.mean_squares / psi - 1.0).min() > 1e-3)
    split = (decide_vca_exact if exact else decide_vca)(matrix_of(columns, exact), 3, psi=psi, length=length)
    small = expected.mean_squares <= psi
    assert split.vanishing.shape == (small.sum(), 6)
    assert split.kept.shape == ((~small).sum(), 6)
    np.testing.assert_allclose(split.mse, expected.mean_squares[small], rtol=1e-6, atol=1e-13)
    assert_same_subspace(split.vanishing[:, 3:].T, expected.vectors[:, small])

    vanishing, kept = columns @ split.vanishing.T, columns @ split.kept.T
    np.testing.assert_allclose(np.mean(vanishing**2, axis=0), split.mse, rtol=1e-6, atol=1e-13)
    np.testing.assert_allclose(split.vanishing[:, 3:] @ split.vanishing[:, 3:].T, np.eye(small.sum()), atol=1e-10)
    np.testing.assert_allclose(gram_of(kept), length**2 * np.eye(len(split.kept)), atol=1e-8 * length**2)
    np.testing.assert_allclose(F.T @ kept / len(F), 0.0, atol=1e-8)
    np.testing.assert_allclose(F.T @ vanishing / len(F), 0.0, atol=1e-8)


@by_exact
@pytest.mark.parametrize("length", [1.0, 0.2])
def test_vca_degree_by_degree_is_that_of_the_data(exact, length):
    X, psi = curve(4), 0.004
    expected = naive_vca(X, psi, length, max_degree=4)
    F = np.full((len(X), 1), length)
    first, newest, C = None, None, X
    for found in expected:
        assert np.abs(found.mean_squares / psi - 1.0).min() > 1e-4
        columns = np.hstack([F, C])
        decide = decide_vca_exact if exact else decide_vca
        split = decide(matrix_of(columns, exact), F.shape[1], psi=psi, length=length)
        np.testing.assert_allclose(split.mse, found.mean_squares[found.mean_squares <= psi], rtol=1e-5, atol=1e-12)
        newest = columns @ split.kept.T
        assert newest.shape == found.kept.shape
        F = np.hstack([F, newest])
        if first is None:
            first = newest
            pairs = [(i, j) for i in range(first.shape[1]) for j in range(i, first.shape[1])]
        else:
            pairs = [(i, j) for i in range(newest.shape[1]) for j in range(first.shape[1])]
        if not pairs:
            break
        C = np.column_stack([newest[:, i] * first[:, j] for i, j in pairs])


# --- rounding ---------------------------------------------------------------------------------------------------------


def test_oavi_from_a_gram_gives_up_where_rounding_decides():
    gram = gram_of(term_columns(curve(0), QUADRATIC))
    pivot = CholeskySweep(gram, 3).pivot(0)
    for boost in ("ihb", "wihb"):
        solver = "cg" if boost == "ihb" else "bpcg"
        for psi in (pivot, pivot * (1.0 + 1e-15), pivot * (1.0 - 1e-15)):
            assert oavi(gram, 3, psi, solver=solver, boost=boost) is None
        above, below = (oavi(gram, 3, pivot * factor, solver=solver, boost=boost) for factor in (1.000001, 0.999999))
        assert 0 in above.generators
        assert 0 in below.kept


def test_oavi_without_boost_gives_up_where_the_solver_ends_within_rounding_of_psi():
    # The optimum 0.25 is attained at the first vertex of the ball.
    gram = np.array([[1.0, -1.0], [-1.0, 1.25]])
    assert oavi(gram, 1, 0.25, radius=1.0, boost="none") is None
    assert list(oavi(gram, 1, 0.25 + 1e-9, radius=1.0, boost="none").generators) == [0]
    assert list(oavi(gram, 1, 0.25 - 1e-9, radius=1.0, boost="none").kept) == [0]


def test_abm_from_a_gram_gives_up_where_rounding_decides():
    gram = gram_of(term_columns(curve(0), QUADRATIC))
    smallest = np.linalg.eigvalsh(gram[:4, :4])[0]
    assert decide_abm(gram, 3, psi=smallest) is None
    assert 0 in decide_abm(gram, 3, psi=smallest * 1.000001).generators
    assert 0 in decide_abm(gram, 3, psi=smallest * 0.999999).kept


def test_avi_from_a_gram_gives_up_where_rounding_decides():
    gram = gram_of(term_columns(curve(0), QUADRATIC))
    second = np.linalg.eigvalsh(gram)[1]
    assert decide_avi(gram, 3, psi=second, pivot_tol=1e-3) is None
    assert len(decide_avi(gram, 3, psi=second * 0.999999, pivot_tol=0.0).generators) == 1
    assert len(decide_avi(gram, 3, psi=second * 1.000001, pivot_tol=0.0).generators) == 2


def test_vca_from_a_gram_gives_up_where_rounding_decides():
    gram = gram_of(term_columns(curve(0), QUADRATIC))
    schur = gram[3:, 3:] - gram[3:, :3] @ np.linalg.solve(gram[:3, :3], gram[:3, 3:])
    value = np.linalg.eigvalsh(schur)[1]
    assert decide_vca(gram, 3, psi=value, length=1.0) is None
    assert len(decide_vca(gram, 3, psi=value * 0.999999, length=1.0).vanishing) == 1
    assert len(decide_vca(gram, 3, psi=value * 1.000001, length=1.0).vanishing) == 2


def test_dependent_basis_is_not_decided_from_a_gram():
    columns = np.column_stack([np.ones(8), np.ones(8), np.arange(8.0)])
    gram = gram_of(columns)
    assert oavi(gram, 2, 0.01) is None
    assert decide_abm(gram, 2, psi=0.01) is None
    assert decide_vca(gram, 2, psi=0.01, length=1.0) is None


def dusty_columns():
    """A basis, and two candidates that are combinations of it up to residuals of mean square about 1e-18."""
    rng = np.random.default_rng(1)
    basis, dust = rng.standard_normal((80, 3)), rng.standard_normal((80, 2))
    return np.column_stack([basis, basis @ rng.standard_normal((3, 2)) + 1e-9 * dust])


@pytest.mark.parametrize(("psi", "n_generators"), [(1e-16, 2), (1e-20, 0)])
def test_factors_resolve_what_grams_cannot(psi, n_generators):
    columns = dusty_columns()
    gram, factor = gram_of(columns), factor_of(columns)
    assert oavi(gram, 3, psi) is None
    assert decide_abm(gram, 3, psi=psi) is None
    assert decide_avi(gram, 3, psi=psi, pivot_tol=1e-3) is None
    assert decide_vca(gram, 3, psi=psi, length=1.0) is None
    assert len(oavi(factor, 3, psi, exact=True).generators) == n_generators
    assert len(oavi(factor, 3, psi, exact=True, solver="cg", boost="ihb").generators) == n_generators
    assert len(decide_abm_exact(factor, 3, psi=psi).generators) == n_generators
    assert len(decide_avi_exact(factor, 3, psi=psi, pivot_tol=1e-3).generators) == n_generators
    assert len(decide_vca_exact(factor, 3, psi=psi, length=1.0).vanishing) == n_generators


# --- Grams and factors ------------------------------------------------------------------------------------------------

SPLITS = {
    "oavi": lambda matrix, exact, psi: oavi(matrix, 3, psi, exact=exact),
    "oavi-ihb": lambda matrix, exact, psi: oavi(matrix, 3, psi, exact=exact, solver="cg", boost="ihb"),
    "abm": lambda matrix, exact, psi: (decide_abm_exact if exact else decide_abm)(matrix, 3, psi=psi),
    "avi": lambda matrix, exact, psi: (decide_avi_exact if exact else decide_avi)(matrix, 3, psi=psi, pivot_tol=1e-3),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SPLITS)
@settings(max_examples=40, deadline=None)
@given(seed=seeds, psi=psis)
def test_factor_and_gram_lead_to_the_same_generators(name, seed, psi):
    columns = term_columns(curve(seed), QUADRATIC)
    from_gram, from_factor = (SPLITS[name](matrix_of(columns, exact), exact, psi) for exact in (False, True))
    assume(from_gram is not None)
    np.testing.assert_array_equal(from_gram.kept, from_factor.kept)
    np.testing.assert_array_equal(from_gram.generators, from_factor.generators)
    np.testing.assert_array_equal(from_gram.n_free, from_factor.n_free)
    if name == "oavi":  # the support is where the solver happens to stop, and ties on its way are broken by rounding
        return
    np.testing.assert_allclose(from_gram.mse, from_factor.mse, rtol=1e-5, atol=1e-12)
    np.testing.assert_allclose(from_gram.coef, from_factor.coef, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(from_gram.lead_coef, from_factor.lead_coef, rtol=1e-6)


def test_splits_do_not_change_their_input():
    columns = term_columns(curve(0), QUADRATIC)
    for exact in (False, True):
        matrix = matrix_of(columns, exact)
        before = matrix.copy()
        for split in SPLITS.values():
            split(matrix, exact, 0.003)
        (decide_vca_exact if exact else decide_vca)(matrix, 3, psi=0.003, length=1.0)
        np.testing.assert_array_equal(matrix, before)


# --- beyond (INF): columns that depend on others, and exact decisions ---------------------------------------------


def dependent_columns(seed, m=30):
    """A basis of five columns whose fourth is a combination of others, and three candidates."""
    rng = np.random.default_rng(seed)
    columns = rng.standard_normal((m, 8))
    columns[:, 3] = columns[:, :3] @ rng.standard_normal(3)
    return columns


@pytest.mark.parametrize(("sweep", "matrix"), [(CholeskySweep, gram_of), (QRSweep, factor_of)], ids=["gram", "factor"])
@pytest.mark.parametrize("seed", range(5))
def test_sweep_without_a_dependent_column_projects_on_the_same_space(seed, sweep, matrix):
    columns = dependent_columns(seed)
    found = sweep(matrix(columns), 5, np.array([0, 1, 2, 4]))
    assert found.columns == [0, 1, 2, 4]
    for j in range(3):
        best = np.linalg.lstsq(columns[:, :5], -columns[:, 5 + j], rcond=None)[0]
        assert found.pivot(j) == pytest.approx(np.mean((columns[:, :5] @ best + columns[:, 5 + j]) ** 2), rel=1e-8)
        x = found.minimiser(j)
        assert x[3] == 0.0
        np.testing.assert_allclose(columns[:, :5] @ x, columns[:, :5] @ best, atol=1e-8)
    found.append_or_skip(0)
    assert (found.n, found.n_members, found.columns[-1]) == (5, 6, 5)


@pytest.mark.parametrize(("sweep", "matrix"), [(CholeskySweep, gram_of), (QRSweep, factor_of)], ids=["gram", "factor"])
def test_a_dependent_candidate_joins_the_basis_but_not_the_columns(sweep, matrix):
    columns = random_columns(0)
    columns[:, 5] = columns[:, :3] @ [1.0, -2.0, 0.5]
    found = sweep(matrix(columns), 3)
    found.append_or_skip(2)
    assert (found.n, found.n_members) == (3, 4)
    found.append_or_skip(0)
    assert found.columns == [0, 1, 2, 4]


@pytest.mark.slow
@pytest.mark.parametrize("exact", [False, True], ids=["gram", "factor"])
@pytest.mark.parametrize("radius", [0.3, 1.0, 3.0])
def test_omp_decides_as_the_exact_minimum_over_the_ball(radius, exact):
    for seed in range(15):
        columns, psi = random_columns(seed, m=12), 0.3
        matrix = (factor_of if exact else gram_of)(columns)
        split = oavi(matrix, 3, psi, exact=exact, solver="omp", radius=radius)
        if split is None:
            continue
        basis, leads = [0, 1, 2], []
        for j in range(5):
            A, b = columns[:, basis], columns[:, 3 + j]
            best = constrained_minimum(A.T @ A / 12, A.T @ b / 12, float(b @ b / 12), radius)
            leads, basis = ([*leads, j], basis) if best.loss <= psi else (leads, [*basis, 3 + j])
        assert split.generators.tolist() == leads
        assert split.n_undecided == 0
        assert (np.abs(split.coef).sum(axis=1) <= radius * (1.0 + 1e-12)).all()
        assert (np.mean(generator_values(columns, 3, split) ** 2, axis=0) <= psi * (1.0 + 1e-9)).all()


def test_work_that_is_spent_leaves_terms_undecided_and_says_so():
    columns, psi = random_columns(1, m=12), 0.3
    state = {"oracle": Oracle(0.3, "omp", "wihb", True, Stop(psi, 0.01 * psi, 0.0, 1000)), "stage": Stage(work=0.0)}
    split = decide_oavi(gram_of(columns), 3, **state)
    assert split.n_undecided > 0
    assert decide_oavi(gram_of(columns), 3, **{**state, "stage": Stage()}).n_undecided == 0
