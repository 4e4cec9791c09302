"""Rules between the columns of a table: learnt robustly, checked anywhere, handed to other tools."""

import json
import sqlite3
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from vanishing import open_rows
from vanishing.rules import Rule, Rules

NAMES = ["price", "quantity", "discount", "total"]


def shipments(m=1500, seed=0, wrong=0.01):
    """Orders with ``total = price * quantity - discount``, except for a share of wrong ones; and the wrong rows."""
    rng = np.random.default_rng(seed)
    price, quantity = rng.uniform(1, 50, m).round(2), rng.integers(1, 20, m)
    discount = rng.uniform(0, 5, m).round(2)
    total = (price * quantity - discount).round(2)
    rows = np.sort(rng.choice(m, int(wrong * m), replace=False))
    total[rows] += rng.choice([-1.0, 1.0], rows.size) * rng.uniform(20, 500, rows.size)
    return pd.DataFrame(np.column_stack([price, quantity, discount, total]), columns=NAMES), rows


@pytest.fixture(scope="module")
def learnt():
    table, wrong = shipments()
    return Rules.learn(table), table, wrong


def test_a_rule_that_holds_on_99_percent_is_found_with_its_exceptions(learnt):
    rules, _, wrong = learnt
    assert len(rules) == 1
    coef = {tuple(e): c for e, c in zip(rules[0].polynomial.exponents, rules[0].polynomial.coef, strict=True)}
    lead = coef[(0, 0, 0, 1)]
    assert coef[(1, 1, 0, 0)] / lead == pytest.approx(-1.0, abs=1e-6)
    assert coef[(0, 0, 1, 0)] / lead == pytest.approx(1.0, abs=1e-6)
    assert rules.exceptions.tolist() == wrong.tolist()
    assert rules[0].exceptions == len(wrong)
    assert "price*quantity" in str(rules)


@pytest.mark.parametrize("wrong", [0.001, 0.05])
def test_few_or_many_exceptions_make_no_difference(wrong):
    table, rows = shipments(wrong=wrong, seed=3)
    assert Rules.learn(table).exceptions.tolist() == rows.tolist()


def test_a_table_without_rules_has_none():
    table = np.random.default_rng(0).normal(size=(800, 4))
    rules = Rules.learn(table)
    assert len(rules) == 0
    assert str(rules) == "no rules"
    with pytest.raises(ValueError, match="There are no rules to check"):
        rules.check(table)


def test_a_check_says_how_many_rows_hold_and_which_do_not(learnt):
    rules, _, _ = learnt
    table, wrong = shipments(seed=1)
    report = rules.check(table)
    assert report.share[0] == pytest.approx(1.0 - len(wrong) / len(table))
    assert set(report.worst_rows[0]) <= set(wrong)
    assert len(report.worst_rows[0]) == 10
    assert report.passed
    assert report.to_table()["share"][0] == report.share[0]


def test_more_exceptions_than_before_are_a_failure(learnt):
    rules, _, _ = learnt
    report = rules.check(shipments(seed=1, wrong=0.05)[0])
    assert report.p_values[0] < 1e-6
    assert not report.passed
    assert "FAILED" in str(report)


def test_a_check_of_files_gives_the_same(learnt, tmp_path):
    rules, _, _ = learnt
    table, _ = shipments(seed=1)
    table.to_csv(tmp_path / "rows.csv", index=False)
    here, there = rules.check(table), rules.check(open_rows(tmp_path / "rows.csv"))
    np.testing.assert_array_equal(here.share, there.share)
    np.testing.assert_array_equal(here.worst_rows[0], there.worst_rows[0])


def test_sql_refuses_the_rows_that_the_check_names(learnt):
    rules, _, _ = learnt
    table, wrong = shipments(m=300, seed=2)
    text = rules.to_sql_check("orders")
    assert text.startswith('ALTER TABLE "orders" ADD CONSTRAINT rule_0 CHECK (ABS(')
    condition = text[text.index("CHECK (") + 7 : -2]
    connection = sqlite3.connect(":memory:")
    table.to_sql("orders", connection, index=True, index_label="row")
    found = connection.execute(f"SELECT row FROM orders WHERE NOT ({condition}) ORDER BY row").fetchall()
    connection.close()
    assert [row for (row,) in found] == wrong.tolist()


def test_great_expectations_gets_a_query_for_each_rule(learnt):
    rules, _, _ = learnt
    suite = json.loads(rules.to_great_expectations())
    (expectation,) = suite["expectations"]
    assert expectation["type"] == "unexpected_rows_expectation"
    assert expectation["kwargs"]["unexpected_rows_query"].startswith("SELECT * FROM {batch} WHERE NOT (ABS(")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_pandera_refuses_the_rows_that_the_check_names(learnt):
    pandera = pytest.importorskip("pandera", reason="needs pandera: pip install 'vanishing[pandera]'")
    rules, _, _ = learnt
    table, wrong = shipments(m=300, seed=2)
    with pytest.raises(pandera.errors.SchemaErrors) as refused:
        rules.to_pandera().validate(table, lazy=True)
    assert sorted(set(refused.value.failure_cases["index"])) == wrong.tolist()
    rules.to_pandera().validate(table.drop(index=wrong))


def test_laws_that_are_known_become_rules():
    rng = np.random.default_rng(0)
    angle = rng.uniform(0, 2 * np.pi, 500)
    X = np.column_stack([3.0 + np.cos(angle), np.sin(angle)]) + rng.normal(0, 0.01, (500, 2))
    circle = SimpleNamespace(
        columns=("a", "b"), exponents=np.array([[2, 0], [0, 2], [0, 0]]), coef=np.array([1.0, 1.0, -1.0]),
        origin=np.array([3.0, 0.0]),
    )  # fmt: skip
    rules = Rules.from_laws([circle], X)
    np.testing.assert_allclose(rules[0].polynomial.evaluate(X), (X[:, 0] - 3.0) ** 2 + X[:, 1] ** 2 - 1.0, atol=1e-12)
    assert rules[0].tolerance == pytest.approx(5.0 * 0.02, rel=0.2)
    assert rules.check(X).share[0] > 0.99
    again = Rules.from_laws([rules[0].polynomial, SimpleNamespace(polynomial=rules[0].polynomial)], X)
    assert [rule.tolerance for rule in again] == [rules[0].tolerance] * 2
    with pytest.raises(ValueError, match="give rows that obey them as X"):
        Rules.from_laws([circle])
    with pytest.raises(ValueError, match="A law is a Polynomial, or has columns"):
        Rules.from_laws([3], X)
    with pytest.raises(ValueError, match="A conserved quantity has another value in each group"):
        Rules.from_laws([SimpleNamespace(**vars(circle), conserved=True)], X)


def test_tables_with_other_columns_are_refused(learnt):
    rules, table, _ = learnt
    with pytest.raises(ValueError, match="The table should have the columns of the rules"):
        rules.check(table[["price", "total", "discount", "quantity"]])
    with pytest.raises(ValueError, match="The table should have the columns of the rules"):
        rules.check(table.iloc[:, :2])
    other = Rule(rules[0].polynomial.renamed(["a", "b", "c", "d"]), 1.0)
    with pytest.raises(ValueError, match="different columns"):
        Rules([rules[0], other])


def test_rows_that_are_all_equal_teach_nothing():
    with pytest.raises(ValueError, match=r"All rows are equal \(n_samples = 50\)"):
        Rules.learn(np.ones((50, 2)))
