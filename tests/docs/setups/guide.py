"""Rows to scale, classes, normal rows and new ones."""

import numpy as np
from sklearn.datasets import load_iris
from sklearn.model_selection import train_test_split

X, y = load_iris(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
rng = np.random.default_rng(0)
angle = rng.uniform(0, 2 * np.pi, 300)
X_normal = np.column_stack([np.cos(angle), np.sin(angle)]) + rng.normal(0, 0.02, (300, 2))
X_new = np.array([[0.6, 0.8], [0.5, 0.5]])
