"""
Why this prediction?
====================

The decision is a sum, so it can be taken apart exactly: left, what the terms add for one patient; right, the inputs
that would give another answer if they alone were different, and by what share of their ranges.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer

from vanishing import VanishingIdealClassifierCV
from vanishing.plots import plot_contributions

data = load_breast_cancer(as_frame=True)
X, y = data.data, data.target_names[data.target]
clf = VanishingIdealClassifierCV(refit="1se").fit(X, y)
row = X.iloc[np.argsort(np.abs(clf.decision_function(X)))[12]]  # a close call
explanation = clf.explain(row)
print(explanation)

figure, (left, right) = plt.subplots(1, 2, figsize=(13, 5), layout="constrained", width_ratios=[1, 1])
plot_contributions(explanation, ax=left)
left.set_title(f"predicted {explanation.label}: terms of the log-odds of {explanation.towards}", loc="left")
changes = explanation.changes[:8]
spans = [np.ptp(X[change.name]) for change in changes]
shares = [100 * (change.new_value - change.value) / span for change, span in zip(changes, spans, strict=True)]
right.barh(range(len(changes)), shares, color="#e69f00")
texts = [f"{change.name}: {change.value:.4g} → {change.new_value:.4g}" for change in changes]
right.set_yticks(range(len(changes)), texts)
right.axvline(0, color="0.4", linewidth=1)
right.invert_yaxis()
right.set(xlabel="change, % of the range")
right.set_title(f"each alone gives {changes[0].new_label}", loc="left")
right.spines[["top", "right"]].set_visible(False)
