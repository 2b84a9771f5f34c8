"""Contributions of the documents of a query to its DCG, by rank."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from boostrank.core.dcg import DCG, Discount, Gain, Ties, check_ties, tiebreak
from boostrank.core.weights import query_weights
from boostrank.metrics.input_checks import labels_scores_queries

if TYPE_CHECKING:
    import pandas as pd


def dcg_breakdown(
    y_true: ArrayLike,
    y_score: ArrayLike,
    qid: ArrayLike | None = None,
    *,
    k: int | float | None = None,
    gain: Gain = "exp2",
    discount: Discount = "log2",
    ties: Ties = "stable",
    sample_weight: ArrayLike | None = None,
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
    sample_weight : array-like, shape (n_queries,) or (n_documents,), optional
        Weights of queries, as in :func:`boostrank.ndcg_score`. They are listed, and change no other column: the mean of
        the last `cumulative` of each query with these weights is DCG@k over queries.

    Returns
    -------
    DataFrame
        One row per rank up to the cutoff. The queries are in the sequence in which they first appear. Columns: qid,
        rank, document (row of `y_true`), relevance, gain, discount, contribution, cumulative, ideal_relevance,
        ideal_contribution, ideal_cumulative; and weight, the weight of the query, if `sample_weight` is given.

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
    import pandas as pd

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
    if sample_weight is not None:
        table["weight"] = queries.repeat(query_weights(sample_weight, queries, grouped=False))
    return table[shown].reset_index(drop=True)
