"""Functions that combine the results of blocks leave their arguments alone: a scheduler may use these again."""

from __future__ import annotations

import ast
import pickle
from pathlib import Path

import numpy as np
import pytest

import vanishing
from vanishing import (
    L1SVC,
    OAVI,
    VCA,
    Moments,
    PerClass,
    VanishingIdealClassifier,
    VanishingIdealClassifierCV,
    VanishingIdealDetector,
)
from vanishing.engine import gram
from vanishing.laws import discover
from vanishing.rows import disk, protocol
from vanishing.rules import Rules
from vanishing.tables.files import learn_encoder

dask = pytest.importorskip("dask", reason="needs dask: pip install 'vanishing[dask]'")
da = pytest.importorskip("dask.array", reason="needs dask: pip install 'vanishing[dask]'")

from vanishing.rows import dask as dask_source  # noqa: E402  (imports dask)

SOURCE = Path(vanishing.__file__).parent

# Where a reduction starts, and what combines its results there.
REDUCTIONS = {
    ("confirm", "max"): "builtins.max",
    ("features", "operator.add"): "_operator.add",
    ("features", "_merge_moments"): "vanishing.classification.model.features._merge_moments",
    ("gram", "add_sums"): "vanishing.engine.gram.add_sums",
    ("gram", "combine"): "vanishing.engine.gram.triangular_factor.<locals>.combine",
    ("labels", "combine"): "vanishing.rows.labels._classes_of.<locals>.combine",
    ("labels", "operator.add"): "_operator.add",
    ("sampling", "combine"): "vanishing.rows.sampling.stratified_sample.<locals>.combine",
    ("gaps", "add_gaps"): "vanishing.rows.gaps.add_gaps",
    ("reading", "_add_non_finite"): "vanishing.rows.reading._add_non_finite",
    ("protocol", "operator.add"): "_operator.add",
    ("table", "combine"): "vanishing.laws.rows.table.select_rows.<locals>.combine",
    ("gram", "_wider"): "vanishing.engine.gram._wider",
    ("report", "_add_comparisons"): "vanishing.rules.report._add_comparisons",
    ("glance", "_add_glances"): "vanishing.report.glance._add_glances",
    ("checks", "_add_held"): "vanishing.report.checks._add_held",
    ("story", "_add_scored"): "vanishing.detection.story._add_scored",
    ("story", "_add_predicted"): "vanishing.classification.model.story._add_predicted",
    ("per_class_story", "_add_fits"): "vanishing.classification.model.per_class_story._add_fits",
    ("story", "_add_missed"): "vanishing.rules.story._add_missed",
    ("files", "add_tallies"): "vanishing.tables.encoder.add_tallies",
    ("learning", "add_samples"): "vanishing.detection.sums.add_samples",
    ("onepass", "add_collected"): "vanishing.detection.onepass.add_collected",
    ("rules", "_add_missed"): "vanishing.rules.rules._add_missed",
    ("sums", "add_sums"): "vanishing.detection.sums.add_sums",
    ("svm", "operator.add"): "_operator.add",
    ("svm", "combine"): "vanishing.svm.sums.SquaredHinge._look.<locals>.combine",
    ("obeyed", "operator.add"): "_operator.add",
}
SOURCES = {"protocol", "arrays", "dask", "device", "disk", "together"}  # hand on what they are given as ``combine``


def combines_in(path):
    """The arguments ``combine`` of all reductions in a module, as they are written."""
    for node in ast.walk(ast.parse(path.read_text())):
        if not isinstance(node, ast.Call):
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        named = [word.value for word in node.keywords if word.arg == "combine"]
        if name in ("reduce", "_reduce") and ast.unparse(node.func) != "functools.reduce":
            yield from (ast.unparse(found) for found in named or node.args[1:2])
        elif name == "Reduction":
            yield from (ast.unparse(found) for found in named or node.args[2:3])
        elif named:
            yield from map(ast.unparse, named)


@pytest.mark.slow
def test_every_reduction_of_the_package_is_in_the_list():
    paths = SOURCE.rglob("*.py")
    found = {
        ("svm" if path.parent.name == "svm" else path.stem, written) for path in paths for written in combines_in(path)
    }
    handed_on = {(name, written) for name, written in found if name in SOURCES and written.endswith("combine")}
    handed_on |= {("protocol", "_JointCombine([request.combine for request in members])")}
    handed_on |= {("gram", "_RowsOrResults(r.kernel, r.combine)")}
    assert found - handed_on == set(REDUCTIONS)


@pytest.fixture
def combined(monkeypatch):
    """The names of the functions that have combined results, all of them without changing these."""
    names = set()
    original = protocol.merge

    def checked(combine, a, b):
        before = pickle.dumps((a, b))
        result = original(combine, a, b)
        if a is not None and b is not None:
            kind = combine if hasattr(combine, "__qualname__") else type(combine)
            names.add(f"{kind.__module__}.{kind.__qualname__}")
            assert pickle.dumps((a, b)) == before, f"{kind.__qualname__} changes its arguments"
        return result

    for module in (protocol, dask_source, disk, gram):
        monkeypatch.setattr(module, "merge", checked)
    with dask.config.set(scheduler="synchronous"):
        yield names


def circles(m=2400):  # more than are kept as rows until they are summed
    rng = np.random.default_rng(0)
    labels = rng.integers(2, size=m)
    angle, radius = rng.uniform(0, 2 * np.pi, m), 1.0 + labels + rng.normal(0, 0.03, m)
    return np.column_stack([3.0 + radius * np.cos(angle), radius * np.sin(angle)]), labels


@pytest.mark.slow
def test_no_reduction_changes_what_it_combines(combined, monkeypatch, tmp_path):
    X, y = circles()
    unit = (X - X.min(axis=0)) / np.ptp(X, axis=0)
    D, U, labels = (da.from_array(values, chunks=(400, *values.shape[1:])) for values in (X, unit, y))
    OAVI(1e-3).fit(U)
    OAVI(1e-20, max_degree=2).fit(da.from_array(np.column_stack([unit[:, 0], unit[:, 0] ** 2]), chunks=(400, 2)))
    VCA(1e-3).fit(U).transform(U)
    L1SVC(max_iter=5, tol=0.5).fit(U, labels)
    VanishingIdealClassifier(OAVI(1e-3)).fit(D, labels).report(D, labels)
    for search_rows in (100, None):
        VanishingIdealClassifierCV(psis=[1e-2], cv=2, Cs=[1.0], search_rows=search_rows).fit(D, labels)
    VanishingIdealDetector(regimes=False).fit(D).partial_fit(D).report(D)
    PerClass(OAVI(1e-3)).fit(U, labels).report(U, labels)
    summed = da.from_array(np.column_stack([X, X.sum(axis=1)]), chunks=(100, 3))
    rules = Rules.learn(summed)
    rules.check(summed)
    Rules.learn(da.where(summed > 4.9, np.nan, summed), missing="drop")
    rules.report(summed)
    for name in ("a", "b"):
        (tmp_path / f"{name}.csv").write_text("kind,size\nred,1\nblue,2\n")
    learn_encoder(tmp_path, ["kind", "size"])
    Moments(2, 2).update(U)
    monkeypatch.setattr("vanishing.laws.rows.table.SELECTED", 200)
    for power, degree in ((2, 2), (7, 1)):
        x = 1.0 + unit[:, 0]
        laws = discover(da.from_array(np.column_stack([x, x**power]), chunks=(100, 2)), max_degree=degree)
        assert laws[0].degree == power
    dask_source.dask_rows(U).to_numpy()
    broken = unit.copy()
    broken[5, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        OAVI().fit(da.from_array(broken, chunks=(100, 2)))
    assert combined >= {*REDUCTIONS.values(), "vanishing.rows.protocol._JointCombine"}
