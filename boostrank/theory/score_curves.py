"""Score curves: the probabilities of the labels of a document, given its normalized score.

Wang et al. (COLT 2013) normalize scores by their distribution function. A normalized score ``s`` is
in [0, 1], its distribution is uniform, documents with ``s = 1`` rank first, and those with ``s =
0`` rank last. A :class:`ScoreCurve` consists of the probabilities ``P(Y = label | s)``. Limits of
NDCG depend on a ranker only through its score curve.

Normalized scores are uniform (Lemma 3) only if scores have no ties. Here, tied documents cover an
interval of [0, 1], on which the probabilities are means over these documents. This corresponds to
NDCG with averaged ties.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.integrate import quad_vec

from boostrank.inputs.arrays import Bools, Floats, check_lengths
from boostrank.inputs.checks import check_count, refuse, refuse_first
from boostrank.metrics import check_scores
from boostrank.ndcg.dcg import DCG
from boostrank.ndcg.gains import Gain, check_relevance
from boostrank.queries.queries import Queries, require_qid

# Error at which numerical integration stops, and the largest error of a result.
QUADRATURE_TOLERANCE = 1e-11
MAX_QUADRATURE_ERROR = 1e-6
# Largest difference of probabilities and their sums from the range [0, 1] and from 1, which is due
# to rounding.
PROBABILITY_TOLERANCE = 1e-9


@dataclass(frozen=True, eq=False)
class ScoreCurve:
    """Probabilities of the labels of a document, given its normalized score.

    Parameters
    ----------
    labels : array-like, shape (n_labels,)
        All labels, 0 or more, strictly increasing.
    probabilities : callable
        Function of an array of scores ``s`` in [0, 1], shape (m,), that returns the probabilities
        ``P(Y = label | s)``, shape (m, n_labels).
    breaks : array-like, default ()
        Points in (0, 1) at which the probabilities or their derivatives are not continuous.
        Numerical integration needs them.

    Raises
    ------
    ValueError
        If labels or probabilities are invalid.

    References
    ----------
    Wang et al., "A theoretical analysis of NDCG type ranking measures", COLT 2013, Definition 2.

    Examples
    --------
    >>> import boostrank as br
    >>> good = br.theory.ScoreCurve.binary(lambda s: 0.6 * s**2)
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
            refuse("labels", self.labels, "two or more, strictly increasing")
        object.__setattr__(self, "labels", labels)
        object.__setattr__(self, "breaks", np.unique(np.asarray(self.breaks, dtype=np.float64)))
        self.at(np.linspace(0.0, 1.0, 101))

    @classmethod
    def binary(cls, curve: Callable[[Floats], Floats], breaks: ArrayLike = ()) -> ScoreCurve:
        """Make the curve of labels 0 and 1 with ``P(Y = 1 | s) = curve(s)``.

        `curve` is a vectorized function.
        """

        def probabilities(s: Floats) -> Floats:
            relevant = np.broadcast_to(np.asarray(curve(s), dtype=np.float64), s.shape)
            return np.stack([1.0 - relevant, relevant], axis=1)

        return cls([0.0, 1.0], probabilities, breaks)

    @classmethod
    def steps(cls, labels: ArrayLike, table: ArrayLike) -> ScoreCurve:
        """Make the curve of probabilities that are constant on intervals of equal length.

        That of random scores has one interval.

        Parameters
        ----------
        labels : array-like, shape (n_labels,)
        table : array-like, shape (n_parts, n_labels)
            Probabilities in each interval, from the lowest scores to the highest.
        """
        rows = np.asarray(table, dtype=np.float64)
        n_parts = len(rows)
        jumps = np.flatnonzero((np.diff(rows, axis=0) != 0).any(axis=1)) + 1

        def probabilities(s: Floats) -> Floats:
            return rows[np.minimum((s * n_parts).astype(np.int64), n_parts - 1)]

        return cls(labels, probabilities, jumps / n_parts)

    def at(self, s: ArrayLike) -> Floats:
        """The probabilities ``P(Y = label | s)`` at scores `s` of shape (m,), shape (m, n_labels).

        Raises
        ------
        ValueError
            If `s` is outside of [0, 1], or the values are not probabilities that sum to 1.
        """
        points = np.atleast_1d(np.asarray(s, dtype=np.float64))
        if points.ndim != 1 or not ((points >= 0) & (points <= 1)).all():
            refuse("s", s, "one-dimensional, in [0, 1]")
        values = np.asarray(self.probabilities(points), dtype=np.float64)
        values = values.reshape(len(points), len(self.labels))
        are_positive = values.min(axis=1) >= -PROBABILITY_TOLERANCE
        sum_to_1 = abs(values.sum(axis=1) - 1) <= PROBABILITY_TOLERANCE
        rule = "probabilities must be in [0, 1] and sum to 1"
        refuse_first(
            ~(are_positive & sum_to_1),
            lambda i: f"{rule}; at s = {points[i]:g} they are {values[i].tolist()}",
        )
        return np.clip(values, 0.0, 1.0)

    def gains(self, gain: Gain = "exp2") -> Floats:
        """Gain of each label, shape (n_labels,)."""
        return DCG(gain=gain).gains(self.labels)

    def expected_gain(self, s: ArrayLike, gain: Gain = "exp2") -> Floats:
        """The expected gain ``E[G(Y) | s]`` at scores `s`, shape (m,)."""
        return self.at(s) @ self.gains(gain)

    @cached_property
    def shares(self) -> Floats:
        """Share ``P(Y = label)`` of each label, shape (n_labels,).

        It is the integral of the probabilities over [0, 1].
        """
        return integrate(lambda s: self.at(s)[0], 0.0, 1.0, self.breaks)

    def ideal_steps(self, gain: Gain = "exp2") -> tuple[Floats, Floats]:
        """The curve of ideal scores: gains, and shares of documents that have at least each gain.

        Gains decrease, and labels with the share 0 are left out.

        Returns
        -------
        gains, reached : ndarray, shape (n_levels,)
            ``reached`` are the ``R_j`` of Theorem 14. The last one is 1.

        Raises
        ------
        ValueError
            If no document has a gain above 0.
        """
        present = self.shares > MAX_QUADRATURE_ERROR
        gains = self.gains(gain)[present]
        if not gains.any():
            raise ValueError(
                "NDCG is not defined: the curve has no label with a positive gain and a positive "
                "share"
            )
        reached = np.cumsum(self.shares[present][::-1])
        return gains[::-1], reached / reached[-1]


def estimate_curve(
    y: ArrayLike, scores: ArrayLike, qid: ArrayLike | None = None, *, n_bins: int | None = None
) -> ScoreCurve:
    """Estimate the score curve of a ranker from documents with labels and scores.

    Scores can be compared only within a query. Therefore the normalized score of a document in a
    query of ``n`` documents is ``1 - (rank - 1/2) / n``, where tied documents have their mean rank.
    The documents of all queries are sorted by normalized score and divided into `n_bins` bins of
    equal size. The estimated curve is constant on each bin: it consists of the means of the bins,
    changed by isotonic regression such that ``P(Y >= label)`` does not decrease with the score. The
    shares of its labels are those of `y`.

    All queries are treated as one population. In short lists, the rank of a document determines its
    normalized score only up to about ``1 / (2 sqrt(n))``, so that the estimated curve is smoother
    than the true one.

    Parameters
    ----------
    y, scores : array-like, shape (n_documents,)
        Labels, and scores of the ranker.
    qid : array-like, shape (n_documents,)
        Query id of each row.
    n_bins : int, optional
        By default about ``2 n_documents^(1/3)``, from 5 to 200. Limits that depend on ``s = 1``
        alone use the highest bin only.

    Returns
    -------
    ScoreCurve

    Raises
    ------
    ValueError
        If an argument is invalid, if there are no query ids, or if all labels are equal.

    Examples
    --------
    >>> import boostrank as br
    >>> curve = br.theory.estimate_curve(
    ...     [0, 0, 1, 0, 1, 1], [1, 2, 3, 4, 5, 6], qid=[1] * 6, n_bins=3
    ... )
    >>> curve.expected_gain([0.1, 0.5, 0.9]).tolist()
    [0.0, 0.5, 1.0]
    """
    relevance = check_relevance(y)
    labels = np.unique(relevance)
    if len(labels) < 2:
        raise ValueError(f"y must have at least two different labels; all are {labels[0]:g}")
    normalized = normalized_scores(scores, require_qid(qid, "estimate_curve", "Pass qid=."))
    check_lengths(y=len(relevance), scores=len(normalized))
    from sklearn.isotonic import isotonic_regression

    if n_bins is None:
        n_bins = int(np.clip(round(2 * len(normalized) ** (1 / 3)), 5, 200))
    check_count("n_bins", n_bins)
    means = _bin_means(relevance[:, None] >= labels[1:], normalized, int(n_bins))
    # P(Y >= label) in each bin, from the lowest label, where it is 1, to one above all labels.
    reached = np.zeros((int(n_bins), len(labels) + 1))
    reached[:, 0] = 1.0
    for i, column in enumerate(means.T, start=1):
        reached[:, i] = np.clip(isotonic_regression(column), 0.0, 1.0)
    table = -np.diff(reached, axis=1)
    return ScoreCurve.steps(labels, np.maximum(table, 0.0))


def normalized_scores(scores: ArrayLike, qid: ArrayLike) -> Floats:
    """``1 - (rank - 1/2) / n`` of each row among the n documents of its query.

    Tied rows have their mean rank.
    """
    values = check_scores(scores)
    queries = Queries.from_qid(qid)
    check_lengths(scores=len(values), qid=queries.n_documents)
    query = queries.repeat(np.arange(queries.n_queries))
    grouped = pd.Series(queries.group(values)).groupby(query)
    ranks = grouped.rank(ascending=False).to_numpy()
    return queries.ungroup(1.0 - (ranks - 0.5) / queries.repeat(queries.sizes))


def _bin_means(values: Bools, normalized: Floats, n_bins: int) -> Floats:
    """Means of `values`, shape (n, m), in bins of equal size by normalized score.

    They have the shape (n_bins, m).
    """
    tied = pd.DataFrame(values).groupby(normalized)
    ends = np.append(0.0, tied.size().cumsum() / len(values))
    sums = tied.sum().cumsum() / len(values)
    parts = np.linspace(0.0, 1.0, n_bins + 1)
    # If a bin ends among tied documents, its part of them has the mean value of all of them.
    totals = [np.interp(parts, ends, np.append(0.0, sums[column])) for column in sums]
    return np.diff(totals, axis=1).T * n_bins


def integrate(
    function: Callable[[Floats], Floats], low: float, high: float, breaks: ArrayLike = ()
) -> Any:
    """Integral of a function of an array with one element.

    The intervals between `breaks` are integrated by adaptive quadrature.

    Raises
    ------
    ValueError
        If the estimated error is above :data:`MAX_QUADRATURE_ERROR`.
    """
    points = np.asarray(breaks, dtype=np.float64)
    points = points[(points > low) & (points < high)]

    def at_point(x: float) -> Floats:
        return function(np.array([x]))

    value, error = quad_vec(
        at_point,
        low,
        high,
        epsabs=QUADRATURE_TOLERANCE,
        epsrel=QUADRATURE_TOLERANCE,
        norm="max",
        limit=2_000 + len(points),
        points=points,
    )
    if not error <= MAX_QUADRATURE_ERROR * max(1.0, float(np.max(np.abs(value)))):
        raise ValueError(
            f"an integral of the curve has the error {error:.1e}: pass its discontinuities as "
            "breaks"
        )
    return value
