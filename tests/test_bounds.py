from math import comb

import numpy as np
import pytest

from vanishing import OAVI, degree_bound, out_of_sample_bound, size_bound, smallest_tau


@pytest.mark.parametrize("psi", [0.1, 0.05, 0.01, 0.005, 0.001, 1e-4])
def test_oavi_stays_within_the_bounds(psi):
    X = np.random.default_rng(0).uniform(size=(2000, 2))
    model = OAVI(psi, tau=smallest_tau(psi)).fit(X)
    assert model.complete_
    assert model.generators_.degree <= degree_bound(psi)
    assert len(model.generators_) + model.n_basis_ <= size_bound(psi, 2)


@pytest.mark.parametrize("k", range(1, 30))
def test_degree_bound_is_exact_at_powers_of_four(k):
    assert degree_bound(4.0**-k) == k
    assert degree_bound(np.nextafter(4.0**-k, 0.0)) == k + 1


def test_formulas():
    assert size_bound(0.005, 57) == comb(61, 4)
    assert smallest_tau(0.5) == 2.0
    assert smallest_tau(1e-4) == 1.5**7


def test_out_of_sample_bound_holds_and_shrinks():
    rng = np.random.default_rng(0)
    psi = 0.05
    model = OAVI(psi, tau=smallest_tau(psi)).fit(rng.uniform(size=(5000, 2)))
    fresh = np.mean(model.generators_.evaluate(rng.uniform(size=(200_000, 2))) ** 2, axis=0)
    bounds = [out_of_sample_bound(mse, model.tau, 5000, size_bound(psi, 2)) for mse in model.generators_.mse]
    assert (fresh <= bounds).all()
    # mse + 4 * 4 * sqrt(2 log(20) / 800) + 4 * sqrt(log(20) / 1600)
    assert out_of_sample_bound(0.01, 2.0, 800, 10) == pytest.approx(0.01 + 1.384655 + 0.173082, abs=1e-5)


@pytest.mark.parametrize("psi", [0.0, 1.0, -1.0, 2.0])
def test_bounds_need_psi_between_zero_and_one(psi):
    with pytest.raises(ValueError, match="psi must lie in"):
        degree_bound(psi)


@pytest.mark.parametrize("arguments", [(0.1, 2.0, 0, 5), (0.1, 2.0, 5, 0)])
def test_out_of_sample_bound_needs_samples_and_terms(arguments):
    with pytest.raises(ValueError, match="at least 1"):
        out_of_sample_bound(*arguments)
    with pytest.raises(ValueError, match="delta"):
        out_of_sample_bound(0.1, 2.0, 5, 5, delta=0.0)
