"""Propensities by EM in which a classifier predicts relevance from features."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from boostrank.clicks.click_log import ClickLog
from boostrank.clicks.expectation_maximization import NEAR_ONE
from boostrank.clicks.interventions import Shown
from boostrank.clicks.propensities import Propensities
from boostrank.clicks.regression_steps import RegressionStep, State
from boostrank.inputs.arrays import Bools, Floats
from boostrank.inputs.checks import check_count, check_number
from boostrank.inputs.warnings import warn

# Propensities of all positions but the first in the second start.
SECOND_START = 0.8
# Propensities of the positions that are not fixed to 1, in a new start.
BELOW_ONE = 0.99
MIN_BOOTSTRAP = 20
# Samples start from the estimate. Steps that end too near to it would give errors that are too small.
BOOTSTRAP_ACCURACY = 4.0
# A difference of results from two starts that is above this, relative to the propensity, is named. EM takes small
# steps, so that both starts end some tolerances before the same point.
MAX_START_DIFFERENCE, MAX_START_TOLERANCES = 0.1, 20.0


def regression_em_propensities(
    log: ClickLog,
    X: Any,
    classifier: Any,
    *,
    max_position: int | None = None,
    n_folds: int = 2,
    n_bootstrap: int = 0,
    max_iterations: int = 200,
    tolerance: float = 0.002,
    random_state: Any = None,
) -> Propensities:
    """Estimate propensities and a classifier that predicts relevance from features together, by regression EM.

    The model is the position-based one, ``P(click) = p_k g(x)``, for a document with the features ``x`` at position
    ``k``. In the E step, an impression without a click was relevant with the probability ``g (1 - p) / (1 - p g)``. In
    the M step, the classifier is fitted to these probabilities: every row is given twice, with the class 1 and its
    expected number of relevant impressions as weight, and with the class 0 and the rest of its impressions. Then
    ``p_k`` maximizes the likelihood for the new ``g``:

        sum c / p_k = sum (n - c) g / (1 - p_k g)

    over the entries at position ``k``, with ``c`` clicks in ``n`` impressions. Steps are extrapolated (SQUAREM). They
    start once from ``1 / k`` and once from propensities that are nearly equal, and end when an extrapolated step
    changes no propensity by more than `tolerance`.

    *What identifies propensities.* Documents with similar features at different positions, of the same query or of
    others. No document must have been shown twice, so that the log may be that of one deterministic ranker. But the
    estimate is right only if position and relevance are independent given the features. It is wrong if the ranker knew
    more about relevance than `X` says, or if the classifier cannot tell how relevance follows from `X`. Then the
    documents at the first positions are more relevant than predicted, and propensities of low positions are too small.
    The log cannot show that. If documents were shown at several positions,
    :func:`~boostrank.clicks.harvest_propensities` makes neither assumption, and its errors are known.

    *The classifier* should have enough trees to follow relevance, since propensities of low positions are too small
    otherwise, and `n_folds` of at least 2: with one part, trees that fit the clicks of single rows make them too large.

    *If features determine the position*, nothing can be estimated, and results of both starts differ. That gives a
    warning.

    Parameters
    ----------
    log : ClickLog
        With sessions or with counts; the result is the same.
    X : array-like or sparse matrix, shape (n_documents, n_features)
        Features of all rows of the log, without any feature that was made from clicks or from the position.
    classifier : estimator
        A classifier of scikit-learn's interface with `sample_weight` and `predict_proba`, such as
        ``lightgbm.LGBMClassifier(n_estimators=50, num_leaves=8, verbosity=-1)``. It is cloned for every step, and
        should have a fixed seed.
    max_position : int, optional
        Entries at larger positions are not used. By default, all entries are.
    n_folds : int, default 2
        The relevance of the rows of each part of the queries is predicted by a classifier that is fitted to the other
        parts, so that it does not fit the noise of their clicks. 1: one classifier predicts its own training rows, as
        in the paper.
    n_bootstrap : int, default 0
        Number of bootstrap samples of queries for standard errors: 0 for none, or at least 20. Each takes about as long
        as one start.
    max_iterations : int, default 200
        Maximal number of EM steps of each start.
    tolerance : float, default 0.002
        See above; relative to the propensity.
    random_state : int, Generator or None
        For the parts of the queries and the bootstrap.

    Returns
    -------
    Propensities
        Relative to position 1. Standard errors are those of the bootstrap, which do not include the bias of a wrong
        `X` or `classifier`; NaN without bootstrap.

    Raises
    ------
    TypeError
        If the classifier has no `predict_proba`, or takes no `sample_weight`.
    ValueError
        If `X` has another number of rows than the log, if there are fewer queries with impressions than folds, if there
        are no clicks at position 1 or at no other position, or if another argument is invalid.

    Warns
    -----
    ConvergenceWarning
        If EM did not converge in `max_iterations` steps.
    UserWarning
        If the results of both starts differ by more than a tenth, and by more than 20 times `tolerance`, so that the
        log does not identify the propensities.

    References
    ----------
    Wang, Golbandi, Bendersky, Metzler and Najork, "Position bias estimation for unbiased learning to rank in personal
    search", WSDM 2018, Section 4.2. There, the relevance of each impression is drawn, and here its probability is a
    weight; and there, trees are fitted to the rows that they predict. Extrapolation: Varadhan and Roland, "Simple and
    globally convergent methods for accelerating the convergence of any EM algorithm", Scandinavian Journal of
    Statistics, 2008.

    Examples
    --------
    >>> import boostrank as br
    >>> from sklearn.linear_model import LogisticRegression
    >>> random = np.random.default_rng(0)
    >>> X, qid = random.standard_normal((1000, 2)), np.repeat(np.arange(200), 5)
    >>> y = (X[:, 0] + random.standard_normal(1000) > 0.5).astype(int)
    >>> log = br.simulate_clicks(y, X.sum(axis=1), qid, n_sessions=20_000, noise=0.1, random_state=0).log
    >>> regression_em_propensities(log, X, LogisticRegression(), random_state=0)  # doctest: +ELLIPSIS
    Propensities(1: 1, 2: 0.483, 3: 0.308, 4: 0.24, 5: 0.2; method='regression EM', ...)
    """
    for name, value, smallest in (("n_folds", n_folds, 1), ("max_iterations", max_iterations, 1)):
        check_count(name, value, smallest)
    check_count("n_bootstrap", n_bootstrap, 0)
    if 0 < n_bootstrap < MIN_BOOTSTRAP:
        raise ValueError(f"n_bootstrap must be 0, or at least {MIN_BOOTSTRAP} for errors; got {n_bootstrap}")
    check_number("tolerance", tolerance, above=0)
    shown = Shown.of_log(log, max_position)
    _check_features(log, X, classifier)
    supported, reasons = _with_clicks(shown)
    problem = RegressionStep.of_entries(shown.at_positions(supported), X, classifier, n_folds, random_state)
    found = _from_two_starts(problem, max_iterations, tolerance)
    values = np.full(len(supported), np.nan)
    values[supported] = found.state.propensity / found.state.propensity[0]
    errors = np.full(len(supported), np.nan)
    if n_bootstrap:
        errors[supported] = _bootstrap_errors(problem, found.state, n_bootstrap, max_iterations, tolerance)
    used = shown.where(supported[shown.position - 1])
    clicks, impressions = (
        np.bincount(used.position - 1, counts, len(supported)).astype(np.int64)
        for counts in (used.clicks, used.impressions)
    )
    n_queries = len(np.unique(used.query))
    return Propensities(values, errors, "regression EM", clicks, impressions, n_queries, reasons)


def _check_features(log: ClickLog, X: Any, classifier: Any) -> None:
    from sklearn.utils.validation import has_fit_parameter

    if not hasattr(classifier, "predict_proba") or not has_fit_parameter(classifier, "sample_weight"):
        raise TypeError(
            "classifier must have predict_proba and take sample_weight in fit, such as lightgbm.LGBMClassifier(); got "
            f"{type(classifier).__name__}"
        )
    n_rows = X.shape[0] if hasattr(X, "shape") and len(X.shape) else len(X)
    if n_rows != len(log):
        raise ValueError(f"X has {n_rows} rows, but the log belongs to {len(log)} rows")


def _with_clicks(shown: Shown) -> tuple[Bools, dict[int, str]]:
    """The positions with clicks, and why each of the others has no estimate."""
    clicks = np.bincount(shown.position - 1, shown.clicks, shown.n_positions)
    impressions = np.bincount(shown.position - 1, shown.impressions, shown.n_positions)
    supported: Bools = clicks > 0
    if not supported[0] or supported.sum() < 2:
        where = "at position 1" if not supported[0] else "at any position but the first"
        raise ValueError(
            f"the log has no clicks {where}, and propensities are ratios to position 1: collect more clicks"
        )
    return supported, {
        k + 1: "no clicks there" if impressions[k] else "nothing was shown there"
        for k in np.flatnonzero(~supported).tolist()
    }


class _Maximum(NamedTuple):
    state: State
    value: float
    converged: bool


def _from_two_starts(problem: RegressionStep, max_iterations: int, tolerance: float) -> _Maximum:
    """The result of the first start; warn if it did not converge, or if that of the second start differs."""
    n_positions = problem.shown.n_positions
    nearly_equal = np.full(n_positions, SECOND_START)
    nearly_equal[0] = 1.0
    one, other = (
        _run(problem, State(start, problem.mean_relevance(start)), max_iterations, tolerance)
        for start in (1.0 / np.arange(1.0, n_positions + 1.0), nearly_equal)
    )
    if not (one.converged and other.converged):
        from sklearn.exceptions import ConvergenceWarning

        warn(
            f"regression EM did not converge in {max_iterations} steps: increase max_iterations or tolerance, or give "
            "the classifier fewer or smaller trees",
            ConvergenceWarning,
        )
        return one
    values = [found.state.propensity / found.state.propensity[0] for found in (one, other)]
    difference = np.abs(np.log(values[0] / values[1]))
    if difference.max() > max(MAX_START_DIFFERENCE, MAX_START_TOLERANCES * tolerance):
        k = int(np.argmax(difference))
        warn(
            f"the propensity of position {k + 1} of the positions with clicks is {values[0][k]:.3g} or "
            f"{values[1][k]:.3g}, depending on the start: the log does not tell propensity from relevance where "
            "features determine the position, as scores of the ranker do. Leave out such features, or use "
            "harvest_propensities on a log in which documents were shown at several positions"
        )
    return one


def _run(problem: RegressionStep, state: State, max_iterations: int, tolerance: float) -> _Maximum:
    """EM from a state. The largest propensity is fixed to 1; if another one becomes 1, that one is fixed."""
    fixed = int(np.argmax(state.propensity))
    found = _fixed_point(problem, state, fixed, max_iterations, tolerance)
    others = np.delete(found.state.propensity, fixed)
    if others.max() > NEAR_ONE:
        propensity = np.minimum(found.state.propensity, BELOW_ONE)
        following = int(np.argmax(np.where(np.arange(len(propensity)) == fixed, 0.0, found.state.propensity)))
        propensity[following] = 1.0
        start = State(propensity, found.state.relevance)
        other = _fixed_point(problem, start, following, max_iterations, tolerance)
        found = max(found, other, key=lambda maximum: maximum.value)
    return found


def _fixed_point(problem: RegressionStep, state: State, fixed: int, max_iterations: int, tolerance: float) -> _Maximum:
    value = -np.inf
    for _ in range(0, max_iterations, 3):
        first, _ = problem.step(state, fixed)
        second, value = problem.step(first, fixed)
        third, value_there = problem.step(state.extrapolated(first, second), fixed)
        following = second
        if value_there >= value:
            following, value = third, value_there
        change = np.abs(np.log(following.propensity / state.propensity)).max()
        state = following
        if change <= tolerance:
            return _Maximum(state, value, True)
    return _Maximum(state, value, False)


def _bootstrap_errors(
    problem: RegressionStep, found: State, n_samples: int, max_iterations: int, tolerance: float
) -> Floats:
    """Standard deviations of propensities over samples of queries, in which a query counts as often as it is drawn."""
    n_queries = int(problem.query.max()) + 1
    counts = problem.random.multinomial(n_queries, np.full(n_queries, 1.0 / n_queries), size=n_samples)
    samples = np.empty((n_samples, len(found.propensity)))
    for i, count in enumerate(counts):
        sample = replace(problem, weight=count[problem.query].astype(np.float64))
        p = _run(sample, found, max_iterations, tolerance / BOOTSTRAP_ACCURACY).state.propensity
        samples[i] = p / p[0]
    errors: Floats = samples.std(axis=0, ddof=1)
    return errors
