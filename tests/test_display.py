"""What notebooks and terminals show: equations of models, unfitted models, one bar for all passes."""

from __future__ import annotations

import re
from types import SimpleNamespace

import numpy as np
import pytest
import sklearn
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.utils.fixes import parse_version

import vanishing
from vanishing import OAVI, VCA, PerClass, VanishingIdealClassifier, VanishingIdealClassifierCV, show_progress

ESTIMATORS = [name for name in vanishing.__all__ if hasattr(getattr(vanishing, name), "fit")]
X = np.random.default_rng(0).uniform(size=(200, 3))
y = X[:, 0] > 0.5


def equations(model):
    """All equations of a model, in the order in which it shows them."""
    return [str(polynomial) for polynomial in model._ranked()]


def test_a_list_of_polynomials_shows_the_first_and_counts_the_rest():
    generators = OAVI(0.01).fit(X).generators_
    lines = repr(generators).splitlines()
    assert lines[0] == f"<Polynomials: {len(generators)} in 3 variables"
    assert [line.split("    (")[0].strip() for line in lines[1:6]] == [str(g) for g in generators[:5]]
    assert lines[6:] == [f"  ... and {len(generators) - 5} more>"]
    assert "<sup>2</sup>" in generators._repr_html_()
    assert repr(generators[:2]).count("\n") == 2
    assert repr(generators[:0]) == "<Polynomials: 0 in 3 variables>"


def test_a_fitted_model_shows_its_equations_and_a_pipeline_its_steps():
    model = OAVI(0.01).fit(X)
    assert repr(model).splitlines()[0] == "OAVI(psi=0.01)"
    assert equations(model)[0] in repr(model).splitlines()[1]
    assert str(make_pipeline(MinMaxScaler(), model)).count("\n") == 0
    shown = model._repr_mimebundle_()["text/html"]
    assert "Fitted attributes" in shown or parse_version(sklearn.__version__) < parse_version("1.9")
    assert re.sub(r"\^(\d)", r"<sup>\1</sup>", equations(model)[-1]) in shown
    search = VanishingIdealClassifierCV(psis=[0.01], Cs=[1.0], cv=2)
    for other in (VCA(), PerClass(), VanishingIdealClassifier(), search):
        assert repr(other.fit(X, y)).count("\n") >= 3


@pytest.mark.parametrize("name", ESTIMATORS)
def test_an_unfitted_model_says_so(name):
    model = getattr(vanishing, name)()
    with pytest.raises(NotFittedError, match=f"This {name} is not fitted yet: call fit before you use generators_"):
        _ = model.generators_
    assert not hasattr(model, "generators_")
    with pytest.raises(AttributeError, match="no attribute 'no_such_method'"):
        _ = model.no_such_method


@pytest.fixture
def notebook(monkeypatch):
    """The outputs of an IPython kernel, as it would send them."""
    pytest.importorskip("IPython")
    from IPython.core.displaypub import CapturingDisplayPublisher
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell.instance()
    monkeypatch.setattr(shell, "display_pub", CapturingDisplayPublisher())
    monkeypatch.setattr(shell, "kernel", object(), raising=False)
    yield shell.display_pub.outputs
    InteractiveShell.clear_instance()


def test_a_notebook_gets_one_bar_for_all_passes(notebook, capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(vanishing.progress, "time", SimpleNamespace(monotonic=lambda: 5.0))
    np.save(tmp_path / "rows.npy", X)
    with show_progress():
        for _ in range(30):
            OAVI(0.001, max_degree=3).fit(vanishing.open_rows(tmp_path))
    assert capsys.readouterr() == ("", "")
    assert [bool(output.get("update")) for output in notebook] == [False, True]
    assert len({output["transient"]["display_id"] for output in notebook}) == 1
    (last,) = re.findall(r"pass (\d+): 200 of 200 rows", notebook[-1]["data"]["text/html"])
    assert int(last) >= 30
