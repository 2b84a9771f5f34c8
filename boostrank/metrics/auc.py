"""Area under the ROC curve."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from boostrank.core.dcg import DCG
from boostrank.inputs.arrays import Floats
from boostrank.inputs.checks import check_number, setting
from boostrank.metrics.base import Domain, Prepared, QueryMeasure
from boostrank.metrics.grouped_labels import GroupedLabels
from boostrank.metrics.query_mean import Empty


@dataclass(frozen=True, kw_only=True, repr=False)
class AUC(QueryMeasure):
    """The area under the ROC curve as a measure; see :func:`auc_score`."""

    name: ClassVar[str] = "auc"
    domain: ClassVar[Domain] = "arrays"
    threshold: float = setting(1, check_number, above=0)
    empty: Empty = "skip"

    @property
    def undefined_reason(self) -> str:
        return f"has only relevant or only irrelevant documents (relevant: a label of at least {self.threshold:g})"

    def prepare(self, labels: GroupedLabels) -> Prepared:
        queries = labels.queries
        gains, relevant = labels.binary(self.threshold)
        pairs = relevant * (queries.sizes - relevant)
        # With the discount ``longest + 1 - rank``, DCG is the sum of the ranks of relevant documents up to sign and a
        # constant. The discount is linear in the rank, so that tied documents get their mean rank.
        longest = float(queries.sizes.max())
        after = DCG(discount=lambda ranks: np.maximum(longest + 1.0 - ranks, 0.0))

        def values(scores: Floats) -> Floats:
            ranks = relevant * (longest + 1.0) - after.of_ranking(gains, scores, queries)
            n_reversed = ranks - relevant * (relevant + 1.0) / 2.0
            return np.divide(pairs - n_reversed, pairs, out=np.full(len(pairs), np.nan), where=pairs > 0)

        return Prepared(pairs == 0, values)


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

    ``AUC = (C + T / 2) / (R I)``, where a query has ``R`` relevant and ``I`` irrelevant documents. Of its ``R I`` pairs
    of a relevant and an irrelevant document, ``C`` have the higher score at the relevant document, and ``T`` have equal
    scores. Pairs of documents of different queries do not count.

    Parameters
    ----------
    y_true, y_score, qid, sample_weight, per_query
        See :func:`boostrank.ndcg_score`.
    threshold : float, default 1
        Labels of at least this are relevant.
    empty : {"zero", "one", "skip", "raise"}, default "skip"
        AUC of a query whose documents are all relevant or all irrelevant: 0, 1, left out of the mean, or an error.

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
    >>> auc_score([1, 0, 1, 0], [0.9, 0.5, 0.5, 0.1], qid=[7, 7, 7, 7])  # C = 3, T = 1
    0.875
    """
    measure = AUC(threshold=threshold, empty=empty)
    return measure(y_true, y_score, qid, sample_weight=sample_weight, per_query=per_query)
