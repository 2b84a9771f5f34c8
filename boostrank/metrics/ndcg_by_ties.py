"""Range of NDCG over the permutations of tied documents."""

from __future__ import annotations

from typing import Any, NamedTuple

from numpy.typing import ArrayLike

from boostrank.core.dcg import DCG, Discount, Gain, Ties, normalize
from boostrank.core.weights import query_weights
from boostrank.inputs.arrays import Floats
from boostrank.inputs.checks import check_flag
from boostrank.metrics.input_checks import labels_scores_queries
from boostrank.metrics.query_mean import Empty, QueryMean


class TieRange(NamedTuple):
    """NDCG by tie rule, as :func:`tie_range` returns it.

    Attributes
    ----------
    worst, average, best : float, or ndarray of shape (n_queries,)
        The smallest NDCG over all permutations of tied documents, the mean, and the largest.
    """

    worst: Any
    average: Any
    best: Any


def tie_range(
    y_true: ArrayLike,
    y_score: ArrayLike,
    qid: ArrayLike | None = None,
    *,
    k: int | float | None = None,
    gain: Gain = "exp2",
    discount: Discount = "log2",
    empty: Empty = "zero",
    sample_weight: ArrayLike | None = None,
    per_query: bool = False,
) -> TieRange:
    """Mean over queries of the smallest, mean and largest NDCG over all permutations of tied documents.

    Parameters
    ----------
    y_true, y_score, qid, k, gain, discount, empty, sample_weight
        As in :func:`boostrank.ndcg_score`.
    per_query : bool, default False
        Return the values of each query instead of the means, as in :func:`boostrank.ndcg_score`.

    Returns
    -------
    TieRange
        ``ndcg_score(..., ties=rule)`` for the rules "worst", "average" and "best".

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
    >>> [round(value, 4) for value in tie_range([0, 1], [0.5, 0.5], qid=[7, 7])]
    [0.6309, 0.8155, 1.0]
    """
    check_flag("per_query", per_query)
    relevance, scores, queries = labels_scores_queries(y_true, y_score, qid, "tie_range")
    dcg = DCG(k, gain, discount)
    gains = dcg.relative_gains_of(relevance, queries)
    ideal = dcg.ideal(gains, queries)
    mean = QueryMean(ideal == 0, queries, empty, query_weights(sample_weight, queries, grouped=False))

    def value(ties: Ties) -> float | Floats:
        ndcg = normalize(dcg.of_ranking(gains, scores, queries, ties), ideal)
        return mean.fill(ndcg) if per_query else mean(ndcg)

    return TieRange(worst=value("worst"), average=value("average"), best=value("best"))
