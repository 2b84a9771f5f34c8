"""NDCG in detail: by cutoff, by rank, and in expectation over noisy labels."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from boostrank.inputs.arrays import Floats, Ints, check_lengths
from boostrank.inputs.checks import is_count
from boostrank.metrics.base import Empty, compute_measures
from boostrank.metrics.labels import check_scores, labels_scores_queries, require_ids
from boostrank.metrics.ndcg import NDCG
from boostrank.queries.dcg import DCG, Discount, Gain, Ties, check_relevance, check_ties, tiebreak
from boostrank.queries.queries import Queries
from boostrank.queries.weights import query_weights


def ndcg_curve(
    y_true: ArrayLike,
    y_score: ArrayLike,
    qid: ArrayLike | None = None,
    *,
    ks: Iterable[int] = range(1, 11),
    gain: Gain = "exp2",
    discount: Discount = "log2",
    ties: Ties = "average",
    empty: Empty = "zero",
    sample_weight: ArrayLike | None = None,
    per_query: bool = False,
) -> Floats:
    """Mean NDCG@k over queries for each k of `ks`; takes about as long as two calls of :func:`boostrank.ndcg_score`.

    Documents are sorted once by score and once by gain, and their discounted gains are cumulated. If ties are averaged,
    each rank of a run of tied documents has the mean gain of the run.

    Parameters
    ----------
    y_true, y_score, qid, gain, discount, ties, empty, sample_weight
        As in :func:`boostrank.ndcg_score`.
    ks : iterable of int, default 1 to 10
        Cutoffs, at least 1. They need not be sorted.
    per_query : bool, default False
        Return the values of each query instead of the means, as in :func:`boostrank.ndcg_score`.

    Returns
    -------
    ndarray, shape (n_ks,) or (n_queries, n_ks)

    Raises
    ------
    ValueError
        As :func:`boostrank.ndcg_score`, and if `ks` is empty or has a value that is not an integer of at least 1.

    Examples
    --------
    >>> ndcg_curve([0, 1, 2], [0.3, 0.2, 0.1], qid=[7, 7, 7], ks=[1, 2, 3]).round(4).tolist()
    [0.0, 0.1738, 0.5869]
    """
    cutoffs = check_ks(ks)
    labels, scores, queries = labels_scores_queries(y_true, y_score, qid, "ndcg_curve")
    measures = [NDCG(k=int(k), gain=gain, discount=discount, ties=ties, empty=empty) for k in cutoffs]
    weights = query_weights(sample_weight, queries, grouped=False)
    return np.stack(compute_measures(measures, labels, scores, queries, weights, per_query=per_query), axis=-1)


def check_ks(ks: Iterable[int]) -> Ints:
    """Return cutoffs as an array; raise ValueError if there is none, or one is not an integer of at least 1."""
    cutoffs = list(ks) if isinstance(ks, Iterable) else []
    valid = [is_count(k) and k >= 1 for k in cutoffs]
    if not cutoffs or not all(valid):
        raise ValueError(f"ks must be one or more cutoffs, integers of at least 1; got {ks!r}")
    return np.array([min(int(k), np.iinfo(np.int64).max) for k in cutoffs], dtype=np.int64)


def dcg_breakdown(
    y_true: ArrayLike,
    y_score: ArrayLike,
    qid: ArrayLike | None = None,
    *,
    k: int | float | None = None,
    gain: Gain = "exp2",
    discount: Discount = "log2",
    ties: Ties = "stable",
) -> pd.DataFrame:
    """Make a table of the contribution of each rank to DCG@k and to the ideal DCG@k.

    ``contribution = gain * discount``, and DCG@k is the sum of the contributions of a query. So the last `cumulative`
    of a query is its DCG@k, the last `ideal_cumulative` is its ideal DCG@k, and their ratio is NDCG@k.

    Parameters
    ----------
    y_true, y_score, qid, k, gain, discount
        As in :func:`boostrank.ndcg_score`.
    ties : {"stable", "average", "best", "worst"}, default "stable"
        As in :func:`boostrank.ndcg_score`. With ``"average"`` tied documents are listed by row number, each with its
        expected discount and contribution over all their permutations. Documents with a rank beyond the cutoff are
        listed too if they are tied with a document within it.

    Returns
    -------
    DataFrame
        One row per rank up to the cutoff. The queries are in the sequence in which they first appear. Columns: qid,
        rank, document (row of `y_true`), relevance, gain, discount, contribution, cumulative, ideal_relevance,
        ideal_contribution and ideal_cumulative.

    Raises
    ------
    ValueError
        As :func:`boostrank.ndcg_score`.

    Examples
    --------
    >>> table = dcg_breakdown([0, 2, 1], [0.3, 0.2, 0.1], qid=[7, 7, 7], k=2)
    >>> table[["rank", "document", "contribution", "ideal_contribution"]].round(4)
       rank  document  contribution  ideal_contribution
    0     1         0        0.0000              3.0000
    1     2         1        1.8928              0.6309
    """
    check_ties(ties)
    relevance, scores, queries = labels_scores_queries(y_true, y_score, qid, "dcg_breakdown")
    dcg = DCG(k, gain, discount)
    gains = dcg.gains(relevance)
    permutation = queries.sort(scores, tiebreak(gains, ties))
    ideal_permutation = queries.sort(gains)
    shown = queries.positions < queries.repeat(dcg.cutoffs(queries))
    discounts = by_rank = dcg.discounts_of_ranks(queries)
    if ties == "average":
        tied = queries.runs(scores[permutation])
        discounts, shown = tied.repeat(tied.mean(by_rank)), tied.repeat(tied.max(shown))
    rows = np.arange(queries.n_documents) if queries.permutation is None else queries.permutation
    columns = {
        "qid": queries.repeat(queries.ids),
        "rank": queries.positions + 1,
        "document": rows[permutation],
        "relevance": relevance[permutation],
        "gain": gains[permutation],
        "discount": discounts,
        "contribution": gains[permutation] * discounts,
        "ideal_relevance": relevance[ideal_permutation],
        "ideal_contribution": gains[ideal_permutation] * by_rank,
    }
    table = pd.DataFrame(columns)
    running = table.groupby(queries.repeat(np.arange(queries.n_queries)))
    table.insert(list(table).index("contribution") + 1, "cumulative", running["contribution"].cumsum())
    table["ideal_cumulative"] = running["ideal_contribution"].cumsum()
    return table[shown].reset_index(drop=True)


def expected_ndcg(bayes: ArrayLike, scores: ArrayLike, qid: ArrayLike, k: int | float | None = None) -> Floats:
    """Expectation, over the noise of labels, of the NDCG of each query if it is ranked by `scores`.

    NDCG is linear in the normalized gains ``u``, so its expectation is ``sum_i E[u_i] d(rank_i)``. With `k` the sum is
    over the first `k` ranks. The ranking by ``scores=bayes`` has the largest value, and the difference of another
    ranking to this value is its regret. Ties are averaged.

    Parameters
    ----------
    bayes : array-like, shape (n_documents,)
        Expected normalized gains ``E[u]``, as :func:`boostrank.make_ranking` returns them with
        ``return_bayes=True``.
    scores : array-like, shape (n_documents,)
        Scores, finite.
    qid : array-like, shape (n_documents,)
        Query id of each row.
    k : int or float, optional
        Cutoff, as in :class:`boostrank.DCG`.

    Returns
    -------
    ndarray, shape (n_queries,)
        Expected NDCG of each query, in the sequence in which the queries first appear.

    Raises
    ------
    ValueError
        If a value of `bayes` is negative or not finite, a score is not finite, an id is missing, or lengths differ.

    Examples
    --------
    >>> from boostrank.datasets import make_ranking
    >>> X, y, qid, bayes = make_ranking(n_queries=3, random_state=0, return_bayes=True)
    >>> bool((expected_ndcg(bayes, bayes, qid) >= expected_ndcg(bayes, X[:, 0], qid)).all())
    True
    """
    queries = Queries.from_qid(require_ids(qid, "expected_ndcg"))
    expected, values = check_relevance(bayes, "bayes"), check_scores(scores)
    check_lengths(qid=queries.n_documents, bayes=len(expected), scores=len(values))
    return DCG(k).of_ranking(queries.group(expected), queries.group(values), queries)
