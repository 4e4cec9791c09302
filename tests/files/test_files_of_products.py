"""Detectors, laws and rules in files: the same answers to the last bit, and hostile values refused."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import fields

import numpy as np
import pytest
from file_mutations import file_of, mutated, parts_of

from vanishing import Law, LawFinder, Laws, ModelFileError, Moments, VanishingIdealDetector, discover, load
from vanishing.rules import Rules


def plant(m=300, seed=0):
    """Power is the product of the first two columns; the fourth is 0 or 1, the fifth constant."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(1.0, 3.0, (m, 5))
    X[:, 2] = X[:, 0] * X[:, 1] + rng.normal(0.0, 0.01, m)
    X[:, 3], X[:, 4] = rng.integers(0, 2, m), 7.0
    return X


def streamed():
    detector = VanishingIdealDetector(regimes=False).fit(plant())
    return detector.partial_fit(plant(50, 1))


DETECTORS = {
    "default": lambda: VanishingIdealDetector().fit(plant()),
    "stream": streamed,
    "moments": lambda: VanishingIdealDetector(missing="error").fit(Moments(3, 4).update(plant()[:, :3])),
    "many columns": lambda: VanishingIdealDetector().fit(np.random.default_rng(0).normal(size=(400, 45))),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", DETECTORS)
def test_a_detector_comes_back_to_the_last_bit(name, tmp_path):
    model, path = DETECTORS[name](), tmp_path / "normal.vi"
    model.save(path)
    again = load(path)
    assert type(again) is VanishingIdealDetector
    assert set(vars(again)) == set(vars(model))
    X = plant(40, 3)[:, : model.n_features_in_] if name != "many columns" else np.ones((3, 45))
    for method in ("score_samples", "predict", "p_values", "violations"):
        assert getattr(again, method)(X).tobytes() == getattr(model, method)(X).tobytes()
    for by in ("equation", "column"):
        assert again.explain(X[0], by=by).equals(model.explain(X[0], by=by))
    assert again.drift(X).equals(model.drift(X))
    assert again.exact_relations_ == model.exact_relations_
    again.save(tmp_path / "again.vi")
    assert (tmp_path / "again.vi").read_bytes() == path.read_bytes()


def test_a_detector_from_a_file_scores_gaps_and_learns_on(tmp_path):
    model, path = DETECTORS["default"](), tmp_path / "normal.vi"
    model.save(path)
    again, gaps, more = load(path), plant(40, 3), plant(200, 4)
    gaps[::2, 1] = np.nan
    assert again.p_values(gaps).tobytes() == model.p_values(gaps).tobytes()
    assert again.explain(gaps[0]).equals(model.explain(gaps[0]))
    assert again.partial_fit(more).p_values(gaps).tobytes() == model.partial_fit(more).p_values(gaps).tobytes()


def gas():
    rng = np.random.default_rng(0)
    n, T, V = rng.uniform(1, 3, 500), rng.uniform(280, 400, 500), rng.uniform(0.02, 0.06, 500)
    X = np.column_stack([8.314 * n * T / V, V, n, T])
    return X + 0.01 * X.std(axis=0) * rng.normal(size=X.shape)


def test_every_attribute_of_a_law_is_in_its_file():
    assert set(Law._fields) == {field.name for field in fields(Law)}


def test_laws_come_back_to_the_last_bit(tmp_path):
    X, names = gas(), ["p", "V", "n", "T"]
    finder = LawFinder(names=names, units={"p": "Pa", "V": "m^3", "n": "mol", "T": "K"}).fit(X)
    nothing = discover(np.random.default_rng(1).normal(size=(200, 2)))
    assert len(finder.laws_) == 1
    assert len(nothing) == 0
    for k, thing in enumerate((finder, finder.laws_, finder.laws_[0], nothing)):
        path = tmp_path / f"{k}.vi"
        thing.save(path)
        again = load(path)
        assert type(again) is type(thing)
        assert str(again) == str(thing)
        again.save(tmp_path / "again.vi")
        assert (tmp_path / "again.vi").read_bytes() == path.read_bytes()
    again = load(tmp_path / "0.vi")
    assert again.transform(X).tobytes() == finder.transform(X).tobytes()
    assert again.units == finder.units
    assert load(tmp_path / "1.vi").to_json() == finder.laws_.to_json()
    law = load(tmp_path / "2.vi")
    assert law.summary() == finder.laws_[0].summary()
    assert load(tmp_path / "3.vi").rejected[0].reason == nothing.rejected[0].reason


def test_rules_come_back_to_the_last_bit(tmp_path):
    table = plant()[:, :3]
    table[7, 2] += 50.0
    rules = Rules.learn(table)
    rules.save(tmp_path / "rules.vi")
    again = load(tmp_path / "rules.vi")
    assert str(again) == str(rules)
    assert again.exceptions.tolist() == [7]
    assert str(again.check(table)) == str(rules.check(table))
    assert again.to_sql_check() == rules.to_sql_check()


# --- hostile values ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def wholes(tmp_path_factory):
    """The bytes of a file of each kind."""
    path = tmp_path_factory.mktemp("files") / "thing.vi"
    found = {}
    made = {"detector": DETECTORS["default"](), "laws": discover(gas()), "rules": Rules.learn(plant()[:, :3])}
    for name, thing in made.items():
        thing.save(path)
        found[name] = path.read_bytes()
    return found


def entry(header, path):
    node = header["model"]
    for key in path[:-1]:
        node = node[key]
    return node, path[-1]


FITTED = ("fitted", "_model")
CHRISTOFFEL = (*FITTED, "parts", 0, "value")
LAW = ("_laws", 0, "model")


@pytest.mark.parametrize(
    ("kind", "path", "value", "message"),
    [
        ("detector", ("n_features",), 4, "missing column"),
        ("detector", (*CHRISTOFFEL, "monomials", "program", "left", "at"), 0, "damaged"),
        ("detector", (*CHRISTOFFEL, "gram", "shape"), [10**6, 10**6], "more values than there are"),
        ("detector", (*CHRISTOFFEL, "monomials", "exact", 0, "kind"), "magic", "relation 'magic'"),
        ("detector", (*CHRISTOFFEL, "monomials", "exact", 0, "columns"), [99], "missing column"),
        ("detector", (*FITTED, "parts"), [], "no first part"),
        ("detector", (*FITTED, "left"), [], "other scores than rows"),
        ("detector", (*FITTED, "equations", "edges"), [0], "other deviations than equations"),
        ("detector", (*FITTED, "sample"), None, "other scores than rows"),
        ("detector", ("fitted", "offset_"), "nan", "is not a number"),
        ("detector", ("parameters", "contamination"), "OAVI", "contamination must be a number"),
        ("detector", ("parameters", "missing"), 3, "missing must be one of"),
        ("laws", (*LAW, "rational"), ["1e999999999"] * 2, "rational number"),
        ("laws", (*LAW, "rational"), ["1/0", None], "rational number"),
        ("laws", (*LAW, "columns"), ["p"], "other names than columns"),
        ("laws", ("columns",), ["p", "V", "n", "q"], "other columns"),
        ("rules", ("_rules", 0, "polynomial", "status"), 99, "99"),
        ("rules", ("_rules", 0, "polynomial", "feature_names"), ["a"], "other coefficients than terms"),
        ("rules", ("_rules", 0, "tolerance"), "inf", "is not a number"),
    ],
)
def test_values_that_do_not_agree_are_refused(kind, path, value, message, wholes, tmp_path):
    header, arrays = parts_of(wholes[kind])
    node, key = entry(header, path)
    node[key] = value
    file = tmp_path / "changed.vi"
    file.write_bytes(file_of(json.dumps(header), arrays))
    with pytest.raises(ModelFileError, match=message):
        load(file)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["detector", "laws", "rules"])
def test_mutated_files_are_refused_or_compute(kind, wholes, tmp_path):
    rng, file, refused = np.random.default_rng(0), tmp_path / "changed.vi", 0
    for _ in range(100):
        file.write_bytes(mutated(wholes[kind], rng))
        try:
            thing = load(file)
        except ModelFileError:
            refused += 1
            continue
        with suppress(ValueError), np.errstate(all="ignore"):  # other columns
            if isinstance(thing, VanishingIdealDetector):
                thing.p_values(plant(3))
            elif isinstance(thing, Laws):
                str(thing)
            elif isinstance(thing, Rules):
                thing.check(plant(3)[:, :3])
    assert refused > 40
