"""Expectations of functions of how many other documents of a list are relevant, with probabilities or signed weights.

Let the documents of a list be relevant independently with the probabilities ``t_j``. The number of relevant documents
other than ``i`` then has a Poisson binomial distribution, and the expectation of a function ``h`` of it is

    e_i = sum_{S without i} prod_{j in S} t_j prod_{j not in S, j != i} (1 - t_j) h(|S|).

The sum is a multilinear polynomial of the ``t_j``, so that it is defined for all real ``t_j``, also for those outside
of [0, 1]. Let ``P_i[n]`` be the weight of ``n`` relevant documents among those before ``i``, and ``D_i[n]`` the
expectation of ``h(n + N)`` where ``N`` counts those after ``i``. Then

    P_{i+1}[n] = (1 - t_i) P_i[n] + t_i P_i[n - 1],      D_{i-1}[n] = (1 - t_i) D_i[n] + t_i D_i[n + 1],
    e_i = sum_n P_i[n] D_i[n].

Both recursions take O(m) operations for each of the m documents. There are no divisions by ``1 - t_i``, which is 0 for
documents that are relevant for sure, and no differences, so that for probabilities all terms are positive.
"""

from __future__ import annotations

import numpy as np

from boostrank.core.segments import Segments
from boostrank.inputs.arrays import Floats

# Largest number of weights in memory at a time; the weights of one list are never divided.
MAX_WEIGHTS = 2_000_000


def expect_without_each(values: Floats, tables: Floats, lists: Segments) -> Floats:
    """``e_i`` of the module's text for each document of several lists, shape (n_rows,).

    Parameters
    ----------
    values : ndarray, shape (n_rows,)
        The numbers ``t_i``, list after list.
    tables : ndarray, shape (n_lists, n) or (1, n)
        The numbers ``h(0), h(1), ...`` of each list, or of all lists; ``n`` is at least the size of the largest list.
    lists : Segments

    Examples
    --------
    >>> values, tables = np.array([0.5, 0.2]), np.array([[1.0, 0.6]])
    >>> expect_without_each(values, tables, Segments.from_sizes([2])).round(4).tolist()
    [0.92, 0.8]
    """
    result = np.empty(len(values))
    # Rows beyond the end of a list have the value 0, and do not change the number of relevant documents.
    padded = np.append(values, 0.0)
    largest = max(size_class.rows.shape[1] for size_class in lists.size_classes)
    tables = np.pad(tables, ((0, 0), (0, max(0, largest - tables.shape[1]))))
    for size_class in lists.size_classes:
        n_columns = size_class.rows.shape[1]
        step = max(1, MAX_WEIGHTS // (n_columns * n_columns))
        for first in range(0, len(size_class.segments), step):
            rows = size_class.rows[first : first + step]
            chosen = size_class.segments[first : first + step] if len(tables) > 1 else slice(None)
            inside = rows < lists.n_rows
            result[rows[inside]] = _without_each(padded[rows], tables[chosen, :n_columns])[inside]
    return result


def _without_each(values: Floats, tables: Floats) -> Floats:
    """The expectations for lists of the same size: the rows of `values`, shape (n_lists, n_documents)."""
    n_lists, m = values.shape
    before = np.zeros((m, n_lists, m))
    before[0, :, 0] = 1.0
    for i in range(m - 1):
        t = values[:, i, None]
        np.multiply(before[i], 1.0 - t, out=before[i + 1])
        before[i + 1, :, 1:] += t * before[i, :, :-1]
    result = np.empty_like(values)
    after = np.broadcast_to(tables, (n_lists, tables.shape[1])).copy()
    for i in range(m - 1, -1, -1):
        # There are at most i relevant documents before document i.
        result[:, i] = (before[i, :, : i + 1] * after[:, : i + 1]).sum(axis=1)
        t = values[:, i, None]
        after = (1.0 - t) * after[:, :i] + t * after[:, 1 : i + 1]
    return result
