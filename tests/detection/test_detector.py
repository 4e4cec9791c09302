"""Novelty detection: rows that violate the equations of normal data."""

import pickle

import numpy as np
import pandas as pd
import pytest
from plant import FAULTS, NAMES, plant
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import MinMaxScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from vanishing import Moments, VanishingIdealDetector, load, open_rows, save
from vanishing.detection import missing
from vanishing.detection.missing import Incomplete

INSIDE, ON = [[30.0, -5.0]], [[34.0, -5.0], [30.0, -3.0]]


@pytest.fixture(scope="module")
def ring():
    """Points near an ellipse around (30, -5)."""
    rng = np.random.default_rng(0)
    angle = rng.uniform(0, 2 * np.pi, 600)
    X = np.column_stack([30.0 + 4.0 * np.cos(angle), -5.0 + 2.0 * np.sin(angle)])
    return X + rng.normal(0, 0.01, X.shape)


@pytest.fixture(scope="module")
def watched():
    """A detector of the plant."""
    return VanishingIdealDetector().fit(pd.DataFrame(plant(1500, 0), columns=NAMES))


def frame(X):
    return pd.DataFrame(np.atleast_2d(X), columns=NAMES)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore:.* rows with NaN were left out of the fit")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.filterwarnings("ignore:Only about .* independent rows")  # sorted by classes
@parametrize_with_checks([VanishingIdealDetector()])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.filterwarnings("ignore:Only about .* independent rows")  # sorted by classes
@parametrize_with_checks([VanishingIdealDetector(contamination=0.1, regimes=False, missing="error")])
def test_scikit_learn_checks_with_other_parameters(estimator, check):
    check(estimator)


@pytest.mark.parametrize("regimes", [True, False])
def test_the_centre_of_a_ring_is_an_outlier_and_the_ring_is_not(ring, regimes):
    detector = VanishingIdealDetector(regimes=regimes).fit(ring)
    assert detector.predict(INSIDE)[0] == -1
    assert (detector.predict(ON) == 1).all()
    assert detector.generators_[0].degree == 2


def test_the_score_is_the_inverse_christoffel_function(ring):
    detector = VanishingIdealDetector(regimes=False, degree=2).fit(ring)
    new = ring[:50] + np.linspace(0.0, 0.5, 50)[:, None]
    Z, W = ((X - ring.mean(axis=0)) / ring.std(axis=0) for X in (ring, new))
    V, U = (np.column_stack([X[:, 0] ** i * X[:, 1] ** j for i in range(3) for j in range(3 - i)]) for X in (Z, W))
    scale = np.sqrt(np.mean(V**2, axis=0))
    V, U = V / scale, U / scale
    G = np.log(np.einsum("ij,jk,ik->i", U, np.linalg.inv(V.T @ V / len(V) + 1e-6 * np.eye(6)), U))
    score = detector._current().score
    np.testing.assert_allclose(score.parts[0].surprise(new), G, rtol=1e-7)


def test_training_rows_are_scored_as_if_left_out(ring):
    """The scores of rows that a fit has seen are those of a fit without them, but for the units of the columns."""
    detector = VanishingIdealDetector(regimes=False, degree=2).fit(ring)
    model = detector._current()
    for i in (0, 100, 599):
        score = VanishingIdealDetector(regimes=False, degree=2).fit(np.delete(ring, i, axis=0))._current().score
        assert model.left[0][i] == pytest.approx(score.parts[0].surprise(ring[[i]])[0], abs=0.02)
    np.testing.assert_allclose(-detector.score_samples(ring), model.scores_left_out)


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_faults_of_a_plant_are_found_and_named(watched, fault):
    normal, faulty = plant(300, 1), plant(300, 2, fault)
    scores = -watched.score_samples(frame(np.vstack([normal, faulty])))
    assert roc_auc_score(np.repeat([0, 1], 300), scores) > (0.87 if fault == "drift" else 0.95)
    laws = columns = 0
    for row in faulty[290:]:
        laws += FAULTS[fault] in watched.explain(frame(row))["equation"][0].replace("*", " ").split()
        columns += FAULTS[fault] in list(watched.explain(frame(row), by="column")["column"][:2])
    assert laws >= 9
    assert columns >= 8


def test_the_laws_of_a_plant_are_its_generators(watched):
    supports = [{tuple(e) for e in p.exponents} for p in watched.generators_]
    assert len(supports) == 3
    place = np.eye(10, dtype=int)
    F1, F2, F3, _, _, T3, T4, Q = place[:8]
    assert {tuple(F1), tuple(F2), tuple(F3)} in supports
    assert {tuple(F3 + T4), tuple(F3 + T3), tuple(Q)} in supports
    exact, shuffled = plant(500, 1, noise=0.0), np.random.default_rng(0).permuted(plant(500, 1), axis=0)
    assert (watched.violations(frame(exact)).mean(axis=0) < 0.5).all()
    assert (watched.violations(frame(shuffled)).mean(axis=0) > 5.0).all()


def test_what_a_sensor_should_have_shown(watched):
    row = plant(50, 3)[7]
    broken = row.copy()
    broken[0] += 1.0
    table = watched.explain(frame(broken), by="column").set_index("column")
    assert table.index[0] == "F1"
    assert table.loc["F1", "expected"] == pytest.approx(row[0], abs=0.05)
    assert table.loc["F1", "observed"] == broken[0]


def test_shares_of_equations_sum_to_one_and_their_values_are_those_of_the_row(watched):
    row = plant(50, 3, "leak")[7]
    table = watched.explain(frame(row))
    assert table["share"].sum() == pytest.approx(1.0)
    assert (table["share"] >= 0.0).all()
    first = next(p for p in watched.generators_ if p.to_text() in table["equation"][0])
    assert table["value"][0] == pytest.approx(first.evaluate(row[None, :])[0])
    others = [text for text in table["equation"] if text.endswith(" by the others")]
    assert others
    assert table["share"].max() > 0.5


def test_violations_are_the_equations_in_units_of_their_deviations(watched):
    X = frame(plant(400, 5))
    found = watched.violations(X)
    np.testing.assert_allclose(
        found, np.abs(watched.generators_.evaluate(X)) / np.sqrt(watched.generators_.mse), rtol=1e-6
    )
    assert np.sqrt(np.mean(found**2, axis=0)) == pytest.approx(np.ones(3), rel=0.2)


@pytest.mark.slow
def test_the_share_of_false_alarms_is_as_promised():
    rng = np.random.default_rng(0)
    mixing = rng.normal(size=(4, 4))
    found = []
    for _ in range(3):
        X = np.vstack([rng.normal(size=(600, 4)), rng.normal(4.0, 0.5, size=(600, 4))]) @ mixing
        detector = VanishingIdealDetector(contamination=0.05).fit(rng.permutation(X)[:800])
        fresh = np.vstack([rng.normal(size=(1000, 4)), rng.normal(4.0, 0.5, size=(1000, 4))]) @ mixing
        found.append(np.mean(detector.predict(fresh) == -1))
        np.testing.assert_array_equal(detector.predict(fresh) == -1, detector.p_values(fresh) <= 0.05)
    assert np.mean(found) == pytest.approx(0.05, abs=0.012)


@pytest.mark.parametrize("share", [0.01, 0.1, 1 / 3, 0.5])
def test_contamination_is_also_the_share_of_training_rows_called_outliers(ring, share):
    detector = VanishingIdealDetector(contamination=share, regimes=False).fit(ring)
    assert np.sum(detector.predict(ring) == -1) == pytest.approx(share * len(ring), abs=1.0)


def test_batches_of_a_stream_give_the_gram_of_all_rows(ring):
    stream = VanishingIdealDetector(regimes=False, degree=2).fit(ring[:300])
    before = stream.score_samples(INSIDE)
    stream.partial_fit(ring[300:450]).partial_fit(ring[450:])
    assert stream.n_samples_seen_ == 600
    centre, scale = stream._monomials.units.centre, stream._monomials.units.scale
    Z = (ring - centre) / scale
    np.testing.assert_allclose(stream._sums.gram[1, 1:3] / 600, (Z[:, :1] * Z).mean(axis=0), atol=1e-12)
    assert stream.score_samples(INSIDE) != before
    assert len(stream._current().left[0]) == 600  # calibrated anew


def test_few_further_rows_leave_the_calibration(ring):
    stream = VanishingIdealDetector(regimes=False).fit(ring[:500])
    offset = stream.offset_
    assert stream.partial_fit(ring[500:]).predict(INSIDE)[0] == -1
    assert stream.offset_ == offset


@pytest.mark.slow
def test_a_first_batch_is_a_fit(ring):
    one, two = VanishingIdealDetector().fit(ring), VanishingIdealDetector().partial_fit(ring)
    np.testing.assert_array_equal(one.score_samples(INSIDE), two.score_samples(INSIDE))


def test_moments_give_the_inverse_christoffel_function_of_their_rows(ring):
    moments = Moments(2, degree=4, scaler=MinMaxScaler().fit(ring)).update(ring)
    with pytest.warns(UserWarning, match="gamma distribution"):
        found = VanishingIdealDetector().fit(moments)
    rows = VanishingIdealDetector(regimes=False, degree=2).fit(ring)
    expected, q = (rows._current().score.christoffel.of_rows(X) for X in (ring + 0.1, ring))
    np.testing.assert_allclose(found._current().score.christoffel.of_rows(ring + 0.1), expected, rtol=1e-4)
    assert found.predict(INSIDE)[0] == -1
    assert np.mean(found.predict(ring) == -1) < 0.05
    assert found._current().tail.shape * found._current().tail.scale == pytest.approx(q.mean(), rel=1e-4)
    assert found._current().tail.shape * found._current().tail.scale ** 2 == pytest.approx(q.var(), rel=1e-3)
    with pytest.raises(ValueError, match="fitted to moments"):
        found.partial_fit(ring)
    with pytest.raises(ValueError, match=r"Moments of column 'x.' have lost the digits"):
        VanishingIdealDetector().fit(Moments(2, degree=4).update(ring + 100.0))


@pytest.mark.filterwarnings("ignore:Moments have no rows")
def test_several_equations_of_moments_are_found_without_points_to_compare_them_at():
    X = np.random.default_rng(0).uniform(1.0, 3.0, (2000, 3))
    X[:, 2] = X[:, 0] * X[:, 1] + np.random.default_rng(1).normal(0.0, 0.02, 2000)
    found = VanishingIdealDetector().fit(Moments(3, degree=4, scaler=MinMaxScaler().fit(X)).update(X))
    assert len(found.generators_) > 1
    np.testing.assert_allclose(found.generators_[0].evaluate(np.array([[2.0, 3.0, 6.0]])), 0.0, atol=0.02)


@pytest.fixture(scope="module")
def tumours():
    """Six columns of breast cancer, with tight relations of several degrees and outliers."""
    return load_breast_cancer().data[:, [0, 2, 3, 20, 22, 23]]


def assert_same_model(one, two, new, other_new):
    np.testing.assert_allclose(one.score_samples(new), two.score_samples(other_new), rtol=1e-6, atol=1e-6)
    assert one.offset_ == pytest.approx(two.offset_, abs=1e-6)
    assert len(one.generators_) == len(two.generators_)


@pytest.mark.slow
@pytest.mark.parametrize("table", ["ring", "tumours"])
def test_weights_count_like_repeated_rows(table, request):
    X = request.getfixturevalue(table)
    counts = np.random.default_rng(0).integers(0, 4, len(X))
    weighted = VanishingIdealDetector(contamination=0.1).fit(X, sample_weight=counts)
    repeated = VanishingIdealDetector(contamination=0.1).fit(np.repeat(X, counts, axis=0))
    assert_same_model(weighted, repeated, X * 1.01, X * 1.01)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_repeated_rows_count_like_weights_in_any_order_beyond_the_block_that_is_sorted(tumours, seed):
    """More than 1,024 rows are summed as they come: rounding must not decide about an equation."""
    rng = np.random.default_rng(seed)
    counts = rng.integers(1, 4, len(tumours))
    repeated = np.repeat(tumours, counts, axis=0)
    assert len(repeated) > 1024
    weighted = VanishingIdealDetector(series=False).fit(tumours, sample_weight=counts)
    for _ in range(2):
        shuffled = VanishingIdealDetector(series=False).fit(repeated[rng.permutation(len(repeated))])
        assert_same_model(weighted, shuffled, tumours * 1.01, tumours * 1.01)


@pytest.mark.slow
@pytest.mark.parametrize("table", ["ring", "tumours"])
@pytest.mark.parametrize("seed", range(4))
def test_the_order_of_rows_and_columns_does_not_matter(table, seed, request):
    X = request.getfixturevalue(table)
    rng = np.random.default_rng(seed)
    rows, columns = rng.permutation(len(X)), rng.permutation(X.shape[1])
    one = VanishingIdealDetector().fit(X)
    assert_same_model(one, VanishingIdealDetector().fit(X[rows]), X * 1.01, X * 1.01)
    assert_same_model(one, VanishingIdealDetector().fit(X[:, columns]), X * 1.01, X[:, columns] * 1.01)


def test_the_number_of_threads_does_not_change_a_bit(ring):
    X = np.tile(ring, (20, 1)) + np.linspace(0, 0.01, 12_000)[:, None]
    one, two = (VanishingIdealDetector(n_jobs=n, regimes=False).fit(X).score_samples(ring) for n in (1, 2))
    np.testing.assert_array_equal(one, two)


@pytest.mark.slow
def test_pickled_and_cloned_detectors_give_the_same_scores(ring):
    detector = VanishingIdealDetector(contamination=0.1).fit(ring)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(detector)).predict(ring), detector.predict(ring))
    np.testing.assert_array_equal(clone(detector).fit(ring).score_samples(ring), detector.score_samples(ring))


def test_exact_laws_forgive_rounding_and_nothing_else():
    x = np.linspace(0, 1, 100)
    X = np.column_stack([x, 3.0 * x])
    detector = VanishingIdealDetector(contamination=0.02, series=False).fit(X)
    assert (detector.predict(X + 1e-9) == 1).mean() > 0.9
    assert detector.predict([[0.5, 1.501]])[0] == -1


@pytest.mark.slow
def test_pulsars_are_told_from_noise_without_labels(load_classes):
    noise, pulsars = load_classes("htru")
    detector = VanishingIdealDetector().fit(noise[::4])
    score = detector.score_samples(np.vstack([noise[1::4], pulsars]))
    assert roc_auc_score(np.repeat([0, 1], [len(noise[1::4]), len(pulsars)]), -score) > 0.92


# --- kinds of columns -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def categories():
    """A binary column, a one-hot group of three, a constant and two numbers."""
    rng = np.random.default_rng(0)
    colour = np.eye(3)[rng.integers(0, 3, 400)]
    x = rng.normal(size=(400, 2))
    return np.column_stack([rng.integers(0, 2, 400), colour, np.full(400, 7.0), x])


def test_exact_relations_are_reported_once_as_what_they_are(categories):
    detector = VanishingIdealDetector().fit(pd.DataFrame(categories, columns=list("bredcxy")[:7]))
    assert detector.exact_relations_ == [
        "c = 7", "b is 0 or 1", "r is 0 or 1", "e is 0 or 1", "d is 0 or 1", "r + e + d = 1 (one-hot)"
    ]  # fmt: skip
    assert len(detector.generators_) == 0


@pytest.mark.parametrize(
    ("column", "value", "text"), [(0, 0.5, "b is 0 or 1"), (4, 8.0, "c = 7"), (1, 1.0, "r + e + d = 1 (one-hot)")]
)
def test_a_violated_exact_relation_is_the_explanation(categories, column, value, text):
    row = categories[np.flatnonzero(categories[:, 2] == 1.0)[0]].copy()
    row[column] = value
    detector = VanishingIdealDetector().fit(pd.DataFrame(categories, columns=list("bredcxy")))
    new = pd.DataFrame(row[None, :], columns=list("bredcxy"))
    assert detector.predict(new)[0] == -1
    assert detector.explain(new)["equation"][0] == text


@pytest.mark.slow
def test_wide_tables_have_products_along_principal_directions():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1200, 5)) @ rng.normal(size=(5, 60)) + 0.1 * rng.normal(size=(1200, 60))
    detector = VanishingIdealDetector(regimes=False).fit(X[:1100].astype(np.float32).astype(float))
    normal = -detector.score_samples(X[1100:])
    shuffled = -detector.score_samples(rng.permuted(X[1100:], axis=0))
    assert np.min(shuffled) > np.max(normal)


# --- missing values ---------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_rows_with_missing_values_are_judged_by_the_other_columns(watched):
    normal, broken = plant(400, 6), plant(400, 6, "leak")
    normal[:, 7] = broken[:, 7] = np.nan
    assert np.mean(watched.p_values(frame(normal)) <= 0.05) == pytest.approx(0.05, abs=0.04)
    assert np.median(watched.p_values(frame(broken))) < 0.01
    assert "F3" in watched.explain(frame(broken[0]))["equation"][0]
    assert not any("Q" in text for text in watched.explain(frame(broken[0]))["equation"])


def test_without_the_columns_of_a_broken_law_nothing_is_wrong(watched):
    broken = plant(300, 6, "leak")
    broken[:, 2] = np.nan
    assert np.mean(watched.predict(frame(broken)) == -1) < 0.05


def test_many_patterns_of_missing_columns_take_little_memory(ring, monkeypatch):
    detector = VanishingIdealDetector().fit(np.column_stack([ring, ring.sum(axis=1)]))
    rows = np.repeat(detector._current().sample.X[:1], 7, axis=0)
    rows[(np.arange(7)[:, None] >> np.arange(3)) % 2 == 1] = np.nan
    expected = Incomplete(detector._current()).of_rows(rows)
    monkeypatch.setattr(missing, "MOST_NUMBERS", 0)
    few = Incomplete(detector._current())
    np.testing.assert_array_equal(few.of_rows(rows), expected)
    assert len(few.models) == 1


def test_a_row_without_any_value_is_not_abnormal(watched):
    assert watched.p_values(frame(np.full(10, np.nan)))[0] == 1.0


def test_missing_values_are_refused_when_asked(ring):
    detector = VanishingIdealDetector(missing="error").fit(ring)
    with pytest.raises(ValueError, match="NaN in column 1"):
        detector.predict([[30.0, np.nan]])


def test_incomplete_training_rows_are_left_out_and_counted(ring):
    X = ring.copy()
    X[::6, 1] = np.nan
    with pytest.warns(UserWarning, match="100 rows with NaN were left out of the fit"):
        detector = VanishingIdealDetector().fit(X)
    assert detector.n_samples_seen_ == 500
    with pytest.raises(ValueError, match="Every row has a missing value"):
        VanishingIdealDetector().fit(np.where(np.arange(2) == 1, np.nan, ring))


# --- dirty training rows ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def dirty():
    """Rows near a plane, a tenth of them anomalies in a cluster off it; and the labels."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(900, 3))
    normal = np.column_stack([x, x.sum(axis=1) + 0.1 * rng.normal(size=900)])
    broken = np.column_stack([rng.normal(1.0, 0.3, (100, 3)), rng.normal(-1.0, 0.3, 100)])
    order = rng.permutation(1000)
    return np.vstack([normal, broken])[order], np.repeat([0, 1], [900, 100])[order], normal


def test_anomalies_among_the_rows_of_the_fit_do_not_hide_themselves(dirty):
    X, y, _ = dirty
    plain, trimmed = (VanishingIdealDetector(contamination=c).fit(X) for c in (0.01, "auto"))
    assert roc_auc_score(y, -trimmed.score_samples(X)) > max(0.98, roc_auc_score(y, -plain.score_samples(X)))
    assert np.mean(trimmed.predict(X)[y == 1] == -1) > 0.8
    assert np.mean(trimmed.predict(X)[y == 0] == -1) < 0.04
    assert trimmed.n_samples_seen_ == 1000


def test_clean_rows_may_be_trimmed_too(dirty):
    _, _, normal = dirty
    rng = np.random.default_rng(1)
    x = rng.normal(size=(4000, 3))
    fresh = np.column_stack([x, x.sum(axis=1) + 0.1 * rng.normal(size=4000)])
    detector = VanishingIdealDetector(contamination="auto").fit(normal)
    assert np.mean(detector.predict(fresh) == -1) == pytest.approx(0.01, abs=0.01)


@pytest.mark.slow
def test_trimming_a_source_takes_one_more_pass_and_survives_a_file(dirty, tmp_path):
    X = np.tile(dirty[0], (12, 1)) + 1e-3 * np.random.default_rng(0).normal(size=(12_000, 4))
    np.save(tmp_path / "rows.npy", X)
    found = VanishingIdealDetector(contamination="auto").fit(open_rows(tmp_path / "rows.npy"))
    assert roc_auc_score(dirty[1], -found.score_samples(dirty[0])) > 0.98
    save(found, tmp_path / "model.vi")
    again = load(tmp_path / "model.vi")
    np.testing.assert_array_equal(again.score_samples(dirty[0]), found.score_samples(dirty[0]))
    np.testing.assert_array_equal(again.p_values(dirty[0]), found.p_values(dirty[0]))


# --- drift ------------------------------------------------------------------------------------------------------------


def test_a_drift_that_no_row_shows_is_found_in_a_block(watched):
    shifted = plant(600, 8)
    shifted[300:, 2] += 0.004 * 1.63
    found = watched.drift(frame(shifted), block_rows=300)
    assert found["p_value"][0] > 0.001
    assert found["p_value"][1] < 1e-4
    assert "F3" in found["equation"][1]
    assert found["first_row"].tolist() == [0, 300]


def test_rows_with_gaps_are_counted_in_a_test_for_drift(watched):
    rows = plant(600, 8)
    rows[10, 3] = rows[20, 4] = np.nan
    found = watched.drift(frame(rows), block_rows=300)
    assert found["n_gaps"].tolist() == [2, 0]
    assert found["p_value"][1] == watched.drift(frame(plant(600, 8)), block_rows=300)["p_value"][1]
    assert found["p_value"][0] > 1e-3


def test_drift_has_small_p_values_no_more_often_than_chance(watched):
    """They are rather too large, as the smallest of several is corrected by their number."""
    found = watched.drift(frame(plant(2000, 9)), block_rows=50)
    assert np.mean(found["p_value"] < 0.1) < 0.25


# --- bad input --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("contamination", [0.0, -0.1, 0.6, 1, True, "automatic", None, np.nan])
def test_wrong_contamination_is_refused(ring, contamination):
    with pytest.raises(ValueError, match="contamination must be"):
        VanishingIdealDetector(contamination=contamination).fit(ring)


@pytest.mark.parametrize(
    ("parameter", "message"),
    [
        ({"regimes": "yes"}, "regimes must be True or False"),
        ({"series": "yes"}, "series must be True or False"),
        ({"degree": 0}, "degree must be an integer of at least 1"),
        ({"missing": "drop"}, "missing must be one of 'skip', 'error'"),
    ],
)
def test_wrong_parameters_are_refused(ring, parameter, message):
    with pytest.raises(ValueError, match=message):
        VanishingIdealDetector(**parameter).fit(ring)


def test_wrong_rows_are_refused(ring):
    detector = VanishingIdealDetector(regimes=False).fit(ring)
    with pytest.raises(ValueError, match="expecting 2 features"):
        detector.predict(ring[:, :1])
    with pytest.raises(ValueError, match=r"infinity \(inf\) in column 1, the first in row 3"):
        detector.predict(np.where((np.arange(600) == 3)[:, None] & (np.arange(2) == 1), np.inf, ring))
    with pytest.raises(ValueError, match="infinity"):
        detector.partial_fit([[np.inf, 0.0]])
    assert detector.n_samples_seen_ == 600
    with pytest.raises(ValueError, match=r"All rows are equal \(n_samples = 20\)"):
        VanishingIdealDetector().fit(np.ones((20, 3)))
    with pytest.raises(ValueError, match="Expected one row, got 2"):
        detector.explain(ring[:2])
    with pytest.raises(ValueError, match="The row has 3 values, but the detector was fitted to 2 columns"):
        detector.explain([1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="infinity in column 'x1'"):
        detector.explain([30.0, np.inf])
    with pytest.raises(ValueError, match="by must be one of"):
        detector.explain(ring[0], by="row")


def test_fewer_rows_than_terms_are_said_to_give_degree_1():
    X = np.random.default_rng(0).normal(size=(30, 8))
    with pytest.warns(ConvergenceWarning, match="30 rows, fewer than the 45 terms of degree 2"):
        detector = VanishingIdealDetector().fit(X)
    assert detector.degree_ == 1


def test_labels_are_ignored(ring):
    with_labels = VanishingIdealDetector(regimes=False).fit(ring, np.ones(600))
    np.testing.assert_array_equal(
        with_labels.score_samples(INSIDE), VanishingIdealDetector(regimes=False).fit(ring).score_samples(INSIDE)
    )
