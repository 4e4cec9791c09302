"""``vanishing demo``: the law of a noisy table, an ellipsoid in two million points, and two classes of the paper."""

from __future__ import annotations

import argparse

__all__ = ["EXAMPLES", "add_arguments", "run"]

EXAMPLES = ("vanishing demo", "vanishing demo --rows 20000")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("--rows", type=int, default=2_000_000, help="rows of each data set (default: 2,000,000)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the random numbers (default: 0)")


def run(arguments: argparse.Namespace) -> None:
    """Tell the story with this number of rows."""
    if arguments.rows < 100 or arguments.rows % 2:
        raise ValueError(f"--rows must be an even number of at least 100, got {arguments.rows}.")
    from .demonstration import tell

    tell(arguments.rows, arguments.seed)
