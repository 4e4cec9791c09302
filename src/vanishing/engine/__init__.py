"""The Gram engine: sums over rows, degree by degree.

``survey`` is the first pass, ``gram`` (with ``cuda``) every further one; ``monomials`` and ``products`` are the two
kinds of basis, each with the Gram entries known so far, ``construction`` is the loop over degrees; ``moments`` are sums
that a model can be fitted to without the rows, ``sql_sums`` lets a database compute them, and ``plausibility`` tells
sums in files from other numbers.
"""
