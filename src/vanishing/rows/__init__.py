"""Where the data are: from what a user has to blocks of rows that can be summed over.

``protocol`` says what a source of rows is; ``arrays``, ``disk`` (with ``readers``), ``dask`` and ``device`` are the
sources; ``reading`` and ``labels`` find the one for what a user gives; ``together`` lets computations share passes;
``writing`` and ``archive`` are files that are complete or not there, and files from strangers.
"""
