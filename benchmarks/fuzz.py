"""Damage files of moments at random and load them: each is refused with a ValueError, or its moments are valid.

python benchmarks/fuzz.py --files 100000
"""

import argparse
import random
import tempfile
import time
import zipfile
from math import comb
from pathlib import Path

import numpy as np

from vanishing import Moments


def damaged_bytes(rng, content):
    """The bytes with some of them changed, cut out, doubled, or put elsewhere."""
    content = bytearray(content)
    for _ in range(rng.choice([1, 1, 1, 2, 5, 20])):
        a, b = sorted(rng.randrange(len(content) + 1) for _ in range(2))
        b = min(b, a + rng.choice([1, 2, 4, 30, len(content)]))
        how = rng.randrange(4)
        if how == 0 and a < b:
            content[a] = rng.choice([0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)])
        elif how == 1:
            del content[a:b]
        elif how == 2:
            content[a:a] = content[a:b]
        else:
            content[a:b] = rng.randbytes(b - a)
    return bytes(content)


def damaged_parts(rng, parts):
    """The arrays with one of them changed in its bytes or in its header, in an archive that is whole."""
    parts = dict(parts)
    name = rng.choice(sorted(parts))
    if rng.random() < 0.1:
        del parts[name]
    elif rng.random() < 0.1:
        parts[name] = parts[rng.choice(sorted(parts))]
    else:
        content = parts[name]
        start = 0 if rng.random() < 0.5 else content.index(b"\n") + 1
        parts[name] = content[:start] + damaged_bytes(rng, content[start:] or b"\0")
    return parts


def assert_valid_or_refused(path):
    try:
        moments = Moments.load(path)
    except ValueError:
        return False
    assert moments.feature_names is None or len(moments.feature_names) == moments.n_features
    assert len(moments.terms) == comb(moments.n_features + moments.degree, moments.degree)
    if moments.n_samples and moments.total_weight:
        gram = moments.gram
        assert gram.shape == (len(moments.terms), len(moments.terms))
        largest = np.abs(gram).max()
        assert np.abs(gram - gram.T).max() <= 1e-6 * largest
        assert np.linalg.eigvalsh(gram / largest).min() >= -1e-6
        assert abs(gram[0, 0] - 1.0) <= 1e-6
    return True


def members_of(path):
    with zipfile.ZipFile(path) as file:
        return {name: file.read(name) for name in file.namelist()}


def fuzz(folder, n, seed):
    """Load damaged files; returns how many of them were still moments."""
    rng, path = random.Random(seed), folder / "damaged.npz"
    Moments(2, 2).update(np.random.default_rng(seed).random((50, 2))).save(folder / "m.npz")
    content, members = (folder / "m.npz").read_bytes(), members_of(folder / "m.npz")
    n_valid = 0
    for k in range(n):
        if k % 2:
            path.write_bytes(damaged_bytes(rng, content))
        else:
            with zipfile.ZipFile(path, "w") as file:
                for name, part in damaged_parts(rng, members).items():
                    file.writestr(name, part)
        n_valid += assert_valid_or_refused(path)
    return n_valid


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    begin = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        n_valid = fuzz(Path(folder), arguments.files, arguments.seed)
    print(f"{arguments.files} files: {arguments.files - n_valid} refused, {n_valid} valid moments,", end=" ")
    print(f"{time.perf_counter() - begin:.0f} s")


if __name__ == "__main__":
    main()
