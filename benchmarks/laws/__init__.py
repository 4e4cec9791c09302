"""Do we find the laws that hold, all of them, and no others? See ``python -m benchmarks.laws --help``."""
