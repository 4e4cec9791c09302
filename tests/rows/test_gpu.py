"""Arrays on a real GPU: skipped where there is none. The array API itself is tested everywhere, in test_sources."""

import numpy as np
import pytest

from vanishing import ABM, AVI, L1SVC, OAVI, VCA, Moments, VanishingIdealClassifier, VanishingIdealDetector
from vanishing.engine import cuda as fused

# CuPy first, which few have: PyTorch takes seconds to load, and its loggers slow down every test.
cupy = pytest.importorskip("cupy", reason="CuPy is not installed")
torch = pytest.importorskip("torch", reason="PyTorch is not installed")
if not torch.cuda.is_available():
    pytest.skip("there is no GPU", allow_module_level=True)

LIBRARIES = {"torch": lambda X: torch.asarray(np.ascontiguousarray(X), device="cuda"), "cupy": cupy.asarray}
ESTIMATORS = [OAVI(0.001), OAVI(0.001, solver="cg", boost="ihb"), ABM(1e-4), AVI(0.001), VCA(0.001)]


@pytest.fixture(params=LIBRARIES)
def to_gpu(request):
    return LIBRARIES[request.param]


@pytest.fixture(params=["one kernel", "array API"])
def kernel(request, monkeypatch):
    if request.param == "array API":
        monkeypatch.setattr(fused, "has_kernels", lambda X: False)
    return request.param


def surface(n_rows=20_000, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.random((n_rows, 3))
    X[:, 2] = np.clip(X[:, 0] * X[:, 1] + rng.normal(0.0, 0.02, n_rows), 0.0, 1.0)
    return X


def host(values):
    return values.get() if hasattr(values, "get") else values.cpu().numpy()


def assert_same_model(found, expected):
    assert len(found.generators_) == len(expected.generators_) > 0
    np.testing.assert_array_equal(found.generators_.coef != 0.0, expected.generators_.coef != 0.0)
    np.testing.assert_allclose(found.generators_.coef, expected.generators_.coef, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_model_from_the_gpu_is_that_from_the_host(estimator, dtype, to_gpu, kernel):
    X = surface().astype(dtype)
    expected = estimator.__class__(**estimator.get_params()).fit(X.astype(np.float64))
    found = estimator.fit(to_gpu(X))
    assert_same_model(found, expected)
    values = found.transform(to_gpu(X))
    assert type(values) is type(to_gpu(X))
    assert "cuda" in str(values.device).lower() or "CUDA" in str(values.device)
    np.testing.assert_allclose(host(values), expected.transform(X.astype(np.float64)), atol=1e-9)


def test_weights_strides_and_short_blocks_do_not_matter(to_gpu, kernel, monkeypatch):
    X, weights = surface(), np.random.default_rng(1).integers(0, 3, 20_000).astype(float)
    expected = OAVI(0.001).fit(X, sample_weight=weights)
    gpu = to_gpu(np.repeat(X, 2, axis=0))[::2]
    assert_same_model(OAVI(0.001).fit(gpu, sample_weight=weights), expected)
    assert_same_model(OAVI(0.001).fit(to_gpu(np.ascontiguousarray(X.T)).T, sample_weight=to_gpu(weights)), expected)
    monkeypatch.setattr("vanishing.rows.device.free_memory", lambda X, wanted: 2_000_000)
    assert_same_model(OAVI(0.001).fit(to_gpu(X), sample_weight=weights), expected)


@pytest.mark.parametrize("n_features", [1, 2, 4, 9])
def test_any_number_of_columns_gives_the_same_sums(n_features, to_gpu, kernel):
    X = np.random.default_rng(0).random((5000, n_features))
    found, expected = Moments(n_features, 2).update(to_gpu(X)), Moments(n_features, 2).update(X)
    np.testing.assert_allclose(found.gram, expected.gram, rtol=1e-12)
    np.testing.assert_array_equal(found._survey().low, expected._survey().low)
    np.testing.assert_array_equal(found._survey().high, expected._survey().high)


def test_integers_and_half_precision_are_computed_in_float64(to_gpu):
    X = np.random.default_rng(0).integers(0, 2, (4000, 3))
    expected = OAVI(0.001).fit(X)
    assert_same_model(OAVI(0.001).fit(to_gpu(X)), expected)
    assert_same_model(OAVI(0.001).fit(to_gpu(X.astype(np.float16))), expected)


def test_the_classifier_stays_on_the_gpu(to_gpu, kernel):
    X = surface()
    y = np.where(X[:, 0] + 0.2 * X[:, 1] > 0.6, 3, 1)
    expected = VanishingIdealClassifier(OAVI(0.001)).fit(X, y)
    found = VanishingIdealClassifier(OAVI(0.001)).fit(to_gpu(X), to_gpu(y))
    np.testing.assert_allclose(found.final_estimator_.coef_, expected.final_estimator_.coef_, atol=1e-6)
    predicted = found.predict(to_gpu(X))
    assert type(predicted) is type(to_gpu(y))
    np.testing.assert_array_equal(host(predicted), expected.predict(X))
    assert found.score(to_gpu(X), to_gpu(y)) == expected.score(X, y)
    svm = L1SVC(1.0).fit(to_gpu(X.astype(np.float32)), to_gpu(y))
    np.testing.assert_allclose(svm.coef_, L1SVC(1.0).fit(X.astype(np.float32), y).coef_, atol=1e-5)


def test_the_detector_stays_on_the_gpu(to_gpu, kernel):
    X = surface()[:8000]  # of more than 10,000 rows a sample is drawn, which depends on the source
    expected = VanishingIdealDetector().fit(X)
    found = VanishingIdealDetector().fit(to_gpu(X))
    np.testing.assert_allclose(host(found.score_samples(to_gpu(X))), expected.score_samples(X), rtol=1e-6)
    np.testing.assert_array_equal(host(found.predict(to_gpu(X))), expected.predict(X))


def test_nan_is_refused_with_its_place(to_gpu, kernel):
    X = surface()
    X[777, 1] = np.nan
    with pytest.raises(ValueError, match="NaN in column 1: 1 such value, the first in row 777"):
        OAVI().fit(to_gpu(X))
    model = OAVI(0.001).fit(to_gpu(surface()))
    with pytest.raises(ValueError, match="NaN in column 1"):
        model.transform(to_gpu(X))
