"""Tables of numbers, before any search: which rows, how they were rounded, which columns depend on others, which units.

``relation`` has the distances of rows from an equation, by which every candidate is judged.
"""
