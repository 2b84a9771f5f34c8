"""Counterfactual evaluation: DCG and NDCG of new scores, estimated from clicks on result lists of other scores.

Let ``d_i`` be the discount of document ``i`` at its rank by the new scores, and ``gamma_i`` the probability of its
relevance. With the estimates of :mod:`boostrank.clicks.relevance`, which are unbiased without `clip`,

    DCG of a query = sum_i gamma_i d_i,      estimate = sum_i estimate_i d_i

is unbiased too, because it is a sum. A document that was never shown has no estimate. If its rank counts, it is an
error that names the document, or by choice a term of 0.

**Self-normalized estimates.** With weights ``v_q`` of the queries, the estimate

    sum_q v_q sum_i estimate_i d_i / sum_q v_q sum_i estimate_i

is the mean discount of a relevant document: DCG divided by the expected number of relevant documents. The divisor is
the same for all scores, so that it compares rankers as DCG does. It has two advantages. It is a weighted mean of
discounts, so that it lies between 0 and ``d(1)`` if no estimate is negative. And in the position-based model without
`clip`, it does not change if all propensities are multiplied by one number. Swaps, intervention harvesting and
regression EM determine propensities only up to such a number. It is a ratio, with a bias of the order of one divided by
the number of sessions, or by the number of queries if it stands for other queries too (``by="queries"``). Swaminathan
and Joachims (NeurIPS 2015) introduced self-normalized estimates, with the sum of the importance weights as divisor.
That sum is not known here, because it is not known which documents without a click were examined; the sum over clicks
takes its place.

**NDCG.** The estimates are means over sessions of ``sum_i target_i d_i`` with the targets of
:func:`boostrank.clicks.session_targets`, which are unbiased for every distribution of the relevances. The
self-normalized NDCG is divided by the estimated probability that a session has a relevant document, which is the mean
of the multilinear ``1 - prod_j (1 - t_j)``, and for a cascade model of ``1 / w_j`` at the first clicked document ``j``.
So it is the NDCG of the sessions with a relevant document; the plain estimate counts the other sessions as 0. Both need
propensities that are right, and not only up to a common factor.

**Intervals.** Let an estimate be ``A / B`` with sums ``A = sum_c A_c`` and ``B = sum_c B_c`` over independent units
``c``. Its standard error is ``sqrt(n / (n - 1) sum_c (A_c - (A / B) B_c)^2) / B``, the delta method, and the interval
uses quantiles of Student's distribution with ``n - 1`` degrees of freedom. ``by="queries"``: units are queries, so that
the interval is for other queries of the same kind.

``by="sessions"``: units are sessions, and the interval is for these queries. The parts of a session are deviations of
its clicks from their estimated expectations, for NDCG of its terms from their mean over the sessions of the query.
Estimates follow their own clicks, which makes these deviations too small. Therefore they are divided by ``sqrt(1 -
h)``, where ``h`` is the share of the impression in the weights ``sum w a N`` of its document, for NDCG one divided by
the number of sessions of the query. Then their squares have the right expectation for NDCG and for equal ``h``, and in
the position-based model for rare clicks. With ``h = 1`` the deviation is always 0. There nothing is subtracted, so that
the error is too large instead of 0. In a log of counts, each impression counts as a session.

Errors of the propensities are included only with `n_bootstrap`. The bias of `clip` is not: with `clip`, an interval is
for the expectation of the clipped estimate, which may be far from DCG.

*Bootstrap.* Each sample draws as many queries as there are, with replacement. The click model is estimated from the
sample, and the estimate of DCG is that of the sample with this model. So the variation of propensities and of queries,
and the dependence between both, are those of new queries of the same kind (Efron and Tibshirani, "An introduction to
the bootstrap", 1993). In 120 simulated logs of 80 queries with ten sessions each, and harvested propensities, the
interval with the standard deviation of 100 samples contained the truth 94% of the time, that without bootstrap 92%, and
one with quantiles of the samples 92%.

**Differences.** Two rankers that are evaluated on one log share its noise, so that their intervals may overlap although
one of them is clearly better. All estimates are linear in the discounts. So the difference of two estimates is the
estimate for the differences ``d_i - d'_i`` of the discounts, and the formulas above give its paired interval.
"""

from __future__ import annotations

import re
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from boostrank.clicks.log import ClickLog, check_log, summed
from boostrank.clicks.models import Cascade, get_click_model
from boostrank.clicks.relevance import (
    NOT_SHOWN_OR_DROP,
    EntryWeights,
    Method,
    NotShown,
    NotShownOrDrop,
    entry_weights,
    estimate_relevance,
)
from boostrank.clicks.targets import session_targets, sessions_of_queries
from boostrank.inputs.arrays import Bools, Floats, finite_numbers
from boostrank.inputs.checks import as_generator, check_choice, check_count, check_flag, check_number
from boostrank.queries.dcg import DCG, Discount
from boostrank.queries.queries import Queries

Unit = Literal["queries", "sessions"]
MIN_BOOTSTRAP = 20
# The settings that are taken from ClickLabels.
SETTINGS = ("model", "method", "clip", "not_shown", "average")


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
    >>> found = evaluate(log, [1, 0, 1, 0], [1.0, 0.5])
    >>> round(found.value, 3), found.n_units, found.by, found.low < found.value < found.high
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
    n_bootstrap: int = 0,
    random_state: Any = None,
) -> CounterfactualEstimate:
    """Estimate from clicks how good the ranking by new scores is, with a confidence interval.

    The text of the module :mod:`boostrank.clicks.counterfactual` has the formulas.

    Parameters
    ----------
    log : ClickLog or ClickLabels
        It should not be the log from which the scores were learned: estimates follow the noise of their own clicks. In
        a simulation, a ranker had .664 on the log of its training, and .610 on fresh clicks. ``score`` of rankers warns
        of it, and this function cannot know. With ClickLabels, their click model and their settings `method`, `clip`,
        `not_shown` and `average` are used.
    scores : array-like, shape (n_documents,)
        Score of each row of `X`. Among equal scores, discounts are averaged.
    model : str, ClickModel, array-like of propensities, or callable
        As in :func:`boostrank.clicks.get_click_model`; or, with `n_bootstrap`, the function of a log that estimates it,
        such as ``lambda log: harvest_propensities(log).extended(10)``. Left out with ClickLabels.
    baseline : array-like, shape (n_documents,), optional
        Scores of another ranker. Then the result is the estimate for `scores` minus that for `baseline`, with the
        interval of this difference: one of the rankers is better if the interval does not contain 0.
    measure : str, default "dcg@10"
        "dcg" or "ndcg", or with a cutoff such as "dcg@5". Relevance is binary with gain 1. NDCG needs a log of
        sessions, and propensities that are not relative to position 1, as those estimated from clicks are.
    self_normalized : bool, default True
        Whether DCG is divided by the estimated number of relevant documents, which gives the mean discount of a
        relevant document, and NDCG by the estimated probability of a session with a relevant document. Both are in
        [0, 1], apart from errors of estimates. DCG without it is the expected DCG of a session.
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
        leave all documents that were never shown out of the ranking, or count them as not relevant. For NDCG, a
        document that is missing in a session is an error, unless it is ``"irrelevant"``.
    level : float in (0, 1), default 0.95
    n_bootstrap : int, default 0
        Number of samples of the queries with replacement, 0 or at least 20. In each, the click model is estimated anew,
        and its estimate of DCG computed. The standard error is the standard deviation of these, so that the interval
        includes the errors of the propensities.
    random_state : int, Generator or None
        For the samples of the queries.

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
    if model is None and hasattr(log, "log"):
        # ClickLabels, whose module imports this one.
        model, method, clip, not_shown, average = (getattr(log, name) for name in SETTINGS)
        not_shown, log = "irrelevant" if not_shown == "predict" else not_shown, log.log
    check_log(log)
    name, dcg = _parse(measure, discount)
    estimator = model
    if n_bootstrap:
        check_count("n_bootstrap", n_bootstrap, MIN_BOOTSTRAP)
        if name != "dcg" or by != "queries" or not callable(model):
            raise ValueError(
                "n_bootstrap draws queries and estimates the click model from each sample: it needs measure='dcg', "
                "by='queries', and a model that is a function of a log, such as lambda log: "
                "harvest_propensities(log).extended(log.n_positions)"
            )
        model = get_click_model(estimator(log))
    check_number("level", level, above=0, below=1)
    check_choice("by", by, ("queries", "sessions"))
    check_flag("self_normalized", self_normalized)
    check_choice("average", average, ("queries", "sessions"))
    rankings = [finite_numbers(scores, "scores", log=len(log))]
    if baseline is not None:
        rankings.append(finite_numbers(baseline, "baseline", log=len(log)))
    check_choice("not_shown", not_shown, NOT_SHOWN_OR_DROP)
    if not_shown == "drop" and not log.shown.all():
        log, rankings = log[log.shown], [values[log.shown] for values in rankings]
    queries = log.queries
    each = [queries.ungroup(discounts_of_documents(dcg, queries.group(values), queries)) for values in rankings]
    discounts = each[0] if baseline is None else each[0] - each[1]
    estimates = estimate_relevance(log, model, method=method, clip=clip, bounded=False, not_shown="irrelevant")
    weights = session_weights(log, average)
    counts = queries.ungroup(queries.repeat(weights > 0.0))
    without = ~estimates.shown & counts & (discounts != 0.0)
    if not_shown != "irrelevant":
        require_support(log, without)
    if name == "dcg":
        entry = entry_weights(log, model, method, clip)
        value, influences = _of_documents(log, discounts, weights, estimates.relevance, entry, self_normalized, by)
    else:
        if method != "auto":
            raise ValueError(f"method={method!r} is not used for NDCG; leave it out")
        of_sessions: NotShown = "irrelevant" if not_shown == "irrelevant" else "error"
        targets = session_targets(log, model, dcg=dcg, clip=clip, not_shown=of_sessions)
        value, influences = _of_sessions(log, targets * discounts[log.row], weights, model, clip, self_normalized, by)
    n, sum_of_squares = influences
    if n < 2:
        raise ValueError(f"an interval by {by} needs at least two {by} with impressions; got {n}: pass another by=")
    error = float(np.sqrt(sum_of_squares))
    if n_bootstrap:
        values, random, known = [], as_generator(random_state), np.flatnonzero(weights)
        for _ in range(n_bootstrap):
            drawn = np.bincount(random.choice(known, len(known)), minlength=queries.n_queries)
            settings: dict[str, Any] = {"method": method, "clip": clip, "bounded": False, "not_shown": "irrelevant"}
            relevance = estimate_relevance(log, estimator(log.weighted(drawn)), **settings).relevance
            of_row = queries.ungroup(queries.repeat(weights * drawn))
            divisor = float(of_row @ relevance) if self_normalized else float(weights @ drawn)
            divisor = _divisor(divisor, "number of relevant documents", log)
            values.append(float(of_row * discounts @ relevance) / divisor)
        error = float(np.std(values, ddof=1))
    import scipy

    margin = float(scipy.special.stdtrit(n - 1.0, (1.0 + level) / 2.0)) * error
    n_without = int(np.count_nonzero(without))
    return CounterfactualEstimate(value, value - margin, value + margin, error, n, by, n_without)


def require_support(labels: Any, without: Bools) -> None:
    """Raise ValueError that names the first row in `without`, whose rows matter and were never shown, if any."""
    if without.any():
        raise ValueError(
            f"{np.count_nonzero(without)} documents at ranks that count have no support: "
            f"{labels.name_of_row(int(np.argmax(without)))} was never shown where it may be examined, so that its "
            "relevance is not known. Pass not_shown='irrelevant' to count such documents as not relevant, "
            "not_shown='drop' to leave them out of the ranking, or a smaller cutoff"
        )


def _parse(measure: str, discount: Discount) -> tuple[str, DCG]:
    match = re.fullmatch(r"(n?dcg)(?:@([1-9][0-9]*))?", measure) if isinstance(measure, str) else None
    if match is None:
        raise ValueError(f"measure must be 'dcg' or 'ndcg', or with a cutoff such as 'dcg@10'; got {measure!r}")
    return match[1], DCG(None if match[2] is None else int(match[2]), discount=discount)


def discounts_of_documents(dcg: DCG, scores: Floats, queries: Queries) -> Floats:
    """Discount of each grouped document at its rank, averaged over ties; 0 beyond the cutoff."""
    sorting, by_rank = queries.sort(scores), dcg.discounts_of_ranks(queries)
    ties = queries.runs(scores[sorting])
    discounts = np.empty_like(by_rank)
    discounts[sorting] = ties.repeat(ties.mean(by_rank))
    return discounts


def session_weights(log: ClickLog, average: Unit) -> Floats:
    """Weight of each query, shape (n_queries,), with the sum 1; 0 for queries without impressions."""
    n_queries = log.queries.n_queries
    if log.sessions is not None:
        counts = sessions_of_queries(log).astype(np.float64)
    else:
        counts = np.zeros(n_queries)
        query, _, _, impressions = summed(n_queries, log.query, log.position, log.clicks, log.impressions)
        np.maximum.at(counts, query, impressions)
    weights = counts if average == "sessions" else (counts > 0).astype(np.float64)
    return weights / weights.sum()


def _of_documents(
    log: ClickLog,
    discounts: Floats,
    weights: Floats,
    relevance: Floats,
    entry: EntryWeights,
    self_normalized: bool,
    by: Unit,
) -> tuple[float, tuple[int, float]]:
    """The estimate of DCG; its number of independent units, and the sum of their squared influences."""
    queries, row = log.queries, log.row
    of_row = queries.ungroup(queries.repeat(weights))
    numerators, parts = of_row * discounts * relevance, of_row * relevance
    divisor = _divisor(float(parts.sum()), "number of relevant documents", log) if self_normalized else 1.0
    value = float(numerators.sum()) / divisor
    if by == "queries":
        per_query = queries.sum(queries.group(parts)) if self_normalized else weights
        residuals = queries.sum(queries.group(numerators)) - value * per_query
        return value, _influences_of_queries(residuals[weights > 0] / divisor)
    # The derivative of the estimate with respect to the estimated relevance of each row.
    slope = of_row * (discounts - value * self_normalized) / divisor
    total = np.bincount(row, weights=entry.weights * entry.clipped * log.impressions, minlength=len(log))
    factor = slope[row] * entry.weights / np.where(total > 0, total, 1.0)[row]
    share = np.divide(entry.weights * entry.clipped, total[row], out=np.zeros(len(row)), where=total[row] > 0)
    # The only impression of a row has no deviation from the estimate of the row, so nothing is subtracted there.
    alone = share > 1.0 - 1e-9
    expected = np.where(alone, 0.0, entry.clipped * relevance[row]) + entry.b
    factor = factor / np.sqrt(np.where(alone, 1.0, 1.0 - share))
    if log.sessions is not None:
        return value, _influences(log.sessions.sum(factor * (log.clicks - expected)))
    squares = log.clicks * (1.0 - expected) ** 2 + (log.impressions - log.clicks) * expected**2
    return value, (log.n_impressions, float((factor**2 * squares).sum()))


def _of_sessions(
    log: ClickLog, per_entry: Floats, weights: Floats, model: Any, clip: float, self_normalized: bool, by: Unit
) -> tuple[float, tuple[int, float]]:
    """The same as :func:`_of_documents` of NDCG, from the terms of each entry."""
    assert log.sessions is not None
    query, counts = log.query[log.sessions.starts], np.maximum(1, sessions_of_queries(log))
    columns = [log.sessions.sum(per_entry)]
    if self_normalized:
        columns.append(_any_relevant(log, model, clip))
    means = [np.bincount(query, weights=column, minlength=len(weights)) / counts for column in columns]
    name = "share of sessions with a relevant document"
    divisor = _divisor(float(weights @ means[1]), name, log) if self_normalized else 1.0
    value = float(weights @ means[0]) / divisor
    if by == "queries":
        residuals = weights * (means[0] - value * (means[1] if self_normalized else 1.0))
        return value, _influences_of_queries(residuals[weights > 0] / divisor)
    # The only session of a query has no deviation from the mean of the query, so nothing is subtracted there.
    alone = counts == 1
    terms, centers = columns[0], np.where(alone, 0.0, means[0])
    if self_normalized:
        terms, centers = terms - value * columns[1], centers - value * np.where(alone, 0.0, means[1])
    factor = weights / counts * np.sqrt(counts / np.maximum(1, counts - 1)) / divisor
    return value, _influences(factor[query] * (terms - centers[query]))


def _any_relevant(log: ClickLog, model: Any, clip: float) -> Floats:
    """Unbiased estimate, for each session, of whether it has a relevant document."""
    assert log.sessions is not None
    chosen = get_click_model(model)
    a, b = chosen.corrections(log)
    values = (log.clicks - b) / np.maximum(a, clip)
    if isinstance(chosen, Cascade):
        return log.sessions.sum(np.where(log.sessions.sum_before(log.clicks) == 0, values, 0.0))
    return 1.0 - np.multiply.reduceat(1.0 - values, log.sessions.starts)


def _divisor(value: float, name: str, log: ClickLog) -> float:
    """The divisor of a self-normalized estimate; raise ValueError that names the divisor if it is not positive."""
    if not value > 0.0:
        raise ValueError(
            f"the estimated {name} of {log!r} is {value:g}, so that a self-normalized estimate "
            "is not defined; pass self_normalized=False, or a log with more clicks"
        )
    return value


def _influences(values: Floats) -> tuple[int, float]:
    return len(values), float((values**2).sum())


def _influences_of_queries(values: Floats) -> tuple[int, float]:
    """Influences of residuals, whose squares are too small by the factor ``1 - 1/n`` because they have the mean 0."""
    return _influences(values * np.sqrt(len(values) / max(1.0, len(values) - 1.0)))
