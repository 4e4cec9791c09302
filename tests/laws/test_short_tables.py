"""Tables of 6 to 50 rows: historic ones, and noise."""

from __future__ import annotations

import re

import numpy as np
import pytest

from vanishing import discover

# Semi-major axes in astronomical units and sidereal periods in years (NASA's planetary fact sheet).
AXES = [0.387, 0.723, 1.0, 1.524, 5.203, 9.58, 19.2, 30.05]
PERIODS = [0.241, 0.615, 1.0, 1.881, 11.86, 29.45, 84.02, 164.8]
# Boyle's table A (A Defence of the Doctrine Touching the Spring and Weight of the Air, 1662): volume and pressure.
VOLUMES = [48, 46, 44, 42, 40, 38, 36, 34, 32, 30, 28, 26, 24, 23, 22, 21, 20, 19, 18, 17, 16, 15, 14, 13, 12]
SIXTEENTHS = [466, 489, 511, 536, 565, 592, 629, 666, 707, 753, 805, 869, 941, 981, 1025, 1073, 1131, 1186, 1246]
SIXTEENTHS += [1324, 1406, 1489, 1607, 1725, 1881]


@pytest.mark.parametrize("n_planets", [6, 8])
def test_kepler_s_law_needs_six_planets(n_planets):
    laws = discover(np.column_stack([AXES, PERIODS])[:n_planets], names=["a", "T"])
    assert [law.equation for law in laws] == ["a^3 = T^2"]
    assert laws[0].kind == "law"
    assert abs(laws[0].free_coef[1] + 1.0) < 3.0 * laws[0].free_stderr[1]


def test_boyle_s_law_is_in_his_table():
    laws = discover(np.column_stack([VOLUMES, np.array(SIXTEENTHS) / 16.0]), names=["V", "p"])
    assert [law.exponents.tolist() for law in laws] == [[[1, 1], [0, 0]]]
    assert -laws[0].coef[1] == pytest.approx(1408, abs=3)


def test_spring_with_an_offset_and_a_column_of_noise(rng):
    x = np.linspace(-2.0, 3.0, 12)
    X = np.column_stack([x, rng.normal(size=12), 12.3 * x + 4.0])
    X[:, [0, 2]] += rng.normal(size=(12, 2)) * [0.01, 0.12]
    laws = discover(X, names=["x", "u", "F"])
    assert [law.variables for law in laws] == [("x", "F")]
    assert laws[0].coef == pytest.approx([1.0, -1.0 / 12.3, 4.0 / 12.3], rel=0.03)


PENDULUM = 4.0 * np.pi**2 / 9.81


def swings(seed, n_rows):
    rng = np.random.default_rng(seed)
    length = rng.uniform(0.2, 2.0, n_rows)
    return np.column_stack([length, np.sqrt(PENDULUM * length) * (1.0 + 0.01 * rng.normal(size=n_rows))])


@pytest.mark.slow
@pytest.mark.parametrize("n_rows", [20, 60])
@pytest.mark.parametrize("options", [{"units": {"L": "m", "T": "s"}}, {"snap": False}])
def test_the_constant_of_a_pendulum_is_an_estimate_with_its_error(options, n_rows):
    """It is 4.024 s^2/m, and 4 is within its error in most tables."""
    found = [law for seed in range(8) for law in discover(swings(seed, n_rows), names=["L", "T"], **options)]
    assert len(found) >= 7
    for law in found:
        ((value, error),) = law.constants().values()
        assert abs(abs(value) - PENDULUM) < 4.0 * error
        printed = re.match(r"T\^2 = (\d\.\d+)(\*| s\^2/m)", law.equation)[1]
        assert abs(float(printed) - abs(value)) < error
        assert f"{printed} +- " in str(law)


def test_the_estimate_of_a_constant_that_was_rounded_is_at_hand():
    (law,) = discover(swings(6, 60), names=["L", "T"])
    assert law.equation == "T^2 = 4*L"
    ((value, error),) = law.constants().values()
    assert abs(value) != 4.0
    assert abs(abs(value) - PENDULUM) < 4.0 * error


@pytest.mark.slow
def test_curves_and_correlated_noise_have_no_law():
    rng = np.random.default_rng(11)
    for n_rows in (6, 8, 12, 20):
        for _ in range(12):
            x = rng.normal(size=n_rows)
            assert not len(discover(np.column_stack([x, 0.9 * x + 0.44 * rng.normal(size=n_rows)])))
            t = rng.uniform(0.2, 3.0, n_rows)
            curve = np.column_stack([t, np.exp(t)]) * (1.0 + 0.003 * rng.normal(size=(n_rows, 2)))
            assert not len(discover(curve))


def test_tables_that_are_too_short_say_what_they_lack(rng):
    laws = discover(rng.normal(size=(8, 2)))
    assert not len(laws)
    assert "3 terms need 12 rows, and there are 8" in str(laws)
