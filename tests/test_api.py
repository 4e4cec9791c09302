"""Names, docstrings and the direction of imports."""

import ast
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import vanishing

SOURCE = Path(vanishing.__file__).parent

# A module may import those to its left, and modules of its own group in no circle.
LAYERS = [
    {"_typing", "_compiled", "progress"},
    {"cholesky"},
    {"threads", "border", "solvers", "bounds", "checks", "devices", "writing"},
    {"rows", "splits", "datasets", "archive", "cuda"},
    {"rows_device", "rows_dask", "readers", "together"},
    {"rows_disk"},
    {"reading", "evaluation"},
    {"labels", "gram", "expansion"},
    {"survey", "basis", "polynomials"},
    {"scaling", "relations"},
    {"svm"},
    {"construction", "moments"},
    {"ideal", "lockstep"},
    {"estimators"},
    {"features", "path", "defaults"},
    {"perclass"},
    {"classifier", "detector"},
    {"crossval"},
    {"crossval_source"},
    {"search"},
    {"demo", "plots", "cli_fit", "experiments"},
    {"cli_reproduce"},
    {"cli"},
]


def imports(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level:
            inside = path.parent.name if path.parent != SOURCE else None
            if inside and node.level == 1:
                yield inside
            else:
                yield from [node.module.split(".")[0]] if node.module else [alias.name for alias in node.names]


def test_imports_go_one_way():
    rank = {name: i for i, layer in enumerate(LAYERS) for name in layer}
    modules = [p for p in SOURCE.rglob("*.py") if p.name != "__init__.py" or p.parent != SOURCE]
    assert {p.stem if p.parent == SOURCE else p.parent.name for p in modules} == set(rank)
    for path in modules:
        name = path.stem if path.parent == SOURCE else path.parent.name
        wrong = [other for other in imports(path) if other in rank and other != name and rank[other] >= rank[name]]
        assert not wrong, f"{path.name} imports {wrong}"


@pytest.mark.parametrize("name", ["splits", "solvers"])
def test_decisions_never_see_data(name):
    paths = SOURCE.glob(f"{name}*/*.py") if (SOURCE / name).is_dir() else [SOURCE / f"{name}.py"]
    assert not {"rows", "gram", "survey", "evaluation"} & {other for path in paths for other in imports(path)}


@pytest.mark.parametrize("name", vanishing.__all__)
def test_public_names_have_docstrings_with_examples(name):
    thing = getattr(vanishing, name)
    assert inspect.getdoc(thing)
    if inspect.isfunction(thing) or hasattr(thing, "fit"):
        assert ">>>" in inspect.getdoc(thing)


@pytest.mark.parametrize("name", [name for name in vanishing.__all__ if hasattr(getattr(vanishing, name), "fit")])
def test_docstrings_name_every_parameter_and_fitted_attribute(name):
    import numpy as np

    estimator = getattr(vanishing, name)
    text = inspect.getdoc(estimator)
    X = np.random.default_rng(0).uniform(size=(50, 2))
    model = estimator().fit(X, X[:, 0] > 0.5)
    fitted = [key for key in vars(model) if key.endswith("_") and not key.startswith("_")]
    assert [key for key in [*model.get_params(), *fitted] if key not in text] == []


def test_importing_loads_no_optional_package():
    code = "import sys, vanishing; print([m for m in ('sympy', 'matplotlib', 'polars') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_code_compiles_where_no_cache_can_be_written(monkeypatch):
    import numba

    from vanishing import _compiled

    def refuse_cache(*, nogil, cache=False):
        if cache:
            raise RuntimeError("cannot cache function: no locator available")
        return numba.njit(nogil=nogil)

    monkeypatch.setattr(_compiled, "njit", refuse_cache)
    assert _compiled.compiled(lambda x: x + 1)(1) == 2


def test_missing_sympy_names_the_extra(monkeypatch):
    import numpy as np

    monkeypatch.setitem(sys.modules, "sympy", None)
    polynomial = vanishing.OAVI().fit(np.random.default_rng(0).uniform(size=(50, 2))).generators_[0]
    with pytest.raises(ImportError, match=r"vanishing\[sympy\]"):
        polynomial.to_sympy()
