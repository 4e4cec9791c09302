"""Contents of reports: true numbers from every source, names escaped, and nothing loaded from elsewhere."""

import re
import sys
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import accuracy_score, average_precision_score, balanced_accuracy_score, roc_auc_score

from vanishing import OAVI, VanishingIdealClassifier, VanishingIdealClassifierCV, discover, open_rows
from vanishing.classification.model.rates import Thresholds, counts_by_score
from vanishing.report.glance import look_at
from vanishing.report.markup import Html, join, tag
from vanishing.report.mathml import Summand, equation, number, variable
from vanishing.rows.arrays import ArrayRows

pytestmark = pytest.mark.slow

KINDS = pytest.mark.parametrize("kind", ["ideal", "laws", "detector", "classifier", "per class", "rules"])


class Elements(HTMLParser):
    """Collects elements with their attributes, and the text of each table."""

    def __init__(self, page):
        super().__init__()
        self.elements, self.tables, self._within = [], [], ""
        self.feed(page)

    def handle_starttag(self, name, attributes):
        self.elements.append((name, dict(attributes)))
        if name in ("thead", "tbody"):
            self._within = name
        if name == "tbody":
            self.tables.append([])
        elif name == "tr" and self._within == "tbody":
            self.tables[-1].append([])
        elif name == "td":
            self.tables[-1][-1].append("")
            self._within = "td"

    def handle_endtag(self, name):
        self._within = "tbody" if name == "td" else self._within

    def handle_data(self, text):
        if self._within == "td":
            self.tables[-1][-1][-1] += text


@pytest.fixture(scope="module")
def read(pages):
    return {kind: Elements(file.read_text("utf-8")) for kind, file in pages.items()}


@KINDS
def test_names_are_text_and_nothing_comes_from_elsewhere(read, pages, kind):
    page, text = read[kind], pages[kind].read_text("utf-8")
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    names = [name for name, _ in page.elements]
    assert (names.count("script"), names.count("style"), names.count("math") > 0) == (1, 1, True)
    for _, attributes in page.elements:
        assert not [key for key in attributes if key.startswith("on")]
        for key in ("src", "href", "xlink:href", "action"):
            assert attributes.get(key, "#").startswith(("#", "data:")), attributes
    assert not re.search(r"url\((?!#)|@import", text)
    assert len(text.encode()) < 500_000


@KINDS
def test_pages_have_data_versions_and_how_to_cite(read, pages, kind, subjects):
    _, (X, *_) = subjects[kind]
    text = pages[kind].read_text("utf-8")
    assert f"{len(X):,} rows, {X.shape[1]} columns" in text
    assert "@inproceedings{wirth2023approximate" in text
    assert "scikit-learn" in text
    columns = read[kind].tables[-1]
    assert [line[0] for line in columns] == list(X.columns)
    assert [float(line[2]) for line in columns] == pytest.approx(X.min().tolist(), rel=1e-3)
    assert [float(line[5]) for line in columns] == pytest.approx(X.std(ddof=0).tolist(), rel=1e-3)


def test_an_ideal_says_how_its_equations_hold_on_these_rows(read, subjects):
    model, (X,) = subjects["ideal"]
    generators = model.generators_
    square = (generators.evaluate(X) ** 2).mean(axis=0)
    lines = read["ideal"].tables[0]
    assert len(lines) == len(generators)
    assert sorted(float(line[3]) for line in lines) == pytest.approx(sorted(square), rel=1e-2)
    assert {line[5] for line in lines if line[6] == "relates columns"} == {"7"}


def test_laws_say_how_far_these_rows_are(pages, subjects):
    laws, (X,) = subjects["laws"]
    text = pages["laws"].read_text("utf-8")
    distance = np.sqrt((laws[0].distance(X) ** 2).mean())
    assert f"{distance:.2%} of the columns" in text
    assert "row 7, at" in text
    assert f"p-value {laws[0].p_value:.3g}" in text


def test_a_detector_lists_the_worst_row_with_its_column(read, pages, subjects):
    detector, (X,) = subjects["detector"]
    alarms = int((detector.predict(X) == -1).sum())
    worst = read["detector"].tables[0][0]
    assert worst[0] == "7"
    assert float(worst[1]) == pytest.approx(-detector.score_samples(X)[7], rel=1e-3)
    assert worst[3] in X.columns
    assert f"<strong>{alarms:,}</strong><span>alarms</span>" in pages["detector"].read_text("utf-8")


def test_a_classifier_counts_its_errors(pages, subjects):
    model, (X, y) = subjects["classifier"]
    right = accuracy_score(y, model.predict(X))
    text = pages["classifier"].read_text("utf-8")
    assert f"<strong>{right:.2%}</strong>" in text
    loss = -np.log(model.predict_proba(X)[np.arange(len(y)), np.searchsorted(model.classes_, y)]).mean()
    assert f"<strong>{loss:.3g}</strong>" in text


def test_a_classifier_says_what_thresholds_cost():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 2))
    y = np.where(X.sum(axis=1) + 2.0 * rng.normal(size=3000) > 4.0, "fault", "sound")
    model = VanishingIdealClassifierCV(psis=[1e-5], Cs=[1.0], cv=2).fit(X, y)
    text = model.report(X, y).html
    assert "Telling fault and sound apart" in text
    assert "sound is predicted where it is positive, fault elsewhere." in text
    given, fault = model.predict_proba(X)[:, 0], y == "fault"
    (area,) = re.findall(r"<strong>([\d.]+)</strong><span>area under the ROC curve", text)
    assert float(area) == pytest.approx(roc_auc_score(fault, given), abs=1e-3)
    assert f"<strong>{balanced_accuracy_score(y, model.predict(X)):.2%}</strong>" in text
    lines = [line for table in Elements(text).tables for line in table if len(line) == 7 and line[1].endswith("%")]
    assert [line[0] for line in lines] == ["1", "2", "5", "10", "20", "50", "100"]
    for cost, threshold, predicted, found, right, spent, at_half in lines:
        flagged = given > 1.0 / (1.0 + float(cost))
        assert "e" not in spent + at_half
        assert threshold == f"{1.0 / (1.0 + float(cost)):.2%}"
        near = np.abs(np.log(given / (1.0 - given)) + np.log(float(cost))) < 0.0101  # a hundredth of the log-odds
        assert abs(int(predicted.replace(",", "")) - flagged.sum()) <= near.sum() < 60
        assert float(found[:-1]) / 100.0 == pytest.approx(fault[flagged].sum() / fault.sum(), abs=0.02)
        assert float(right[:-1] or "nan") / 100.0 == pytest.approx(fault[flagged].mean(), abs=0.02, nan_ok=True)
        costs = [float(cost) * (fault & ~above).mean() + (~fault & above).mean() for above in (flagged, given > 0.5)]
        assert [float(spent.replace(",", "")), float(at_half.replace(",", ""))] == pytest.approx(
            [1000.0 * cost for cost in costs], rel=0.05
        )


def test_odd_names_stand_in_backticks_in_formulas():
    x = np.linspace(0.0, 1.0, 60)
    table = pd.DataFrame({"flow in": x, "flow out": 1.0 - x**2})
    text = OAVI(1e-8, max_degree=2).fit(table).report(table).html
    assert "<mtext>`flow out`</mtext>" in text
    assert "<msup><mtext>`flow in`</mtext><mn>2</mn></msup>" in text
    assert "<mtext>flow" not in text


def test_the_curves_of_a_report_are_those_of_every_threshold():
    rng = np.random.default_rng(0)
    scores = np.round(rng.normal(size=4000), 2) + 0.005
    positive = rng.random(4000) < 1.0 / (1.0 + np.exp(3.0 - 2.0 * scores))
    parts = [counts_by_score(scores[part], positive[part]) for part in (slice(1000), slice(1000, None))]
    curve = Thresholds.of(sum(parts))
    assert curve.area_under_roc == pytest.approx(roc_auc_score(positive, scores))
    assert curve.average_precision == pytest.approx(average_precision_score(positive, scores))
    assert curve.above(0.5) == ((scores[~positive] > 0.5).sum(), (scores[positive] > 0.5).sum())


def test_ideals_of_classes_say_how_they_separate(read, pages, subjects):
    model, (X, y) = subjects["per class"]
    values = [ideal.generators_.evaluate(X) ** 2 / ideal.generators_.mse for ideal in model.estimators_]
    nearest = model.classes_[np.argmin([part.mean(axis=1) for part in values], axis=0)]
    assert f"<strong>{accuracy_score(y, nearest):.2%}</strong>" in pages["per class"].read_text("utf-8")
    lines = [line for line in read["per class"].tables[0] if line[1] == model.classes_[1]]
    own, other = (values[1][y == label].mean(axis=0) for label in (model.classes_[1], model.classes_[0]))
    assert sorted(float(line[3]) for line in lines) == pytest.approx(sorted(own), rel=1e-2)
    assert sorted(float(line[4]) for line in lines) == pytest.approx(sorted(other), rel=1e-2)


def test_rules_list_the_rows_that_miss_them(read, pages, subjects):
    rules, (X,) = subjects["rules"]
    report = rules.check(X)
    misses = [round((1.0 - share) * len(X)) for share in report.share]
    assert [int(line[2]) for line in read["rules"].tables[0]] == misses
    assert read["rules"].tables[1][0][0] == "7"
    assert ("<strong>passed" in pages["rules"].read_text("utf-8")) == report.passed


@pytest.mark.parametrize("kind", ["npy", "dask"])
def test_every_source_gives_the_same_checks(kind, subjects, read, tmp_path):
    model, (X,) = subjects["ideal"]
    if kind == "npy":
        np.save(tmp_path / "rows.npy", X.to_numpy())
        source = open_rows(tmp_path / "rows.npy")
    else:
        source = pytest.importorskip("dask.array").from_array(X.to_numpy(), chunks=(150, 3))
    page = Elements(model.report(source).html)
    assert [line[1:] for line in page.tables[0]] == [line[1:] for line in read["ideal"].tables[0]]


def test_labels_of_files_are_those_of_the_table(subjects, read, tmp_path):
    pytest.importorskip("pyarrow")
    model, (X, y) = subjects["classifier"]
    X.assign(label=y).to_parquet(tmp_path / "rows.parquet")
    page = Elements(model.report(open_rows(tmp_path / "rows.parquet", label="label")).html)
    assert page.tables[0] == read["classifier"].tables[0]


def test_many_rows_are_counted_in_blocks_and_drawn_in_part():
    X = np.random.default_rng(0).normal(5.0, 2.0, (150_000, 2))
    X[3, 0] = np.nan
    seen = look_at(ArrayRows(X))
    assert seen.n_rows == 150_000
    np.testing.assert_allclose(seen.mean, np.nanmean(X, axis=0))
    np.testing.assert_allclose(seen.deviation, np.nanstd(X, axis=0))
    assert seen.present.tolist() == [149_999, 150_000]
    np.testing.assert_array_equal(seen.X, X[seen.numbers])
    assert len(seen.X) == 5000
    assert (np.diff(seen.numbers) > 0).all()


def test_markup_is_only_what_was_made_as_markup():
    assert tag("a", "<b>", title='"<', data_x=None) == '<a title="&quot;&lt;">&lt;b&gt;</a>'
    assert join("<", Html("<br>")) == "&lt;<br>"


def test_terms_that_are_left_out_are_counted_on_both_sides():
    terms = [Summand(False, number(str(k)), variable("x")) for k in range(45)]
    assert equation(terms, terms[:43], "long").count("<math>") == 80
    assert re.findall(r"\+ \d+ terms", equation(terms, terms[:43], "long")) == ["+ 5 terms", "+ 3 terms"]


def test_other_models_have_reports_too():
    rng = np.random.default_rng(0)
    none = discover(rng.normal(size=(200, 2)), max_degree=2).report(rng.normal(size=(50, 2)))
    with pytest.raises(ValueError, match="columns should be those of the laws: x0, x1; got x0, x1, x2"):
        discover(rng.normal(size=(200, 2)), max_degree=2).report(rng.normal(size=(50, 3)))
    assert "No law up to degree 2" in none.html
    X = rng.uniform(size=(60, 2))
    assert "raise psi" in OAVI(1e-12, max_degree=1).fit(X).report(X).html
    clf = VanishingIdealClassifier().fit(X, X[:, 0] > 0.5)
    assert "came without labels" in clf.report(X).html
    with pytest.raises(ValueError, match="expecting 2 features"):
        OAVI().fit(X).report(rng.uniform(size=(60, 3)))


def test_missing_matplotlib_names_the_extra(subjects, monkeypatch):
    model, rows = subjects["ideal"]
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match=r"vanishing\[report\]"):
        model.report(*rows)
