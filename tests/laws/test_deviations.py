"""How far rows are from a law, against noise drawn at random."""

from __future__ import annotations

import numpy as np
import pytest

from vanishing import discover
from vanishing.laws.say.deviations import standard_deviations


@pytest.mark.parametrize("level", [0.01, 0.1])
def test_bias_and_deviation_are_those_of_drawn_noise(level):
    rng = np.random.default_rng(0)
    angle = rng.uniform(0.0, 2.0 * np.pi, 2000)
    law = discover(np.column_stack([np.cos(angle), np.sin(angle)]) + rng.normal(0.0, 0.01, (2000, 2)))[0]
    assert law.equation == "x0^2 + x1^2 = 1"
    law = type(law)(**{**vars(law), "noise": np.full(2, level)})
    point = np.array([0.6, 0.8])
    drawn, deviation = standard_deviations(law, point + level * rng.normal(size=(200_000, 2)))
    # The derivatives at the noisy rows are those of the point on average.
    assert abs(drawn.mean()) < 4.0 * drawn.std() / np.sqrt(200_000)
    assert drawn.std() == pytest.approx(np.sqrt((deviation**2).mean()), rel=0.02)


def test_exact_laws_forgive_rounding_only():
    x = np.random.default_rng(0).uniform(1.0, 2.0, (200, 2))
    law = discover(np.column_stack([x, x.prod(axis=1)]))[0]
    residual, deviation = standard_deviations(law, np.array([[1.1, 1.3, 1.1 * 1.3], [1.1, 1.3, 1.1 * 1.3 + 1e-6]]))
    assert (np.abs(residual) > 5.0 * deviation).tolist() == [False, True]


def test_exceptions_of_other_rows_are_counted_from_the_origin_of_the_law_once():
    rng = np.random.default_rng(1)
    angle = rng.uniform(0.0, 2.0 * np.pi, 1000)
    circle = np.column_stack([200.0 + 3.0 * np.cos(angle), 3.0 * np.sin(angle) - 150.0])
    law = discover(circle + rng.normal(0.0, 0.02, (1000, 2)))[0]
    assert law.origin.all()
    rows = circle[:50].copy()
    rows[7] = [200.0, -150.0]
    assert law.exceptions(rows).tolist() == [7]


def test_gradients_are_those_of_differences():
    rng = np.random.default_rng(2)
    x = rng.uniform(1.0, 2.0, (200, 2))
    law = discover(np.column_stack([x, x[:, 0] ** 2 * x[:, 1]]))[0]
    X = rng.uniform(1.0, 2.0, (5, 3))
    step = 1e-6
    by_hand = [(law.evaluate(X + step * e) - law.evaluate(X - step * e)) / (2.0 * step) for e in np.eye(3)]
    np.testing.assert_allclose(law.gradient(X), np.transpose(by_hand), atol=1e-8)
