"""Sources of data, which hand out blocks of rows in passes.

``protocol`` defines sources, views and reductions; ``arrays``, ``disk`` (with ``readers``, ``npy``, ``streams``), ``dask`` and ``device`` are
the sources; ``reading`` and ``labels`` turn a user's input into a source; ``together`` lets computations share passes;
``writing`` writes files atomically, and ``archive`` reads .npz files of unknown origin.
"""
