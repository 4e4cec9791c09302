"""The kernel for GPUs, without one: its program, run in Python."""

from __future__ import annotations

import re

import numpy as np
import pytest
from makers import as_fitted, name_of, some_weights, surface, torch_float32, torch_tensor
from sums import all_terms, assert_same_model, assert_same_moments, direct_gram

from vanishing import OAVI, Moments
from vanishing.engine import cuda
from vanishing.engine.gram import _distinct_products


@pytest.mark.parametrize(
    "terms", [[], [()], [(2,)], [(0, 0, 1)], [(0, 1), (1, 1, 2), (0, 1)], all_terms(3, 4)], ids=lambda t: str(len(t))
)
def test_closed_terms_are_built_by_one_multiplication_each(terms):
    found = cuda.closed(terms)
    assert set(terms) <= set(found)
    assert len(set(found)) == len(found)
    for k, term in enumerate(found):
        assert not term or term[:-1] in found[:k]
    needed = {term[:k] for term in terms for k in range(len(term) + 1)}
    assert set(found) == needed
    assert cuda.closed(found) == found


_LOOP = re.compile(r"    for \(; i < n_rows; i \+= step\) \{\n(.*?)\n    \}\n", re.DOTALL)
_ASSIGNMENT = re.compile(r"const (?:float|double) (\w+) = (.+);")
_SUM = re.compile(r"(s\d+) \+= (m\d+);")
_RANGE = re.compile(r"(?:if \((w) > 0\.0\) )?\{ (low\d+) = (\w+) < \2 \? \3 : \2; (high\d+) = \3 > \4 \? \3 : \4; \}")


def as_python(body):
    """The body of a loop of the kernel, statement by statement; anything unknown fails."""
    lines = []
    for line in filter(None, map(str.strip, body.splitlines())):
        if line in "{}":
            continue
        if found := _ASSIGNMENT.fullmatch(line):
            value = re.sub(r"\(double\)(\w+)", r"float(\1)", found[2])
            lines.append(f"{found[1]} = {value}")
        elif found := _SUM.fullmatch(line):
            lines.append(f"{found[1]} += {found[2]}")
        elif found := _RANGE.fullmatch(line):
            weight, low, x, high = found.groups()
            condition = "True" if weight is None else f"{weight} > 0.0"
            lines.append(f"{low}, {high} = (min({x}, {low}), max({x}, {high})) if {condition} else ({low}, {high})")
        else:
            raise AssertionError(f"not understood: {line}")
    return "\n".join(lines)


def run_kernel(X, weights, terms):
    """What one block of one thread writes, by interpreting the source that a GPU would compile."""
    number = "float" if X.dtype == np.float32 else "double"
    source = cuda.kernel_source(terms, X.shape[1], number, weighted=weights is not None)
    assert f"const {number}* __restrict__ X" in source
    values = {"X": X.ravel(), "weights": weights, "step": 1, "row_stride": X.shape[1], "column_stride": 1}
    for name in re.findall(r"double (s\d+) = 0\.0;", source):
        values[name] = 0.0
    for low, high in re.findall(rf"{number} (low\d+) = 1\.0 / 0\.0, (high\d+) = -1\.0 / 0\.0;", source):
        values[low], values[high] = np.inf, -np.inf
    (body,) = _LOOP.findall(source)
    code = compile(as_python(body), "kernel", "exec")
    for i in range(len(X)):
        values["i"] = i
        exec(code, values)
    written = re.findall(
        r"double a = (?:\(double\))?(\w+);.*?out\[blockIdx\.x \* (\d+) \+ (\d+)\] = a;", source, re.DOTALL
    )
    out = np.full(int(written[0][1]), np.nan)
    for name, _, place in written:
        out[int(place)] = values[name]
    assert np.isfinite(out).all()
    return out


@pytest.mark.parametrize(("n_features", "degree"), [(1, 4), (2, 2), (3, 2), (4, 1)])
@pytest.mark.parametrize("m", [1, 3, 4, 5, 30])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_kernel_sums_monomials_and_finds_ranges(n_features, degree, m, weighted, dtype):
    rng = np.random.default_rng(0)
    X = rng.random((m, n_features)).astype(dtype)
    weights = rng.integers(0, 3, m).astype(float) if weighted else None
    if weighted:
        weights[-1] = 1.0
    terms = cuda.closed(all_terms(n_features, 2 * degree))
    out = run_kernel(X, weights, terms)
    used = np.ones(m) if weights is None else weights
    wide = X.astype(np.float64)
    sums = [used @ np.prod(wide[:, list(term)], axis=1) for term in terms]
    np.testing.assert_allclose(out[: len(terms)], sums, rtol=1e-12)
    np.testing.assert_array_equal(out[len(terms) : -n_features], wide[used > 0.0].min(axis=0))
    np.testing.assert_array_equal(out[-n_features:], wide[used > 0.0].max(axis=0))


@pytest.mark.parametrize(("n_features", "degree", "n_basis"), [(1, 3, 1), (2, 3, 1), (2, 3, 6), (3, 2, 4), (4, 2, 1)])
def test_the_gram_is_made_of_sums_of_distinct_monomials(n_features, degree, n_basis):
    X = np.random.default_rng(0).random((200, n_features))
    terms = all_terms(n_features, degree)
    monomials = _distinct_products(tuple(terms), n_basis)
    assert len(monomials.closed) <= min(cuda.MOST_MONOMIALS, (len(terms) - n_basis) * len(terms) + n_features + 1)
    assert monomials.positions.shape == (len(terms) - n_basis, len(terms))
    means = np.array([np.prod(X[:, list(term)], axis=1).mean() for term in monomials.closed])
    np.testing.assert_allclose(means[monomials.positions], direct_gram(X, terms)[n_basis:], rtol=1e-12)


def test_many_monomials_are_left_to_matrix_products():
    assert _distinct_products(tuple(all_terms(8, 2)), 9) is None
    assert _distinct_products(tuple(all_terms(600, 1)), 1) is None


@pytest.fixture
def emulated_gpu(monkeypatch):
    """Tensors count as being on a GPU, whose kernel is interpreted; a list of the calls."""
    calls = []

    def sum_monomials(X, weights, terms):
        calls.append(len(terms))
        out = run_kernel(np.ascontiguousarray(X), None if weights is None else np.asarray(weights), terms)
        n = X.shape[1]
        return out[: len(terms)], np.array([out[len(terms) : -n], out[-n:]])

    monkeypatch.setattr(cuda, "has_kernels", lambda X: type(X).__module__ == "torch")
    monkeypatch.setattr(cuda, "sum_monomials", sum_monomials)
    return calls


@pytest.mark.slow
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("make", [torch_tensor, torch_float32], ids=name_of)
def test_moments_and_models_from_the_kernel_are_those_from_the_rows(make, weighted, emulated_gpu, tmp_path):
    X, weights = surface(200), some_weights(200) if weighted else None
    found = Moments(3, 2).update(make(X, tmp_path), weights)
    assert_same_moments(found, Moments(3, 2).update(as_fitted(X, make), weights))
    model = OAVI(1e-3).fit(make(X, tmp_path), sample_weight=weights)
    assert_same_model(model, OAVI(1e-3).fit(as_fitted(X, make), sample_weight=weights))
    assert len(emulated_gpu) >= 2
