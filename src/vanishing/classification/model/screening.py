"""Fewer columns where there are too many for an SVM: those that tell the classes apart."""

from __future__ import annotations

import numpy as np

from ..._typing import Bool1D, Float1D, Float2D, Int1D
from .features import FeatureMap

__all__ = ["relevant_columns"]


def relevant_columns(mapping: FeatureMap, columns: Float2D, codes: Int1D, weights: Float1D | None, most: int) -> Bool1D:
    """Which ``most`` columns to keep, from their values on labelled rows; those beside the generators always stay.

    The relevance of a column is its largest absolute correlation with the label of a class. Classes share most leading
    terms, and g of one class differs from g of another by smaller terms: of the signed columns, the first of each
    leading term can be kept. They share the places with the columns |g|.
    """
    first, second = mapping.absolute.size, mapping.absolute.size + mapping.signed.size
    relevance = _relevance(columns[:, :second], codes, weights)
    once = first + _first_of_each(mapping)
    signed = once[np.argsort(-relevance[once], kind="stable")[: most // 2]]
    n_left = max(most - signed.size - mapping.extras.n_columns, 0)
    absolute = np.argsort(-relevance[:first], kind="stable")[:n_left]
    keep = np.zeros(mapping.n_columns, dtype=bool)
    keep[signed] = keep[absolute] = keep[second:] = True
    return keep


def _first_of_each(mapping: FeatureMap) -> Int1D:
    """The places of the signed columns whose leading term no earlier one has."""
    terms = np.concatenate([polynomials.leading_terms for polynomials in mapping.lists])[mapping.signed]
    return np.sort(np.unique(terms, axis=0, return_index=True)[1]) if terms.size else np.empty(0, dtype=np.int64)


def _relevance(columns: Float2D, codes: Int1D, weights: Float1D | None) -> Float1D:
    """The largest absolute correlation of every column with the label of a class."""
    weights = np.ones(len(codes)) if weights is None else weights
    share = weights / weights.sum()
    mean = share @ columns
    deviation = np.sqrt(np.maximum(share @ columns**2 - mean**2, 0.0))
    largest = np.zeros(columns.shape[1])
    for code in np.unique(codes):
        own = share * (codes == code)
        total = own.sum()
        covariance = own @ columns - total * mean
        largest = np.maximum(largest, np.abs(covariance) / np.sqrt(max(total * (1.0 - total), 1e-300)))
    return np.asarray(np.where(deviation > 0.0, largest / np.where(deviation > 0.0, deviation, 1.0), 0.0))
