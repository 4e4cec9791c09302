"""Certificates of the solvers against exact minima in rational arithmetic.

    python benchmarks/certificates.py --problems 10000

Each problem has one to three coefficients, columns of scales 1e-6 to 1e6, sometimes of deficient rank, and a psi close
to the minimum. A violation is a certificate that differs from the exact minimum by more than the rounding of its own
evaluation in float64.
"""

import argparse
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from certificates import count_violations


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problems", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    statuses: dict[str, Counter] = {}
    violations = count_violations(range(arguments.seed, arguments.seed + arguments.problems), statuses)
    for name, counts in statuses.items():
        shown = ", ".join(f"{count} {status}" for status, count in sorted(counts.items()))
        print(f"{name}: {sum(counts.values())} problems, {violations[name]} violations ({shown})")
    return int(any(violations.values()))


if __name__ == "__main__":
    sys.exit(main())
