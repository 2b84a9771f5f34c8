"""Metrics of pairs of documents: Kendall's tau and the area under the ROC curve."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from boostrank.dcg import DCG, Ties
from boostrank.metrics.binary import check_threshold
from boostrank.metrics.mean import Empty, score
from boostrank.segments import Floats, Ints, Segments


def kendall_tau_score(
    y_true: ArrayLike,
    y_score: ArrayLike,
    qid: ArrayLike | None = None,
    *,
    empty: Empty = "skip",
    sample_weight: ArrayLike | None = None,
    per_query: bool = False,
) -> float | Floats:
    """Mean over queries of Kendall's tau-b between labels and scores.

    ``tau_b = (C - D) / sqrt((N - N_y) (N - N_s))`` with, of the ``N = n (n - 1) / 2`` pairs of a query's documents,
    ``C`` that labels and scores order alike, ``D`` that they order oppositely, ``N_y`` of equal labels and ``N_s`` of
    equal scores. All ranks count the same; there is no cutoff.

    Parameters
    ----------
    y_true, y_score, qid, sample_weight, per_query
        See :func:`boostrank.ndcg_score`.
    empty : {"zero", "one", "skip", "raise"}, default "skip"
        A query whose labels or whose scores are all equal, where tau is 0/0 (also one of a single document), is left
        out, counts 0 (no association), 1 (nothing is out of order), or is an error. Constant scores are skipped too,
        so compare rankers of few distinct scores with ``"zero"``.

    Returns
    -------
    float in [-1, 1], or ndarray of shape (n_queries,)

    Raises
    ------
    ValueError
        For labels, scores, ids, weights or settings that are invalid, and if no query is left; the message names the
        argument.

    References
    ----------
    Kendall, "The treatment of ties in ranking problems", Biometrika 1945.

    Examples
    --------
    >>> round(kendall_tau_score([3, 2, 1, 0], [0.9, 0.1, 0.5, 0.2]), 4)  # 4 pairs alike, 2 oppositely
    0.3333
    """
    reason = "has labels or scores that are all equal"
    return score(_kendall_tau, y_true, y_score, qid, empty, sample_weight, per_query, reason)


def auc_score(
    y_true: ArrayLike,
    y_score: ArrayLike,
    qid: ArrayLike | None = None,
    *,
    threshold: float = 1,
    empty: Empty = "skip",
    sample_weight: ArrayLike | None = None,
    per_query: bool = False,
) -> float | Floats:
    """Mean over queries of the area under the ROC curve.

    ``AUC = (C + T / 2) / (R I)``: of the pairs of one of the ``R`` relevant and one of the ``I`` irrelevant documents
    of a query, ``C`` have the relevant one before the other, and ``T`` have equal scores. Pairs across queries do not
    count.

    Parameters
    ----------
    y_true, y_score, qid, sample_weight, per_query
        See :func:`boostrank.ndcg_score`.
    threshold : float, default 1
        Labels of at least this are relevant.
    empty : {"zero", "one", "skip", "raise"}, default "skip"
        A query whose documents are all relevant or all irrelevant, which has no such pair, is left out, counts 0, 1,
        or is an error.

    Returns
    -------
    float in [0, 1], or ndarray of shape (n_queries,)

    Raises
    ------
    ValueError
        For labels, scores, ids, weights or settings that are invalid, and if no query is left; the message names the
        argument.

    References
    ----------
    Hanley and McNeil, "The meaning and use of the area under a receiver operating characteristic (ROC) curve",
    Radiology 1982.

    Examples
    --------
    >>> auc_score([1, 0, 1, 0], [0.9, 0.5, 0.5, 0.1])  # 3 pairs in order, 1 tied
    0.875
    """
    check_threshold(threshold)

    def measure(relevance: Floats, scores: Floats, queries: Segments) -> Floats:
        gains = (relevance >= threshold).astype(np.float64)
        relevant = queries.sum(gains)
        pairs = relevant * (queries.sizes - relevant)
        # Documents at or after a rank, in the longest query: linear in the rank, so ties get their mean rank.
        longest = float(queries.sizes.max())
        after = DCG(discount=lambda ranks: np.maximum(longest + 1.0 - ranks, 0.0))
        ranks = relevant * (longest + 1.0) - after.of_ranking(gains, scores, queries)
        out_of_order = ranks - relevant * (relevant + 1.0) / 2.0
        return np.divide(pairs - out_of_order, pairs, out=np.full(len(pairs), np.nan), where=pairs > 0)

    reason = f"has only relevant or only irrelevant documents (relevant: a label of at least {threshold:g})"
    return score(measure, y_true, y_score, qid, empty, sample_weight, per_query, reason)


def _kendall_tau(relevance: Floats, scores: Floats, queries: Segments) -> Floats:
    result = np.empty(queries.n_segments)
    for block in queries.blocks():
        result[block.segments] = _block_tau(relevance[block.rows], scores[block.rows], block.part)
    return result


def pairs_out_of_order(labels: Floats, scores: Floats, queries: Segments, ties: Ties) -> tuple[Floats, Floats]:
    """Pairs of each query's documents that labels tell apart and scores turn round, and all that labels tell apart.

    Of pairs of equal scores half count (``"average"``), those that the order of rows turns round, none, or all.
    """
    turned, total = np.empty(queries.n_segments), np.empty(queries.n_segments)
    for block in queries.blocks():
        part = block.part
        codes, label_runs = _label_codes(labels[block.rows], part)
        tiebreaks = {"average": (codes, -codes), "stable": (None,), "best": (codes,), "worst": (-codes,)}[ties]
        orders = [part.sort(scores[block.rows], tiebreak) for tiebreak in tiebreaks]
        turned[block.segments] = np.mean([_inversions(codes[order], part) for order in orders], axis=0)
        total[block.segments] = part.sizes * (part.sizes - 1) // 2 - _tied_pairs(label_runs, part)
    return turned, total


def _label_codes(labels: Floats, queries: Segments) -> tuple[Ints, Segments]:
    """Rank of each label among the distinct ones of its query, from 0 for the highest, and the runs of equal labels."""
    by_label = queries.sort(labels)
    label_runs = queries.runs(labels[by_label])
    distinct = label_runs.repeat(np.arange(label_runs.n_segments))
    codes = np.empty(queries.n_rows, dtype=np.int64)
    codes[by_label] = distinct - queries.repeat(distinct[queries.starts])
    return codes, label_runs


def _block_tau(labels: Floats, scores: Floats, queries: Segments) -> Floats:
    codes, label_runs = _label_codes(labels, queries)
    # By decreasing score, and by label within equal scores: no pair of those is then out of order.
    order = queries.sort(scores, codes)
    codes, ordered_scores = codes[order], scores[order]
    score_runs = queries.runs(ordered_scores)
    same_label, same_score = _tied_pairs(label_runs, queries), _tied_pairs(score_runs, queries)
    same_both = _tied_pairs(queries.runs(codes, ordered_scores), queries)
    n_pairs = queries.sizes * (queries.sizes - 1) // 2
    balance = n_pairs - same_label - same_score + same_both - 2 * _inversions(codes, queries)
    norm = np.sqrt((n_pairs - same_label).astype(np.float64)) * np.sqrt((n_pairs - same_score).astype(np.float64))
    tau = np.divide(balance, norm, out=np.full(len(norm), np.nan), where=norm > 0)
    return np.clip(tau, -1.0, 1.0)


def _tied_pairs(tied: Segments, queries: Segments) -> Ints:
    """Pairs of documents in the same run, for each query."""
    pairs = np.zeros(queries.n_rows, dtype=np.int64)
    pairs[tied.starts] = tied.sizes * (tied.sizes - 1) // 2
    return queries.sum(pairs)


def _inversions(codes: Ints, queries: Segments) -> Ints:
    """Pairs of each query's documents of which the first has the larger code, counted bit by bit.

    A pair is out of order by the highest bit in which its codes differ. So, from the highest bit down, among
    documents that agree in the bits above, count for each 0 the 1s before it; then move, stably, the 0s before the 1s.
    """
    count = np.zeros(queries.n_segments, dtype=np.int64)
    for bit in reversed(range(int(codes.max()).bit_length())):
        agree = queries.runs(codes >> (bit + 1))
        ones = (codes >> bit) & 1
        ones_before = agree.sum_before(ones)
        count += queries.sum((1 - ones) * ones_before)
        zeros = agree.sizes - agree.sum(ones)
        place = np.where(ones == 1, agree.repeat(zeros) + ones_before, agree.positions - ones_before)
        moved = np.empty_like(codes)
        moved[agree.repeat(agree.starts) + place] = codes
        codes = moved
    return count
