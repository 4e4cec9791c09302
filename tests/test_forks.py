"""Children that are forked while threads of the parent are at work."""

import os
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from vanishing import OAVI
from vanishing.polynomials.terms import Program
from vanishing.threads import _blas, one_blas_thread

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"

pytestmark = [
    pytest.mark.chaos,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks on this system"),
    pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning"),  # of forks beside threads, which are the point
]


@pytest.fixture
def forks(monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    return pytest.importorskip("forks")


@pytest.mark.slow
def test_children_fit_while_threads_of_the_parent_fit_and_compile():
    command = [sys.executable, str(BENCHMARKS / "forks.py"), "--count", "20"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "20 of 20 children fitted and ended" in done.stdout


@pytest.mark.slow
def test_children_that_do_not_end_or_fail_are_reported(forks, monkeypatch):
    monkeypatch.setattr(forks, "fit", lambda X: threading.Event().wait() if os.getpid() != parent else None)
    parent = os.getpid()
    assert forks.fork_while_fitting(1, limit=0.2) == ["child 0: did not end within 0.2 s"]
    monkeypatch.setattr(forks, "fit", lambda X: os._exit(3) if os.getpid() != parent else None)
    assert forks.fork_while_fitting(1) == ["child 0: ended with 3"]


@pytest.mark.slow
def test_polynomials_are_written_out_while_others_are():
    X = np.random.default_rng(0).uniform(size=(100, 2))
    fast = OAVI(psi=0.01).fit(X).generators_
    slow_has_begun, fast_is_done = threading.Event(), threading.Event()

    class SlowProgram(Program):
        @property
        def terms(self):
            slow_has_begun.set()
            assert fast_is_done.wait(60.0)
            return super().terms

    slow = replace(fast, form=replace(fast.form, basis=SlowProgram(fast.form.basis.left, fast.form.basis.right)))
    found = []
    thread = threading.Thread(target=lambda: found.append(slow.coef))
    thread.start()
    assert slow_has_begun.wait(60.0)
    coef = fast.coef
    fast_is_done.set()
    thread.join()
    np.testing.assert_array_equal(found[0], coef)


@pytest.mark.usefixtures("two_blas_threads")
def test_children_have_the_blas_threads_of_a_process_in_which_nothing_is_fitted(forks):
    entered, left = threading.Event(), threading.Event()

    def stay_inside():
        with one_blas_thread:
            entered.set()
            assert left.wait(120.0)

    before = blas_threads()
    thread = threading.Thread(target=stay_inside)
    thread.start()
    assert entered.wait(60.0)
    child = os.fork()
    if child == 0:
        same = blas_threads() == before
        with one_blas_thread:
            same = same and set(blas_threads()) == {1}
        os._exit(0 if same and blas_threads() == before else 1)
    assert forks.wait_for(child, 60.0) == ""
    left.set()
    thread.join()
    assert blas_threads() == before


def blas_threads():
    return [library["num_threads"] for library in _blas().select(user_api="blas").info()]
