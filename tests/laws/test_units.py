"""Units: reading them, terms of one dimension, units of constants."""

import sys
import time
from fractions import Fraction

import numpy as np
import pytest

from vanishing.laws.rows import units

GAS = {"p": "Pa", "V": "m^3", "n": "mol", "T": "K"}


@pytest.fixture(params=["with pint", "without pint"])
def either_way(request, monkeypatch):
    """Runs a test with pint and without it; what was resolved is forgotten in between."""
    if request.param == "with pint":
        pytest.importorskip("pint", reason="pint is not installed")
        yield request.param
        return
    forget = (units._registry.cache_clear, units._resolved.cache_clear)
    monkeypatch.setitem(sys.modules, "pint", None)
    for each in forget:
        each()
    yield request.param
    for each in forget:
        each()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("kg*m^2/s^2", {"kg": 1, "m": 2, "s": -2}),
        ("kg m^2 s^-2", {"kg": 1, "m": 2, "s": -2}),
        ("kg·m²·s⁻²", {"kg": 1, "m": 2, "s": -2}),
        ("kg m**2/(s^2)", {"kg": 1, "m": 2, "s": -2}),
        ("(kg/(m s))^2", {"kg": 2, "m": -2, "s": -2}),
        ("m/s/s", {"m": 1, "s": -2}),
        ("V/Hz^(1/2)", {"V": 1, "Hz": Fraction(-1, 2)}),
        ("V/Hz^0.5", {"V": 1, "Hz": Fraction(-1, 2)}),
        ("1/s", {"s": -1}),
        ("1", {}),
        ("m/m", {}),
        ("°C", {"°C": 1}),
        ("%", {"percent": 1}),
        ({"m": 1, "s": -2, "kg": 0}, {"m": 1, "s": -2}),
        ({"m": 0.5}, {"m": Fraction(1, 2)}),
    ],
)
def test_a_unit_is_a_product_of_powers(text, expected):
    assert units._read("x", text) == expected


@pytest.mark.parametrize(
    "text", ["", "m^", "m//s", "m*", "(m", "m)", "m^2^2", "m2", "s-1", "3 m", "10", "m^x", "kg,m", "m^(1/2", "^2"]
)
def test_what_is_no_unit_is_refused_in_one_sentence(text):
    with pytest.raises(ValueError, match=r"such as 'kg\*m\^2/s\^2', or '1'\.$"):
        units.parse({"x": text}, ["x"])


@pytest.mark.parametrize("unit", [3, None, {"m": "two"}, {"m": None, "s": object()}])
def test_units_of_another_type_are_refused(unit):
    with pytest.raises(ValueError, match="The unit of 'x' must"):
        units.parse({"x": unit}, ["x"])


def test_columns_and_units_must_belong_together():
    with pytest.raises(ValueError, match="a column that the data lack: 'q'; the columns are 'p', 'V', 'n', 'T'"):
        units.parse(GAS | {"q": "m"}, list(GAS))
    with pytest.raises(ValueError, match="says nothing about column 'n': give its unit, or '1'"):
        units.parse({"p": "Pa", "V": "m^3", "T": "K"}, list(GAS))


def test_pint_resolves_derived_units():
    pytest.importorskip("pint", reason="pint is not installed")
    dims = units.parse({"p": "Pa", "F": "N", "A": "cm^2", "e": "eV/m^3"}, ["p", "F", "A", "e"])
    pressure, force, area, density = dims
    np.testing.assert_array_equal(pressure, force - area)
    np.testing.assert_array_equal(pressure, density)
    assert all(isinstance(power, Fraction) for power in dims.ravel())


def test_a_symbol_that_pint_does_not_know_is_refused_in_a_text_and_a_base_unit_in_a_mapping():
    pytest.importorskip("pint", reason="pint is not installed")
    with pytest.raises(ValueError, match=r"does not know, 'widget': correct it.*\{'widget': 1\} in place of the text"):
        units.parse({"x": "widget/s"}, ["x"])
    dims = units.parse({"x": {"widget": 1, "s": -1}, "t": "s", "w": {"widget": 1}}, ["x", "t", "w"])
    np.testing.assert_array_equal(dims[0] + dims[1], dims[2])


def test_terms_of_one_dimension(either_way):
    columns = ["m", "v", "E", "p"]
    dims = units.parse({"m": "kg", "v": "m/s", "E": "kg*m^2/s^2", "p": "kg*m/s"}, columns)
    exponents = np.array([[1, 2, 0, 0], [0, 0, 1, 0], [0, 1, 0, 1], [0, 0, 0, 2], [1, 0, 1, 0], [0, 0, 0, 0]])
    found = units.groups(exponents, dims)
    assert [group.tolist() for group in found] == [[0, 1, 2], [3, 4], [5]]


def test_pure_numbers_are_one_group(either_way):
    dims = units.parse({"a": "1", "b": "1"}, ["a", "b"])
    assert dims.shape == (2, 0)
    assert [group.tolist() for group in units.groups(np.array([[1, 0], [0, 1], [2, 2]]), dims)] == [[0, 1, 2]]


@pytest.mark.parametrize(
    ("powers", "of", "expected"),
    [
        ([1, 1, -1, -1], list(GAS.values()), "Pa*m^3/(mol*K)"),
        ([-1, 0, 0, 0], list(GAS.values()), "1/Pa"),
        ([0, 0, 0, 0], list(GAS.values()), ""),
        ([Fraction(1, 2), -1], ["m", "s"], "m^(1/2)/s"),
        ([1, -2], ["m/s^2", "m/s"], "1/m"),
        ([1, 1], [{"m": 1}, "m"], "m^2"),
    ],
)
def test_the_unit_of_a_constant_is_written_in_the_units_of_the_columns(powers, of, expected):
    assert units.label(powers, of) == expected


HOSTILE_TEXTS = {
    "division by zero": "m^(1/0)",
    "open brackets": "(" * 5_000,
    "closed brackets": "m" + ")" * 5_000,
    "nothing in brackets": "(" * 5_000 + ")" * 5_000,
    "digits": "m^" + "9" * 100_000,
    "digits in a symbol": "m" + "1" * 100_000,
    "signs": "*" * 100_000,
    "spaces": "m" + " " * 100_000 + "?",
    "NUL": "m\0",
    "a quote": "m'",
    "code": "__import__('os')",
    "an attribute": "m.__class__",
}


@pytest.mark.parametrize("text", HOSTILE_TEXTS.values(), ids=HOSTILE_TEXTS)
def test_hostile_texts_are_refused_at_once_in_one_sentence(text, either_way):
    begun = time.thread_time()
    with pytest.raises(ValueError, match=r"Can't read the unit .* such as 'kg\*m\^2/s\^2', or '1'\.$") as error:
        units.parse({"x": text}, ["x"])
    assert len(str(error.value)) < 200
    assert time.thread_time() - begun < 2.0


@pytest.mark.parametrize("symbol", ["a" * 100_000, "m" * 100_000, "kilo" * 25_000])
@pytest.mark.parametrize("as_text", [True, False])
def test_long_symbols_are_unknown_at_once(symbol, as_text):
    pytest.importorskip("pint", reason="pint is not installed")
    begun = time.thread_time()
    if as_text:
        with pytest.raises(ValueError, match="a symbol that pint does not know") as error:
            units.parse({"x": symbol}, ["x"])
        assert len(str(error.value)) < 400
    else:
        assert units.parse({"x": {symbol: 1}}, ["x"]).shape == (1, 1)
    assert time.thread_time() - begun < 2.0


@pytest.mark.parametrize("power", [np.inf, -np.inf, np.nan, "1/0", "two", [1]])
def test_exponents_of_a_mapping_are_numbers(power):
    with pytest.raises(ValueError, match="The unit of 'x' must map symbols to numbers"):
        units.parse({"x": {"m": power}}, ["x"])


@pytest.mark.parametrize("symbol", ["__class__", "m(", "", "m*s", "1", "m\0", "_m", " m", "m\n"])
def test_symbols_of_a_mapping_are_names(symbol, either_way):
    with pytest.raises(ValueError, match="must start with a letter"):
        units.parse({"x": {symbol: 1}}, ["x"])


def test_names_of_a_mapping_may_have_digits_and_words(either_way):
    dims = units.parse({"x": {"USD2020": 1}, "y": {"US dollar": 1}, "z": {"USD2020": 1}}, ["x", "y", "z"])
    assert dims.shape == (3, 2)
    np.testing.assert_array_equal(dims[0], dims[2])


def test_long_units_take_time_in_proportion():
    begun = time.thread_time()
    assert units._read("x", "(" * 100 + "m" + ")^-1" * 100) == {"m": Fraction(1)}
    with pytest.raises(ValueError, match="Can't read the unit"):
        units._read("x", "(" * 20_000 + "m" + ")^-1" * 20_000)
    letters = "abcdefghijklmnopqrstuvwxyz"
    many = [a + b + c for a in letters for b in letters for c in letters]
    assert len(units._read("x", "(" * 10 + "*".join(many) + ")" * 10)) == 26**3
    assert time.thread_time() - begun < 5.0


def test_degrees_are_known():
    pytest.importorskip("pint", reason="pint is not installed")
    assert units.parse({"x": "°", "y": "°C"}, ["x", "y"]).shape == (2, 1)
