"""The Gram engine: sums over rows, degree by degree.

``survey`` (with ``scaling``) is the first pass, ``gram`` (with ``cuda``) every further one; ``basis`` is what a fit has
built so far, ``construction`` the loop over degrees, ``lockstep`` that of many fits at once; ``moments`` are sums whose
rows are gone.
"""
