"""Correction of p-values for the number of tests."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from boostrank.inputs.arrays import Floats, as_floats


def holm(p_values: ArrayLike) -> Floats:
    """Holm's step-down adjustment of the p-values of several tests.

    For ``p_(1) <= ... <= p_(m)``, the adjusted ``p_(i)`` is the maximum of ``min(1, (m - j + 1) p_(j))`` over
    ``j <= i``. If the hypotheses with an adjusted p-value of at most alpha are rejected, the probability of one or more
    false rejections is at most alpha, even if the tests depend on each other.

    Parameters
    ----------
    p_values : array-like, shape (n_tests,)
        From 0 to 1. NaN stands for a test that was not made; its result is NaN, and it does not count as a test.

    Returns
    -------
    ndarray, shape (n_tests,)
        The adjusted p-values.

    Raises
    ------
    ValueError
        If `p_values` is not one-dimensional, or a p-value is outside of [0, 1].

    References
    ----------
    Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of Statistics 1979.

    Examples
    --------
    >>> holm([0.01, 0.04, float("nan"), 0.03]).round(2).tolist()
    [0.03, 0.06, nan, 0.06]
    """
    given = as_floats(p_values, "p_values", keep_shape=True)
    if given.ndim != 1:
        raise ValueError(f"p_values must be one-dimensional, one per test; got shape {given.shape}")
    tests = np.flatnonzero(~np.isnan(given))
    if ((given[tests] < 0) | (given[tests] > 1)).any():
        raise ValueError(f"p_values must be from 0 to 1, or NaN; got {given.tolist()}")
    increasing = tests[np.argsort(given[tests], kind="stable")]
    adjusted = np.full(len(given), np.nan)
    factors = np.arange(len(increasing), 0, -1)
    adjusted[increasing] = np.minimum(1.0, np.maximum.accumulate(factors * given[increasing]))
    return adjusted
