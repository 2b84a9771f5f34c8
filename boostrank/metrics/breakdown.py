"""Where the DCG of a query comes from, rank by rank, and how much of it is luck of ties."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from boostrank.dcg import DCG, Discount, Gain, Ties, check_ties, normalize
from boostrank.metrics.inputs import labels_scores_queries
from boostrank.metrics.mean import Empty, QueryMean

if TYPE_CHECKING:
    import pandas as pd


class TieRange(NamedTuple):
    """NDCG with ties in the worst order, on average over all orders, and in the best; numbers or arrays."""

    worst: Any
    average: Any
    best: Any


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
    """What each rank adds to DCG@k, beside what it adds in the ideal order.

    ``DCG@k = sum over rows of contribution``, ``contribution = gain * discount``; the last `cumulative` of a query is
    its DCG@k, the last `ideal_cumulative` its ideal DCG@k, and their ratio NDCG@k.

    Parameters
    ----------
    y_true, y_score, k, gain, discount
        As in :func:`boostrank.ndcg_score`.
    qid : array-like, shape (n_documents,), optional
        Query of each row. None: the rows are one query, and the table has no column `qid`.
    ties : {"stable", "average", "best", "worst"}, default "stable"
        Order of equal scores. With ``"average"`` tied documents are listed by row, and each has its expected discount
        and its expected contribution over all their orders; those that may stand within the cutoff are listed even
        where their rank is beyond it.

    Returns
    -------
    DataFrame
        A row per rank up to the cutoff, queries in order of first appearance. Columns: qid (if given), rank, document
        (row of `y_true`), relevance, gain, discount, contribution, cumulative, ideal_relevance, ideal_contribution,
        ideal_cumulative.

    Raises
    ------
    ValueError
        As :func:`boostrank.ndcg_score`.

    Examples
    --------
    >>> table = dcg_breakdown([0, 2, 1], [0.3, 0.2, 0.1], k=2)
    >>> table[["rank", "document", "contribution", "ideal_contribution"]].round(4)
       rank  document  contribution  ideal_contribution
    0     1         0        0.0000              3.0000
    1     2         1        1.8928              0.6309
    """
    import pandas as pd

    check_ties(ties)
    relevance, scores, queries = labels_scores_queries(y_true, y_score, qid)
    dcg = DCG(k, gain, discount)
    gains = dcg.gains(relevance)
    order = queries.sort(scores, {"best": -gains, "worst": gains}.get(ties))
    ideal_order = queries.sort(gains)
    shown = queries.positions < queries.repeat(dcg.cutoffs(queries))
    by_rank = np.where(shown, dcg.discounts(int(queries.sizes.max()))[queries.positions], 0.0)
    discounts = by_rank
    if ties == "average":
        tied = queries.runs(scores[order])
        discounts, shown = tied.repeat(tied.mean(by_rank)), tied.repeat(tied.max(shown))
    rows = np.arange(queries.n_documents) if queries.permutation is None else queries.permutation
    columns = {
        "rank": queries.positions + 1,
        "document": rows[order],
        "relevance": relevance[order],
        "gain": gains[order],
        "discount": discounts,
        "contribution": gains[order] * discounts,
        "ideal_relevance": relevance[ideal_order],
        "ideal_contribution": gains[ideal_order] * by_rank,
    }
    table = pd.DataFrame(columns if qid is None else {"qid": queries.repeat(queries.ids), **columns})
    running = table.groupby(queries.repeat(np.arange(queries.n_queries)))
    table.insert(list(table).index("contribution") + 1, "cumulative", running["contribution"].cumsum())
    table["ideal_cumulative"] = running["ideal_contribution"].cumsum()
    return table[shown].reset_index(drop=True)


def tie_range(
    y_true: ArrayLike,
    y_score: ArrayLike,
    qid: ArrayLike | None = None,
    *,
    k: int | float | None = None,
    gain: Gain = "exp2",
    discount: Discount = "log2",
    empty: Empty = "zero",
    per_query: bool = False,
) -> TieRange:
    """NDCG over the orders that tied documents may take: the worst, the average and the best.

    Parameters
    ----------
    y_true, y_score, qid, k, gain, discount, empty
        As in :func:`boostrank.ndcg_score`.
    per_query : bool, default False
        Return the values of each query, in order of first appearance, NaN where skipped.

    Returns
    -------
    TieRange
        ``ndcg_score(..., ties=t)`` for t "worst", "average" and "best": numbers, or of shape (n_queries,).

    Raises
    ------
    ValueError
        As :func:`boostrank.ndcg_score`.

    References
    ----------
    Cabanac, Hubert, Boughanem and Chrisment, "Tie-breaking bias: effect of an uncontrolled parameter on information
    retrieval evaluation", CLEF 2010.

    Examples
    --------
    >>> [round(value, 4) for value in tie_range([0, 1], [0.5, 0.5])]
    [0.6309, 0.8155, 1.0]
    """
    relevance, scores, queries = labels_scores_queries(y_true, y_score, qid)
    dcg = DCG(k, gain, discount)
    gains = dcg.gains(relevance)
    ideal = dcg.ideal(gains, queries)
    mean = QueryMean(ideal == 0, queries, empty)
    values = []
    for ties in TieRange._fields:
        ndcg = normalize(dcg.of_ranking(gains, scores, queries, ties), ideal)  # type: ignore[arg-type]
        values.append(mean.fill(ndcg) if per_query else mean(ndcg))
    return TieRange(*values)
