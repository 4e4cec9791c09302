"""The files that the examples of the command line are about."""

from __future__ import annotations

import numpy as np

from vanishing import Moments


def write_csv(path, columns, **options):
    """A CSV file of columns of any type."""
    rows = zip(*columns.values(), strict=True)
    lines = [",".join(columns), *(",".join(map(str, row)) for row in rows)]
    path.write_text("\n".join(lines) + "\n", **options)


def write_story(folder):
    """All files that the examples read: a customer table, sensors, pipes, a gas, runs, invoices and clicks."""
    import pyarrow
    import pyarrow.parquet as parquet

    rng = np.random.default_rng(0)

    def table(name, columns):
        parquet.write_table(pyarrow.table(columns), folder / name)

    def customers(m):
        age, calls = rng.uniform(18, 80, m).round(2), rng.uniform(0, 10, m).round(2)
        return {"id": 1000 + 7 * np.arange(m), "age": age, "calls": calls}, np.where(age + 5 * calls > 70, "yes", "no")

    columns, churned = customers(240)
    write_csv(folder / "churn.csv", {**columns, "ts": ["2024-01-01"] * 240, "churned": churned})

    def sensors(m, first=0):
        volts, amperes = rng.uniform(10, 20, m), rng.uniform(1, 5, m)
        power = volts * amperes + rng.normal(0, 0.1, m)
        return {"ts": first + np.arange(m), "volts": volts, "amperes": amperes, "power": power}

    table("normal.parquet", sensors(400))
    write_csv(folder / "normal.csv", sensors(400))
    new = sensors(60, 400)
    new["power"][:20] += 40.0
    write_csv(folder / "new.csv", new)
    fresh, _ = customers(30)
    x = rng.uniform(1, 3, 300)
    table("new.parquet", {**{name: values[:30] for name, values in fresh.items()}, "a": x[:30], "b": x[:30] ** 2})
    flow, area = rng.uniform(1, 2, 300), rng.uniform(1, 3, 300)
    pipes = np.column_stack([flow, area, flow * area])
    pipes += 0.01 * pipes.std(axis=0) * rng.normal(size=pipes.shape)
    write_csv(folder / "pipes.csv", dict(zip(("speed", "area", "flow"), pipes.T, strict=True)))
    n, T, V = rng.uniform(1, 3, 300), rng.uniform(280, 400, 300), rng.uniform(0.02, 0.06, 300)
    write_csv(folder / "gas.csv", {"p": 8.314 * n * T / V, "V": V, "n": n, "T": T})
    energy, angle = np.repeat(rng.uniform(0.5, 3.0, 10), 40), rng.uniform(0, 2 * np.pi, 400)
    runs = np.column_stack([np.sqrt(energy) * np.cos(angle) / 2, np.sqrt(energy) * np.sin(angle)])
    runs += 0.01 * runs.std(axis=0) * rng.normal(size=runs.shape)
    table("runs.parquet", {"x": runs[:, 0], "v": runs[:, 1], "run": np.repeat(np.arange(10), 40)})
    net, tax = rng.uniform(1, 100, 300).round(2), rng.uniform(0, 20, 300).round(2)
    write_csv(folder / "invoices.csv", {"net": net, "tax": tax, "gross": (net + tax).round(2)})
    (folder / "clicks").mkdir()
    for k in range(3):
        table(f"clicks/part{k}.parquet", {"a": x[k::3], "b": x[k::3] ** 2})
    site = np.column_stack([x, x**2])
    for name, part in (("north", site[:200]), ("south", site[200:])):
        Moments(2, 3).update(part).save(folder / f"{name}.npz")
