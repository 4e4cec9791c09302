"""Exact laws, against null spaces and a Buchberger-Möller algorithm in rational arithmetic, and known ideals."""

from fractions import Fraction
from math import comb

import numpy as np
import pytest
from reference import rational_buchberger_moeller, rational_kernel, span_dimension

from vanishing import ABM, discover
from vanishing.laws.exact import exact_laws, groebner
from vanishing.laws.exact.modular import primes

sympy = pytest.importorskip("sympy", reason="SymPy is not installed")


def values(law, rows):
    """Values of a law on the rows, in rational arithmetic."""
    exponents, coefficients = law
    return [
        sum(
            c * np.prod([Fraction(x) ** int(e) for x, e in zip(row, term, strict=True)])
            for term, c in zip(exponents, coefficients, strict=True)
        )
        for row in rows
    ]


def test_laws_print_as_equations():
    rows = [(x, y, x * x - 3 * y) for x in range(-4, 5) for y in range(4)]
    assert str(exact_laws(rows, 2)) == "x0^2 - 3*x1 - x2 = 0"
    assert str(exact_laws(rows[:3], 2)).startswith("[]  # 3 points are too few")


def written(laws, names):
    """Laws as SymPy expressions, expanded."""
    symbols = sympy.symbols(names)
    return [
        sum(c * sympy.prod([s**e for s, e in zip(symbols, term, strict=True)]) for term, c in zip(*law, strict=True))
        for law in laws
    ]


def twisted_cubic():
    return [[t, t**2, t**3] for t in range(-12, 13)], 3


def sphere_of_fractions():
    """Rational points of the unit sphere, by stereographic projection."""
    points = [(a, b, a * a + b * b + 1) for a in range(-4, 5) for b in range(-4, 5)]
    return [[Fraction(2 * a, q), Fraction(2 * b, q), Fraction(q - 2, q)] for a, b, q in points], 3


def two_planes():
    random = np.random.default_rng(1)
    rows = random.integers(-9, 9, (40, 3))
    rows[::2, 2] = rows[::2, 0] + 1
    rows[1::2, 2] = rows[1::2, 1] - 2
    return rows.tolist(), 3


def large_coefficients():
    random = np.random.default_rng(2)
    rows = random.integers(-99, 99, (40, 2)).astype(object)
    third = 123_456_789_123 * rows[:, 0] ** 2 - 987_654_321_987_654_321 * rows[:, 1]
    return np.column_stack([rows, third]).tolist(), 2


def space_curve_of_fractions():
    return [[Fraction(t, 7), Fraction(t * t, 5) - 1, Fraction(t, 3) ** 3] for t in range(1, 40)], 3


def hidden_by_a_prime():
    """Modulo 2^31 - 1 the two columns are proportional; over the integers they are not."""
    random = np.random.default_rng(3)
    x = random.integers(-9, 9, 40)
    return np.column_stack([x, 5 * x + random.integers(0, 9, 40) * (2**31 - 1)]).tolist(), 2


VARIETIES = [twisted_cubic, sphere_of_fractions, two_planes, large_coefficients, space_curve_of_fractions]


@pytest.fixture(scope="module", params=[*VARIETIES, hidden_by_a_prime], ids=lambda maker: maker.__name__)
def case(request):
    rows, degree = request.param()
    return np.array(rows, dtype=object), degree, exact_laws(np.array(rows, dtype=object), degree)


def test_laws_vanish_on_every_row_in_rational_arithmetic(case):
    rows, _, laws = case
    assert all(not any(values(law, rows)) for law in laws)


def test_laws_are_all_that_vanishes_and_none_follows_from_lower_degrees(case):
    """The laws of degree d and the multiples of what vanishes below d are a basis of what vanishes up to d."""
    rows, degree, laws = case
    n = rows.shape[1]
    units = [tuple(int(i == j) for i in range(n)) for j in range(n)]
    kernel = []
    for d in range(1, degree + 1):
        multiples = kernel + [
            {tuple(np.add(t, unit).tolist()): c for t, c in g.items()} for g in kernel for unit in units
        ]
        new = [
            dict(zip(map(tuple, exponents.tolist()), coefficients, strict=True))
            for exponents, coefficients in laws
            if exponents.sum(axis=1).max() == d
        ]
        kernel = rational_kernel(rows, d)
        assert span_dimension(multiples + new) == len(kernel)
        assert span_dimension(multiples) + len(new) == len(kernel)


@pytest.mark.slow
@pytest.mark.parametrize("make", VARIETIES, ids=lambda maker: maker.__name__)
def test_groebner_basis_is_that_of_buchberger_and_moeller(make):
    rows, degree = make()
    names = ["x", "y", "z"]
    laws = exact_laws(np.array(rows, dtype=object), degree)
    symbols = sympy.symbols(names)
    basis = [g for g in groebner(laws, names, "grlex") if sympy.Poly(g, symbols).total_degree() <= degree]
    monic = {sympy.Poly(g, symbols, domain="QQ").monic().as_expr() for g in basis}
    expected = rational_buchberger_moeller(rows, degree)
    assert monic == {sympy.Poly(dict(g), symbols, domain="QQ").as_expr() for g in expected}


def test_sparse_small_representatives():
    x, y, z = sympy.symbols("x y z")
    rows, degree = twisted_cubic()
    assert set(written(exact_laws(rows, degree), "x y z")) == {x**2 - y, x * y - z, x * z - y**2}
    rows, degree = two_planes()
    assert [sympy.factor(law) for law in written(exact_laws(rows, degree), "x y z")] in (
        [(x - z + 1) * (y - z - 2)],
        [-(x - z + 1) * (-y + z + 2)],
    )


def test_large_coefficients_need_several_primes():
    rows, degree = large_coefficients()
    ((_, coefficients),) = exact_laws(np.array(rows, dtype=object), degree)
    assert sorted(map(abs, coefficients)) == [1, 123_456_789_123, 987_654_321_987_654_321]
    assert max(map(abs, coefficients)) > next(primes())


def test_an_unlucky_prime_is_noticed():
    rows, degree = hidden_by_a_prime()
    assert exact_laws(np.array(rows), degree) == []


def test_the_first_rows_may_satisfy_more_than_all_rows_do():
    random = np.random.default_rng(0)
    x = random.integers(-50, 50, (5000, 3))
    x[:4990, 2] = x[:4990, 0] * x[:4990, 1]
    assert exact_laws(x, 2) == []
    x[:, 2] = x[:, 0] * x[:, 1]
    ((exponents, coefficients),) = exact_laws(x, 2)
    assert exponents.tolist() == [[1, 1, 0], [0, 0, 1]]
    assert coefficients == [1, -1]


def test_repeated_rows_confirm_nothing():
    random = np.random.default_rng(0)
    rows = random.integers(-50, 50, (6, 2))
    assert exact_laws(np.repeat(rows, 100, axis=0), 3) == []
    assert exact_laws(random.integers(-50, 50, (30, 3)), 4) == []


def test_degrees_with_too_many_terms_are_left_out():
    rows, _ = twisted_cubic()
    assert exact_laws(rows, 3, max_terms=comb(5, 2) - 1) == []
    assert len(exact_laws(rows, 3, max_terms=comb(5, 2))) == 3


def test_constant_and_dependent_columns():
    rows = [[t, 2 * t - 3, 7, 0] for t in range(30)]
    assert [coefficients for _, coefficients in exact_laws(rows, 3)] == [[1], [1, -7], [2, -1, -3]]


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint64, object])
def test_integers_of_every_type(dtype):
    rows = np.array([[a, b, a & b] for a in (0, 1) for b in (0, 1)] * 3, dtype=dtype)
    assert exact_laws(rows, 1) == []
    rows = np.array([[a, 2 * a] for a in range(20)], dtype=np.uint8 if dtype is bool else dtype)
    if dtype is np.uint64:
        rows = np.vstack([rows, np.array([[2**62 + 1, 2**63 + 2]], dtype=dtype)])
    assert [coefficients for _, coefficients in exact_laws(rows, 2)] == [[2, -1]]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (np.array([[0.5, 1.0]]), r"need integers or fractions, got float64: convert the rows with fractions\.Fraction"),
        (np.array([[0.5, 1]], dtype=object), "need integers or fractions, got object"),
        (np.array([["a", "b"]]), "need integers or fractions"),
        (np.array([1, 2]), r"must have the shape \(n_rows, n_columns\), at least \(1, 1\); got \(2,\)"),
        (np.zeros((0, 3), dtype=int), "at least"),
    ],
)
def test_other_rows_are_refused_in_one_sentence(rows, message):
    with pytest.raises(ValueError, match=message):
        exact_laws(rows, 2)


def test_an_empty_answer_says_why():
    random = np.random.default_rng(0)
    few = "8 points are too few to tell laws of degree 2 from interpolation: ABM(psi=0) gives the ideal of the points."
    laws = exact_laws(random.integers(-5, 6, (8, 2)), 3)
    assert (laws, laws.why, repr(laws)) == ([], few, f"[]  # {few}")
    laws = exact_laws(random.integers(-50, 50, (200, 2)), 3)
    assert (laws, laws.why) == ([], "All degrees up to 3 were looked at.")
    laws = exact_laws([[t, 2 * t] for t in range(20)], 3, max_terms=5)
    assert len(laws) == 1
    assert laws.why == "Degree 2 has 6 terms, more than max_terms=5."
    assert repr(laws) == repr(list(laws))


def test_a_search_says_that_exact_points_are_too_few():
    points = np.random.default_rng(0).integers(-5, 6, (8, 2))
    few = "8 points are too few to tell laws of degree 2 from interpolation: ABM(psi=0) gives the ideal of the points."
    assert few in discover(points).notes
    assert few not in discover(points * np.pi).notes
    assert few not in discover(np.column_stack([points[:, 0], 2 * points[:, 0]])).notes
    ideal = ABM(0.0).fit((points + 5) / 10.0)
    assert ideal.n_basis_ == len(np.unique(points, axis=0))  # as the sentence says
    assert np.abs(ideal.transform((points + 5) / 10.0)).max() < 1e-12


def test_no_laws_have_an_empty_basis():
    assert groebner([], ["x", "y"]) == []


def test_laws_that_are_longer_than_the_rows_can_save_are_left_out():
    """Eight rows on which a column is not zero: cubics through these, times the column, vanish on all rows."""
    random = np.random.default_rng(0)
    a, b, c = random.integers(-1000, 1000, (3, 100))
    c[8:] = 0
    rows = np.column_stack([a, b, c, a + b])
    everything, short = exact_laws(rows, 4), exact_laws(rows, 4, max_bits=100)

    def length(law):
        return sum(abs(coefficient).bit_length() for coefficient in law[1])

    assert max(map(length, everything)) > 500
    assert short
    assert max(map(length, short)) < 200
    assert ([1, -1, -1] in [coefficients for _, coefficients in short]) or short[0][1] == [1, 1, -1]


@pytest.mark.parametrize("seed", range(4, 8))
def test_a_relation_that_is_too_long_to_be_lifted_still_has_to_hold_on_all_rows(seed):
    """A linear relation of 57 bits holds on 940 of 1,000 rows, and at first on all that the search looks at."""
    rng = np.random.default_rng(seed)
    x = rng.permutation(3000)[:1000]
    y = 123_456_789 * x + 987_654_321
    y[:60] = rng.integers(0, 10**9, 60)
    assert exact_laws(np.column_stack([x, y]), 3, max_bits=20.0) == []
