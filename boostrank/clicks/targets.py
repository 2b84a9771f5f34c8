"""Targets of surrogates from clicks: estimates of the gain, and of the normalized gain of NDCG.

Relevance is binary here: ``r_i`` is 1 if document ``i`` is relevant in a session, and 0 if not,
with the mean ``gamma_i``. The normalized gains are ``u_i(r) = r_i h(n_i)``, where ``n_i`` is the
number of relevant documents other than ``i``, ``h(n) = 1 / Z(n + 1)``, and ``Z(n) = d(1) + ... +
d(min(n, k))``. The page "Targets from clicks" of the guide (examples/guide/theory/click_targets.md)
proves which targets are consistent, and says which ones to use.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from scipy import sparse

from boostrank.clicks.log import ClickLog
from boostrank.inputs.arrays import Floats, Ints
from boostrank.ndcg.dcg import DCG
from boostrank.queries.queries import Queries
from boostrank.queries.segments import Segments

ClickNormalize = Literal["none", "independent"]
Unit = Literal["sessions", "queries"]
# Largest number of weights in memory at a time; the weights of one list are never divided.
MAX_WEIGHTS = 2_000_000


def targets_of_relevance(
    queries: Queries, relevance: Floats, normalize: ClickNormalize, dcg: DCG
) -> Floats:
    """The target of each row, ``"none"`` or ``"independent"``, from probabilities of relevance."""
    if normalize == "none":
        return relevance
    grouped = queries.group(relevance)
    # Documents with the relevance 0 change nothing. Often these are all documents without a click.
    is_used = grouped != 0.0
    sizes = queries.sum(is_used.astype(np.int64))
    result = np.zeros(len(grouped))
    if is_used.any():
        used = grouped[is_used]
        lists = Segments.from_sizes(sizes[sizes > 0])
        cutoffs = dcg.cutoffs(queries)[sizes > 0]
        # h(0), h(1), ... without a cutoff, to the size of the longest list.
        h = 1.0 / np.cumsum(dcg.discounts(int(queries.sizes.max())))
        result[is_used] = used * expect_without_each(used, h, cutoffs, lists)
    return queries.ungroup(result)


def session_weights(log: ClickLog, average: Unit) -> Floats:
    """Weight of each query, shape (n_queries,), with the sum 1; 0 for queries without impressions.

    In a log of counts, the number of sessions of a query is the largest number of impressions of a
    position.
    """
    n_queries = log.queries.n_queries
    if log.sessions is not None:
        counts = np.bincount(log.query[log.sessions.starts], minlength=n_queries)
    else:
        cells = (log.query, log.position)
        shape = (n_queries, log.n_positions + 1)
        table = sparse.coo_array((log.impressions, cells), shape)
        counts = table.max(axis=1).toarray().ravel()
    weights = counts if average == "sessions" else counts > 0
    return weights / weights.sum()


def expect_without_each(values: Floats, h: Floats, cutoffs: Ints, lists: Segments) -> Floats:
    """``e_i = E[h(number of relevant documents other than i)]`` for each document of several lists.

    Documents are relevant independently with the probabilities ``t_i``. It is computed without
    division, and without differences of terms.

    Parameters
    ----------
    values : ndarray, shape (n_rows,)
        The numbers ``t_i``, list after list.
    h : ndarray
        The numbers ``h(0), h(1), ...`` of a list without a cutoff, as many as the longest list has
        documents.
    cutoffs : ndarray of int64, shape (n_lists,)
        Cutoff ``k`` of each list, for which ``h(n)`` is ``h(k - 1)`` if ``n`` is larger.
    lists : Segments

    Examples
    --------
    >>> values, h, lists = np.array([0.5, 0.2]), np.array([1.0, 0.6]), Segments.from_sizes([2])
    >>> expect_without_each(values, h, np.array([2]), lists).round(4).tolist()
    [0.92, 0.8]
    """
    result = np.empty(len(values))
    # Rows beyond the end of a list have the value 0, and do not change the number of relevant
    # documents.
    padded = np.append(values, 0.0)
    last = np.minimum(cutoffs, len(h)) - 1
    for size_class in lists.size_classes:
        n_columns = size_class.rows.shape[1]
        step = max(1, MAX_WEIGHTS // (n_columns * n_columns))
        for first in range(0, len(size_class.segments), step):
            rows = size_class.rows[first : first + step]
            segments = size_class.segments[first : first + step]
            tables = h[np.minimum(np.arange(n_columns), last[segments, None])]
            inside = rows < lists.n_rows
            result[rows[inside]] = _without_each(padded[rows], tables)[inside]
    return result


def _without_each(values: Floats, after: Floats) -> Floats:
    """The expectations for lists of the same size, which are the rows of `values` and of `after`.

    `after` has the numbers ``h`` of each list. All have the shape (n_lists, n_documents).
    """
    n_lists, m = values.shape
    before = np.zeros((m, n_lists, m))
    before[0, :, 0] = 1.0
    for i in range(m - 1):
        t = values[:, i, None]
        np.multiply(before[i], 1.0 - t, out=before[i + 1])
        before[i + 1, :, 1:] += t * before[i, :, :-1]
    result = np.empty_like(values)
    for i in range(m - 1, -1, -1):
        # There are at most i relevant documents before document i.
        result[:, i] = (before[i, :, : i + 1] * after[:, : i + 1]).sum(axis=1)
        t = values[:, i, None]
        after = (1.0 - t) * after[:, :i] + t * after[:, 1 : i + 1]
    return result
