"""The one thing about a ranker that limits of NDCG depend on: how probable each label is at each height of its scores.

Wang et al. map scores to ``s`` in [0, 1] by their distribution function: documents of ``s = 1`` stand first, those of
``s = 0`` last, and ``s`` is uniform. A :class:`ScoreCurve` holds ``P(Y = label | s)``.

The uniform distribution of ``s`` (their Lemma 3) needs scores without ties. Here tied documents share their places on
[0, 1], each with the mean labels of all: that is NDCG with averaged ties.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.integrate import quad_vec

from boostrank.dcg import DCG, Gain, check_relevance
from boostrank.metrics import check_scores
from boostrank.queries import Queries
from boostrank.segments import Floats

# Absolute error that quadrature of probabilities aims at, and the one beyond which it is refused.
QUADRATURE_GOAL, QUADRATURE_LIMIT = 1e-11, 1e-6
# Rounding that sums of probabilities may have.
PROBABILITY_ROUNDING = 1e-9
# How far the label shares of two rankers of one population may be apart.
SHARES_ROUNDING = 1e-6


@dataclass(frozen=True, eq=False)
class ScoreCurve:
    """Label probabilities of documents by the height of their scores.

    Parameters
    ----------
    labels : array-like, shape (n_labels,)
        All labels, 0 or more, strictly increasing.
    probabilities : callable
        Takes ``s``, shape (m,), in [0, 1], to ``P(Y = label | s)``, shape (m, n_labels).
    breaks : array-like, default ()
        Points in (0, 1) at which the probabilities jump or bend, for quadrature.

    Raises
    ------
    ValueError
        If labels or probabilities are invalid.

    References
    ----------
    Wang et al., "A theoretical analysis of NDCG type ranking measures", COLT 2013, Definition 2.

    Examples
    --------
    >>> good = ScoreCurve.binary(lambda s: 0.6 * s**2)
    >>> good.shares.round(6).tolist()
    [0.8, 0.2]
    >>> good.expected_gain([0.0, 1.0]).tolist()
    [0.0, 0.6]
    """

    labels: Any
    probabilities: Callable[[Floats], Floats]
    breaks: Any = ()

    def __post_init__(self) -> None:
        labels = check_relevance(self.labels)
        if len(labels) < 2 or (np.diff(labels) <= 0).any():
            raise ValueError(f"labels must be two or more, strictly increasing; got {self.labels!r}")
        breaks = np.unique(np.asarray(self.breaks, dtype=np.float64))
        if breaks.ndim != 1 or not ((breaks > 0) & (breaks < 1)).all():
            raise ValueError(f"breaks must lie between 0 and 1; got {self.breaks!r}")
        object.__setattr__(self, "labels", labels)
        object.__setattr__(self, "breaks", breaks)
        self.at(np.linspace(0.0, 1.0, 101))

    @classmethod
    def binary(cls, curve: Callable[[Floats], Floats], breaks: ArrayLike = ()) -> ScoreCurve:
        """Labels 0 and 1, with ``P(Y = 1 | s) = curve(s)``, vectorized."""

        def probabilities(s: Floats) -> Floats:
            relevant = np.broadcast_to(np.asarray(curve(s), dtype=np.float64), s.shape)
            return np.stack([1.0 - relevant, relevant], axis=1)

        return cls([0.0, 1.0], probabilities, breaks)

    @classmethod
    def constant(cls, labels: ArrayLike, shares: ArrayLike) -> ScoreCurve:
        """Scores that say nothing: the same `shares` of `labels` at each height."""
        return cls.steps(labels, np.atleast_2d(np.asarray(shares, dtype=np.float64)))

    @classmethod
    def steps(cls, labels: ArrayLike, table: ArrayLike) -> ScoreCurve:
        """Probabilities that are constant on equal parts of [0, 1].

        Parameters
        ----------
        labels : array-like, shape (n_labels,)
        table : array-like, shape (n_parts, n_labels)
            Probabilities from the lowest scores to the highest.
        """
        rows = np.asarray(table, dtype=np.float64)
        if rows.ndim != 2 or len(rows) == 0:
            raise ValueError(f"table must have shape (n_parts, n_labels), not empty; got shape {rows.shape}")
        n_parts = len(rows)
        jumps = np.flatnonzero((np.diff(rows, axis=0) != 0).any(axis=1)) + 1

        def probabilities(s: Floats) -> Floats:
            return rows[np.minimum((s * n_parts).astype(np.int64), n_parts - 1)]

        return cls(labels, probabilities, jumps / n_parts)

    def at(self, s: ArrayLike) -> Floats:
        """``P(Y = label | s)``, shape (m, n_labels).

        Raises
        ------
        ValueError
            If `s` is outside of [0, 1], or what comes out are not probabilities that sum to 1.
        """
        heights = np.atleast_1d(np.asarray(s, dtype=np.float64))
        if heights.ndim != 1 or not ((heights >= 0) & (heights <= 1)).all():
            raise ValueError(f"s must be one-dimensional, in [0, 1]; got {s!r}")
        values = np.asarray(self.probabilities(heights), dtype=np.float64)
        if values.shape != (len(heights), len(self.labels)):
            raise ValueError(
                f"probabilities must take {len(heights)} points to shape {(len(heights), len(self.labels))}; "
                f"got shape {values.shape}"
            )
        wrong = ~(values.min(axis=1) >= -PROBABILITY_ROUNDING) | ~(abs(values.sum(axis=1) - 1) <= PROBABILITY_ROUNDING)
        if wrong.any():
            first = int(np.argmax(wrong))
            raise ValueError(
                f"probabilities must be in [0, 1] and sum to 1; at s = {heights[first]:g} they are "
                f"{values[first].tolist()}"
            )
        return np.clip(values, 0.0, 1.0)

    def gains(self, gain: Gain = "exp2") -> Floats:
        """Gain of each label, shape (n_labels,)."""
        return DCG(gain=gain).gains(self.labels)

    def expected_gain(self, s: ArrayLike, gain: Gain = "exp2") -> Floats:
        """``E[G(Y) | s]``, shape (m,)."""
        return self.at(s) @ self.gains(gain)

    @cached_property
    def shares(self) -> Floats:
        """``P(Y = label)``, shape (n_labels,): the integral of the probabilities over [0, 1]."""
        return integrate(lambda s: self.at(s)[0], 0.0, 1.0, self.breaks)

    def ideal_steps(self, gain: Gain = "exp2") -> tuple[Floats, Floats]:
        """Gains from the largest, and the share of documents that have at least each: the curve of ideal scores.

        Labels of no documents are left out.

        Returns
        -------
        gains, reached : ndarray, shape (n_levels,)
            ``reached`` is the R_j of Theorem 14, and ends at 1.

        Raises
        ------
        ValueError
            If no document has a gain above 0.
        """
        gains, present = self.gains(gain), self.shares > QUADRATURE_LIMIT
        if not gains[present].any():
            raise ValueError("NDCG is 0/0: the curve has no label of positive gain and probability")
        levels, reached = gains[present][::-1], np.cumsum(self.shares[present][::-1])
        return levels, reached / reached[-1]


def estimate_curve(
    y: ArrayLike,
    scores: ArrayLike,
    qid: ArrayLike | None = None,
    *,
    method: Literal["isotonic", "bins"] = "isotonic",
    n_bins: int | None = None,
) -> ScoreCurve:
    """Label probabilities by height of score, estimated from labelled and scored documents.

    A document's height is ``1 - (rank - 1/2) / n`` in its query of ``n`` documents, for scores compare within queries
    only; tied documents have their mean rank. Heights of all queries are pooled, spread evenly over [0, 1], and cut
    into `n_bins` parts of equally many documents, each with the mean of its labels. The shares of the labels are those
    of `y`, exactly. What is pooled is taken as one population: differences between queries are averaged out. And a
    rank among n documents tells a height to within about ``1 / (2 sqrt(n))``, so short lists blur the curve.

    Parameters
    ----------
    y, scores : array-like, shape (n_documents,)
        Labels, and the ranker's scores.
    qid : array-like, shape (n_documents,), optional
        None: the rows are one query.
    method : {"isotonic", "bins"}, default "isotonic"
        Means of the bins made monotone, ``P(Y >= label)`` never falling with the score, by isotonic regression; or
        the means as they are, for rankers that may be wrong in places.
    n_bins : int, optional
        About ``2 n_documents^(1/3)``, 5 to 200, by default. The limits that rest on the top alone see the top bin.

    Raises
    ------
    ValueError
        If an input is invalid, or there is only one label.

    Examples
    --------
    >>> curve = estimate_curve([0, 0, 1, 0, 1, 1], [1, 2, 3, 4, 5, 6], n_bins=3)
    >>> curve.expected_gain([0.1, 0.5, 0.9]).tolist()
    [0.0, 0.5, 1.0]
    """
    if method not in ("isotonic", "bins"):
        raise ValueError(f"method must be 'isotonic' or 'bins'; got {method!r}")
    relevance = check_relevance(y)
    labels = np.unique(relevance)
    if len(labels) < 2:
        raise ValueError(f"y must have at least two different labels; all are {labels[0]:g}")
    heights = score_heights(scores, qid)
    if len(heights) != len(relevance):
        raise ValueError(f"scores has {len(heights)} values for the {len(relevance)} documents of y")
    if n_bins is None:
        n_bins = int(np.clip(round(2 * len(heights) ** (1 / 3)), 5, 200))
    if not isinstance(n_bins, (int, np.integer)) or n_bins < 1:
        raise ValueError(f"n_bins must be an integer of at least 1; got {n_bins!r}")
    reached = _bin_means(relevance[:, None] >= labels[1:], heights, int(n_bins))
    if method == "isotonic":
        from sklearn.isotonic import isotonic_regression

        reached = np.stack([isotonic_regression(column) for column in reached.T], axis=1)
    edge = np.ones((len(reached), 1))
    table = -np.diff(np.concatenate([edge, np.clip(reached, 0.0, 1.0), 0.0 * edge], axis=1), axis=1)
    return ScoreCurve.steps(labels, np.maximum(table, 0.0))


def score_heights(scores: ArrayLike, qid: ArrayLike | None = None) -> Floats:
    """Height ``1 - (rank - 1/2) / n`` of each row among the n documents of its query; ties have their mean rank."""
    values = check_scores(scores)
    queries = Queries.from_sizes([len(values)]) if qid is None else Queries.from_qid(qid)
    if queries.n_documents != len(values):
        raise ValueError(f"qid has {queries.n_documents} values for the {len(values)} documents of scores")
    grouped = queries.group(values)
    sizes = queries.repeat(queries.sizes)
    # Counted from both ends, the ranks of a tied document have the mean of its run as their mean.
    twice = queries.ranks(grouped) + sizes + 1 - queries.ranks(-grouped)
    return queries.ungroup(1.0 - (twice - 1.0) / (2.0 * sizes))


def _bin_means(values: NDArray[np.bool_], heights: Floats, n_bins: int) -> Floats:
    """Means of `values`, shape (n, m), in equal parts of [0, 1] over which the documents spread by height."""
    different, inverse = np.unique(heights, return_inverse=True)
    ends = np.concatenate([[0.0], np.cumsum(np.bincount(inverse)) / len(heights)])
    parts = np.linspace(0.0, 1.0, n_bins + 1)
    means = np.empty((n_bins, values.shape[1]))
    for j, column in enumerate(values.T):
        sums = np.bincount(inverse, weights=column.astype(np.float64), minlength=len(different))
        # A bin may end within documents of one height: each of its parts has their mean.
        total = np.interp(parts, ends, np.concatenate([[0.0], np.cumsum(sums) / len(heights)]))
        means[:, j] = np.diff(total) * n_bins
    return means


def check_one_population(first: ScoreCurve, second: ScoreCurve) -> None:
    """Refuse the curves of two rankers that do not see the same labels, equally often."""
    if not np.array_equal(first.labels, second.labels):
        raise ValueError(f"both curves must have the same labels; got {first.labels} and {second.labels}")
    if np.abs(first.shares - second.shares).max() > SHARES_ROUNDING:
        raise ValueError(
            "two rankers of one population see the same labels, so both curves must have the same shares; got "
            f"{first.shares.round(6).tolist()} and {second.shares.round(6).tolist()}"
        )


def integrate(function: Callable[[Floats], Any], low: float, high: float, breaks: ArrayLike = ()) -> Any:
    """Integral of a function of one-element arrays, adaptively, with intervals cut at `breaks`.

    Raises
    ------
    ValueError
        If the integral is not found to within :data:`QUADRATURE_LIMIT`.
    """
    points = np.asarray(breaks, dtype=np.float64)
    points = points[(points > low) & (points < high)]

    def at_point(x: float) -> Any:
        return function(np.array([x]))

    goal: dict[str, Any] = {"epsabs": QUADRATURE_GOAL, "epsrel": QUADRATURE_GOAL, "norm": "max", "points": points}
    value, error = quad_vec(at_point, low, high, limit=2_000 + len(points), **goal)
    if not error <= QUADRATURE_LIMIT * max(1.0, float(np.max(np.abs(value)))):
        raise ValueError(f"an integral of the curve has error {error:.1e}: give the points where it jumps as breaks")
    return value
