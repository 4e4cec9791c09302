"""The Gram engine: sums over rows, degree by degree.

``survey`` (with ``scaling``) is the first pass, ``gram`` (with ``cuda``) every further one; ``grams`` is what is known
so far, ``basis`` what a fit has built, ``construction`` the loop over degrees; ``moments`` are sums without their rows.
"""
