"""The algorithms at psi = 0 against the Buchberger-Moeller algorithm in rational arithmetic.

    python benchmarks/point_sets.py --sets 1000

Each set has 3 to 12 rational points of a curve or a surface (or on lines, on a grid, scattered). A fault is an order
ideal other than that of the points; for VCA, other numbers of components of each degree.
"""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from point_sets import count_faults


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    faults = count_faults(range(arguments.seed, arguments.seed + arguments.sets))
    for name, count in faults.items():
        print(f"{name}: {arguments.sets} sets, {count} faults")
    return int(any(faults.values()))


if __name__ == "__main__":
    sys.exit(main())
