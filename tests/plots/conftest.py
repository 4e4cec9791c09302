import pytest


@pytest.fixture(autouse=True)
def drawn_nowhere():
    """Draw without a window, and close the figures of a test."""
    pytest.importorskip("matplotlib", reason="needs Matplotlib: pip install 'vanishing[plots]'").use("Agg")
    yield
    import matplotlib.pyplot as plt

    plt.close("all")
