"""The figures, in one style. Needs ``pip install 'vanishing[plots]'``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from ._store import RunRecord

# The colours of Okabe and Ito (2008), which colour-blind readers can tell apart; and markers, for print in grey.
_LOOKS = {
    "CGAVI-IHB": ("#0072B2", "o"),
    "AGDAVI-IHB": ("#56B4E9", "s"),
    "BPCGAVI-WIHB": ("#009E73", "D"),
    "BPCGAVI": ("#E69F00", "^"),
    "PCGAVI": ("#D55E00", "v"),
    "ABM": ("#CC79A7", "p"),
    "VCA": ("#000000", "h"),
    "AVI": ("#8C6D31", "<"),
    "SVM": ("#7F7F7F", ">"),
}
_STYLE = {
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "0.9",
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.4,
    "lines.markersize": 4.5,
    "legend.frameon": False,
    "svg.hashsalt": "vanishing",  # equal data give equal files
    "svg.fonttype": "none",
}


def require_matplotlib() -> None:
    """Raise an ImportError with the extra to install if Matplotlib is missing."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise ImportError("The figures need Matplotlib: pip install 'vanishing[plots]'.") from error


@contextmanager
def _panels(n_rows: int, n_columns: int, path: Path, files: list[Path], **options: Any) -> Iterator[tuple[Any, Any]]:
    """Make a figure of panels; write it as PNG and SVG at the end."""
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context(_STYLE):
        figure = Figure(figsize=(2.6 * n_columns + 0.4, 2.5 * n_rows + 0.5), layout="constrained")
        yield figure, figure.subplots(n_rows, n_columns, squeeze=False, **options)
        for ending, extra in ((".png", {"dpi": 130}), (".svg", {"metadata": {"Date": None}})):
            figure.savefig(path.with_suffix(ending), **extra)
            files.append(path.with_suffix(ending))


def _grid(n_panels: int) -> tuple[int, int]:
    """Rows and columns of a grid of panels."""
    return -(-n_panels // 3), min(n_panels, 3)


def _used(axes: Any, n_panels: int) -> list[Any]:
    """The first ``n_panels`` panels; hides the others."""
    for ax in axes.flat[n_panels:]:
        ax.set_axis_off()
    return list(axes.flat[:n_panels])


def draw_times(series: Mapping[str, Mapping[str, Sequence[RunRecord]]], path: Path) -> list[Path]:
    """Draw training times over the number of rows for each data set; below, the time of the decisions."""
    files: list[Path] = []
    with _panels(2, len(series), path, files, sharex="col", sharey="row") as (figure, axes):
        for column, (data, algorithms) in zip(axes.T, series.items(), strict=True):
            for ax, key in zip(column, ("seconds", "deciding"), strict=True):
                for name, runs in algorithms.items():
                    _curve(ax, name, np.array(runs[0]["sizes"]), np.array([run[key] for run in runs]))
                ax.set(xscale="log", yscale="log")
            _linear(column[0])
            column[0].set_title(data)
            column[1].set_xlabel("rows")
        axes[0, 0].set_ylabel("training time, s")
        axes[1, 0].set_ylabel("decisions alone, s")
        handles, labels = axes[0, 0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=len(labels))
    return files


def _curve(ax: Any, name: str, sizes: Any, seconds: Any) -> None:
    """Draw the mean over the runs, and a band of one standard deviation, cut to stay on the logarithmic axis."""
    colour, marker = _LOOKS[name]
    mean, deviation = seconds.mean(axis=0), seconds.std(axis=0)
    ax.plot(sizes, mean, color=colour, marker=marker, label=name)
    ax.fill_between(sizes, np.maximum(mean - deviation, 0.2 * mean), mean + deviation, color=colour, alpha=0.2, lw=0)


def _linear(ax: Any) -> None:
    """Draw a dashed line of slope 1 below the curves, for comparison."""
    sizes, lowest = ax.lines[0].get_xdata(), min(line.get_ydata()[-1] for line in ax.lines)
    ends = np.array([sizes[len(sizes) // 2], sizes[-1]])
    ax.plot(ends, 0.5 * lowest * ends / ends[-1], color="0.5", ls="--", lw=1.0, label="linear")


def draw_errors(errors: Mapping[str, Mapping[str, tuple[Sequence[float], Sequence[float]]]], path: Path) -> list[Path]:
    """Draw the test errors of each algorithm on each data set: ours filled, the published ones open."""
    files: list[Path] = []
    with _panels(*_grid(len(errors)), path, files, sharey=True) as (figure, axes):
        for ax, (data, algorithms) in zip(_used(axes, len(errors)), errors.items(), strict=True):
            for place, (name, (ours, theirs)) in enumerate(algorithms.items()):
                colour, marker = _LOOKS[name]
                for shift, values, filled in ((-0.14, ours, True), (0.14, theirs, False)):
                    if len(values):
                        ax.errorbar(
                            np.mean(values),
                            place + shift,
                            xerr=np.std(values),
                            color=colour,
                            marker=marker,
                            mfc=colour if filled else "white",
                            capsize=2,
                            lw=1.0,
                        )
            left, right = ax.get_xlim()
            ax.set(title=data, xlabel="test error, %", xlim=(max(left, -0.03 * right), right))
        names = list(next(iter(errors.values())))
        axes[0, 0].set_yticks(range(len(names)), [name if name == "SVM" else f"{name}*" for name in names])
        axes[0, 0].invert_yaxis()
        figure.supxlabel("filled: here; open: published; bars: one standard deviation over the splits", fontsize=8)
    return files


def draw_bound(
    psis: Sequence[float],
    bounds: Mapping[str, Sequence[int]],
    sizes: Mapping[tuple[str, str], Sequence[int]],
    path: Path,
) -> list[Path]:
    """Draw the bound and the largest size of a class over psi."""
    files: list[Path] = []
    with _panels(*_grid(len(bounds)), path, files, sharey=True) as (figure, axes):
        for ax, (data, bound) in zip(_used(axes, len(bounds)), bounds.items(), strict=True):
            ax.plot(psis, bound, color="0.4", ls="--", label="bound")
            for (of, name), values in sizes.items():
                if of == data:
                    colour, marker = _LOOKS[name]
                    ax.plot(psis, values, color=colour, marker=marker, label=name)
            ax.set(xscale="log", yscale="log", title=data, xlabel="psi")
            ax.invert_xaxis()
        for ax in axes[:, 0]:
            ax.set_ylabel("|G| + |O| of a class")
        handles, labels = axes[0, 0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=len(labels))
    return files
