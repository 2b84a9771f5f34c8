"""Bins of numbers, each with about the same number of values."""

from __future__ import annotations

import numpy as np

from boostrank.inputs.arrays import Floats, Ints


def equal_bins(values: Floats, n_bins: int) -> Ints:
    """Number of the bin of each value, 0, 1, ..., increasing with the value; equal values are in the same bin.

    A value is in the bin of the median rank of all values equal to it, so that a bin has about ``n / n_bins`` values.
    Bins that no value is in are not counted.

    Parameters
    ----------
    values : ndarray, shape (n,)
    n_bins : int
        Largest number of bins.

    Returns
    -------
    ndarray of int64, shape (n,)

    Examples
    --------
    >>> equal_bins(np.array([1.0, 5.0, 2.0, 2.0, 9.0, 7.0]), 3).tolist()
    [0, 1, 1, 1, 2, 2]
    """
    _, of_value, counts = np.unique(values, return_inverse=True, return_counts=True)
    # Twice the median rank, so that it is an integer and its bin is exact.
    twice_median = 2 * np.cumsum(counts) - counts
    bins = twice_median * n_bins // (2 * len(values))
    return np.unique(bins, return_inverse=True)[1][of_value]
