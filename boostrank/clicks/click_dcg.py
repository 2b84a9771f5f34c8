"""The counterfactual estimate of DCG as a measure, for early stopping, scorers and cross-validation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from boostrank.clicks.click_labels import ClickLabels
from boostrank.clicks.counterfactual import discounts_of_documents, require_support
from boostrank.dcg import DCG, Discount
from boostrank.metrics import Measure
from boostrank.metrics.base import BoundMeasure
from boostrank.metrics.input_checks import check_lengths, check_scores
from boostrank.queries import Queries
from boostrank.segments import Floats
from boostrank.weights import query_weights


@dataclass(frozen=True)
class ClickDCG(Measure):
    """The self-normalized counterfactual estimate of DCG@k as a measure of :class:`boostrank.ClickLabels`.

    It is the value of :func:`boostrank.clicks.evaluate` with ``measure="dcg@k"``: the estimated mean discount of a
    relevant document,

        sum_q v_q sum_i estimate_i d_i / sum_q v_q sum_i estimate_i,

    where ``d_i`` is the discount of document ``i`` at its rank by the scores, averaged over ties, and ``v_q`` the
    weight of the query. The ClickLabels decide on the estimates, on the weights, and on documents that were never
    shown. `sample_weight` multiplies ``v_q``. With `per_query`, the values are the terms of queries in this ratio,
    scaled so that their mean, with `sample_weight` as weights, is the measure; a query without impressions has the
    value 0.

    Parameters
    ----------
    k, discount
        As in :class:`boostrank.dcg.DCG`.

    Raises
    ------
    ValueError
        If a setting is invalid. When it is computed: if the labels are no ClickLabels, if a document at a rank that
        counts was never shown and `not_shown` of the labels is ``"error"``, or if the estimated number of relevant
        documents is not positive.

    Examples
    --------
    >>> import boostrank as br
    >>> y, qid = [1, 0, 0, 0, 1, 0], [1, 1, 1, 2, 2, 2]
    >>> log = br.simulate_clicks(y, [0, 2, 1, 2, 0, 1], qid, n_sessions=1000, random_state=0).log
    >>> measure = ClickDCG(k=10)
    >>> str(measure), round(measure(br.ClickLabels(log, ("power", 1.0)), y), 4)
    ('click-dcg@10', 1.0)
    """

    k: int | float | None = None
    discount: Discount = "log2"

    def __post_init__(self) -> None:
        if isinstance(self.discount, list):
            object.__setattr__(self, "discount", tuple(self.discount))
        DCG(self.k, discount=self.discount)

    def __str__(self) -> str:
        return "click-dcg" if self.k is None else f"click-dcg@{self.k}"

    def __call__(
        self,
        y_true: Any,
        y_score: ArrayLike,
        qid: ArrayLike | None = None,
        *,
        sample_weight: ArrayLike | None = None,
        per_query: bool = False,
    ) -> float | Floats:
        """The measure of clicks at some scores, or its terms for each query.

        Parameters
        ----------
        y_true : ClickLabels
        y_score : array-like, shape (n_documents,)
            Scores, finite.
        qid : array-like, shape (n_documents,), optional
            May be left out, and must otherwise be equal to the query ids of the clicks.
        sample_weight, per_query
            See :func:`boostrank.ndcg_score`.
        """
        labels = self._checked(y_true)
        if qid is not None:
            labels.check_qid(qid)
        scores = check_scores(y_score, "y_score")
        check_lengths(y_true=len(labels), y_score=len(scores))
        weights = query_weights(sample_weight, labels.queries, grouped=False)
        bound = _BoundClickDCG(self, labels, labels.queries, weights)
        grouped = labels.queries.group(scores)
        return bound.per_query(grouped) if per_query else bound.mean(grouped)

    def bind(self, labels: Any, queries: Queries, weights: ArrayLike | None = None) -> BoundMeasure:
        """Compute what depends only on clicks; see :meth:`boostrank.metrics.Measure.bind`."""
        checked = self._checked(labels)
        if len(checked) != queries.n_documents:
            raise ValueError(f"there are {len(checked)} labels for {queries.n_documents} documents")
        return _BoundClickDCG(self, checked, queries, query_weights(weights, queries))

    def arguments(self) -> str:
        """The expression that makes this measure."""
        return repr(self)

    def _checked(self, labels: Any) -> ClickLabels:
        if isinstance(labels, ClickLabels):
            return labels
        raise ValueError(
            f"{self} needs ClickLabels; got {type(labels).__name__}. The measure of relevance labels is 'ndcg@10'"
        )


class _BoundClickDCG(BoundMeasure):
    """A :class:`ClickDCG` bound to clicks; arrays are grouped by ``labels.queries``."""

    def __init__(self, measure: ClickDCG, labels: ClickLabels, queries: Queries, weights: Floats) -> None:
        super().__init__(measure, queries)
        own = labels.queries
        self._dcg, self._labels, self._weights = DCG(measure.k, discount=measure.discount), labels, weights
        relevance = own.group(labels.estimates.relevance)
        terms = weights * labels.query_weights
        total = float(terms @ own.sum(relevance))
        if not total > 0.0:
            raise ValueError(
                f"{measure} is not defined for {labels!r}: the estimated number of relevant documents is {total:g}. "
                "Use a log with more clicks"
            )
        self._gains = own.repeat(terms) * relevance / total
        counts = own.ungroup(own.repeat(terms > 0.0))
        self._without_support = counts & ~labels.estimates.shown
        self._needs_support = labels.not_shown == "error" and bool(self._without_support.any())

    def _terms(self, scores: NDArray[Any]) -> Floats:
        """The terms of each query, whose sum is the measure, shape (n_queries,)."""
        labels, queries = self._labels, self._labels.queries
        values = np.asarray(scores, dtype=np.float64)
        if self._needs_support:
            discounts = queries.ungroup(discounts_of_documents(self._dcg, values, queries))
            require_support(labels.log, self._without_support & (discounts > 0.0))
        return self._dcg.of_ranking(self._gains, values, queries)

    def per_query(self, scores: NDArray[Any]) -> Floats:
        terms, weights = self._terms(scores), self._weights
        return np.divide(terms * weights.sum(), weights, out=np.zeros_like(terms), where=weights > 0.0)

    def mean(self, scores: NDArray[Any]) -> float:
        return float(self._terms(scores).sum())
