"""Kendall's tau-b between labels and scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from boostrank.core.segments import Segments
from boostrank.inputs.arrays import Floats, Ints
from boostrank.metrics.base import Domain, Prepared, QueryMeasure
from boostrank.metrics.grouped_labels import GroupedLabels
from boostrank.metrics.pair_counts import count_inversions, count_tied_pairs, label_codes
from boostrank.metrics.query_mean import Empty


@dataclass(frozen=True, kw_only=True, repr=False)
class KendallTau(QueryMeasure):
    """Kendall's tau-b as a measure; see :func:`kendall_tau_score`."""

    name: ClassVar[str] = "kendall_tau"
    domain: ClassVar[Domain] = "arrays"
    empty: Empty = "skip"

    @property
    def undefined_reason(self) -> str:
        return "has labels or scores that are all equal"

    def prepare(self, labels: GroupedLabels) -> Prepared:
        queries = labels.queries
        codes, same_label = label_codes(labels.values, queries)

        def values(scores: Floats) -> Floats:
            result = np.empty(queries.n_segments)
            for block in queries.blocks():
                tau = _kendall_tau(codes[block.rows], same_label[block.segments], scores[block.rows], block.part)
                result[block.segments] = tau
            return result

        return Prepared(queries.max(codes) == 0, values)


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

    ``tau_b = (C - D) / sqrt((N - N_y) (N - N_s))``. Of the ``N = n (n - 1) / 2`` pairs of documents of a query, ``C``
    are ranked in the same way by labels and scores, and ``D`` in opposite ways; ``N_y`` have equal labels, and ``N_s``
    have equal scores. All ranks are equally important, and there is no cutoff.

    Parameters
    ----------
    y_true, y_score, qid, sample_weight, per_query
        See :func:`boostrank.ndcg_score`.
    empty : {"zero", "one", "skip", "raise"}, default "skip"
        Tau of a query for which it is 0/0, because all labels or all scores are equal, or because it has one document:
        0, 1, left out of the mean, or an error. With "skip", the queries that are left out depend on the scores; use
        "zero" to compare rankers with few different scores.

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
    >>> round(kendall_tau_score([3, 2, 1, 0], [0.9, 0.1, 0.5, 0.2], qid=[7, 7, 7, 7]), 4)  # C = 4, D = 2
    0.3333
    """
    measure = KendallTau(empty=empty)
    return measure(y_true, y_score, qid, sample_weight=sample_weight, per_query=per_query)


def _kendall_tau(codes: Ints, same_label: Ints, scores: Floats, queries: Segments) -> Floats:
    """Tau-b of each query, from the codes of its labels and the number of its pairs of equal labels; NaN for 0/0."""
    # Documents are sorted by decreasing score, and tied documents by decreasing label. So a pair of equal scores is no
    # inversion.
    permutation = queries.sort(scores, codes)
    codes, sorted_scores = codes[permutation], scores[permutation]
    same_score = count_tied_pairs(queries.runs(sorted_scores), queries)
    same_both = count_tied_pairs(queries.runs(codes, sorted_scores), queries)
    n_pairs = queries.sizes * (queries.sizes - 1) // 2
    balance = n_pairs - same_label - same_score + same_both - 2 * count_inversions(codes, queries)
    norm = np.sqrt((n_pairs - same_label).astype(np.float64)) * np.sqrt((n_pairs - same_score).astype(np.float64))
    tau = np.divide(balance, norm, out=np.full(len(norm), np.nan), where=norm > 0)
    return np.clip(tau, -1.0, 1.0)
