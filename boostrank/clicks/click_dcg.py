"""The counterfactual estimate of DCG as a measure, for early stopping, scorers and cross-validation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from boostrank.clicks.counterfactual import discounts_of_documents, require_support
from boostrank.clicks.labels import ClickLabels
from boostrank.clicks.log import ClickLog
from boostrank.inputs.arrays import Bools, Floats, check_lengths
from boostrank.metrics.base import BoundMeasure, Measure
from boostrank.metrics.labels import check_scores
from boostrank.queries.dcg import DCG, Discount
from boostrank.queries.queries import Queries
from boostrank.queries.weights import query_weights


@dataclass(frozen=True, repr=False)
class ClickDCG(Measure):
    """The self-normalized counterfactual estimate of DCG@k as a measure of :class:`boostrank.ClickLabels`.

    It is the value of :func:`boostrank.clicks.evaluate` with ``measure="dcg@k"``: the estimated mean discount of a
    relevant document,

        sum_q v_q sum_i estimate_i d_i / sum_q v_q sum_i estimate_i,

    where ``d_i`` is the discount of document ``i`` at its rank by the scores, averaged over ties, and ``v_q`` the
    weight of the query. :func:`boostrank.get_measure` makes it from names such as "click-dcg@10". The ClickLabels
    decide on the estimates, on the weights, and on documents that were never shown. `sample_weight` multiplies
    ``v_q``. With `per_query`, the values are the terms of queries in this ratio, scaled so that their mean, with
    `sample_weight` as weights, is the measure; a query without impressions has the value 0. `qid` may be left out, and
    must otherwise be equal to the query ids of the clicks.

    Parameters
    ----------
    k, discount
        As in :class:`boostrank.DCG`.

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

    name: ClassVar[str] = "click-dcg"
    takes_relevance: ClassVar[bool] = False
    k: int | float | None = None
    discount: Discount = "log2"

    def __post_init__(self) -> None:
        if isinstance(self.discount, list):
            object.__setattr__(self, "discount", tuple(self.discount))
        DCG(self.k, discount=self.discount)

    def __str__(self) -> str:
        return "click-dcg" if self.k is None else f"click-dcg@{self.k}"

    def _compute(self, y_true: Any, y_score: Any, qid: Any, sample_weight: Any, per_query: bool) -> Any:
        labels = self.checked(y_true)
        if qid is not None:
            labels.check_qid(qid)
        scores = check_scores(y_score, "y_score")
        check_lengths(y_true=len(labels), y_score=len(scores))
        bound = _BoundClickDCG(self, labels, query_weights(sample_weight, labels.queries, grouped=False))
        grouped = labels.queries.group(scores)
        return bound.per_query(grouped) if per_query else bound.mean(grouped)

    def bind(self, labels: Any, queries: Queries, weights: ArrayLike | None = None) -> BoundMeasure:
        """Compute what depends only on clicks; see :meth:`boostrank.metrics.Measure.bind`."""
        checked = self.checked(labels)
        check_lengths(queries=queries.n_documents, labels=len(checked))
        return _BoundClickDCG(self, checked, query_weights(weights, queries))

    def arguments(self) -> str:
        """The arguments of :func:`boostrank.get_measure` that make this measure."""
        discount = "" if self.discount == "log2" else f", discount={self.discount!r}"
        return f"{str(self)!r}{discount}"

    def checked(self, labels: Any) -> ClickLabels:
        """Return labels that are clicks; raise ValueError for others."""
        if isinstance(labels, ClickLabels):
            return labels
        advice = "The measure of relevance labels is 'ndcg@10'"
        if isinstance(labels, ClickLog):
            advice = "Pass ClickLabels(log, propensities)"
        raise ValueError(f"{self} needs ClickLabels; got {type(labels).__name__}. {advice}")


class _BoundClickDCG(BoundMeasure):
    """A :class:`ClickDCG` bound to clicks; arrays are grouped by ``labels.queries``."""

    def __init__(self, measure: ClickDCG, labels: ClickLabels, weights: Floats) -> None:
        super().__init__(measure, labels.queries)
        self._dcg, self._log, self._weights = DCG(measure.k, discount=measure.discount), labels.log, weights
        queries, relevance = labels.queries, labels.queries.group(labels.relevance)
        terms = weights * labels.query_weights
        self._total = float(terms @ queries.sum(relevance))
        if not self._total > 0.0:
            raise ValueError(
                f"{measure} is not defined for {labels!r}: the estimated number of relevant documents is "
                f"{self._total:g}. Use a log with more clicks"
            )
        self._gains = queries.repeat(terms) * relevance
        self._ranked: Queries = queries
        #: The grouped documents that are ranked, and their queries among all; None for all.
        self._kept: tuple[Bools, Bools] | None = None
        if labels.kept is not None:
            kept = queries.group(labels.kept)
            sizes = queries.sum(kept.astype(np.int64))
            self._kept, self._gains = (kept, sizes > 0), self._gains[kept]
            self._ranked = Queries.from_sizes(sizes[sizes > 0], queries.ids[sizes > 0])
        self._without_support = queries.group(labels.lacks_support) & queries.repeat(terms > 0.0)
        self._needs_support = bool(self._without_support.any())

    def _terms(self, scores: NDArray[Any]) -> Floats:
        """The terms of each query, whose sum divided by the total is the measure, shape (n_queries,)."""
        values = np.asarray(scores, dtype=np.float64)
        values = values if self._kept is None else values[self._kept[0]]
        if self._needs_support:
            # A document at a rank that counts may never have been shown.
            counts = discounts_of_documents(self._dcg, values, self._ranked) > 0.0
            without = self._without_support.copy()
            without[slice(None) if self._kept is None else self._kept[0]] &= counts
            require_support(self._log, self.queries.ungroup(without))
        terms = self._dcg.of_ranking(self._gains, values, self._ranked)
        if self._kept is None:
            return terms
        of_queries = np.zeros(self.queries.n_queries)
        of_queries[self._kept[1]] = terms
        return of_queries

    def per_query(self, scores: NDArray[Any]) -> Floats:
        terms, weights = self._terms(scores) / self._total, self._weights
        return np.divide(terms * weights.sum(), weights, out=np.zeros_like(terms), where=weights > 0.0)

    def mean(self, scores: NDArray[Any]) -> float:
        return float(self._terms(scores).sum() / self._total)
