"""Standard errors of propensities, from the influence of each click on their estimates."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from boostrank.clicks.interventions import Shown
from boostrank.clicks.propensities import Propensities
from boostrank.inputs.arrays import Bools, Floats

# Matrices with one line for each entry and one column for each position have at most this many numbers.
MAX_NUMBERS = 4_000_000


class ClickErrors:
    """Standard errors of logarithms of propensities, which are sums over clicks up to terms of higher order.

    Let ``w_ij`` be the *influence* of a click of entry ``i`` on the logarithm of the propensity ``j``: its derivative
    by the number of clicks of the entry. The error of the logarithm is about ``sum_i w_ij (c_i - E[c_i])``. There are
    two estimates of its variance, and the larger one is used.

    - *Independent clicks.* ``sum_i w_ij^2 Var(c_i)``, where ``Var(c_i) = n_i p_i g (1 - p_i g)`` for ``n_i``
      impressions of a document of relevance ``g`` at a position of propensity ``p_i``. With the sums over all entries
      of the row, ``C = sum c`` and ``N = sum n p``, the estimates ``C / N`` of ``g`` and ``C (C - 1) / (N^2 - sum n
      p^2)`` of ``g^2`` have no bias.
    - *Robust to dependence.* ``Q / (Q - 1) sum_q (sum_{i in q} w_ij c_i)^2`` over the ``Q`` queries (a sandwich
      estimator with queries as clusters), which holds for any dependence between the clicks of a query. It uses that
      the expectation of the inner sum is 0. It is too small if few queries have documents at a position, and 0 for one.

    The standard error of a propensity is the propensity times that of its logarithm (delta method).

    Parameters
    ----------
    shown : Shown
        Entries, at positions with the numbers 1 to n_supported.
    propensity : ndarray, shape (n_supported,)
        Estimated propensities of these positions, relative to the first.
    """

    def __init__(self, shown: Shown, propensity: Floats) -> None:
        self._shown, self._propensity = shown, propensity
        queries, self._query = np.unique(shown.query, return_inverse=True)
        self._independent = np.zeros(len(propensity))
        self._sums = np.zeros((len(queries), len(propensity)))
        self._used = np.zeros(len(shown.row), dtype=bool)
        p, rows = propensity[shown.position - 1], shown.rows
        examined = shown.impressions * p
        clicks, total = rows.sum(shown.clicks).astype(np.float64), rows.sum(examined)
        pairs = total**2 - rows.sum(examined * p)
        square = np.divide(clicks * (clicks - 1.0), pairs, out=np.zeros_like(pairs), where=pairs > 1e-9 * total**2)
        self._variance = examined * rows.repeat(clicks / total) - examined * p * rows.repeat(square)

    def blocks(self) -> Iterator[tuple[slice, Shown]]:
        """The entries in parts with complete rows, so that a matrix of entries by positions fits into memory."""
        for block in self._shown.rows.blocks(max(1, MAX_NUMBERS // len(self._propensity))):
            yield block.rows, self._shown.where(block.rows)

    def add(self, entries: slice, influence: Floats) -> None:
        """Add some of the entries, with their influences of shape (n, n_supported); 0 for those that are not used."""
        self._independent += self._variance[entries] @ influence**2
        self._used[entries] = influence.any(axis=1)
        clicks = self._shown.clicks[entries]
        clicked = clicks > 0
        np.add.at(self._sums, self._query[entries][clicked], clicks[clicked, None] * influence[clicked])

    def propensities(self, supported: Bools, method: str, reasons: dict[int, str]) -> Propensities:
        """The propensities with their standard errors.

        Parameters
        ----------
        supported : ndarray of bool, shape (n_positions,)
            The positions that have an estimate.
        method, reasons
            As in :class:`Propensities`.
        """
        values, independent = np.full(len(supported), np.nan), np.zeros(len(supported))
        values[supported], independent[supported] = self._propensity, self._independent
        scores = np.zeros((len(self._sums), len(supported)))
        scores[:, supported] = self._sums
        used = self._shown.where(self._used)
        original = replace(used, position=np.flatnonzero(supported)[used.position - 1] + 1)
        return propensities_with_errors(values, independent, scores, original, method, reasons)


def propensities_with_errors(
    values: Floats, independent: Floats, scores: Floats, used: Shown, method: str, reasons: dict[int, str]
) -> Propensities:
    """Propensities with the standard errors of two estimates of the variance, as in :class:`ClickErrors`.

    Parameters
    ----------
    values : ndarray, shape (n_positions,)
        The propensities, NaN where there is none.
    independent : ndarray, shape (n_positions,)
        Variance of their logarithms for independent clicks.
    scores : ndarray, shape (n_queries, n_positions)
        Sums over the entries of each query of influence times clicks, which have the expectation 0.
    used : Shown
        The entries that the estimate uses.
    method, reasons
        As in :class:`Propensities`.
    """
    n_queries, n_positions = len(np.unique(used.query)), len(values)
    robust = (scores**2).sum(axis=0) * n_queries / max(1, n_queries - 1)
    errors = values * np.sqrt(np.maximum(independent, robust))
    errors[0] = 0.0
    clicks, impressions = np.zeros((2, n_positions), dtype=np.int64)
    np.add.at(clicks, used.position - 1, used.clicks)
    np.add.at(impressions, used.position - 1, used.impressions)
    return Propensities(values, errors, method, clicks, impressions, n_queries, reasons)
