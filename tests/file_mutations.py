"""Files of models with something wrong in them, for the tests and for a longer run in benchmarks/fuzz.py."""

from __future__ import annotations

import copy
import io
import json
import zipfile

import numpy as np

ODD_VALUES = [
    None, True, False, 0, -1, 1, 3, 10**12, 2**63, 1e308, -0.5, "", "nan", "inf", "f8", "OAVI", [], [1], [[]], {},
    {"dtype": "f8", "shape": [10**12], "at": 0}, {"dtype": "f8", "shape": [1], "at": -8},
    {"dtype": "O", "shape": [1], "at": 0}, {"float": "nan"}, {"estimator": "OAVI", "saved": {}}, "\ud800", "../../etc",
]  # fmt: skip


def parts_of(data):
    """Header and arrays of a file."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return json.loads(archive.read("header.json")), archive.read("arrays.bin")


def file_of(header, arrays, *, compression=zipfile.ZIP_STORED, extra=()):
    """The bytes of a file."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", compression) as archive:
        archive.writestr("header.json", header if isinstance(header, (bytes, str)) else json.dumps(header))
        archive.writestr("arrays.bin", arrays)
        for name, content in extra:
            archive.writestr(name, content)
    return stream.getvalue()


def places(tree, path=()):
    """The paths to all values of a JSON tree."""
    yield path
    if isinstance(tree, dict):
        for key, value in tree.items():
            yield from places(value, (*path, key))
    elif isinstance(tree, list):
        for i, value in enumerate(tree):
            yield from places(value, (*path, i))


def mutated(data, rng):
    """The file with one thing changed: a value of the header, a number in an array, some bytes, or its length."""
    kind = rng.integers(6)
    if kind == 0:  # bytes anywhere
        changed = bytearray(data)
        for _ in range(rng.integers(1, 4)):
            changed[rng.integers(len(changed))] = rng.integers(256)
        return bytes(changed)
    if kind == 1:
        return data[: rng.integers(len(data))]
    header, arrays = parts_of(data)
    if kind == 2 and arrays:  # a number
        changed = bytearray(arrays)
        begin = 8 * rng.integers(len(changed) // 8)
        value = rng.choice([np.nan, np.inf, -1.0, 1e300, 0.0])
        integer = rng.choice([-1, 10**15, 0, 7, -(2**62)])
        changed[begin : begin + 8] = (np.float64(value) if rng.integers(2) else np.int64(integer)).tobytes()
        return file_of(header, bytes(changed))
    header = copy.deepcopy(header)
    every = list(places(header))
    path = every[rng.integers(len(every))]
    node = header
    for key in path[:-1]:
        node = node[key]
    if not path:
        return file_of(json.dumps(ODD_VALUES[rng.integers(len(ODD_VALUES))]), arrays)
    if kind == 3 and isinstance(node, dict):
        del node[path[-1]]
    elif kind == 4 and isinstance(node, dict):
        node[f"{path[-1]}_"] = node[path[-1]]
    else:
        node[path[-1]] = ODD_VALUES[rng.integers(len(ODD_VALUES))]
    return file_of(header, arrays)
