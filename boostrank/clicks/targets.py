"""Targets of surrogates from clicks: estimates of the gain, and of the normalized gain of NDCG.

Relevance is binary here: ``r_i`` is 1 if document ``i`` is relevant in a session, and 0 if not, with the mean
``gamma_i``. The normalized gains are ``u_i(r) = r_i h(n_i)``, where ``n_i`` is the number of relevant documents other
than ``i``, ``h(n) = 1 / Z(n + 1)``, and ``Z(n) = d(1) + ... + d(min(n, k))``. The page "Targets from clicks" of the
guide (examples/guide/theory/click_targets.md) proves which targets are consistent, and says which ones to use.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from scipy import sparse

from boostrank.clicks.log import ClickLog
from boostrank.clicks.models import Cascade, ClickModel
from boostrank.inputs.arrays import Floats, Ints
from boostrank.inputs.checks import refuse_first
from boostrank.queries.dcg import DCG
from boostrank.queries.queries import Queries
from boostrank.queries.segments import Segments

ClickNormalize = Literal["none", "independent", "sessions"]
Unit = Literal["sessions", "queries"]
# Largest number of weights in memory at a time; the weights of one list are never divided.
MAX_WEIGHTS = 2_000_000
# Largest rounding error of the targets of a session, relative to the largest target or corrected click of it.
MAX_ROUNDING = 1e-3


def targets_of_relevance(queries: Queries, relevance: Floats, normalize: ClickNormalize, dcg: DCG) -> Floats:
    """The targets of ``"none"`` or ``"independent"`` from probabilities of relevance, shape (n_documents,)."""
    if normalize == "none":
        return relevance
    return queries.ungroup(_times_expectation(queries.group(relevance), dcg, dcg.cutoffs(queries), queries))


def means_of_sessions(log: ClickLog, click_model: ClickModel, dcg: DCG, clip: float, not_shown: str) -> Floats:
    """The targets of ``"sessions"``, shape (n_documents,): means of unbiased estimates of the gains of each session.

    They have the expectation ``E[u]``, for every distribution of the relevances of a session; the page "Targets from
    clicks" of the guide has the proof. They may be negative, or above 1. With ``not_shown="error"``, sessions that do
    not show all documents of their query are refused.

    Examples
    --------
    >>> from boostrank.clicks import PositionBased
    >>> log = ClickLog([1, 1], row=[0, 1], position=[1, 2], clicks=[1, 1], session=[5, 5])
    >>> means_of_sessions(log, PositionBased([1.0, 0.5]), DCG(), clip=0.0, not_shown="error").round(4).tolist()
    [0.2263, 1.2263]
    """
    sessions, queries = log.sessions, log.queries
    if sessions is None:
        raise ValueError(
            "normalize='sessions' needs a log of sessions: counts do not say which documents were clicked together"
        )
    if isinstance(click_model, Cascade) and click_model.satisfaction == 1.0:
        raise ValueError(
            f"{click_model!r} shows at most one click of a session, so that the number of relevant documents of a "
            "session cannot be estimated; use normalize='none' or 'independent'"
        )
    query = log.query[sessions.starts]
    if not_shown == "error":
        sizes = queries.sizes[query]
        refuse_first(
            sessions.sizes < sizes,
            lambda session: (
                f"{log.name_of_session(session)} shows {sessions.sizes[session]} of the {sizes[session]} documents of "
                f"query {str(queries.ids[query[session]])!r}: the others have no support, and the ideal DCG "
                "depends on them. Pass not_shown='irrelevant' to assume that they are not relevant, or use "
                "normalize='none' or 'independent'"
            ),
        )
    a, b = click_model.corrections(log)
    cutoffs = dcg.cutoffs(queries)[query]
    if isinstance(click_model, Cascade):
        targets = _cascade_targets(log, sessions, np.maximum(a, clip), _inverse_ideals(dcg, sessions), cutoffs)
    else:
        values = (log.clicks - b) / np.maximum(a, clip)
        # An overflow is found afterwards.
        with np.errstate(over="ignore", invalid="ignore"):
            targets = _times_expectation(values, dcg, cutoffs, sessions)
            _require_digits(log, sessions, values, targets)
    return log.total(targets) / np.maximum(1, queries.ungroup(queries.repeat(_sessions_of_queries(log))))


def _inverse_ideals(dcg: DCG, lists: Segments) -> Floats:
    """``h(0), h(1), ...`` without a cutoff, to the size of the longest list."""
    return 1.0 / np.cumsum(dcg.discounts(int(lists.sizes.max())))


def _times_expectation(values: Floats, dcg: DCG, cutoffs: Ints, lists: Segments) -> Floats:
    """``t_i e_i`` for each document; the other arguments are those of :func:`expect_without_each`."""
    # Documents with the value 0 change nothing. Without trust bias these are all documents without a click.
    is_used = values != 0.0
    sizes = lists.sum(is_used.astype(np.int64))
    result = np.zeros(len(values))
    if is_used.any():
        used, used_lists = values[is_used], Segments.from_sizes(sizes[sizes > 0])
        result[is_used] = used * expect_without_each(used, _inverse_ideals(dcg, lists), cutoffs[sizes > 0], used_lists)
    return result


def _sessions_of_queries(log: ClickLog) -> Ints:
    """Number of sessions of each query, shape (n_queries,).

    In a log of counts, it is the largest number of impressions of a position.
    """
    n_queries = log.queries.n_queries
    if log.sessions is not None:
        return np.bincount(log.query[log.sessions.starts], minlength=n_queries)
    table = sparse.coo_array((log.impressions, (log.query, log.position)), (n_queries, log.n_positions + 1))
    return table.max(axis=1).toarray().ravel()


def session_weights(log: ClickLog, average: Unit) -> Floats:
    """Weight of each query, shape (n_queries,), with the sum 1; 0 for queries without impressions."""
    counts = _sessions_of_queries(log)
    weights = counts if average == "sessions" else counts > 0
    return weights / weights.sum()


def _require_digits(log: ClickLog, sessions: Segments, values: Floats, targets: Floats) -> None:
    """Raise ValueError if the targets of a session have large rounding errors, or overflow.

    The terms of ``e_i`` have both signs, and their absolute values add up to at most the product of ``|1 - t_j| +
    |t_j|``. So the rounding error of a target is about ``t_i`` times this product times the precision of a float.
    """
    size, largest = np.abs(values), sessions.max(np.abs(values))
    error = np.finfo(np.float64).eps * largest * np.multiply.reduceat(np.abs(1.0 - values) + size, sessions.starts)
    refuse_first(
        ~(error <= MAX_ROUNDING * np.maximum(largest, sessions.max(np.abs(targets)))),
        lambda session: (
            f"{log.name_of_session(session)} has {sessions.sum(log.clicks)[session]} clicks, and the unbiased targets "
            "of so many clicks at such propensities are lost in rounding errors; their variance would be huge too. "
            "Pass clip, or use normalize='none' or 'independent'"
        ),
    )


def _cascade_targets(log: ClickLog, sessions: Segments, w: Floats, h: Floats, cutoffs: Ints) -> Floats:
    """``h(k_i) / w_i + sum_{clicked j below i} (h(k_j) - h(k_j - 1)) / w_j``, with ``k_i`` clicks above ``i``."""
    above, last = sessions.sum_before(log.clicks), sessions.repeat(cutoffs) - 1
    h_above, h_before = h[np.minimum(above, last)], h[np.minimum(np.maximum(above - 1, 0), last)]
    change = np.where((log.clicks > 0) & (above > 0), (h_above - h_before) / w, 0.0)
    below = sessions.repeat(sessions.sum(change)) - sessions.sum_before(change) - change
    return np.where(log.clicks > 0, h_above / w + below, 0.0)


def expect_without_each(values: Floats, h: Floats, cutoffs: Ints, lists: Segments) -> Floats:
    """``e_i = E[h(number of relevant documents other than i)]`` for each document of several lists, shape (n_rows,).

    Documents are relevant independently with the probabilities ``t_i``, in which this is a multilinear polynomial: so
    it is defined for all real ``t_i``. It is computed without division and, for probabilities, without differences.

    Parameters
    ----------
    values : ndarray, shape (n_rows,)
        The numbers ``t_i``, list after list.
    h : ndarray
        The numbers ``h(0), h(1), ...`` of a list without a cutoff, as many as the longest list has documents.
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
    # Rows beyond the end of a list have the value 0, and do not change the number of relevant documents.
    padded, last = np.append(values, 0.0), np.minimum(cutoffs, len(h)) - 1
    for size_class in lists.size_classes:
        n_columns = size_class.rows.shape[1]
        step = max(1, MAX_WEIGHTS // (n_columns * n_columns))
        for first in range(0, len(size_class.segments), step):
            rows, segments = (numbers[first : first + step] for numbers in reversed(size_class))
            inside, tables = rows < lists.n_rows, h[np.minimum(np.arange(n_columns), last[segments, None])]
            result[rows[inside]] = _without_each(padded[rows], tables)[inside]
    return result


def _without_each(values: Floats, after: Floats) -> Floats:
    """The expectations for lists of the same size, the rows of `values`, and of ``h``, shape (n_lists, n_documents)."""
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
