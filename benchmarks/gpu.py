"""Fits on a GPU: time, and which share of the memory's speed they reach.

    python benchmarks/gpu.py            # needs CuPy and PyTorch on a machine with an NVIDIA GPU
    python benchmarks/gpu.py --rows 1e8

The data are the paper's synthetic set, float32, made on the device and scaled to [0, 1]. "Authors" is their CuPy code
on an H200, the sum of the fits of both classes of 2,000,000 rows at psi = 0.005 (0.151 s).
"""

import argparse
import statistics
import time
import warnings

import cupy
import torch

from vanishing import (
    ABM,
    AVI,
    OAVI,
    VCA,
    RangeWarning,
    VanishingIdealClassifier,
    VanishingIdealClassifierCV,
    VanishingIdealDetector,
    discover,
)
from vanishing.engine import cuda as fused

AUTHORS_2M = 0.151


def synthetic(n_rows, label, seed=0):
    """One class of the paper's synthetic data, in the unit cube."""
    generator = torch.Generator(device="cuda").manual_seed(seed + label)
    X = torch.empty((n_rows, 3), dtype=torch.float32, device="cuda")
    for start in range(0, n_rows, 50_000_000):
        rows = X[start : start + 50_000_000]
        first, second = torch.rand((2, len(rows)), generator=generator, device="cuda")
        if label == 0:
            first *= 0.99
            third = torch.sqrt(1.0 - first**2 - 0.01 * second)
        else:
            third = torch.sqrt(1.3 - first**2)
        rows[:] = torch.stack([first, second, third], dim=1)
        rows += 0.05 * torch.randn(rows.shape, generator=generator, device="cuda")
        rows[:] = (rows + 0.3) / 1.8
    return X


def seconds(work, repeats=7):
    """Median of several runs after two that do not count."""
    times = []
    for k in range(repeats + 2):
        torch.cuda.synchronize()
        start = time.perf_counter()
        work()
        torch.cuda.synchronize()
        if k > 1:
            times.append(time.perf_counter() - start)
    return statistics.median(times)


def read_speed():
    """Bytes a second that a sum over a large array reads."""
    values = torch.rand(1_000_000_000, device="cuda")
    speed = 4e9 / seconds(values.sum)
    del values
    torch.cuda.empty_cache()
    return speed


def name_of(model):
    return type(model).__name__ + (" cg+ihb" if getattr(model, "boost", "") == "ihb" else "")


def large(n_rows, speed):
    """One model of many rows."""
    X = synthetic(n_rows, 0)
    print(f"## {n_rows:,} rows x 3, float32, psi = 0.005")
    print("| algorithm | library | kernel | s | degree | generators | share of read speed |")
    print("|---|---|---|---|---|---|---|")
    dense = OAVI(psi=0.005, solver="cg", boost="ihb")
    for model in (dense, OAVI(psi=0.005), ABM(psi=0.005), AVI(psi=0.005)):
        for library, rows in (("torch", X), ("cupy", cupy.asarray(X))):
            show(model, library, "one", rows, speed)
    usable, fused.has_kernels = fused.has_kernels, lambda X: False
    show(dense, "torch", "array API", X, speed)
    show(VCA(psi=0.005), "torch", "array API", X, speed)
    fused.has_kernels = usable


def show(model, library, kernel, rows, speed):
    took = seconds(lambda: model.fit(rows), 3)
    n_passes = model.degree_ if kernel == "array API" else max(model.degree_ - 1, 1)  # one pass for degrees 1 and 2
    share = n_passes * 12.0 * len(rows) / took / speed
    cells = (name_of(model), library, kernel, f"{took:.4f}", model.degree_, len(model.generators_), f"{share:.0%}")
    print(f"| {' | '.join(map(str, cells))} |", flush=True)


def small():
    """Both classes of two million rows, as in the authors' experiments."""
    print("\n## 2,000,000 rows x 3 in two classes, one model each, psi = 0.005")
    print("| algorithm | library | ms | times faster than the authors' |")
    print("|---|---|---|---|")
    parts = [synthetic(1_000_000, label) for label in (0, 1)]
    for model in (OAVI(psi=0.005, solver="cg", boost="ihb"), OAVI(psi=0.005)):
        for library, arrays in (("torch", parts), ("cupy", [cupy.asarray(part) for part in parts])):
            took = seconds(lambda: [model.fit(rows) for rows in arrays], 21)  # noqa: B023
            print(f"| {name_of(model)} | {library} | {1e3 * took:.2f} | {AUTHORS_2M / took:.0f} |", flush=True)
    X, y = torch.cat(parts), torch.repeat_interleave(torch.arange(2, device="cuda"), 1_000_000)
    classifier = VanishingIdealClassifier(OAVI(psi=0.005))
    took = seconds(lambda: classifier.fit(X, y), 3)
    print(f"\nClassifier (scaling, ideals, SVM) on the 2,000,000 rows: {took:.2f} s, training accuracy", end=" ")
    print(f"{classifier.score(X, y):.4f}")


def gas(n_rows, *, relative):
    """Pressure, volume, amount and temperature of a gas, with 1% noise of each value or of each column."""
    generator = torch.Generator(device="cuda").manual_seed(0)
    options = {"generator": generator, "device": "cuda", "dtype": torch.float64}
    V, n, T = (torch.rand(n_rows, **options) * width + low for width, low in ((2, 1), (1.5, 0.5), (150, 250)))
    X = torch.stack([8.314 * n * T / V, V, n, T], dim=1)
    return X + 0.01 * torch.randn(X.shape, **options) * (X if relative else X.std(dim=0))


def products():
    """Classifier, laws and detector."""
    print("\n## Products, float64 rows on the device, PyTorch")
    print("| what | s |")
    print("|---|---|")
    generator = torch.Generator(device="cuda").manual_seed(0)
    X = torch.rand((1_000_000, 5), generator=generator, device="cuda", dtype=torch.float64)
    radius = (X[:, 0] - 0.5) ** 2 + (X[:, 1] - 0.5) ** 2
    y = radius + 0.02 * torch.randn(len(X), generator=generator, device="cuda") > 0.1
    tuned = VanishingIdealClassifierCV()
    print(f"| `VanishingIdealClassifierCV().fit`, 1,000,000 x 5 | {seconds(lambda: tuned.fit(X, y.long()), 3):.2f} |")
    for relative, noise in ((False, "1% of each column"), (True, "1% of each value")):
        table = gas(10_000_000, relative=relative)
        took = seconds(lambda: discover(table, names=["p", "V", "n", "T"]), 3)  # noqa: B023
        print(f"| `discover`, gas law, 10,000,000 x 4, noise {noise} | {took:.2f} |", flush=True)
    for detector in (VanishingIdealDetector(regimes=False), VanishingIdealDetector()):
        took = seconds(lambda: detector.fit(table), 3)  # noqa: B023
        print(
            f"| `{type(detector).__name__}(regimes={detector.regimes}).fit`, 10,000,000 x 4 | {took:.2f} |", flush=True
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=float, default=1e9)
    n_rows = int(parser.parse_args().rows)
    warnings.simplefilter("ignore", RangeWarning)
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}, CuPy {cupy.__version__}")
    speed = read_speed()
    print(f"reading: {speed / 1e12:.2f} TB/s (sum over 4 GB)\n")
    small()
    large(n_rows, speed)
    products()


if __name__ == "__main__":
    main()
