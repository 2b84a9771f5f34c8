"""LambdaMART as LightGBM computes it, to examine it like a surrogate.

    L_c(s, u) = c sum_{i, j} w_ij (u_i - u_j)^+ log(1 + exp(s_j - s_i))

The weights ``w_ij`` of the current scores are those of :mod:`boostrank.surrogates.rank_weighted`, and ``x^+`` is x if
it is positive, and 0 otherwise. A pair counts for the document with the larger target only. The factor ``c`` of the
query is ``log2(1 + S) / S``, where ``S`` is the sum, over all documents, of the sizes of their slopes in all pairs. The
text of the module :mod:`boostrank.surrogates.rank_weighted` shows what follows from it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy

from boostrank.core.segments import Segments
from boostrank.inputs.arrays import Floats
from boostrank.inputs.checks import check_count, check_flag
from boostrank.surrogates.base import Surrogate
from boostrank.surrogates.rank_weighted import ConsistentLambdaRank, WeightedPairs


@dataclass(frozen=True, eq=False)
class FixedLambdaMART(Surrogate):
    """:class:`LambdaMART` with fixed weights, for the documents of one data set; :meth:`LambdaMART.at` returns it.

    Parameters
    ----------
    pairs : WeightedPairs
        The pairs with the weights ``w_ij``.
    scores : ndarray, shape (n_documents,)
        The scores to which the weights and the factors of the queries belong.
    normalize : bool
    """

    pairs: WeightedPairs
    scores: Floats
    normalize: bool

    shift_invariant: ClassVar[bool] = True

    def loss(self, scores: Floats, targets: Floats, queries: Segments) -> Floats:
        weight, difference = self._weights(targets, queries), self._differences(scores, targets)
        return self._query_sums(weight * np.logaddexp(0.0, -difference), queries)

    def gradient_hessian(self, scores: Floats, targets: Floats, queries: Segments) -> tuple[Floats, Floats]:
        weight, difference = self._weights(targets, queries), self._differences(scores, targets)
        loses = scipy.special.expit(-difference)
        slope, curvature = weight * loses * np.sign(self._gaps(targets)), weight * loses * (1.0 - loses)
        first, second, n = self.pairs.first, self.pairs.second, len(scores)
        gradient: Any = np.bincount(second, slope, n) - np.bincount(first, slope, n)
        hessian: Any = np.bincount(first, curvature, n) + np.bincount(second, curvature, n)
        return gradient, hessian

    def _gaps(self, targets: Floats) -> Floats:
        """Target of the first document minus that of the second, for each pair."""
        return targets[self.pairs.first] - targets[self.pairs.second]

    def _differences(self, scores: Floats, targets: Floats) -> Floats:
        """Score of the document with the larger target minus that of the other one, for each pair."""
        return np.sign(self._gaps(targets)) * (scores[self.pairs.first] - scores[self.pairs.second])

    def _query_sums(self, values: Floats, queries: Segments) -> Floats:
        sums: Floats = np.bincount(self._queries(queries), values, queries.n_segments).astype(np.float64, copy=False)
        return sums

    def _queries(self, queries: Segments) -> Floats:
        """Number of the query of each pair."""
        return queries.repeat(np.arange(queries.n_segments))[self.pairs.first]

    def _weights(self, targets: Floats, queries: Segments) -> Floats:
        """Weights of the pairs times the sizes of their gaps and the factors of their queries."""
        weight = self.pairs.weight * np.abs(self._gaps(targets))
        if not self.normalize:
            return weight
        total = 2.0 * self._query_sums(weight * scipy.special.expit(-self._differences(self.scores, targets)), queries)
        factor = np.divide(np.log2(1.0 + total), total, out=np.ones_like(total), where=total > 0)
        return weight * factor[self._queries(queries)]


@dataclass(frozen=True)
class LambdaMART(Surrogate):
    """LightGBM's objective ``lambdarank``, to examine it; it is not NDCG consistent.

    With the normalized gains ``u`` as targets, gradient and Hessian are those of LightGBM, which XGBoost's
    ``rank:ndcg`` computes too. Documents with equal scores get the mean over their rankings; the libraries take the
    ranks of one of them. The formula is in the text of the module :mod:`boostrank.surrogates.lambdamart`. To train,
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
    >>> labels = LabelDistribution.of_two([3, 4], [3, 0], 0.62)
    >>> labels.bayes_scores().round(3).tolist()
    [0.604, 0.479]
    >>> minimizer(LambdaMART(), labels).round(3).tolist()
    [-0.029, 0.029]
    >>> minimizer(LambdaMART(normalize=False), labels).round(3).tolist()
    [0.199, -0.199]
    """

    truncation: int | None = 30
    divide_by_distance: bool = True
    normalize: bool = True

    shift_invariant: ClassVar[bool] = True
    reweighted: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_count("truncation", self.truncation, optional=True)
        check_flag("divide_by_distance", self.divide_by_distance)
        check_flag("normalize", self.normalize)

    def loss(self, scores: Floats, targets: Floats, queries: Segments) -> Floats:
        return self.at(scores, queries).loss(scores, targets, queries)

    def gradient_hessian(self, scores: Floats, targets: Floats, queries: Segments) -> tuple[Floats, Floats]:
        return self.at(scores, queries).gradient_hessian(scores, targets, queries)

    def at(self, scores: Floats, queries: Segments) -> FixedLambdaMART:
        pairs = ConsistentLambdaRank(self.truncation, self.divide_by_distance).at(scores, queries)
        return FixedLambdaMART(pairs, scores, self.normalize)
