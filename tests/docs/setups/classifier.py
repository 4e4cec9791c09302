"""Two classes, and a table of numbers, text and gaps."""

import numpy as np
from sklearn.datasets import load_iris

X, species = load_iris(return_X_y=True, as_frame=True)
y = species == 2
table = X.assign(colour=np.where(X.iloc[:, 0] > 6, "red", "blue"))
table.iloc[::20, 1] = np.nan
