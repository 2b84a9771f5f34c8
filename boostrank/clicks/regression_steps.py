"""One step of regression EM: relevance predicted from features, and the propensities that are likeliest for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import special

from boostrank.clicks.expectation_maximization import SMALLEST
from boostrank.clicks.interventions import Shown
from boostrank.inputs.arrays import Bools, Floats, Ints
from boostrank.inputs.checks import as_generator

# Limits of predicted relevance, so that its logarithms are finite and there is no certainty.
MIN_RELEVANCE, MAX_RELEVANCE = 1e-6, 0.999
MAX_START = 0.9
# Newton's method for the propensities finds them in fewer steps.
NEWTON_STEPS = 50
# The largest factor by which an extrapolation prolongs the change of two EM steps.
MAX_EXTRAPOLATION = 32.0


class State(NamedTuple):
    """Propensities by position, and predicted relevances by row that was shown."""

    propensity: Floats
    relevance: Floats

    def extrapolated(self, first: State, second: State) -> State:
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
        return State(np.exp(np.clip(p, np.log(SMALLEST), 0.0)), relevance)


@dataclass(frozen=True, eq=False)
class RegressionStep:
    """The rows that were shown, with all that a step of EM needs about them.

    Attributes
    ----------
    shown : Shown
    X : features of the rows that were shown
    classifier : estimator
    query : ndarray of int64, shape (n_rows,)
        Number of the query of each row, from 0.
    fold : ndarray of int64, shape (n_rows,)
    n_folds : int
    weight : ndarray of float64, shape (n_rows,)
        How often each row counts, which is not 1 in bootstrap samples.
    random : Generator
    """

    shown: Shown
    X: Any
    classifier: Any
    query: Ints
    fold: Ints
    n_folds: int
    weight: Floats
    random: np.random.Generator

    @classmethod
    def of_entries(cls, shown: Shown, X: Any, classifier: Any, n_folds: int, random_state: Any) -> RegressionStep:
        """Take the features of the rows that were shown from those of all rows, and draw the parts of the queries."""
        from sklearn.utils import _safe_indexing

        random = as_generator(random_state)
        starts = shown.rows.starts
        queries, query = np.unique(shown.query[starts], return_inverse=True)
        if len(queries) < n_folds:
            raise ValueError(
                f"n_folds must not be above the number of queries with impressions, {len(queries)}; got {n_folds}"
            )
        fold = random.permutation(len(queries))[query] % n_folds
        features = _safe_indexing(np.asarray(X) if isinstance(X, list) else X, shown.row[starts])
        return cls(shown, features, classifier, query, fold, n_folds, np.ones(len(starts)), random)

    @property
    def n_rows(self) -> int:
        """Number of rows that were shown."""
        return len(self.query)

    def mean_relevance(self, propensity: Floats) -> Floats:
        """The same relevance for each row, with which all impressions together have as many clicks as in the log."""
        shown = self.shown
        examined = (shown.impressions * propensity[shown.position - 1]).sum()
        mean = np.clip(shown.clicks.sum() / examined, MIN_RELEVANCE, MAX_START)
        return np.full(self.n_rows, mean)

    def step(self, state: State, fixed: int) -> tuple[State, float]:
        """The state after one EM step, in which the propensity of one position stays; its log-likelihood."""
        shown, rows = self.shown, self.shown.rows
        p, g = state.propensity[shown.position - 1], rows.repeat(state.relevance)
        without = shown.impressions - shown.clicks
        relevant = rows.sum(shown.clicks + without * g * (1.0 - p) / (1.0 - p * g))
        relevance = self._predict(relevant, rows.sum(shown.impressions).astype(np.float64))
        g, weight = rows.repeat(relevance), rows.repeat(self.weight)
        propensity = _maximize(shown, g, weight, state.propensity, fixed)
        rate = propensity[shown.position - 1] * g
        value = (weight * (shown.clicks * np.log(rate) + without * np.log1p(-rate))).sum()
        return State(propensity, relevance), float(value)

    def _predict(self, relevant: Floats, impressions: Floats) -> Floats:
        """Relevance of each row, by classifiers that are fitted to the expected numbers of relevant impressions."""
        found = np.empty(self.n_rows)
        for part in range(self.n_folds):
            predicted = self.fold == part
            fitted = ~predicted if self.n_folds > 1 else predicted
            found[predicted] = self._fit_predict(fitted, predicted, relevant, impressions)
        return np.clip(found, MIN_RELEVANCE, MAX_RELEVANCE)

    def _fit_predict(self, fitted: Bools, predicted: Bools, relevant: Floats, impressions: Floats) -> Floats:
        from sklearn.base import clone
        from sklearn.utils import _safe_indexing

        rows = np.flatnonzero(fitted)
        weights = np.concatenate([relevant, impressions - relevant]) * np.tile(self.weight, 2)
        labels = np.repeat([1, 0], len(rows))
        weights = weights[np.concatenate([rows, rows + self.n_rows])]
        rows, kept = np.tile(rows, 2), weights > 0
        model = clone(self.classifier).fit(
            _safe_indexing(self.X, rows[kept]), labels[kept], sample_weight=weights[kept]
        )
        probabilities = model.predict_proba(_safe_indexing(self.X, np.flatnonzero(predicted)))
        if probabilities.shape[1] < 2:
            return np.full(np.count_nonzero(predicted), float(model.classes_[0]))
        relevance: Floats = np.asarray(probabilities, dtype=np.float64)[:, 1]
        return relevance


def _maximize(shown: Shown, g: Floats, weight: Floats, start: Floats, fixed: int) -> Floats:
    """The propensities up to 1 that maximize the likelihood for given relevances, by Newton's method.

    With ``t = log p_k``, the likelihood is concave in ``t``. Its derivative is ``sum c - (n - c) x / (1 - x)`` with ``x
    = p_k g``, and minus its second derivative is ``sum (n - c) x / (1 - x)^2``.
    """
    position, n_positions = shown.position - 1, shown.n_positions
    without = weight * (shown.impressions - shown.clicks)
    clicks = np.bincount(position, weight * shown.clicks, n_positions)
    logs = np.log(start)
    for _ in range(NEWTON_STEPS):
        x = np.exp(logs)[position] * g
        missed = without * x / (1.0 - x)
        score = clicks - np.bincount(position, missed, n_positions)
        curvature = np.bincount(position, missed / (1.0 - x), n_positions)
        step = np.clip(score / np.maximum(curvature, SMALLEST), -1.0, 1.0)
        step[fixed] = 0.0
        following = np.clip(logs + step, np.log(SMALLEST), 0.0)
        done = np.abs(following - logs).max() < 1e-9
        logs = following
        if done:
            break
    propensity: Floats = np.exp(logs)
    return propensity
