"""Novelty detection: rows that violate the equations of normal data."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.metrics import roc_auc_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from vanishing import ABM, AVI, OAVI, VCA, VanishingIdealDetector, open_rows

DENSE = OAVI(psi=0.001, solver="cg", boost="ihb")


@pytest.fixture
def ring():
    """Points near a circle around (30, -5), in units far from [0, 1]."""
    rng = np.random.default_rng(0)
    angle = rng.uniform(0, 2 * np.pi, 600)
    X = np.column_stack([30.0 + 4.0 * np.cos(angle), -5.0 + 2.0 * np.sin(angle)])
    return X + rng.normal(0, 0.01, X.shape)


INSIDE, ON = [[30.0, -5.0]], [[34.0, -5.0], [30.0, -3.0]]


EXPECTED_FAILURES = {
    "check_sample_weight_equivalence_on_dense_data": "OAVI's own: on fewer rows than terms, the last digit of the "
    "Gram picks one of many sparse generators."
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks([VanishingIdealDetector()], expected_failed_checks=lambda _: EXPECTED_FAILURES)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks([VanishingIdealDetector(OAVI(solver="cg", boost="ihb"), contamination=0.1)])
def test_scikit_learn_checks_with_other_parameters(estimator, check):
    check(estimator)


@pytest.mark.parametrize("estimator", [DENSE, OAVI(0.001), ABM(1e-4), AVI(1e-4), VCA(1e-3)], ids=repr)
@pytest.mark.parametrize("whiten", [True, False])
def test_the_centre_of_a_ring_is_an_outlier_and_the_ring_is_not(ring, estimator, whiten):
    detector = VanishingIdealDetector(estimator, whiten=whiten).fit(ring)
    assert detector.predict(INSIDE)[0] == -1
    assert (detector.predict(ON) == 1).all()
    assert np.mean(detector.predict(ring) == 1) > 0.95


@pytest.mark.parametrize("whiten", [True, False])
def test_the_score_of_training_rows_has_root_mean_square_1(ring, whiten):
    score = VanishingIdealDetector(DENSE, whiten=whiten).fit(ring).score_samples(ring)
    assert np.sqrt(np.mean(score**2)) == pytest.approx(1.0, rel=1e-6)


def test_the_whitened_score_is_the_mahalanobis_distance_of_the_generators(ring):
    detector = VanishingIdealDetector(DENSE).fit(ring)
    values = detector.generators_.evaluate(ring)
    moments = values.T @ values / len(values) + 1e-12 * np.eye(values.shape[1])
    distance = np.sqrt(np.einsum("ij,jk,ik->i", values, np.linalg.inv(moments), values) / values.shape[1])
    np.testing.assert_allclose(-detector.score_samples(ring), distance, rtol=1e-5)


def test_the_decision_is_the_score_less_the_offset(ring):
    detector = VanishingIdealDetector(DENSE, contamination=0.07).fit(ring)
    np.testing.assert_array_equal(detector.decision_function(ring), detector.score_samples(ring) - detector.offset_)
    np.testing.assert_array_equal(detector.predict(ring) == -1, detector.decision_function(ring) < 0.0)


@pytest.mark.parametrize("share", [0.001, 0.01, 0.1, 1 / 3, 0.5])
def test_contamination_is_the_share_of_training_rows_called_outliers(ring, share):
    detector = VanishingIdealDetector(DENSE, contamination=share).fit(ring)
    assert np.sum(detector.predict(ring) == -1) == pytest.approx(share * len(ring), abs=1.0)


def test_violations_say_which_law_is_broken():
    rng = np.random.default_rng(0)
    free = rng.uniform(size=(400, 2))
    X = np.column_stack([free, free[:, 0] + 0.001 * rng.normal(size=400), 1.0 - free[:, 1]])
    detector = VanishingIdealDetector(OAVI(1e-4, max_degree=1)).fit(X)
    assert [polynomial.degree for polynomial in detector.generators_] == [1, 1]
    broken = detector.violations([[0.5, 0.5, 0.5, 0.9], [0.5, 0.5, 0.9, 0.5]])
    assert np.argmax(broken, axis=1).tolist() == [1, 0]
    assert (np.min(broken, axis=1) < 1.0).all()
    rms = np.sqrt(np.mean(detector.violations(X)[:, 0] ** 2))
    assert rms == pytest.approx(1.0, rel=1e-3)


def test_equations_are_in_the_units_of_the_data(ring):
    detector = VanishingIdealDetector(OAVI(0.001)).fit(pd.DataFrame(ring, columns=["east", "north"]))
    conic = detector.generators_.monic()[0]
    assert "east" in str(conic)
    assert "north" in str(conic)
    np.testing.assert_allclose(conic.evaluate(ring), 0.0, atol=0.2)
    assert abs(conic.evaluate(INSIDE)[0]) > 3.0


def test_exact_laws_forgive_rounding_and_nothing_else():
    x = np.linspace(0, 1, 100)
    X = np.column_stack([x, 3.0 * x])
    detector = VanishingIdealDetector(OAVI(1e-10, max_degree=1)).fit(X)
    assert (detector.predict(X) == 1).all()
    assert detector.predict([[0.5, 1.501]])[0] == -1


def test_weights_count_like_repeated_rows(ring):
    counts = np.random.default_rng(0).integers(0, 4, len(ring))
    weighted = VanishingIdealDetector(DENSE, contamination=0.1).fit(ring, sample_weight=counts)
    repeated = VanishingIdealDetector(DENSE, contamination=0.1).fit(np.repeat(ring, counts, axis=0))
    np.testing.assert_allclose(weighted.decision_function(ring), repeated.decision_function(ring), atol=1e-7)


def test_the_number_of_threads_does_not_change_a_bit(ring):
    X = np.tile(ring, (100, 1))
    one, two = (VanishingIdealDetector(DENSE, n_jobs=n).fit(X).score_samples(ring) for n in (1, 2))
    np.testing.assert_array_equal(one, two)


def test_pickle_and_clone(ring):
    detector = VanishingIdealDetector(OAVI(0.001), contamination=0.1).fit(ring)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(detector)).predict(ring), detector.predict(ring))
    np.testing.assert_array_equal(clone(detector).fit(ring).score_samples(ring), detector.score_samples(ring))


def test_pulsars_are_told_from_noise_without_labels(load_classes):
    noise, pulsars = load_classes("htru")
    detector = VanishingIdealDetector().fit(noise[::2])
    score = detector.score_samples(np.vstack([noise[1::2], pulsars]))
    assert roc_auc_score(np.repeat([0, 1], [len(noise[1::2]), len(pulsars)]), -score) > 0.9


@pytest.mark.parametrize("contamination", [0.0, -0.1, 0.6, 1, True, "some", None, np.nan])
def test_wrong_contamination_is_refused(ring, contamination):
    with pytest.raises(ValueError, match="contamination must be 'auto' or a number above 0"):
        VanishingIdealDetector(contamination=contamination).fit(ring)


def test_wrong_input_is_refused(ring):
    with pytest.raises(ValueError, match="estimator must be an OAVI, ABM, AVI or VCA"):
        VanishingIdealDetector("oavi").fit(ring)
    with pytest.raises(ValueError, match="raise psi or max_degree"):
        VanishingIdealDetector(OAVI(1e-9, max_degree=1)).fit(ring)
    with pytest.raises(ValueError, match="NaN in column 1"):
        VanishingIdealDetector().fit(np.where(np.arange(2) == 1, np.nan, ring))
    with pytest.raises(ValueError, match="whiten must be True or False"):
        VanishingIdealDetector(whiten="yes").fit(ring)
    with pytest.raises(ValueError, match="expecting 2 features"):
        VanishingIdealDetector(DENSE).fit(ring).predict(ring[:, :1])


def test_a_detector_needs_no_more_passes_than_the_fit_of_its_ideal(tmp_path, monkeypatch):
    from vanishing.rows.disk import DiskRows

    X = np.random.default_rng(0).random((500, 2))
    np.save(tmp_path / "rows.npy", X)
    passes, original = [], DiskRows.reduce
    monkeypatch.setattr(DiskRows, "reduce", lambda self, *a, **k: passes.append(1) or original(self, *a, **k))
    OAVI(0.02).fit(open_rows(tmp_path / "rows.npy"))
    alone = len(passes)
    VanishingIdealDetector(OAVI(0.02), scale_input=False).fit(open_rows(tmp_path / "rows.npy"))
    assert len(passes) - alone <= alone + 1  # and one for the scores of the rows
