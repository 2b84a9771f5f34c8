"""LambdaMART as LightGBM computes it, to examine it like a surrogate.

    L_c(s, u) = c sum_{i, j} w_ij (u_i - u_j)^+ log(1 + exp(s_j - s_i))

The weights ``w_ij`` of the current scores are those of :mod:`boostrank.surrogates.rank_weighted`, and ``x^+`` is x if
it is positive, and 0 otherwise. A pair counts for the document with the larger target only. The factor ``c`` of the
query is ``log2(1 + S) / S``, where ``S`` is the sum, over all documents, of the sizes of their slopes in all pairs. The
page theory/lambdamart of the guide shows what follows from it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy

from boostrank.inputs.arrays import Floats
from boostrank.inputs.checks import check_flag
from boostrank.queries.segments import Segments
from boostrank.surrogates.base import HessianKind
from boostrank.surrogates.rank_weighted import ConsistentLambdaRank, ReweightedPairs, WeightedPairs


@dataclass(frozen=True, eq=False)
class FixedLambdaMART(WeightedPairs):
    """:class:`LambdaMART` with fixed weights, for the documents of one data set; :meth:`LambdaMART.at` returns it.

    Parameters
    ----------
    first, second, weight
        The pairs with the weights ``w_ij``.
    scores : ndarray, shape (n_documents,)
        The scores to which the weights and the factors of the queries belong.
    normalize : bool
    """

    scores: Floats
    normalize: bool

    hessian: ClassVar[HessianKind] = "exact"

    def factors(self, targets: Floats, queries: Segments) -> tuple[Floats, Floats]:
        gap = self.weight * (targets[self.first] - targets[self.second])
        for_first, for_second = np.maximum(gap, 0.0), np.maximum(-gap, 0.0)
        if not self.normalize:
            return for_first, for_second
        second_wins = scipy.special.expit(self.scores[self.second] - self.scores[self.first])
        total = 2.0 * self.sums(for_first * second_wins + for_second * (1.0 - second_wins), queries)
        factor = np.divide(np.log2(1.0 + total), total, out=np.ones_like(total), where=total > 0)
        of_pairs = factor[self.queries_of_pairs(queries)]
        return for_first * of_pairs, for_second * of_pairs


@dataclass(frozen=True)
class LambdaMART(ReweightedPairs):
    """LightGBM's objective ``lambdarank``, to examine it; it is not NDCG consistent.

    With the normalized gains ``u`` as targets, gradient and Hessian are those of LightGBM, which XGBoost's
    ``rank:ndcg`` computes too. Documents with equal scores get the mean over their rankings; the libraries take the
    ranks of one of them. The formula is on the page theory/lambdamart of the guide. To train,
    give a ranker the objective ``"lambdarank"``.

    Parameters
    ----------
    truncation : int or None, default 30
        Only pairs with a document among the first `truncation` ranks count; LightGBM's ``lambdarank_truncation_level``.
    divide_by_distance : bool, default True
        Whether the weight of a pair is divided by ``0.01 + |s_i - s_j|``.
    normalize : bool, default True
        Whether the slopes of a query are multiplied by its factor. ``lambdarank_norm`` of LightGBM sets this and
        `divide_by_distance`; XGBoost has a parameter for each.

    Raises
    ------
    ValueError
        If a setting is invalid.

    Examples
    --------
    Document 0 always has the label 3; document 1 has 4 in 62% of the queries, and otherwise 0. Ranking document 0 first
    has the largest expected NDCG, but LambdaMART ranks document 1 first:

    >>> from boostrank.theory import LabelDistribution, minimizer
    >>> labels = LabelDistribution([[3, 4], [3, 0]], [0.62, 0.38])
    >>> labels.bayes_scores().round(3).tolist()
    [0.604, 0.479]
    >>> minimizer(LambdaMART(), labels).round(3).tolist()
    [-0.029, 0.029]
    >>> minimizer(LambdaMART(normalize=False), labels).round(3).tolist()
    [0.199, -0.199]
    """

    normalize: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_flag("normalize", self.normalize)

    def gradient_hessian(self, scores: Floats, targets: Floats, queries: Segments) -> tuple[Floats, Floats]:
        return self.at(scores, queries).gradient_hessian(scores, targets, queries)

    def at(self, scores: Floats, queries: Segments) -> FixedLambdaMART:
        pairs = ConsistentLambdaRank(self.truncation, self.divide_by_distance).at(scores, queries)
        return FixedLambdaMART(pairs.first, pairs.second, pairs.weight, scores, self.normalize)
