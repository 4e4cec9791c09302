"""Numbers that several folders share: rounding, the sizes of memory, the lengths of printed lists."""

from __future__ import annotations

import math
import sys

# What arithmetic in float64 allows.

EPS, TINY = sys.float_info.epsilon, sys.float_info.min
ROOT_EPS = math.sqrt(EPS)  # relative accuracy of a length whose square was rounded
_, N_HASHES = EPS.as_integer_ratio()  # hashes of rows are integers below this, which float64 holds exactly
ROUNDING = 8.0 * EPS  # error of each term of a sum of products, relative to its size, with room for the solves
SINGULAR = 1e-10  # share of a column's square outside the span of others, below which it counts as dependent

WIDE = 5.0  # deviations: one normal row in two million is farther off

# Sizes of memory.

CACHE_ENTRIES = 65_536  # float64 values of one chunk: half a megabyte, within a core's second-level cache
CACHE_LINE = 8  # float64 values that are read together from memory
FEWEST_ROWS = 1024  # rows that stay one block, and one chunk, whatever a kernel costs
LONGEST_BLOCK = 131_072  # rows of a block, at most: threads share a table of a million

# Lengths of printed lists.

IN_REPR = 5  # lines of a repr, and entries of one line
IN_TEXT = 10  # lines of one result among several
IN_HTML = 20  # lines of a single result, which fit on a screen
