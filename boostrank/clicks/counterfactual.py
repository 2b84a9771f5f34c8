"""Counterfactual evaluation: DCG of new scores, estimated from clicks on result lists of other scores.

The estimate of DCG is ``sum_q v_q sum_i estimate_i d_i`` with the estimates of relevance, the discounts ``d_i`` at the
ranks by the new scores, and weights ``v_q`` of the queries. The self-normalized one divides it by ``sum_q v_q sum_i
estimate_i``. The page "Evaluation by clicks" of the guide (examples/guide/theory/click_evaluation.md) has the
properties of both, and the standard errors.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from boostrank.clicks.labels import ClickLabels
from boostrank.clicks.log import ClickLog
from boostrank.clicks.relevance import Method, NotShownOrDrop
from boostrank.clicks.targets import Unit
from boostrank.inputs.arrays import Bools, Floats, finite_numbers
from boostrank.inputs.checks import check_choice, check_flag, check_number
from boostrank.queries.dcg import DCG, Discount
from boostrank.queries.queries import Queries


class CounterfactualEstimate(NamedTuple):
    """An estimate from clicks of how good a ranking is.

    Attributes
    ----------
    value : float
    low, high : float
        The ends of the confidence interval.
    standard_error : float
    n_units : int
        Number of queries or sessions that are the independent units of the interval.
    by : {"queries", "sessions"}
    n_without_support : int
        Number of documents at ranks that count that were never shown, and counted as not relevant; of a difference, of
        those that both rankings do not have at the same rank.

    Examples
    --------
    >>> log = ClickLog([1, 1, 2, 2], row=[0, 1, 2, 3], position=[1, 2, 1, 2], clicks=[1, 1, 0, 1])
    >>> estimate = evaluate(log, [1, 0, 1, 0], [1.0, 0.5])
    >>> round(estimate.value, 3), estimate.n_units, estimate.by, estimate.low < estimate.value < estimate.high
    (0.705, 2, 'queries', True)
    """

    value: float
    low: float
    high: float
    standard_error: float
    n_units: int
    by: Unit
    n_without_support: int


def evaluate(
    log: Any,
    scores: ArrayLike,
    model: Any = None,
    *,
    baseline: ArrayLike | None = None,
    measure: str = "dcg@10",
    self_normalized: bool = True,
    by: Unit = "queries",
    average: Unit = "sessions",
    discount: Discount = "log2",
    method: Method = "auto",
    clip: float = 0.0,
    not_shown: NotShownOrDrop = "error",
    level: float = 0.95,
) -> CounterfactualEstimate:
    """Estimate from clicks how good the ranking by new scores is, with a confidence interval.

    The page "Evaluation by clicks" of the guide has the formulas.

    Parameters
    ----------
    log : ClickLog or ClickLabels
        It should not be the log from which the scores were learned: estimates follow the noise of their own clicks. In
        a simulation, a ranker had .664 on the log of its training, and .610 on fresh clicks. ``score`` of rankers warns
        of it, and this function cannot know. With ClickLabels, their click model and their settings `method`, `clip`,
        `not_shown` and `average` are used.
    scores : array-like, shape (n_documents,)
        Score of each row of `X`. Among equal scores, discounts are averaged.
    model : str, ClickModel, or array-like of propensities
        As in :func:`boostrank.clicks.get_click_model`. Left out with ClickLabels. The interval does not include the
        errors of estimated propensities.
    baseline : array-like, shape (n_documents,), optional
        Scores of another ranker. Then the result is the estimate for `scores` minus that for `baseline`, with the
        interval of this difference: one of the rankers is better if the interval does not contain 0.
    measure : str, default "dcg@10"
        "dcg", or with a cutoff such as "dcg@5". Relevance is binary with gain 1.
    self_normalized : bool, default True
        Whether DCG is divided by the estimated number of relevant documents, which gives the mean discount of a
        relevant document, in [0, 1] apart from errors of estimates. DCG without it is the expected DCG of a session.
    by : {"queries", "sessions"}, default "queries"
        The independent units of the interval: for other queries, or for other sessions of these queries.
    average : {"sessions", "queries"}, default "sessions"
        Whether queries have weights in proportion to their number of sessions, or equal weights. In a log of counts,
        the number of sessions of a query is the largest number of impressions of a position.
    discount
        As in :class:`boostrank.DCG`.
    method, clip
        As in :func:`boostrank.clicks.click_targets`.
    not_shown : {"error", "drop", "irrelevant"}, default "error"
        What to do with documents at ranks that count that were never shown: raise an error that names one of them,
        leave all documents that were never shown out of the ranking, or count them as not relevant.
    level : float in (0, 1), default 0.95

    Returns
    -------
    CounterfactualEstimate

    Raises
    ------
    ValueError
        If a document that counts has no support and `not_shown` is ``"error"``, if no click has a weight although the
        estimate is self-normalized, if there are fewer than two units, or if an argument is invalid.

    References
    ----------
    Joachims, Swaminathan and Schnabel, "Unbiased learning-to-rank with biased feedback", WSDM 2017. Agarwal, Takatsu,
    Zaitsev and Joachims, "A general framework for counterfactual learning-to-rank", SIGIR 2019. Swaminathan and
    Joachims, "The self-normalized estimator for counterfactual learning", NeurIPS 2015.

    Examples
    --------
    >>> from boostrank.clicks import simulate_clicks
    >>> y, qid = [1, 0, 0, 0, 1, 0], [1, 1, 1, 2, 2, 2]
    >>> shown = [0, 2, 1, 2, 0, 1]
    >>> log = simulate_clicks(y, shown, qid, n_sessions=1000, random_state=0).log
    >>> [round(evaluate(log, scores, "position-based").value, 4) for scores in (y, shown)]
    [1.0, 0.5]
    >>> round(evaluate(log, y, "position-based", baseline=shown).value, 4)
    0.5
    """
    dcg = _dcg_of(measure, discount)
    check_number("level", level, above=0, below=1)
    check_choice("by", by, ("queries", "sessions"))
    check_flag("self_normalized", self_normalized)
    labels = log
    if model is not None or not isinstance(log, ClickLabels):
        labels = ClickLabels(log, model, method=method, clip=clip, not_shown=not_shown, average=average)
    rankings = [finite_numbers(scores, "scores", log=len(labels))]
    if baseline is not None:
        rankings.append(finite_numbers(baseline, "baseline", log=len(labels)))
    if labels.kept is not None:
        labels, rankings = labels[labels.kept], [values[labels.kept] for values in rankings]
    queries = labels.queries
    of_rankings = [queries.ungroup(discounts_of_documents(dcg, queries.group(values), queries)) for values in rankings]
    discounts = of_rankings[0] if baseline is None else of_rankings[0] - of_rankings[1]
    without = ~labels.estimates.shown & (labels.document_weights > 0.0) & (discounts != 0.0)
    if labels.not_shown in ("error", "drop"):
        require_support(labels.log, without)
    value, n, error = _estimate(labels, discounts, self_normalized, by)
    if n < 2:
        raise ValueError(f"an interval by {by} needs at least two {by} with impressions; got {n}: pass another by=")
    import scipy

    margin = float(scipy.special.stdtrit(n - 1.0, (1.0 + level) / 2.0)) * error
    n_without = int(np.count_nonzero(without))
    return CounterfactualEstimate(value, value - margin, value + margin, error, n, by, n_without)


def require_support(log: ClickLog, without: Bools) -> None:
    """Raise ValueError that names the first row in `without`, whose rows matter and were never shown, if any."""
    if without.any():
        raise ValueError(
            f"{np.count_nonzero(without)} documents at ranks that count have no support: "
            f"{log.name_of_row(int(np.argmax(without)))} was never shown where it may be examined, so that its "
            "relevance is not known. Pass not_shown='irrelevant' to count such documents as not relevant, "
            "not_shown='drop' to leave them out of the ranking, or a smaller cutoff"
        )


def _dcg_of(measure: str, discount: Discount) -> DCG:
    match = re.fullmatch(r"dcg(?:@([1-9][0-9]*))?", measure) if isinstance(measure, str) else None
    if match is None:
        raise ValueError(f"measure must be 'dcg', or with a cutoff such as 'dcg@10'; got {measure!r}")
    return DCG(None if match[1] is None else int(match[1]), discount=discount)


def discounts_of_documents(dcg: DCG, scores: Floats, queries: Queries) -> Floats:
    """Discount of each grouped document at its rank, averaged over ties; 0 beyond the cutoff."""
    sorting, by_rank = queries.sort(scores), dcg.discounts_of_ranks(queries)
    ties = queries.runs(scores[sorting])
    discounts = np.empty_like(by_rank)
    discounts[sorting] = ties.repeat(ties.mean(by_rank))
    return discounts


def _estimate(labels: ClickLabels, discounts: Floats, self_normalized: bool, by: Unit) -> tuple[float, int, float]:
    """The estimate of DCG, its number of independent units, and its standard error."""
    log, queries, relevance, row = labels.log, labels.queries, labels.relevance, labels.log.row
    of_row = labels.document_weights
    numerators, denominators = of_row * discounts * relevance, of_row * relevance
    divisor = float(denominators.sum()) if self_normalized else 1.0
    if not divisor > 0.0:
        raise ValueError(
            f"the estimated number of relevant documents of {log!r} is {divisor:g}, so that a self-normalized estimate "
            "is not defined; pass self_normalized=False, or a log with more clicks"
        )
    value = float(numerators.sum()) / divisor
    if by == "queries":
        weights = labels.query_weights
        per_query = queries.sum(queries.group(denominators)) if self_normalized else weights
        residuals = (queries.sum(queries.group(numerators)) - value * per_query)[weights > 0] / divisor
        # Their squares are too small by the factor 1 - 1/n, because they have the mean 0.
        n = len(residuals)
        return value, n, _norm(residuals * np.sqrt(n / max(1.0, n - 1.0)))
    # The derivative of the estimate with respect to the estimated relevance of each row.
    slope = of_row * (discounts - value * self_normalized) / divisor
    entry = labels.entry_weights()
    total = np.bincount(row, weights=entry.weights * entry.clipped * log.impressions, minlength=len(log))
    factor = slope[row] * entry.weights / np.where(total > 0, total, 1.0)[row]
    share = np.divide(entry.weights * entry.clipped, total[row], out=np.zeros(len(row)), where=total[row] > 0)
    # The only impression of a row has no deviation from the estimate of the row, so nothing is subtracted there.
    alone = share > 1.0 - 1e-9
    expected = np.where(alone, 0.0, entry.clipped * relevance[row]) + entry.b
    factor = factor / np.sqrt(np.where(alone, 1.0, 1.0 - share))
    if log.sessions is not None:
        return value, log.sessions.n_segments, _norm(log.sessions.sum(factor * (log.clicks - expected)))
    squares = log.clicks * (1.0 - expected) ** 2 + (log.impressions - log.clicks) * expected**2
    return value, log.n_impressions, float(np.sqrt((factor**2 * squares).sum()))


def _norm(influences: Floats) -> float:
    """The standard error of an estimate, from the influence of each unit."""
    return float(np.sqrt((influences**2).sum()))
