"""Names, docstrings and the direction of imports."""

import ast
import dataclasses
import inspect
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import vanishing

SOURCE = Path(vanishing.__file__).parent

# A package, or a module of the root, may import those above it; within a package modules import in no circle.
LAYERS = [
    {"_typing", "_version", "_compiled", "constants"},
    {"display", "progress", "bounds"},
    {"cholesky", "checks"},
    {"threads"},
    {"rows", "solvers"},
    {"files"},
    {"polynomials", "decisions", "datasets", "tables"},
    {"engine", "plots"},
    {"report"},
    {"ideals", "svm", "laws"},
    {"classification", "detection"},
    {"rules"},
    {"exports"},
    {"experiments"},
    {"cli"},
    {"__main__"},
]
CLASSIFIERS = (vanishing.VanishingIdealClassifier, vanishing.VanishingIdealClassifierCV)
MODULES = [p for p in SOURCE.rglob("*.py") if p.name != "__init__.py" or p.parent != SOURCE]


def package_of(path):
    """The package of a module, or its own name in the root."""
    return path.stem if path.parent == SOURCE else path.relative_to(SOURCE).parts[0]


def statements(node):
    """All statements inside of a node; expressions, most of the tree, have none."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.expr):
            yield child
            yield from statements(child)


@cache
def imports(path):
    """What a module imports of ours: package and module, as far as they are named."""
    found = []
    for node in statements(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = list(path.relative_to(SOURCE).parent.parts)
            base = base[: len(base) - node.level + 1] + (node.module.split(".") if node.module else [])
            found += [base] if base else [[alias.name] for alias in node.names]
    return found


def test_imports_go_one_way():
    rank = {name: i for i, layer in enumerate(LAYERS) for name in layer}
    assert {package_of(path) for path in MODULES} == set(rank)
    for path in MODULES:
        here = package_of(path)
        others = {target[0] for target in imports(path)} - {here}
        wrong = [other for other in others if other in rank and rank[other] >= rank[here]]
        assert not wrong, f"{path.relative_to(SOURCE)} imports {wrong}"


@pytest.mark.parametrize("package", sorted({package_of(path) for path in MODULES if path.parent != SOURCE}))
def test_modules_of_a_package_import_each_other_in_no_circle(package):
    below = {
        path.stem: {target[1] for target in imports(path) if target[0] == package and len(target) > 1}
        for path in MODULES
        if package_of(path) == package and path.stem != "__init__"
    }
    while below:
        free = {name for name, others in below.items() if not others & set(below)}
        assert free, f"{package}: {sorted(below)} import each other"
        below = {name: others for name, others in below.items() if name not in free}


CONTRIBUTING = Path(__file__).parents[1] / "CONTRIBUTING.md"


def map_of_folders():
    """The modules that CONTRIBUTING.md names in the row of each folder; those of the root have the key ""."""
    rows = re.findall(r"^\| (?:`([\w/]+)/`|the root) \| (.*) \|$", CONTRIBUTING.read_text(), re.MULTILINE)
    return {folder: re.findall(r"`(\w+)`", text) for folder, text in rows}


def folders_with_modules():
    """The folders of the package, and of its rooms, that hold modules; the root is ""."""
    modules = [path for path in SOURCE.rglob("*.py") if not path.stem.startswith("__")]
    return sorted({"" if path.parent == SOURCE else path.parent.relative_to(SOURCE).as_posix() for path in modules})


def test_the_map_in_contributing_has_a_row_for_every_folder():
    assert sorted(map_of_folders()) == folders_with_modules()


@pytest.mark.parametrize("folder", folders_with_modules())
def test_the_map_in_contributing_names_the_modules_of_a_folder(folder):
    row = f"the row of {folder or 'the root'}{'/' if folder else ''} in CONTRIBUTING.md"
    named = map_of_folders().get(folder, [])
    modules = {path.stem for path in (SOURCE / folder).glob("*.py") if not path.stem.startswith("__")}
    missing, gone = sorted(modules - set(named)), sorted(set(named) - modules)
    twice = sorted({name for name in named if named.count(name) > 1})
    assert not missing, f"add to {row}, each in backticks: {', '.join(missing)}"
    assert not gone, f"remove from {row}, as there are no such modules: {', '.join(gone)}"
    assert not twice, f"{row} names more than once: {', '.join(twice)}"


def test_the_root_of_the_package_is_small():
    assert len(list(SOURCE.glob("*.py"))) <= 14


@pytest.mark.parametrize("name", ["decisions", "solvers"])
def test_decisions_never_see_data(name):
    seen = {target[0] for path in (SOURCE / name).glob("*.py") for target in imports(path)}
    assert not {"rows", "engine", "polynomials"} & seen


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


def test_the_classifier_and_its_search_begin_with_the_same_parameters():
    alone, tuned = (list(inspect.signature(model).parameters) for model in CLASSIFIERS)
    of_columns = [field.name for field in dataclasses.fields(vanishing.Columns)]
    start = alone.index(of_columns[0])
    assert alone[start : start + len(of_columns)] == of_columns  # the search has one parameter for them
    alone[start : start + len(of_columns)] = ["columns"]
    shared = [name for name in alone if name in tuned]
    assert alone[: len(shared)] == tuned[: len(shared)] == shared
    assert shared == ["estimator", "final_estimator", "scale_input", "columns", "class_weight", "n_jobs"]


@pytest.mark.slow
def test_importing_loads_no_optional_package():
    code = "import sys, vanishing; print([m for m in ('sympy', 'matplotlib', 'polars') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_code_compiles_where_no_cache_can_be_written(monkeypatch):
    import numba

    from vanishing import _compiled

    def refuse_cache(cache=False, **options):
        if cache:
            raise RuntimeError("cannot cache function: no locator available")
        return numba.njit(**options)

    monkeypatch.setattr(_compiled, "njit", refuse_cache)
    assert _compiled.compiled(lambda x: x + 1)(1) == 2


def test_missing_sympy_names_the_extra(monkeypatch):
    import numpy as np

    monkeypatch.setitem(sys.modules, "sympy", None)
    polynomial = vanishing.OAVI().fit(np.random.default_rng(0).uniform(size=(50, 2))).generators_[0]
    with pytest.raises(ImportError, match=r"vanishing\[sympy\]"):
        polynomial.to_sympy()
