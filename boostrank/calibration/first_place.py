"""The probability to be first in a list: events, and the map from scores that is fitted to them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from boostrank.inputs.arrays import Bools, Floats
from boostrank.queries.segments import Segments

#: How scores become probabilities.
METHODS = ("temperature", "isotonic")


def shares_of_first(relevance: Floats, queries: Segments) -> Floats:
    """How much of the event "first of the list" each grouped document has, shape (n_documents,).

    It is 1 for the document with the largest label, or the same share for each of those that tie
    for it.

    Examples
    --------
    >>> shares_of_first(np.array([0.0, 2.0, 2.0, 1.0, 0.0]), Segments.from_sizes([3, 2])).tolist()
    [0.0, 0.5, 0.5, 1.0, 0.0]
    """
    is_best = (relevance == queries.repeat(queries.max(relevance))).astype(np.float64)
    return is_best / queries.repeat(queries.sum(is_best))


def lists_to_count(relevance: Floats, queries: Segments, weights: Floats) -> Bools:
    """The lists that say which documents are first: not all labels are equal.

    Raises ValueError if there is none whose weight is above 0.
    """
    counted = (queries.max(relevance) > queries.min(relevance)) & (weights > 0.0)
    if not counted.any():
        raise ValueError(
            "no list to calibrate on says which document is first: in each, all labels are equal "
            "or there is one document"
        )
    return counted


@dataclass(frozen=True)
class FirstPlace:
    """A map from scores to utilities, the softmax of which is the probability to be first.

    Attributes
    ----------
    temperature : float
        What scores are divided by.
    curve : (list of float, list of float) or None
        Probabilities before and after the isotonic regression, at its steps; None without it.
    mixed : float
        The share of the probability before the isotonic regression in that after it, so that
        different scores stay different.
    """

    temperature: float
    curve: tuple[list[float], list[float]] | None = None
    mixed: float = 0.0

    @classmethod
    def fit(
        cls, scores: Floats, relevance: Floats, queries: Segments, weights: Floats, method: str
    ) -> Self:
        """Fit to scores of queries that the ranker was not trained on.

        Parameters
        ----------
        scores, relevance : ndarray, shape (n_documents,)
            Grouped by query.
        queries : Segments
        weights : ndarray, shape (n_queries,)
        method : {"temperature", "isotonic"}

        Raises
        ------
        ValueError
            If no list says which document is first, or if the scores do not find it better than
            chance does.
        """
        counted = lists_to_count(relevance, queries, weights)
        weights = np.where(counted, weights, 0.0)
        n_lists = np.count_nonzero(counted)
        # The counts of Platt (1999), which keep the temperature above 0 if the best document always
        # has the highest score.
        smoothing = 1.0 / (n_lists + 2.0)
        shares = shares_of_first(relevance, queries)
        smooth = (1.0 - smoothing) * shares + smoothing / queries.repeat(queries.sizes)
        temperature = _best_temperature(scores, smooth, queries, weights)
        if method == "temperature":
            return cls(temperature)
        probabilities = queries.softmax(scores / temperature)
        return cls(temperature, _curve(probabilities, shares, queries.repeat(weights)), smoothing)

    def utilities(self, scores: Floats, queries: Segments) -> Floats:
        """Logarithms of the worths of grouped documents, which sort like the scores."""
        scaled = scores / self.temperature
        if self.curve is None:
            return scaled
        before = queries.softmax(scaled)
        after = np.interp(before, *self.curve)
        # Below the smallest float, the logarithm of the probability itself is exact.
        log_before = scaled - queries.repeat(queries.logsumexp(scaled))
        with np.errstate(divide="ignore"):
            log_after = np.log((1.0 - self.mixed) * after)
        return np.logaddexp(log_after, np.log(self.mixed) + log_before)

    @property
    def is_isotonic(self) -> bool:
        """Whether there is a curve beside the temperature."""
        return self.curve is not None

    def scaled(self, scores: Floats) -> Floats:
        """Scores, divided by the temperature."""
        return scores / self.temperature

    def probabilities(self, scores: Floats, X: object, queries: Segments) -> Floats:
        """The probability of each grouped document to be first; the features are not used."""
        return queries.softmax(self.utilities(scores, queries))

    def as_dict(self) -> dict[str, Any]:
        """The fields for a model file."""
        fields: dict[str, Any] = {"temperature": self.temperature}
        if self.curve is not None:
            fields |= {"curve": self.curve, "mixed": self.mixed}
        return fields

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """What :meth:`as_dict` returned."""
        curve = fields.get("curve")
        if curve is None:
            return cls(fields["temperature"])
        before, after = curve
        return cls(fields["temperature"], (before, after), fields["mixed"])


def _best_temperature(scores: Floats, shares: Floats, queries: Segments, weights: Floats) -> float:
    """The temperature with the largest likelihood.

    In its inverse b, the loss ``sum_q weight_q (log sum_j exp(b s_j) - b sum_j share_j s_j)`` is
    convex, and its derivative is the mean score by the softmax minus that by the shares.
    """
    centred = scores - queries.repeat(queries.max(scores))
    observed = queries.sum(shares * centred)

    def derivative(inverse: float) -> float:
        expected = queries.sum(queries.softmax(inverse * centred) * centred)
        return float(weights @ (expected - observed))

    spread = np.sqrt(float(weights @ queries.mean(centred**2)) / weights.sum())
    if not spread > 0.0 or derivative(0.0) >= 0.0:
        raise ValueError(
            "the scores of lists that the ranker was not trained on do not find the first document "
            "better than chance does, so that no temperature makes them probabilities. Train on "
            "more lists, or with other features"
        )
    # Imported on use, because predictions do not need it.
    from scipy.optimize import brentq

    upper = 1.0 / spread
    while derivative(upper) < 0.0:
        upper *= 2.0
    return 1.0 / brentq(derivative, 0.0, upper, xtol=1e-12 * upper, rtol=1e-10)


def _curve(before: Floats, shares: Floats, weights: Floats) -> tuple[list[float], list[float]]:
    """The steps of the isotonic regression of shares on probabilities."""
    from sklearn.isotonic import IsotonicRegression

    counted = weights > 0.0
    regression = IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip")
    regression.fit(before[counted], shares[counted], weights[counted])
    return regression.X_thresholds_.tolist(), regression.y_thresholds_.tolist()
