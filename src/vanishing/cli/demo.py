"""``vanishing demo``: the law of a noisy table, an ellipsoid in two million points, and two classes of the paper."""

from __future__ import annotations

import argparse
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from ..polynomials import Polynomial

EXAMPLES = ("vanishing demo", "vanishing demo --rows 20000")
_AXES, _CENTRE, _NAMES = (3.0, 2.0, 1.0), (10.0, -4.0, 2.0), ("x", "y", "z")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("--rows", type=int, default=2_000_000, help="rows of each data set (default: 2,000,000)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the random numbers (default: 0)")


def run(arguments: argparse.Namespace) -> None:
    """Tell the story with this number of rows."""
    if arguments.rows < 100 or arguments.rows % 2:
        raise ValueError(f"--rows must be an even number of at least 100, got {arguments.rows}.")
    tell(arguments.rows, arguments.seed)


def tell(n_samples: int = 2_000_000, random_state: int = 0, out: TextIO | None = None) -> None:
    """Run all parts on data sets of ``n_samples`` rows, and print the results to ``out`` (default: standard output)."""
    from ..classification import VanishingIdealClassifier
    from ..datasets import make_ellipsoid

    screen = _Screen(sys.stdout if out is None else out)
    begin = time.perf_counter()
    with screen.step("Loading compiled code (compiling it on the very first run)"):
        X = make_ellipsoid(100, axes=(0.4, 0.4), centre=(0.5, 0.5), random_state=0)
        VanishingIdealClassifier().fit(X, X[:, 0] > 0.5).predict(X)
    _discover_laws(screen, random_state)
    _find_a_law(screen, n_samples, random_state)
    _tell_classes_apart(screen, n_samples, random_state)
    screen.say(
        f"Done in {time.perf_counter() - begin:.0f} s. Where to go next:",
        "  README.md                     the tour: your own table in five lines, and how fast it is",
        "  docs/laws.md                  laws of noisy tables, with units, groups and uncertainties",
        "  docs/guide.md                 choosing psi, solvers, units, certificates, ABM, AVI and VCA",
        "  python -c 'import vanishing; help(vanishing.OAVI)'",
    )


def _discover_laws(screen: _Screen, random_state: int) -> None:
    import numpy as np

    from ..laws import discover

    screen.title("1. Discover a law: a table of pressure, volume, amount and temperature, 1% noise in each column")
    rng, n_rows = np.random.default_rng(random_state), 2000
    amount, temperature, volume = (rng.uniform(*ends, n_rows) for ends in ((1.0, 3.0), (280.0, 400.0), (0.02, 0.06)))
    gas = np.column_stack([8.314 * amount * temperature / volume, volume, amount, temperature])
    gas += 0.01 * gas.std(axis=0) * rng.normal(size=gas.shape)
    with screen.step("discover(table): noise level, degree and terms unknown"):
        laws = discover(gas, names=["p", "V", "n", "T"])
    screen.say(*(f"  {line}" for line in str(laws).splitlines()))
    with screen.step("The same with the columns shuffled independently of each other"):
        none = discover(rng.permuted(gas, axis=0), names=["p", "V", "n", "T"])
    screen.say(*(f"  {line}" for line in str(none).splitlines()[:1]))


def _find_a_law(screen: _Screen, n_samples: int, random_state: int) -> None:
    from sklearn.preprocessing import MinMaxScaler

    from ..datasets import make_ellipsoid
    from ..ideals import OAVI

    screen.title(f"2. Find an ideal: {n_samples:,} points near an ellipsoid, noise 0.1%")
    with screen.step("Drawing the points"):
        X = make_ellipsoid(n_samples, axes=_AXES, centre=_CENTRE, noise=0.001, random_state=random_state)
    with screen.step("Scaling to [0, 1] and fitting OAVI(psi=1e-5, max_degree=2)") as seconds:
        scaler = MinMaxScaler().fit(X)
        ideal = OAVI(psi=1e-5, max_degree=2).fit(scaler.transform(X))
    n = len(ideal.generators_)
    generators = f"{n} generator{'s' if n != 1 else ''}"
    screen.say(f"{generators} in {seconds():.2f} s, the scaling included. In the units of the data:")
    true = _true_equation()
    for polynomial in ideal.generators_.in_units(scaler).monic():
        law = polynomial.renamed(_NAMES)
        screen.say(f"  found  {law.to_text(6)} = 0", f"  true   {true.to_text(6)} = 0")
        screen.say(f"  largest error of a coefficient, relative to the largest: {_coefficient_error(law, true):.1e}")


def _true_equation() -> Polynomial:
    """((x - cx) / a)^2 + ((y - cy) / b)^2 + ((z - cz) / c)^2 = 1, expanded, with leading coefficient 1."""
    import numpy as np

    from ..polynomials import Polynomial
    from ..solvers import Status

    a, c = np.asarray(_AXES), np.asarray(_CENTRE)
    eye = np.eye(3, dtype=np.int64)
    exponents = np.vstack([2 * eye[::-1], eye[::-1], np.zeros((1, 3), dtype=np.int64)])
    coef = np.concatenate([(1 / a**2)[::-1], (-2 * c / a**2)[::-1], [np.sum(c**2 / a**2) - 1.0]])
    return Polynomial(exponents, coef / coef[0], _NAMES, mse=0.0, gap=0.0, n_iter=0, status=Status.VANISHING)


def _coefficient_error(law: Polynomial, true: Polynomial) -> float:
    """Largest difference between coefficients of the same term, relative to the largest coefficient."""
    import numpy as np

    first, second = (dict(zip(map(tuple, p.exponents), p.coef, strict=True)) for p in (law, true))
    difference = max(abs(first.get(term, 0.0) - second.get(term, 0.0)) for term in first.keys() | second.keys())
    return float(difference / np.abs(true.coef).max())


def _tell_classes_apart(screen: _Screen, n_samples: int, random_state: int) -> None:
    from sklearn.model_selection import train_test_split
    from sklearn.preprocessing import MinMaxScaler

    from ..classification import VanishingIdealClassifier
    from ..datasets import make_synthetic
    from ..ideals import OAVI
    from ..svm import L1SVC

    screen.title(f"3. Tell classes apart: the paper's synthetic data, {n_samples:,} noisy samples in two classes")
    with screen.step("Drawing the points"):
        X, y = make_synthetic(n_samples, random_state=random_state)
        X, X_test, y, y_test = train_test_split(X, y, train_size=0.6, random_state=random_state)
    with screen.step(f"Fitting VanishingIdealClassifier(OAVI(psi=0.005)) to {len(X):,} training rows"):
        classifier = VanishingIdealClassifier(OAVI(psi=0.005)).fit(X, y)
    for label, ideal in zip(classifier.classes_, classifier.ideals_.estimators_, strict=True):
        G = ideal.generators_
        screen.say(
            f"  class {label}: |G| = {len(G)}, |O| = {ideal.n_basis_}, degrees up to {G.degree}, "
            f"{G.sparsity:.0%} of the coefficients are zero, mean squares up to {G.mse.max():.1e}"
        )
    screen.say("  (With noise 0.05 the circles themselves are not among them: on [0, 1] a line is that close to x^2.)")
    screen.say("The largest weights in the decision, in the units of the data:")
    screen.say(*(f"  {line}" for line in str(classifier.generators_).splitlines()[:5]))
    with screen.step("Fitting the same linear classifier to the raw inputs"):
        scaler = MinMaxScaler().fit(X)
        raw = 1.0 - L1SVC().fit(scaler.transform(X), y).score(scaler.transform(X_test), y_test)
    with screen.step(f"Predicting {len(X_test):,} test rows"):
        mapped = 1.0 - classifier.score(X_test, y_test)
    screen.say(f"  test error of the linear SVM on the raw inputs: {raw:.2%}", f"  ... with |g(x)|: {mapped:.2%}")


class _Screen:
    """Prints lines of text, and a line that counts seconds while a step runs."""

    def __init__(self, out: TextIO):
        self.out = out

    def say(self, *lines: str) -> None:
        for line in lines:
            self.out.write(line + "\n")
        self.out.flush()

    def title(self, text: str) -> None:
        self.say("", text, "-" * len(text))

    @contextmanager
    def step(self, text: str) -> Iterator[_Seconds]:
        """Show ``text`` with the elapsed seconds; yield a stop watch that returns them when called."""
        seconds = _Seconds()
        live = self.out.isatty()
        self.out.write(f"{text} ... ")
        self.out.flush()
        finished = threading.Event()

        def count() -> None:
            while not finished.wait(1.0):
                self.out.write(f"\r{text} ... {seconds():.0f} s ")
                self.out.flush()

        counter = threading.Thread(target=count, daemon=True)
        if live:
            counter.start()
        try:
            yield seconds
        finally:
            seconds.stop()
            finished.set()
            if live:
                counter.join()
            self.say(f"\r{text} ... {seconds():.2f} s" if live else f"{seconds():.2f} s")


class _Seconds:
    """A stop watch: a call returns the seconds from its start until now, or until it was stopped."""

    def __init__(self) -> None:
        self._begin = time.perf_counter()
        self._end: float | None = None

    def __call__(self) -> float:
        return (time.perf_counter() if self._end is None else self._end) - self._begin

    def stop(self) -> None:
        self._end = time.perf_counter()
