"""Detection: ADBench, plants, real sensors over time, alarms, and speed. ``python benchmarks/detection.py [part ...]``.

Parts: adbench, unsupervised, others, clean, plant, alarms, tennessee, skab, series, dependence, binary, large, stream,
monitor. The tables come from ``VANISHING_DATA``.
"""

from __future__ import annotations

import os
import sys
import time
import warnings
from functools import partial
from pathlib import Path

import numpy as np
from scipy import stats
from scipy.signal import lfilter
from sklearn import datasets
from sklearn.decomposition import PCA
from sklearn.ensemble import IsolationForest
from sklearn.metrics import average_precision_score, f1_score, roc_auc_score
from sklearn.neighbors import LocalOutlierFactor, NearestNeighbors
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import OneClassSVM
from stamp import heading

from vanishing import VanishingIdealDetector
from vanishing.engine.gram import mean_gram
from vanishing.polynomials.terms import Program, terms_up_to
from vanishing.rows.arrays import as_rows

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "detection"))
from plant import FAULTS, NAMES, plant, series_plant

DATA = Path(os.environ.get("VANISHING_DATA", "data"))
FOLDER = DATA / "adbench"


# --- the other detectors, with their defaults; higher scores are worse ------------------------------------------------


def ours(train, test):
    return -VanishingIdealDetector().fit(train).score_samples(test)


def forest(train, test):
    return -IsolationForest(random_state=0).fit(train).score_samples(test)


def lof(train, test):
    model = make_pipeline(StandardScaler(), LocalOutlierFactor(novelty=True)).fit(train)
    return -model.score_samples(test)


def pca(train, test):
    """Sum of the squared principal scores over their variances, as Shyu et al. (2003)."""
    model = make_pipeline(StandardScaler(), PCA(whiten=True)).fit(train)
    kept = model[-1].explained_variance_ > 1e-9
    return (model.transform(test)[:, kept] ** 2).sum(axis=1)


def ecod(train, test):
    """Empirical tails of the columns (Li et al., "ECOD", 2022): the largest of left, right and skew-chosen sums."""
    ordered = np.sort(train, axis=0)
    left, right = np.empty(test.shape), np.empty(test.shape)
    for j in range(test.shape[1]):
        left[:, j] = np.searchsorted(ordered[:, j], test[:, j], side="right")
        right[:, j] = len(train) - np.searchsorted(ordered[:, j], test[:, j], side="left")
    left, right = (-np.log((tail + 1.0) / (len(train) + 1.0)) for tail in (left, right))
    centred = train - train.mean(axis=0)
    skew = (centred**3).mean(axis=0)
    chosen = np.where(skew < 0.0, left, right)
    return np.max([left.sum(axis=1), right.sum(axis=1), chosen.sum(axis=1)], axis=0)


def svm(train, test):
    return -make_pipeline(StandardScaler(), OneClassSVM()).fit(train).score_samples(test)


def trimmed(train, test):
    return -VanishingIdealDetector(contamination="auto").fit(train).score_samples(test)


def knn(train, test, k=5):
    """Distance to the k-th neighbour among other standardised training rows (Ramaswamy et al. 2000)."""
    scaler = StandardScaler().fit(train)
    neighbours = NearestNeighbors(n_neighbors=k + 1).fit(scaler.transform(train))
    distances, _ = neighbours.kneighbors(scaler.transform(test))
    return np.where(distances[:, 0] == 0.0, distances[:, k], distances[:, k - 1])


def mahalanobis(train, test):
    """Squared distance from the mean in units of the covariance."""
    centre, precision = train.mean(axis=0), np.linalg.pinv(np.cov(train.T).reshape(train.shape[1], -1), rcond=1e-9)
    return np.einsum("ij,jk,ik->i", test - centre, precision, test - centre)


def hbos(train, test, n_bins=10):
    """Sum of minus the logarithms of the heights of histograms (Goldstein and Dengel 2012), at most 10 bins each."""
    total = np.zeros(len(test))
    for x, new in zip(train.T, test.T, strict=True):
        heights, edges = np.histogram(x, bins=n_bins)
        heights = heights / heights.max()
        place = np.searchsorted(edges, new, side="right") - 1
        inside = (new >= edges[0]) & (new <= edges[-1])
        height = np.where(inside, heights[np.clip(place, 0, n_bins - 1)], 0.0)
        total -= np.log(height + 0.1)
    return total


def copod(train, test):
    """Tail probabilities of empirical copulas (Li et al., "COPOD", 2020): the larger of both tails' mean and skew."""
    ordered, m = np.sort(train, axis=0), len(train)
    left, right = np.empty(test.shape), np.empty(test.shape)
    for j in range(test.shape[1]):
        left[:, j] = np.searchsorted(ordered[:, j], test[:, j], side="right")
        right[:, j] = m - np.searchsorted(ordered[:, j], test[:, j], side="left")
    left, right = (-np.log((tail + 1.0) / (m + 1.0)) for tail in (left, right))
    skew = np.sign(stats.skew(train, axis=0))
    chosen = left * -np.sign(skew - 1.0) + right * np.sign(skew + 1.0)
    return np.maximum((left + right) / 2.0, chosen).sum(axis=1)


DETECTORS = {
    "ours": ours, "KNN": knn, "Mahalanobis": mahalanobis, "isolation forest": forest, "LOF": lof, "PCA": pca,
    "HBOS": hbos, "COPOD": copod, "ECOD": ecod, "one-class SVM": svm,
}  # fmt: skip


# --- detectors of rows over time --------------------------------------------------------------------------------------


def lagged(X, lags):
    """Rows with the rows before them, beside each other; the first rows repeat the first."""
    padded = np.vstack([np.repeat(X[:1], lags, axis=0), X])
    return np.hstack([padded[lags - k : len(padded) - k] for k in range(lags + 1)])


def dynamic_pca(train, *tests, lags=2):
    """T^2 and squared prediction error of lagged rows, each over its 99% quantile in training (Ku et al. 1995)."""
    scaler = StandardScaler().fit(lagged(train, lags))
    model = PCA(0.9).fit(scaler.transform(lagged(train, lags)))

    def parts(X):
        Z = scaler.transform(lagged(X, lags))
        scores = model.transform(Z)
        return (scores**2 / model.explained_variance_).sum(axis=1), ((Z - model.inverse_transform(scores)) ** 2).sum(
            axis=1
        )

    limits = [np.quantile(part, 0.99) for part in parts(train)]
    return [np.max([part / limit for part, limit in zip(parts(X), limits, strict=True)], axis=0) for X in tests]


def cva(train, *tests, lags=2, n_states=15):
    """Residual statistic of canonical variates between past and future (Russell, Chiang and Braatz 2000)."""
    scaler = StandardScaler().fit(train)

    def past(X):
        return lagged(scaler.transform(X), lags)

    P, F = past(train)[lags:-lags], lagged(scaler.transform(train)[::-1], lags)[::-1][lags:-lags]
    ridge = 1e-6 * np.eye(P.shape[1])
    whiten = np.linalg.inv(np.linalg.cholesky(np.cov(P.T) + ridge))
    whiten_future = np.linalg.inv(np.linalg.cholesky(np.cov(F.T) + ridge))
    cross = (F - F.mean(axis=0)).T @ (P - P.mean(axis=0)) / len(P)
    _, _, V = np.linalg.svd(whiten_future @ cross @ whiten.T)
    J = V[: min(n_states, len(V))] @ whiten
    L = (np.eye(P.shape[1]) - V[: min(n_states, len(V))].T @ V[: min(n_states, len(V))]) @ whiten

    def parts(X):
        Z = past(X)
        return ((Z @ J.T) ** 2).sum(axis=1), ((Z @ L.T) ** 2).sum(axis=1)

    limits = [np.quantile(part, 0.99) for part in parts(train)]
    return [np.max([part / limit for part, limit in zip(parts(X), limits, strict=True)], axis=0) for X in tests]


def smoothed(scores, start):
    return lfilter([0.1], [1.0, -0.9], scores, zi=[0.9 * start])[0]


def tennessee_rows():
    """Share of normal rows flagged at a nominal 1%, and of faulty rows detected at a true 1%."""
    with np.load(DATA / "series" / "tennessee.npz", allow_pickle=True) as file:
        model = VanishingIdealDetector().fit(file["normal"])
        normal = model.score_samples(file["normal_test"])
        limit = np.quantile(normal, 0.01)
        faults = [np.mean(model.score_samples(file[k])[160:] < limit) for k in file.files if k.startswith("fault")]
    return np.mean(normal < model.offset_), np.mean(faults)


def tennessee():
    """Normal rows flagged at a nominal 1%; faulty rows detected at the nominal limit and at a true 1%; delays."""
    with np.load(DATA / "series" / "tennessee.npz", allow_pickle=True) as file:
        rows = {name: file[name] for name in file.files if name != "names"}
    train, normal = rows.pop("normal"), rows.pop("normal_test")
    model = VanishingIdealDetector().fit(train)
    print(model.calibration_ + "\n")
    tests = [normal, *rows.values()]
    scores = {"ours, rows": ([-model.score_samples(X) for X in tests], -model.offset_)}
    watched = [model.monitor(X) for X in tests]
    scores["ours, evidence"] = ([found.evidence for found in watched], watched[0].limit)
    scores["Mahalanobis"] = ([mahalanobis(train, X) for X in tests], np.quantile(mahalanobis(train, train), 0.99))
    scores["KNN"] = ([knn(train, X) for X in tests], np.quantile(knn(train, train), 0.99))
    scores["dynamic PCA"] = (dynamic_pca(train, *tests), 1.0)
    scores["CVA"] = (cva(train, *tests), 1.0)
    print("| detector | normal rows flagged | detected, nominal | detected, true 1% | median delay, true 1% |")
    print("|---" * 5 + "|")
    for name, ((fine, *faulty), limit) in scores.items():
        true = np.quantile(fine, 0.99)
        delays = [np.argmax(f[160:] > true) if (f[160:] > true).any() else 800 for f in faulty]
        print(
            f"| {name} | {np.mean(fine > limit):.1%} | {np.mean([np.mean(f[160:] > limit) for f in faulty]):.1%} | "
            f"{np.mean([np.mean(f[160:] > true) for f in faulty]):.1%} | {np.median(delays):.0f} |",
            flush=True,
        )
    print("\n| fault | detected, rows | evidence | first columns of its first episode |\n|---|---|---|---|")
    true, slow = np.quantile(scores["ours, rows"][0][0], 0.99), np.quantile(watched[0].evidence, 0.99)
    for name, values, found in zip(rows, scores["ours, rows"][0][1:], watched[1:], strict=True):
        first = next((episode for episode in found.episodes if episode.last_row >= 160), None)
        named = "" if first is None else ", ".join(f"x{int(c[1:]) + 1}" for c in list(first.columns)[:3])
        print(f"| {name} | {np.mean(values[160:] > true):.0%} | {np.mean(found.evidence[160:] > slow):.0%} | {named} |")
    print()


def skab_rows():
    """F1 of the evidence, and false alarms of rows, on the pump rig."""
    truth, rows, evidence = [], [], []
    with np.load(DATA / "series" / "skab.npz", allow_pickle=True) as file:
        for name in file.files:
            X, y = file[name][:, :8], file[name][:, 8].astype(bool)
            model = VanishingIdealDetector().fit(X[:400])
            truth.append(y[400:])
            rows.append(model.predict(X[400:]) == -1)
            evidence.append(model.monitor(X[400:]).alarms)
    y, flagged = np.concatenate(truth), np.concatenate(rows)
    return f1_score(y, np.concatenate(evidence)), flagged[~y].mean()


def skab():
    """A pump rig: fit on 400 rows of a run, judge the rest; flagging every row has F1 0.70."""
    truth, flagged = [], {}
    with np.load(DATA / "series" / "skab.npz", allow_pickle=True) as file:
        runs = [file[name] for name in file.files]
    for run in runs:
        X, y = run[:, :8], run[:, 8].astype(bool)
        train, test = X[:400], X[400:]
        truth.append(y[400:])
        model = VanishingIdealDetector().fit(train)
        found = {"ours, rows": model.predict(test) == -1, "ours, evidence": model.monitor(test).alarms}
        found["Mahalanobis"] = mahalanobis(train, test) > np.quantile(mahalanobis(train, train), 0.99)
        found["KNN"] = knn(train, test) > np.quantile(knn(train, train), 0.99)
        found["dynamic PCA"] = dynamic_pca(train, test)[0] > 1.0
        found["CVA"] = cva(train, test)[0] > 1.0
        for name, alarms in found.items():
            flagged.setdefault(name, []).append(alarms)
    first = [int(np.argmax(y)) if y.any() else len(y) for y in truth]
    y = np.concatenate(truth)
    print("| detector | F1 | false alarms | missed | false alarms before the first anomaly |\n|---|---|---|---|---|")
    for name, parts in flagged.items():
        alarms = np.concatenate(parts)
        before = np.concatenate([part[:n] for part, n in zip(parts, first, strict=True)])
        rates = " | ".join(f"{rate:.1%}" for rate in (alarms[~y].mean(), (~alarms[y]).mean(), before.mean()))
        print(f"| {name} | {f1_score(y, alarms):.3f} | {rates} |")
    print()


def series(n_draws=20):
    """Plants over time: AR(1) inputs of 0.95, three regimes, twelve sensors; 3,000 later normal rows."""
    print("| rows of the fit | normal rows flagged | largest | in alarm by evidence | largest | episodes per 1,000 |")
    print("|---" * 6 + "|")
    for m in (1000, 3000):
        found = []
        for seed in range(n_draws):
            rows = series_plant(m + 3000, seed)
            model = VanishingIdealDetector().fit(rows[:m])
            watched = model.monitor(rows[m:])
            found.append([np.mean(model.predict(rows[m:]) == -1), watched.alarms.mean(), len(watched.episodes) / 3.0])
        flagged, alarms, episodes = np.array(found).T
        print(
            f"| {m} | {flagged.mean():.2%} | {flagged.max():.1%} | {alarms.mean():.2%} | {alarms.max():.1%} | "
            f"{episodes.mean():.2f} |",
            flush=True,
        )
    print()


def dependence(n_draws=4):
    """Later normal rows flagged, and in alarm by evidence, for rows that follow each other more or less closely."""
    memories = (0.0, 0.1, 0.3, 0.5, 0.8, 0.95, 0.99)
    print("| rows x columns | " + " | ".join(map(str, memories)) + " |\n" + "|---" * (1 + len(memories)) + "|")
    for m, n in ((200, 3), (500, 10), (2000, 10), (1000, 30)):
        cells = []
        for rho in memories:
            found = []
            for seed in range(n_draws):
                rng = np.random.default_rng(seed)
                mixing = rng.normal(size=(n, n))
                inputs = lfilter([np.sqrt(1 - rho**2)], [1, -rho], rng.normal(size=(m + 4300, n)), axis=0)[300:]
                rows = inputs @ mixing + 0.1 * rng.normal(size=inputs.shape)
                with warnings.catch_warnings(record=True) as caught:
                    warnings.simplefilter("always")
                    model = VanishingIdealDetector().fit(rows[:m])
                flagged = np.mean(model.predict(rows[m:]) == -1)
                found.append([flagged, model.monitor(rows[m:]).alarms.mean(), bool(caught)])
            a, b, warned = np.mean(found, axis=0)
            cells.append(f"{a:.1%}, {b:.1%}" + ("*" if warned else ""))
        print(f"| {m} x {n} | " + " | ".join(cells) + " |", flush=True)
    print()


def monitor(m=1_000_000):
    rng = np.random.default_rng(0)
    model = VanishingIdealDetector().fit(rng.standard_normal((20_000, 12)))
    X = rng.standard_normal((m, 12))
    start = time.perf_counter()
    seconds = cpu(lambda: model.monitor(X))
    print(f"monitor of {m:,} x 12 rows: {seconds:.1f} s of CPU, {time.perf_counter() - start:.1f} s of wall time\n")


# --- ADBench ----------------------------------------------------------------------------------------------------------


def tables(*, all_rows):
    """Name, training rows, test rows and their labels, by the protocol of the tables' README."""
    for path in sorted(FOLDER.glob("*.npz"), key=lambda path: int(path.name.split("_")[0])):
        with np.load(path) as file:
            X, y = file["X"].astype(float), file["y"].ravel().astype(int)
        X = X[:, X.min(axis=0) < X.max(axis=0)]
        rng = np.random.default_rng(0)
        chosen = rng.permutation(len(X))[:6000]
        X, y = X[chosen], y[chosen]
        normal = rng.permutation(np.flatnonzero(y == 0))
        train = normal[: int(0.6 * len(normal))]
        test = np.setdiff1d(np.arange(len(y)), train)
        yield (path.stem, X, X, y) if all_rows else (path.stem, X[train], X[test], y[test])


def adbench(*, all_rows=False):
    detectors = {**DETECTORS, "ours, trimmed": trimmed} if all_rows else DETECTORS
    print("| table | rows x columns | " + " | ".join(detectors) + " | CPU s |")
    print("|---" * (len(detectors) + 3) + "|")
    found, precision = [], []
    for name, train, test, y in tables(all_rows=all_rows):
        row, precise = [], []
        for label, detector in detectors.items():
            start = time.process_time()
            scores = detector(train, test)
            row.append(roc_auc_score(y, scores))
            precise.append(average_precision_score(y, scores))
            if label == "ours":
                seconds = time.process_time() - start
        found.append(row)
        precision.append(precise)
        print(f"| {name} | {train.shape[0]} x {train.shape[1]} | " + " | ".join(f"{a:.3f}" for a in row), end="")
        print(f" | {seconds:.1f} |", flush=True)
    ranks = np.mean([[1 + sum(b > a for b in row) + 0.5 * (row.count(a) - 1) for a in row] for row in found], axis=0)
    print("| **mean** | | " + " | ".join(f"**{a:.3f}**" for a in np.mean(found, axis=0)) + " | |")
    print("| mean AUPRC | | " + " | ".join(f"{a:.3f}" for a in np.mean(precision, axis=0)) + " | |")
    print("| mean rank | | " + " | ".join(f"{rank:.2f}" for rank in ranks) + " | |\n")


def other_tables():
    """Tables of classes: name, normal rows, and rows of the other classes, which are the anomalies."""
    loaded = {name: getattr(datasets, f"load_{name}")(return_X_y=True) for name in ("breast_cancer", "wine", "digits")}
    for name in ("glass", "phoneme", "winequality", "rice", "grid", "electricity"):
        with np.load(DATA / "tables" / f"{name}.npz", allow_pickle=True) as file:
            loaded[name] = file["X"].astype(float), file["y"]
    for name in ("htru", "spam", "seeds", "credit", "bank"):
        rows = np.loadtxt(DATA / f"{name}.csv.gz", delimiter=",", skiprows=1)
        loaded[name] = rows[:, :-1], rows[:, -1]
    for name, (X, y) in loaded.items():
        classes, counts = np.unique(y, return_counts=True)
        for label in (0, 8) if name == "digits" else classes[[np.argmax(counts)]]:
            rng = np.random.default_rng(0)
            normal, others = (X[rng.permutation(np.flatnonzero(chosen))] for chosen in (y == label, y != label))
            kept = normal.min(axis=0) < normal.max(axis=0)
            yield f"{name} {label}", normal[:2000, kept], others[:1000, kept]


def others():
    """Tables of classes, not seen in the choice of the detector's parts: with a twentieth of anomalies, and clean."""
    print("| table | all rows: ours | trimmed | clean rows: ours | trimmed |\n|---|---|---|---|---|")
    found = []
    for name, normal, anomalies in other_tables():
        few = anomalies[: max(len(normal) // 20, 4)]
        order = np.random.default_rng(0).permutation(len(normal) + len(few))
        mixed, y = np.vstack([normal, few])[order], np.repeat([0, 1], [len(normal), len(few)])[order]
        m = int(0.6 * len(normal))
        later, late = np.vstack([normal[m:], anomalies]), np.repeat([0, 1], [len(normal) - m, len(anomalies)])
        row = []
        for detector in (ours, trimmed):
            scores = detector(mixed, mixed)
            row += [roc_auc_score(y, scores), average_precision_score(y, scores)]
        row += [roc_auc_score(late, detector(normal[:m], later)) for detector in (ours, trimmed)]
        found.append(row)
        print("| {} | {:.3f}, {:.3f} | {:.3f}, {:.3f} | {:.3f} | {:.3f} |".format(name, *row), flush=True)
    mean = np.mean(found, axis=0)
    print("| **mean** | **{:.3f}**, {:.3f} | **{:.3f}**, {:.3f} | **{:.3f}** | **{:.3f}** |\n".format(*mean))


def clean():
    """ADBench, trained on normal rows, with trimming."""
    areas = [roc_auc_score(y, trimmed(train, test)) for _, train, test, y in tables(all_rows=False)]
    print(f"trimmed: {np.mean(areas):.3f}\n")


# --- the plant --------------------------------------------------------------------------------------------------------


def explained(detector, row, sensor):
    """Whether the first equation has the sensor in it, and whether it is among the first two columns."""
    first = detector.explain(row)["equation"][0]
    columns = list(detector.explain(row, by="column")["column"])[:2]
    return f"x{NAMES.index(sensor)}" in first.replace("*", " ").split(), f"x{NAMES.index(sensor)}" in columns


def faults(n_draws=5):
    others = {"KNN": knn, "Mahalanobis": mahalanobis, "LOF": lof, "isolation forest": forest}
    heads = ["AUROC, ours", *others, "alarms at 1%", "violated law first", "sensor among the first two columns"]
    print(f"| fault | {' | '.join(heads)} |")
    print("|---" * (len(heads) + 1) + "|")
    rows = [plant(2000, 100 + draw) for draw in range(n_draws)]
    detectors = [VanishingIdealDetector().fit(train) for train in rows]
    for fault, sensor in FAULTS.items():
        figures = []
        for draw, (detector, train) in enumerate(zip(detectors, rows, strict=True)):
            normal, faulty = plant(1000, 200 + draw), plant(1000, 300 + draw, fault)
            both, y = np.vstack([normal, faulty]), np.repeat([0, 1], 1000)
            alarming = faulty[detector.predict(faulty) == -1]
            shown = [explained(detector, row, sensor) for row in alarming[:: max(len(alarming) // 40, 1)]]
            figures.append(
                [
                    roc_auc_score(y, -detector.score_samples(both)),
                    *(roc_auc_score(y, other(train, both)) for other in others.values()),
                    np.mean(detector.predict(faulty) == -1),
                    *np.mean(shown, axis=0),
                ]
            )
        *areas, alarms, law, column = np.mean(figures, axis=0)
        shares = f"{alarms:.0%} | {law:.0%} | {column:.0%}"
        print(f"| {fault} ({sensor}) | {' | '.join(f'{area:.3f}' for area in areas)} | {shares} |", flush=True)
    print()


# --- false alarms -----------------------------------------------------------------------------------------------------


def mixture(m, rng):
    centre = rng.integers(0, 3, m)[:, None] * np.array([4.0, -3.0, 2.0, 1.0, 0.0, 0.0])
    return centre + rng.normal(size=(m, 6)) @ np.array(np.tri(6))


def heavy(m, rng):
    return np.exp(rng.normal(size=(m, 5)))


def alarms(n_draws=50):
    print("| rows | false alarms at 1%, mean of 50 draws | at 5% |")
    print("|---|---|---|")
    for name, draw in {
        "plant, 10 columns": lambda m, rng: plant(m, rng),
        "mixture of 3, 6 columns": mixture,
        "lognormal, 5 columns": heavy,
    }.items():
        found = []
        for k in range(n_draws):
            rng = np.random.default_rng(k)
            p = VanishingIdealDetector().fit(draw(2000, rng)).p_values(draw(2000, rng))
            found.append([np.mean(p <= 0.01), np.mean(p <= 0.05)])
        one, five = np.mean(found, axis=0)
        print(f"| {name} | {one:.2%} | {five:.2%} |", flush=True)
    print()


# --- speed ------------------------------------------------------------------------------------------------------------


def cpu(work):
    start = time.process_time()
    work()
    return time.process_time() - start


def binary():
    rng = np.random.default_rng(0)
    hidden = rng.normal(size=(3500, 5)) @ rng.normal(size=(5, 39))
    X = (hidden + rng.normal(size=hidden.shape) > 0.5).astype(float)
    VanishingIdealDetector().fit(X)
    print(f"3,500 rows of 39 binary columns: fit {cpu(lambda: VanishingIdealDetector().fit(X)):.2f} s of CPU\n")


def large(m=10_000_000):
    X = np.random.default_rng(0).standard_normal((m, 10))
    program = Program.of(terms_up_to(2, 10))
    mean_gram(as_rows(X[:10_000]), program, 0)
    one_pass = min(cpu(lambda: mean_gram(as_rows(X), program, 0)) for _ in range(2))
    for regimes in (False, True):
        detector = VanishingIdealDetector(regimes=regimes)
        fit = min(cpu(partial(detector.fit, X)) for _ in range(2))
        print(f"{m:,} x 10, regimes={regimes}: {fit:.2f} s of CPU, {fit / one_pass:.2f} passes of degree 2", flush=True)
    print()


def stream():
    rng = np.random.default_rng(0)
    for degree in (2, None):
        detector = VanishingIdealDetector(degree=degree).fit(rng.standard_normal((20_000, 10)))
        more = rng.standard_normal((1000, 10))
        detector.partial_fit(more)
        each = 1e3 * np.sort([cpu(partial(detector.partial_fit, more)) for _ in range(300)])
        print(f"partial_fit of 1,000 x 10 rows, degree {detector.degree_}: median {each[150]:.1f} ms of CPU", end=", ")
        print(f"fastest {each[0]:.1f}, 90% below {each[270]:.1f}", flush=True)
    print()


PARTS = {
    "adbench": adbench,
    "unsupervised": lambda: adbench(all_rows=True),
    "others": others,
    "clean": clean,
    "plant": faults,
    "alarms": alarms,
    "tennessee": tennessee,
    "skab": skab,
    "series": series,
    "dependence": dependence,
    "binary": binary,
    "large": large,
    "stream": stream,
    "monitor": monitor,
}

if __name__ == "__main__":
    warnings.simplefilter("ignore")
    for part in sys.argv[1:] or PARTS:
        heading(part)
        PARTS[part]()
