import gc
import os
from contextlib import suppress

# Several tests run at once, and on small matrices the threads of BLAS and of PyTorch, which asks MKL for their number,
# only spin: they double the CPU time of a search, or make it ten times as long.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("MKL_NUM_THREADS", "1")

# No slow imports here: the process that only hands out tests to others reads this file, too, and they wait for it.
import pytest
from cpu_seconds import pytest_runtest_makereport, pytest_runtest_setup, pytest_terminal_summary  # noqa: F401

collect_ignore_glob = ["conftest.py", "*/conftest.py"]  # which --doctest-modules would take for one module


def pytest_collectstart(collector):
    """Draw the same examples in every run; HYPOTHESIS_PROFILE=default looks for new ones."""
    if isinstance(collector, pytest.Session):
        from hypothesis import settings

        gc.disable()  # little becomes garbage before pytest_collection_finish
        settings.register_profile("fixed", derandomize=True, deadline=None)
        settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))


def pytest_collection_finish():
    """Exempt modules and collected tests, a million objects, from every later garbage collection.

    Hypothesis registers its generator at its first use, and looks then for references to it, which freezing would hide.
    """
    from hypothesis import given
    from hypothesis.strategies import none

    given(none())(lambda _: None)()
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session")
def refusal():
    """A function of a kind of file and a path: error, message and peak of memory (bytes) when it is read."""
    from refusals import Refusals

    process = Refusals()
    yield process
    process.close()


@pytest.fixture(scope="session")
def load_table():
    """A function that loads a data set by name: rows and labels, as the paper uses them."""
    from vanishing import datasets

    loaded = {}

    def load(name):
        if name not in loaded:
            if "VANISHING_DATA" not in os.environ:
                pytest.skip("set VANISHING_DATA to the folder with the paper's data sets")
            try:
                loaded[name] = datasets.load(name, data_dir=os.environ["VANISHING_DATA"], return_X_y=True)
            except FileNotFoundError:
                pytest.skip(f"there is no {name}.csv.gz in the folder that VANISHING_DATA names")
        return loaded[name]

    return load


@pytest.fixture(scope="session")
def load_classes(load_table):
    """A function that loads a data set by name: one array per class, min-max scaled as a whole."""
    import numpy as np

    def load(name):
        X, y = load_table(name)
        low, high = X.min(axis=0), X.max(axis=0)
        X = (X - low) / np.where(high > low, high - low, 1.0)
        return [np.ascontiguousarray(X[y == label]) for label in np.unique(y)]

    return load


@pytest.fixture
def circle():
    import numpy as np

    angle = np.random.default_rng(0).uniform(0, 2 * np.pi, 500)
    return np.column_stack([0.5 + 0.5 * np.cos(angle), 0.5 + 0.5 * np.sin(angle)])


@pytest.fixture
def passes(monkeypatch):
    """A list that gets an entry for every pass over rows on disk or in Dask collections: the rows."""
    from vanishing.rows.disk import ComputedOnDisk, DiskRows

    made = []

    def count(source, method):
        original = getattr(source, method)

        def counted(self, *arguments, **options):
            made.append(self)
            return original(self, *arguments, **options)

        monkeypatch.setattr(source, method, counted)

    count(DiskRows, "reduce")
    count(ComputedOnDisk, "write")
    with suppress(ImportError):
        from vanishing.rows.dask import DaskRows

        count(DaskRows, "reduce")
    return made


@pytest.fixture
def two_blas_threads():
    """BLAS with more threads than a fit leaves it, so that a test can see whether they come back."""
    from threadpoolctl import ThreadpoolController

    controller = ThreadpoolController().select(user_api="blas")
    with controller.limit(limits=2):
        assert {library["num_threads"] for library in controller.info()} == {2}
        yield
