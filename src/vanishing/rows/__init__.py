"""Sources of data, which hand out blocks of rows in passes.

``protocol`` defines sources, views and reductions; ``arrays``, ``disk`` (with the readers in ``readers``, ``npy`` and
``streams``), ``dask`` and ``device`` are the sources; ``reading`` and ``labels`` turn a user's input into a source;
``together`` lets computations share passes; ``sampling`` draws folds and rows; ``writing`` writes files atomically,
``archive`` reads .npz files of unknown origin, and ``sql`` talks to databases.
"""
