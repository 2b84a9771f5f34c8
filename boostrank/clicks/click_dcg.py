"""DCG of new scores, estimated from clicks on result lists of other scores.

There is a function with a confidence interval, and a measure. The estimate is ``sum_q v_q sum_i
estimate_i d_i / sum_q v_q sum_i estimate_i`` with the estimates of relevance, the discounts ``d_i``
at the ranks by the new scores, and weights ``v_q`` of the queries: DCG, divided by the number of
relevant documents. The page "Evaluation by clicks" of the guide
(examples/guide/theory/click_evaluation.md) has its properties, and the standard errors.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from boostrank.clicks.labels import ClickLabels
from boostrank.clicks.log import ClickLog, check_log
from boostrank.clicks.models import ClickModelLike
from boostrank.clicks.relevance import require_support
from boostrank.inputs.arrays import Floats, check_lengths, finite_numbers
from boostrank.inputs.checks import check_number
from boostrank.metrics.base import BoundMeasure, Measure
from boostrank.metrics.labels import check_scores
from boostrank.ndcg.dcg import DCG, Discount
from boostrank.queries.queries import Queries
from boostrank.queries.weights import query_weights

SUPPORT_ADVICE = (
    "Its rank counts: pass not_shown='irrelevant' to count such documents as not relevant, or a "
    "smaller cutoff, or leave them out (log[log.shown] and scores[log.shown])"
)


class CounterfactualEstimate(NamedTuple):
    """An estimate from clicks of how good a ranking is.

    Attributes
    ----------
    value : float
    low, high : float
        The ends of the confidence interval.
    standard_error : float
    n_queries : int
        Number of queries with impressions, which are the independent units of the interval.
    n_without_support : int
        Number of documents at ranks that count that were never shown, and counted as not relevant;
        of a difference, of those that both rankings do not have at the same rank.

    Examples
    --------
    >>> import boostrank as br
    >>> log = br.ClickLog(
    ...     [1, 1, 2, 2], row=[0, 1, 2, 3], position=[1, 2, 1, 2], clicks=[1, 1, 0, 1]
    ... )
    >>> estimate = br.clicks.evaluate(log, [1, 0, 1, 0], [1.0, 0.5])
    >>> round(estimate.value, 3), estimate.n_queries, estimate.low < estimate.value < estimate.high
    (0.705, 2, True)
    """

    value: float
    low: float
    high: float
    standard_error: float
    n_queries: int
    n_without_support: int


def evaluate(
    log: ClickLog | ClickLabels,
    scores: ArrayLike,
    model: ClickModelLike | None = None,
    *,
    baseline: ArrayLike | None = None,
    k: int | float | None = 10,
    discount: Discount = "log2",
    level: float = 0.95,
    **settings: Any,
) -> CounterfactualEstimate:
    """Estimate DCG of the ranking by new scores from clicks, with a confidence interval.

    The interval is for other queries. Relevance is binary with gain 1. The estimate is divided by
    the estimated number of relevant documents, which gives the mean discount of a relevant
    document, in [0, 1] apart from errors of estimates. Times ``labels.document_weights @
    labels.relevance`` of ClickLabels it is the expected DCG of a session. The page "Evaluation by
    clicks" of the guide has the formulas.

    Parameters
    ----------
    log : ClickLog or ClickLabels
        It should not be the log from which the scores were learned: estimates follow the noise of
        their own clicks. In a simulation, a ranker had .664 on the log of its training, and .610 on
        fresh clicks. ``score`` of rankers warns of it, and this function cannot know. With
        ClickLabels, their click model and their settings are used.
    scores : array-like, shape (n_documents,)
        Score of each row of `X`. Among equal scores, discounts are averaged.
    model : str, ClickModel, or array-like of propensities
        As in :func:`boostrank.clicks.get_click_model`. Left out with ClickLabels. The interval does
        not include the errors of estimated propensities.
    baseline : array-like, shape (n_documents,), optional
        Scores of another ranker. Then the result is the estimate for `scores` minus that for
        `baseline`, with the interval of this difference: one of the rankers is better if the
        interval does not contain 0.
    k, discount
        As in :class:`boostrank.DCG`; the default is the cutoff 10.
    level : float in (0, 1), default 0.95
    **settings
        `clip`, `not_shown` and `average` of :class:`ClickLabels`; for ClickLabels, in place of
        theirs. Documents at ranks that count that were never shown are an error that names one of
        them, unless `not_shown` is ``"irrelevant"``.

    Returns
    -------
    CounterfactualEstimate

    Raises
    ------
    ValueError
        If a document that counts has no support and `not_shown` is ``"error"``, if no click has a
        weight, if there are fewer than two queries with impressions, or if an argument is invalid.

    References
    ----------
    Joachims, Swaminathan and Schnabel, "Unbiased learning-to-rank with biased feedback", WSDM 2017.
    Agarwal, Takatsu, Zaitsev and Joachims, "A general framework for counterfactual
    learning-to-rank", SIGIR 2019. Swaminathan and Joachims, "The self-normalized estimator for
    counterfactual learning", NeurIPS 2015.

    Examples
    --------
    >>> import boostrank as br
    >>> y, qid = [1, 0, 0, 0, 1, 0], [1, 1, 1, 2, 2, 2]
    >>> shown = [0, 2, 1, 2, 0, 1]
    >>> log = br.simulate_clicks(y, shown, qid, n_sessions=1000, random_state=0).log
    >>> [round(br.clicks.evaluate(log, scores, "position-based").value, 4) for scores in (y, shown)]
    [1.0, 0.5]
    >>> round(br.clicks.evaluate(log, y, "position-based", baseline=shown).value, 4)
    0.5
    """
    dcg = DCG(k, discount=discount)
    check_number("level", level, above=0, below=1)
    if model is None and isinstance(log, ClickLabels):
        labels = replace(log, **settings)
    else:
        labels = ClickLabels(check_log(log), model, **settings)
    discounts = _discounts_of_rows(dcg, finite_numbers(scores, "scores", log=len(labels)), labels)
    if baseline is not None:
        others = finite_numbers(baseline, "baseline", log=len(labels))
        discounts = discounts - _discounts_of_rows(dcg, others, labels)
    weights = labels.document_weights
    without_support = ~labels.estimates.shown & (weights > 0.0) & (discounts != 0.0)
    require_support(labels.log, without_support & labels.lacks_support, SUPPORT_ADVICE)
    numerators = weights * discounts * labels.relevance
    denominators = weights * labels.relevance
    divisor = float(denominators.sum())
    _require_relevant("DCG", labels, divisor)
    value = float(numerators.sum()) / divisor
    queries = labels.queries
    sums = queries.sum(queries.group(numerators))
    residuals = sums - value * queries.sum(queries.group(denominators))
    residuals = residuals[labels.query_weights > 0] / divisor
    n = len(residuals)
    if n < 2:
        raise ValueError(f"an interval needs at least two queries with impressions; got {n}")
    import scipy

    # The squares of the residuals are too small by the factor 1 - 1/n: their mean is 0.
    error = float(np.sqrt(((residuals * np.sqrt(n / (n - 1.0))) ** 2).sum()))
    margin = float(scipy.special.stdtrit(n - 1.0, (1.0 + level) / 2.0)) * error
    n_without_support = int(np.count_nonzero(without_support))
    return CounterfactualEstimate(
        value, value - margin, value + margin, error, n, n_without_support
    )


def _discounts_of_rows(dcg: DCG, scores: Floats, labels: ClickLabels) -> Floats:
    """Discount of each row at its rank by the scores."""
    queries = labels.queries
    return queries.ungroup(discounts_of_documents(dcg, queries.group(scores), queries))


def discounts_of_documents(dcg: DCG, scores: Floats, queries: Queries) -> Floats:
    """Discount of each grouped document at its rank, averaged over ties; 0 beyond the cutoff."""
    sorting = queries.sort(scores)
    by_rank = dcg.discounts_of_ranks(queries)
    ties = queries.runs(scores[sorting])
    discounts = np.empty_like(by_rank)
    discounts[sorting] = ties.repeat(ties.mean(by_rank))
    return discounts


def _require_relevant(measure: object, labels: ClickLabels, total: float) -> None:
    """Raise ValueError unless the estimated number of relevant documents, which divides, is > 0."""
    if not total > 0.0:
        number = (
            f"the estimated number of relevant documents is {total:g}. Use a log with more clicks"
        )
        raise ValueError(f"{measure} is not defined for {labels!r}: {number}")


@dataclass(frozen=True, repr=False)
class ClickDCG(Measure):
    """The self-normalized counterfactual estimate of DCG@k, as a measure.

    Its labels are :class:`boostrank.ClickLabels`. It is the value of :func:`evaluate`: the
    estimated mean discount of a relevant document,

        sum_q v_q sum_i estimate_i d_i / sum_q v_q sum_i estimate_i,

    where ``d_i`` is the discount of document ``i`` at its rank by the scores, averaged over ties,
    and ``v_q`` the weight of the query. :func:`boostrank.get_measure` makes it from names such as
    "click-dcg@10". The ClickLabels decide on the estimates, on the weights, and on documents that
    were never shown. `sample_weight` multiplies ``v_q``. With `per_query`, the values are the terms
    of queries in this ratio, scaled so that their mean, with `sample_weight` as weights, is the
    measure; a query without impressions has the value 0. `qid` may be left out, and must otherwise
    be equal to the query ids of the clicks.

    Parameters
    ----------
    k, discount
        As in :class:`boostrank.DCG`.

    Raises
    ------
    ValueError
        If a setting is invalid. When it is computed: if the labels are no ClickLabels, if a
        document at a rank that counts was never shown and `not_shown` of the labels is ``"error"``,
        or if the estimated number of relevant documents is not positive.

    Examples
    --------
    >>> import boostrank as br
    >>> y, qid = [1, 0, 0, 0, 1, 0], [1, 1, 1, 2, 2, 2]
    >>> log = br.simulate_clicks(y, [0, 2, 1, 2, 0, 1], qid, n_sessions=1000, random_state=0).log
    >>> measure = br.clicks.ClickDCG(k=10)
    >>> str(measure), round(measure(br.ClickLabels(log, ("power", 1.0)), y), 4)
    ('click-dcg@10', 1.0)
    """

    name: ClassVar[str] = "click-dcg"
    takes_relevance: ClassVar[bool] = False
    k: int | float | None = None
    discount: Discount = "log2"

    def __post_init__(self) -> None:
        # It checks the settings.
        DCG(self.k, discount=self.discount)

    def _compute(
        self,
        y_true: object,
        y_score: ArrayLike,
        qid: ArrayLike | None,
        sample_weight: ArrayLike | None,
        per_query: bool,
    ) -> Floats | float:
        labels = self.checked(y_true)
        if qid is not None:
            labels.check_qid(qid)
        scores = check_scores(y_score, "y_score")
        check_lengths(y_true=len(labels), y_score=len(scores))
        weights = query_weights(sample_weight, labels.queries, grouped=False)
        bound = _BoundClickDCG(self, labels, weights)
        grouped = labels.queries.group(scores)
        return bound.per_query(grouped) if per_query else bound.mean(grouped)

    def bind(
        self, labels: object, queries: Queries, weights: ArrayLike | None = None
    ) -> BoundMeasure:
        """Compute what depends only on clicks; see :meth:`boostrank.metrics.Measure.bind`."""
        checked = self.checked(labels)
        check_lengths(queries=queries.n_documents, labels=len(checked))
        return _BoundClickDCG(self, checked, query_weights(weights, queries))

    def checked(self, labels: object) -> ClickLabels:
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
        self._dcg = DCG(measure.k, discount=measure.discount)
        self._log = labels.log
        self._weights = weights
        queries = labels.queries
        relevance = queries.group(labels.relevance)
        terms = weights * labels.query_weights
        self._total = float(terms @ queries.sum(relevance))
        _require_relevant(measure, labels, self._total)
        self._gains = queries.repeat(terms) * relevance
        self._without_support = queries.group(labels.lacks_support) & queries.repeat(terms > 0.0)

    def _terms(self, scores: Floats) -> Floats:
        """The term of each query, shape (n_queries,). Their sum, divided by the total, is DCG."""
        values = np.asarray(scores, dtype=np.float64)
        if self._without_support.any():
            # A document at a rank that counts may never have been shown.
            counts = discounts_of_documents(self._dcg, values, self.queries) > 0.0
            without = self._without_support & counts
            require_support(self._log, self.queries.ungroup(without), SUPPORT_ADVICE)
        return self._dcg.of_ranking(self._gains, values, self.queries)

    def per_query(self, scores: Floats) -> Floats:
        weights = self._weights
        scaled = self._terms(scores) / self._total * weights.sum()
        return np.divide(scaled, weights, out=np.zeros_like(scaled), where=weights > 0.0)

    def mean(self, scores: Floats) -> float:
        return float(self._terms(scores).sum() / self._total)
