"""Propensities by EM in which a classifier predicts relevance from features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import special

from boostrank.clicks.diagnosis import warn_of_predicted_positions
from boostrank.clicks.log import ClickLog
from boostrank.clicks.propensities import Propensities, Shown, reasons_without_value
from boostrank.inputs.arrays import Bools, Floats, Ints
from boostrank.inputs.checks import as_generator, check_count, check_number
from boostrank.inputs.warnings import warn

# Limits of predicted relevance, so that its logarithms are finite and there is no certainty.
MIN_RELEVANCE, MAX_RELEVANCE = 1e-6, 0.999
MIN_PROPENSITY = 1e-12
MAX_START = 0.9
# The bound of 1 may limit propensities above the first number. A new start lowers these to the second number.
NEAR_ONE, BELOW_ONE = 0.999, 0.99
# Largest number of steps of Newton's method for the propensities, which needs fewer.
NEWTON_STEPS = 50
# The largest factor by which an extrapolation prolongs the change of two EM steps.
MAX_EXTRAPOLATION = 32.0


def regression_em_propensities(
    log: ClickLog,
    X: Any,
    classifier: Any,
    *,
    max_position: int | None = None,
    n_folds: int = 2,
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
    start from ``1 / k``, and end when an extrapolated step changes no propensity by more than `tolerance`.

    *What identifies propensities.* Documents with similar features at different positions, of the same query or of
    others. No document needs to be shown twice, so that the log may be that of one deterministic ranker. But the
    estimate is right only if position and relevance are independent given the features. It is wrong if the ranker knew
    more about relevance than `X` says, or if the classifier cannot tell how relevance follows from `X`. Then the
    documents at the first positions are more relevant than predicted, and propensities of low positions are too small.
    The log cannot show that. If documents were shown at several positions,
    :func:`~boostrank.clicks.harvest_propensities` makes neither assumption, and its errors are known.

    *The classifier* should have enough trees to follow relevance, since propensities of low positions are too small
    otherwise, and `n_folds` of at least 2: with one part, trees that fit the clicks of single rows make them too large.

    *If features predict the position well*, as those of one good ranker do, errors of the classifier become errors of
    the propensities, and if they determine it, nothing can be estimated. So there is a warning if the classifier,
    fitted to predict whether an impression is at the first half of the positions, explains more than 20% of the
    variance of that (the squared correlation). In simulations with ten positions, propensities ``1 / k`` and features
    that determine relevance, but not in the form that the classifier has, estimates at position 10 were

    =============================================== ============ ==============
    result lists                                    explained    estimate of .1
    =============================================== ============ ==============
    sorted by relevance                             .33 to .48   .034 to .041
    with noise of 0.4 times its standard deviation  .24 to .31   .038 to .046
    with noise of 0.6                               .18 to .20   .050 to .059
    with noise of 0.8                               .13          .060 to .066
    with noise of 1.1                               .10          .067 to .074
    random                                          .00          .102 to .106
    =============================================== ============ ==============

    The warning is given too where the classifier happens to have the right form.

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
    max_iterations : int, default 200
        Maximal number of EM steps.
    tolerance : float, default 0.002
        See above; relative to the propensity.
    random_state : int, Generator or None
        For the parts of the queries.

    Returns
    -------
    Propensities
        Relative to position 1. Standard errors are NaN. Those of a bootstrap are the standard deviations of estimates
        from ``log.weighted(counts)``, where ``counts`` says how often each query was drawn; and `n_bootstrap` of
        :func:`boostrank.clicks.evaluate` includes such errors. Neither includes the bias of a wrong `X` or
        `classifier`.

    Raises
    ------
    ValueError
        If `X` has another number of rows than the log, if there are no clicks at position 1 or at no other position, or
        if another argument is invalid.

    Warns
    -----
    ConvergenceWarning
        If EM did not converge in `max_iterations` steps.
    UserWarning
        If features predict the position, and as :func:`harvest_propensities`.

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
    >>> scores = X[:, 0] + 2.0 * random.standard_normal(1000)
    >>> log = br.simulate_clicks(y, scores, qid, n_sessions=20_000, noise=0.1, random_state=0).log
    >>> regression_em_propensities(log, X, LogisticRegression(), random_state=0)  # doctest: +ELLIPSIS
    Propensities(1: 1, 2: 0.509, 3: 0.356, 4: 0.273, 5: 0.215; method='regression EM', ...)
    """
    check_count("n_folds", n_folds)
    check_count("max_iterations", max_iterations)
    check_number("tolerance", tolerance, above=0)
    shown = Shown.of_log(log, max_position)
    _check_features(log, X)
    supported, reasons = _with_clicks(shown)
    random = as_generator(random_state)
    problem = _Problem.of_entries(shown.at_positions(supported), X, classifier, n_folds, random)
    warn_of_predicted_positions(problem.shown, problem.predict)
    start = problem.start(1.0 / np.arange(1.0, problem.shown.n_positions + 1.0))
    found, converged = _run(problem, start, max_iterations, tolerance)
    if not converged:
        from sklearn.exceptions import ConvergenceWarning

        warn(
            f"regression EM did not converge in {max_iterations} steps: increase max_iterations or tolerance, or give "
            "the classifier fewer or smaller trees",
            ConvergenceWarning,
        )
    values, errors = np.full((2, len(supported)), np.nan)
    values[supported] = found.propensity / found.propensity[0]
    used = shown.where(supported[shown.position - 1])
    return Propensities.of_estimate(values, errors, "regression EM", used, reasons)


def _check_features(log: ClickLog, X: Any) -> None:
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
    not_shown = [(impressions == 0, "nothing was shown there")]
    return supported, reasons_without_value(supported, not_shown, "no clicks there")


class _State(NamedTuple):
    """Propensities by position, predicted relevances by row that was shown, and the log-likelihood of both."""

    propensity: Floats
    relevance: Floats
    value: float = -np.inf

    def extrapolated(self, first: _State, second: _State) -> _State:
        """The point to which this state and two EM steps from it seem to tend."""
        points = [(np.log(state.propensity), special.logit(state.relevance)) for state in (self, first, second)]
        before, after = ([y - x for x, y in zip(*pair, strict=True)] for pair in (points[:2], points[1:]))
        change = float(np.sqrt(((after[0] - before[0]) ** 2).sum()))
        length = float(np.sqrt((before[0] ** 2).sum())) / change if change > 0 else 1.0
        length = min(max(1.0, length), MAX_EXTRAPOLATION)
        p, g = (
            x + 2.0 * length * one + length**2 * (other - one)
            for x, one, other in zip(points[0], before, after, strict=True)
        )
        relevance = np.clip(special.expit(g), MIN_RELEVANCE, MAX_RELEVANCE)
        return _State(np.exp(np.clip(p, np.log(MIN_PROPENSITY), 0.0)), relevance)


@dataclass(frozen=True, eq=False)
class _Problem:
    """The entries of the log, and of each row that was shown its features and the part of the queries."""

    shown: Shown
    X: Any
    classifier: Any
    fold: Ints
    n_folds: int

    @classmethod
    def of_entries(cls, shown: Shown, X: Any, classifier: Any, n_folds: int, random: np.random.Generator) -> _Problem:
        """Take the features of the rows that were shown from those of all rows, and draw the parts of the queries."""
        from sklearn.utils import _safe_indexing

        starts = shown.rows.starts
        queries, query = np.unique(shown.query[starts], return_inverse=True)
        fold = random.permutation(len(queries))[query] % n_folds
        features = _safe_indexing(np.asarray(X) if isinstance(X, list) else X, shown.row[starts])
        return cls(shown, features, classifier, fold, n_folds)

    def start(self, propensity: Floats) -> _State:
        """The state with the relevance, equal for all rows, that gives as many clicks as the log has."""
        shown = self.shown
        examined = (shown.impressions * propensity[shown.position - 1]).sum()
        mean = np.clip(shown.clicks.sum() / examined, MIN_RELEVANCE, MAX_START)
        return _State(propensity, np.full(len(self.fold), mean))

    def step(self, state: _State, fixed: int) -> _State:
        """The state after one EM step, in which the propensity of one position stays."""
        shown, rows = self.shown, self.shown.rows
        p, g = state.propensity[shown.position - 1], rows.repeat(state.relevance)
        without = shown.impressions - shown.clicks
        relevant = rows.sum(shown.clicks + without * g * (1.0 - p) / (1.0 - p * g))
        relevance = self.predict(relevant, rows.sum(shown.impressions).astype(np.float64))
        g = rows.repeat(relevance)
        propensity = _likeliest(shown, g, state.propensity, fixed)
        rate = propensity[shown.position - 1] * g
        value = (shown.clicks * np.log(rate) + without * np.log1p(-rate)).sum()
        return _State(propensity, relevance, float(value))

    def predict(self, relevant: Floats, impressions: Floats) -> Floats:
        """Relevance of each row, by classifiers that are fitted to the expected numbers of relevant impressions."""
        from sklearn.base import clone
        from sklearn.utils import _safe_indexing

        found = np.empty(len(self.fold))
        for part in range(self.n_folds):
            predicted = self.fold == part
            rows = np.flatnonzero(~predicted if self.n_folds > 1 else predicted)
            weights = np.concatenate([relevant[rows], (impressions - relevant)[rows]])
            labels, rows, kept = np.repeat([1, 0], len(rows)), np.tile(rows, 2), weights > 0
            model = clone(self.classifier).fit(
                _safe_indexing(self.X, rows[kept]), labels[kept], sample_weight=weights[kept]
            )
            probabilities = np.asarray(model.predict_proba(_safe_indexing(self.X, np.flatnonzero(predicted))))
            only_class = probabilities.shape[1] < 2
            found[predicted] = float(model.classes_[0]) if only_class else probabilities[:, 1]
        return np.clip(found, MIN_RELEVANCE, MAX_RELEVANCE)


def _run(problem: _Problem, state: _State, max_iterations: int, tolerance: float) -> tuple[_State, bool]:
    """EM from a state. The largest propensity is fixed to 1; if another one becomes 1, that one is fixed."""
    fixed = int(np.argmax(state.propensity))
    found = _fixed_point(problem, state, fixed, max_iterations, tolerance)
    others = found[0].propensity.copy()
    others[fixed] = 0.0
    if others.max() > NEAR_ONE:
        propensity, largest = np.minimum(found[0].propensity, BELOW_ONE), int(np.argmax(others))
        propensity[largest] = 1.0
        start = found[0]._replace(propensity=propensity)
        other = _fixed_point(problem, start, largest, max_iterations, tolerance)
        found = max(found, other, key=lambda one: one[0].value)
    return found


def _fixed_point(
    problem: _Problem, state: _State, fixed: int, max_iterations: int, tolerance: float
) -> tuple[_State, bool]:
    """The state at which EM ends, and whether it converged."""
    for _ in range(0, max_iterations, 3):
        first = problem.step(state, fixed)
        second = problem.step(first, fixed)
        third = problem.step(state.extrapolated(first, second), fixed)
        # EM never lowers the likelihood, and an extrapolation may.
        following = third if third.value >= second.value else second
        change = np.abs(np.log(following.propensity / state.propensity)).max()
        state = following
        if change <= tolerance:
            return state, True
    return state, False


def _likeliest(shown: Shown, g: Floats, start: Floats, fixed: int) -> Floats:
    """The propensities up to 1 that maximize the likelihood for given relevances, by Newton's method.

    With ``t = log p_k``, the likelihood is concave in ``t``. Its derivative is ``sum c - (n - c) x / (1 - x)`` with ``x
    = p_k g``, and minus its second derivative is ``sum (n - c) x / (1 - x)^2``.
    """
    position, n_positions = shown.position - 1, shown.n_positions
    without = shown.impressions - shown.clicks
    clicks = np.bincount(position, shown.clicks, n_positions)
    logs = np.log(start)
    for _ in range(NEWTON_STEPS):
        x = np.exp(logs)[position] * g
        missed = without * x / (1.0 - x)
        score = clicks - np.bincount(position, missed, n_positions)
        curvature = np.bincount(position, missed / (1.0 - x), n_positions)
        step = np.clip(score / np.maximum(curvature, MIN_PROPENSITY), -1.0, 1.0)
        step[fixed] = 0.0
        before, logs = logs, np.clip(logs + step, np.log(MIN_PROPENSITY), 0.0)
        if np.abs(logs - before).max() < 1e-9:
            break
    propensity: Floats = np.exp(logs)
    return propensity
