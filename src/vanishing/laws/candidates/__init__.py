"""The searches, each of which proposes equations: by moments, by logarithms, in few rows, and cores of dirty tables.

By moments, ``search`` goes through the degrees, ``one_law`` finds the terms of one law (``subsets``, ``support``,
``snapping``, ``audits``, ``fitted``), ``independence`` tells new laws from consequences.
"""
