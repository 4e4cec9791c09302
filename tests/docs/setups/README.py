"""The repository's example table, where the README looks for it."""

import shutil
from pathlib import Path

import vanishing

Path("examples").mkdir()
shutil.copy(Path(vanishing.__file__).parents[2] / "examples" / "gas.csv", "examples/gas.csv")
