"""Rules between the columns of a table: learnt robustly, checked anywhere, handed to other tools."""

import json
import sqlite3
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from vanishing import Moments, load, open_rows
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


@pytest.mark.parametrize("cents", [1, 500])
def test_exceptions_of_cents_are_found_beside_totals_of_hundreds(cents):
    table, _ = shipments(m=4000, wrong=0.0, seed=5)
    rows = np.array([17, 230, 999])
    table.loc[rows, "total"] += cents / 100.0
    table["net"] = (table["total"] / 1.19).round(2)
    rules = Rules.learn(table[NAMES])
    assert [rule.exceptions for rule in rules] == [3]
    assert rules.exceptions.tolist() == rows.tolist()
    assert len(Rules.learn(table)) == 2


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


def test_tables_without_columns_of_the_rules_are_refused(learnt):
    rules, table, _ = learnt
    with pytest.raises(ValueError, match="The table lacks the columns 'discount', 'total': add them, or rename"):
        rules.check(table.iloc[:, :2])
    with pytest.raises(ValueError, match="The table should have the columns of the rules, in the same order: price"):
        rules.check(table.iloc[:, :2].to_numpy())
    other = Rule(rules[0].polynomial.renamed(["a", "b", "c", "d"]), 1.0)
    with pytest.raises(ValueError, match="different columns"):
        Rules([rules[0], other])
    with pytest.raises(ValueError, match="rules need rows, to count those that miss a rule"):
        Rules.learn(Moments(2))


def as_relation(table):
    return pytest.importorskip("duckdb").from_df(table)


def as_rows(table):
    return open_rows(pl.from_pandas(table.select_dtypes("number")).lazy())


@pytest.mark.parametrize(
    "container", [pd.DataFrame, pl.from_pandas, pa.Table.from_pandas, as_relation, as_rows], ids=lambda of: of.__name__
)
def test_a_check_needs_the_columns_that_the_rules_use_and_no_others(container, learnt):
    table, wrong = shipments(seed=1)
    wide = table.assign(weight=np.random.default_rng(0).normal(size=len(table)))
    rules = Rules.learn(wide)
    assert rules[0].columns == tuple(NAMES)
    expected = rules.check(wide)
    other = table[NAMES[::-1]].assign(day="Monday", colour=np.nan)
    found = rules.check(container(other))
    np.testing.assert_array_equal(found.share, expected.share)
    np.testing.assert_array_equal(found.worst_rows[0], expected.worst_rows[0])
    assert str(found) == str(expected)
    assert found.share[0] == pytest.approx(1.0 - len(wrong) / len(table))


def with_gaps(seed=1):
    """Shipments with missing values in three rows, one of them wrong; and the wrong rows that have none."""
    table, wrong = shipments(seed=seed)
    table.loc[[3, wrong[0]], "discount"] = np.nan
    table.loc[[3, 200], "price"] = np.nan
    return table, wrong[1:]


@pytest.mark.parametrize("on_disk", [False, True])
def test_rows_with_gaps_are_left_out_and_counted(on_disk, learnt, tmp_path):
    table, wrong = with_gaps()
    table.to_csv(tmp_path / "rows.csv", index=False)
    source = open_rows(tmp_path / "rows.csv") if on_disk else table
    rules = Rules.learn(source, missing="drop")
    assert rules.n_missing == 3
    assert (rules[0].n_rows, rules[0].exceptions) == (1497, len(wrong))
    assert rules.exceptions.tolist() == wrong.tolist()  # places among all rows
    expected = learnt[0].check(table.dropna())
    report = learnt[0].check(source, missing="drop")
    assert (report.n_rows, report.n_missing) == (1497, 3)
    np.testing.assert_array_equal(report.share, expected.share)
    np.testing.assert_array_equal(report.p_values, expected.p_values)
    assert set(report.worst_rows[0]) <= set(wrong)
    assert str(report).endswith(
        "3 of 1,500 rows have missing values and were left out (2 in 'price', 2 in 'discount')."
    )


def test_gaps_are_refused_with_the_name_of_their_column(learnt):
    table, _ = with_gaps()
    for use in (Rules.learn, learnt[0].check, lambda X: Rules.from_laws([learnt[0][0].polynomial], X)):
        with pytest.raises(ValueError, match=r"NaN in column 0 \('price'\): 2 such values, the first in row 3\."):
            use(table)
    with pytest.raises(ValueError, match="as missing='drop' does"):
        Rules.learn(table)
    with pytest.raises(ValueError, match="Every row has a missing value, 1,500 of them in column 'price'"):
        Rules.learn(table.assign(price=np.nan), missing="drop")
    with pytest.raises(ValueError, match="Every row has a missing value, so no row can be compared"):
        learnt[0].check(table.assign(price=np.nan), missing="drop")
    table.loc[9, "total"] = np.inf
    for use in (Rules.learn, learnt[0].check):
        with pytest.raises(ValueError, match="Column 'total' has an infinite value in row 9: correct it"):
            use(table, missing="drop")
    with pytest.raises(ValueError, match="missing must be"):
        Rules.learn(table, missing="skip")


def test_files_know_how_many_rows_were_left_out(tmp_path):
    rules = Rules.learn(with_gaps()[0], missing="drop")
    rules.save(tmp_path / "rules.vi")
    assert load(tmp_path / "rules.vi").n_missing == 3


def test_rows_that_are_all_equal_teach_nothing():
    with pytest.raises(ValueError, match=r"All rows are equal \(n_samples = 50\)"):
        Rules.learn(np.ones((50, 2)))


def test_sums_have_coefficients_of_one_however_their_parts_depend_on_each_other():
    rng = np.random.default_rng(5)
    net = rng.integers(100, 90_000, 3000) / 100
    vat, ship = (0.19 * net).round(2), rng.choice([0.0, 4.9, 9.9], 3000)
    table = pd.DataFrame({"net": net, "vat": vat, "ship": ship, "gross": net + vat + ship})
    table.loc[7, "gross"] += 10.0
    rules = Rules.learn(table)
    (total,) = (rule for rule in rules if "gross" in rule.columns)
    assert sorted(total.polynomial.coef) == [-1.0, -1.0, -1.0, 1.0]
    assert total.exceptions == 1
    (tax,) = (rule for rule in rules if "gross" not in rule.columns)
    assert sorted(np.abs(tax.polynomial.coef)) == [0.19, 1.0]
