"""Score curves: the probabilities of the labels of a document, given its normalized score.

Limits of NDCG depend on a ranker only through this curve. Wang et al. normalize scores to ``s`` in [0, 1] by their
distribution function: documents of ``s = 1`` rank first, those of ``s = 0`` last, and ``s`` is uniform. A
:class:`ScoreCurve` holds ``P(Y = label | s)``.

The uniform distribution of ``s`` (their Lemma 3) needs scores without ties. Here tied documents cover one interval of
[0, 1], on which the probabilities are the means over these documents. That corresponds to NDCG with averaged ties.
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

# Error that numerical integration stops at, and the largest error that is accepted.
QUADRATURE_TOLERANCE, MAX_QUADRATURE_ERROR = 1e-11, 1e-6
# Probabilities and their sums differ from exact values by rounding.
PROBABILITY_TOLERANCE = 1e-9
# Difference between the shares of a label in two curves of one population.
SHARE_TOLERANCE = 1e-6


@dataclass(frozen=True, eq=False)
class ScoreCurve:
    """Probabilities of the labels of a document, given its normalized score.

    Parameters
    ----------
    labels : array-like, shape (n_labels,)
        All labels, 0 or more, strictly increasing.
    probabilities : callable
        Function of ``s``, shape (m,), in [0, 1], with values ``P(Y = label | s)``, shape (m, n_labels).
    breaks : array-like, default ()
        Points in (0, 1) at which the probabilities or their derivatives jump, for numerical integration.

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
        """The curve of labels 0 and 1 with ``P(Y = 1 | s) = curve(s)``, a vectorized function."""

        def probabilities(s: Floats) -> Floats:
            relevant = np.broadcast_to(np.asarray(curve(s), dtype=np.float64), s.shape)
            return np.stack([1.0 - relevant, relevant], axis=1)

        return cls([0.0, 1.0], probabilities, breaks)

    @classmethod
    def constant(cls, labels: ArrayLike, shares: ArrayLike) -> ScoreCurve:
        """The curve of random scores: the probabilities of `labels` are `shares` at every score."""
        return cls.steps(labels, np.atleast_2d(np.asarray(shares, dtype=np.float64)))

    @classmethod
    def steps(cls, labels: ArrayLike, table: ArrayLike) -> ScoreCurve:
        """The curve of probabilities that are constant on intervals of equal length.

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
            If `s` is outside of [0, 1], or the values are not probabilities that sum to 1.
        """
        points = np.atleast_1d(np.asarray(s, dtype=np.float64))
        if points.ndim != 1 or not ((points >= 0) & (points <= 1)).all():
            raise ValueError(f"s must be one-dimensional, in [0, 1]; got {s!r}")
        values = np.asarray(self.probabilities(points), dtype=np.float64)
        if values.shape != (len(points), len(self.labels)):
            raise ValueError(
                f"probabilities must have shape {(len(points), len(self.labels))} at {len(points)} points; "
                f"got shape {values.shape}"
            )
        positive = values.min(axis=1) >= -PROBABILITY_TOLERANCE
        valid = positive & (abs(values.sum(axis=1) - 1) <= PROBABILITY_TOLERANCE)
        if not valid.all():
            first = int(np.argmin(valid))
            raise ValueError(
                f"probabilities must be in [0, 1] and sum to 1; at s = {points[first]:g} they are "
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
        """The curve of ideal scores: decreasing gains, and the share of documents with at least each gain.

        Labels without documents are left out.

        Returns
        -------
        gains, reached : ndarray, shape (n_levels,)
            ``reached`` is the R_j of Theorem 14, and ends at 1.

        Raises
        ------
        ValueError
            If no document has a gain above 0.
        """
        gains, present = self.gains(gain), self.shares > MAX_QUADRATURE_ERROR
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
    """Estimate a score curve from documents with labels and scores.

    Scores are comparable only within queries. The normalized score of a document is therefore
    ``1 - (rank - 1/2) / n`` in its query of ``n`` documents; tied documents have their mean rank. The documents of all
    queries are sorted by normalized score and cut into `n_bins` bins of equal size, and the curve is constant on each
    bin. The shares of the labels are exactly those of `y`. All queries are taken as one population: differences between
    them are averaged out. A rank among n documents determines a normalized score only up to about ``1 / (2 sqrt(n))``,
    so that short lists smooth the curve.

    Parameters
    ----------
    y, scores : array-like, shape (n_documents,)
        Labels, and the ranker's scores.
    qid : array-like, shape (n_documents,), optional
        None: the rows are one query.
    method : {"isotonic", "bins"}, default "isotonic"
        ``"isotonic"`` makes the means of the bins monotone by isotonic regression, so that ``P(Y >= label)`` never
        decreases with the score. ``"bins"`` takes the means as they are, for rankers whose labels may decrease.
    n_bins : int, optional
        By default about ``2 n_documents^(1/3)``, from 5 to 200. Limits that depend on the top alone use the top bin.

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
    normalized = normalized_scores(scores, qid)
    if len(normalized) != len(relevance):
        raise ValueError(f"scores has {len(normalized)} values for the {len(relevance)} documents of y")
    if n_bins is None:
        n_bins = int(np.clip(round(2 * len(normalized) ** (1 / 3)), 5, 200))
    if not isinstance(n_bins, (int, np.integer)) or n_bins < 1:
        raise ValueError(f"n_bins must be an integer of at least 1; got {n_bins!r}")
    reached = _bin_means(relevance[:, None] >= labels[1:], normalized, int(n_bins))
    if method == "isotonic":
        from sklearn.isotonic import isotonic_regression

        reached = np.stack([isotonic_regression(column) for column in reached.T], axis=1)
    edge = np.ones((len(reached), 1))
    table = -np.diff(np.concatenate([edge, np.clip(reached, 0.0, 1.0), 0.0 * edge], axis=1), axis=1)
    return ScoreCurve.steps(labels, np.maximum(table, 0.0))


def normalized_scores(scores: ArrayLike, qid: ArrayLike | None = None) -> Floats:
    """``1 - (rank - 1/2) / n`` of each row among the n documents of its query; ties have their mean rank."""
    values = check_scores(scores)
    queries = Queries.from_sizes([len(values)]) if qid is None else Queries.from_qid(qid)
    if queries.n_documents != len(values):
        raise ValueError(f"qid has {queries.n_documents} values for the {len(values)} documents of scores")
    grouped = queries.group(values)
    sizes = queries.repeat(queries.sizes)
    # Ranks counted from the first document and from the last one: for tied documents, both together give the mean rank.
    twice = queries.ranks(grouped) + sizes + 1 - queries.ranks(-grouped)
    return queries.ungroup(1.0 - (twice - 1.0) / (2.0 * sizes))


def _bin_means(values: NDArray[np.bool_], normalized: Floats, n_bins: int) -> Floats:
    """Means of `values`, shape (n, m), in bins of equally many documents by normalized score, shape (n_bins, m)."""
    different, inverse = np.unique(normalized, return_inverse=True)
    ends = np.concatenate([[0.0], np.cumsum(np.bincount(inverse)) / len(normalized)])
    parts = np.linspace(0.0, 1.0, n_bins + 1)
    means = np.empty((n_bins, values.shape[1]))
    for j, column in enumerate(values.T):
        sums = np.bincount(inverse, weights=column.astype(np.float64), minlength=len(different))
        # A bin may end among tied documents: then the parts in both bins have the mean of these documents.
        total = np.interp(parts, ends, np.concatenate([[0.0], np.cumsum(sums) / len(normalized)]))
        means[:, j] = np.diff(total) * n_bins
    return means


def check_one_population(first: ScoreCurve, second: ScoreCurve) -> None:
    """Refuse two curves that differ in their labels or in the shares of these: not of one population."""
    if not np.array_equal(first.labels, second.labels):
        raise ValueError(f"both curves must have the same labels; got {first.labels} and {second.labels}")
    if np.abs(first.shares - second.shares).max() > SHARE_TOLERANCE:
        raise ValueError(
            "two rankers of one population rank the same labels, so both curves must have the same shares; got "
            f"{first.shares.round(6).tolist()} and {second.shares.round(6).tolist()}"
        )


def integrate(function: Callable[[Floats], Any], low: float, high: float, breaks: ArrayLike = ()) -> Any:
    """Integral of a function of one-element arrays, by adaptive quadrature of the intervals between `breaks`.

    Raises
    ------
    ValueError
        If the estimated error is above :data:`MAX_QUADRATURE_ERROR`.
    """
    points = np.asarray(breaks, dtype=np.float64)
    points = points[(points > low) & (points < high)]

    def at_point(x: float) -> Any:
        return function(np.array([x]))

    tolerance = QUADRATURE_TOLERANCE
    settings: dict[str, Any] = {"epsabs": tolerance, "epsrel": tolerance, "norm": "max", "points": points}
    value, error = quad_vec(at_point, low, high, limit=2_000 + len(points), **settings)
    if not error <= MAX_QUADRATURE_ERROR * max(1.0, float(np.max(np.abs(value)))):
        raise ValueError(f"an integral of the curve has error {error:.1e}: pass the points where it jumps as breaks")
    return value
