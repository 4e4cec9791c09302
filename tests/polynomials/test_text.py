"""Names of columns in printed equations: in backticks where they are not identifiers, everywhere in the same way."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vanishing import OAVI, VanishingIdealClassifier, VanishingIdealDetector, discover
from vanishing.polynomials.text import monomial_text, powers_in, quoted_name, shown_names
from vanishing.rules import Rules

ODD = [
    "nan",
    "-2e3",
    "Weg s / m",
    "Zeit [s]",
    "v*t",
    "a-b",
    "1",
    "",
    "x^2",
    "T\N{SUPERSCRIPT TWO}",
    "it's",
    "a`b",
    "Sepal.Length",
]


@pytest.mark.parametrize("name", ODD)
def test_names_that_are_not_identifiers_are_put_in_backticks(name):
    assert quoted_name(name) == f"`{name.replace('`', '``')}`"


@pytest.mark.parametrize("name", ["x", "x_1", "\N{GREEK SMALL LETTER MU}", "Schwingungsdauer", "class"])
def test_identifiers_are_printed_as_they_are(name):
    assert quoted_name(name) == name


def test_equal_names_are_told_apart():
    assert shown_names(("a b", "a b", "c")) == ("`a b`[0]", "`a b`[1]", "c")


@given(
    st.lists(st.text(max_size=6), min_size=1, max_size=4, unique=True).flatmap(
        lambda names: st.tuples(st.just(names), st.lists(st.integers(1, 9), min_size=len(names), max_size=len(names)))
    )
)
def test_what_is_printed_can_be_read_again(names_and_powers):
    names, powers = names_and_powers
    assert powers_in(monomial_text(np.array(powers), tuple(names))) == list(zip(names, powers, strict=True))


@pytest.mark.parametrize("text", ["", "x^y", "x*", "*x", "x^2^3", "`x", "x**", "`a`b", "x^-1", "x^1.5"])
def test_other_texts_are_no_monomials(text):
    assert powers_in(text) is None


def test_stars_and_spaces_are_read_as_well():
    assert powers_in(" x ** 2 * y ") == [("x", 2), ("y", 1)]


@pytest.fixture
def table():
    """The flow through pipes, with the headings of a protocol."""
    rng = np.random.default_rng(0)
    speed, area = rng.uniform(0.5, 3.0, 400), rng.uniform(0.1, 0.6, 400)
    return pd.DataFrame({"v / (m/s)": speed, "A [m^2]": area, "Q * 1": speed * area})


def test_laws_rules_ideals_and_detectors_print_the_same_names(table):
    (law,) = discover(table)
    assert law.equation in ("`v / (m/s)`*`A [m^2]` = `Q * 1`", "`Q * 1` = `v / (m/s)`*`A [m^2]`")
    assert "`v / (m/s)`*`A [m^2]`" in str(Rules.learn(table)[0])
    ideal = OAVI(1e-9, max_degree=2).fit(table / table.max())
    assert "`v / (m/s)`*`A [m^2]`" in str(ideal.generators_[0])
    assert "`v / (m/s)`*`A [m^2]`" in str(VanishingIdealDetector().fit(table).generators_[0])


def test_a_printed_term_can_be_forbidden(table):
    assert not len(discover(table, forbidden=["`v / (m/s)`*`A [m^2]`"], max_degree=2))


def test_constants_and_groups_of_a_detector_are_quoted():
    rng = np.random.default_rng(0)
    red = rng.integers(0, 2, 200)
    frame = pd.DataFrame({"set point": 7.0, "color=red": red, "color=blue": 1 - red, "x": rng.normal(size=200)})
    relations = VanishingIdealDetector().fit(frame).exact_relations_
    assert "`set point` = 7" in relations
    assert "`color=red` + `color=blue` = 1 (one-hot)" in relations


def test_formulas_of_classifiers_are_quoted(table):
    flow = table["Q * 1"]
    y = ((flow > flow.median()) ^ (table["A [m^2]"] > 0.4)).to_numpy()
    classifier = VanishingIdealClassifier(scale_input="arcsinh", hinges=2, monomials=2).fit(np.exp(3.0 * table), y)
    text = "\n".join(classifier.formula_.to_text(["score"], None))
    assert "(`A [m^2]` - 1.36)*(`u_Q * 1` + " in text
    assert "where `u_Q * 1` = arcsinh((`Q * 1` - " in text
    names = list(classifier.get_feature_names_out())
    assert any("max(0, `" in name for name in names)
    assert any("`*`" in name for name in names)
