"""The gallery: short programs, each with a picture."""

import warnings
from pathlib import Path

import pytest
from website.pictures import draw

EXAMPLES = sorted((Path(__file__).resolve().parents[2] / "examples").rglob("*.py"))


def test_the_gallery_is_large_and_its_programs_are_short():
    assert len(EXAMPLES) >= 14
    for path in EXAMPLES:
        lines = path.read_text().splitlines()
        assert len(lines) <= 40, path
        assert lines[2] == "=" * len(lines[1]), f"{path} needs a title"
        assert (path.parent / "GALLERY_HEADER.rst").exists()


@pytest.mark.slow
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_draw(path, monkeypatch, tmp_path):
    if path.stem == "torch_layer":
        pytest.importorskip("torch")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        figures = draw(path)
    assert figures
    assert all(ax.has_data() for figure in figures for ax in figure.axes)
    import matplotlib.pyplot as plt

    plt.close("all")
