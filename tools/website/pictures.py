"""Runs examples and keeps their figures: python tools/website/pictures.py FOLDER examples/laws/gas_law.py ..."""

import runpy
import sys
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt


def draw(path):
    """The figures of an example."""
    plt.close("all")
    runpy.run_path(str(path), run_name="__main__")
    return [plt.figure(number) for number in plt.get_fignums()]


if __name__ == "__main__":
    for name in map(Path, sys.argv[2:]):
        for k, figure in enumerate(draw(name)):
            figure.savefig(Path(sys.argv[1]) / f"{name.stem}{f'_{k}' if k else ''}.png", dpi=110)
