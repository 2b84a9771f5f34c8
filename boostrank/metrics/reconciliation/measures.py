"""Measures that only other libraries have, for :func:`boostrank.reconcile`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from boostrank.core.rankings import RankedBlock
from boostrank.core.segments import Segments
from boostrank.inputs.arrays import Floats, Ints
from boostrank.metrics.average_precision import AveragePrecision
from boostrank.metrics.graded import ExpectedReciprocalRank
from boostrank.metrics.labels import GroupedLabels


@dataclass(frozen=True, kw_only=True, repr=False)
class ProbabilityReciprocalRank(ExpectedReciprocalRank):
    """Expected reciprocal rank of labels that are themselves probabilities to be satisfied, as in CatBoost."""

    def satisfaction(self, labels: GroupedLabels) -> Floats:
        return labels.values


@dataclass(frozen=True, kw_only=True, repr=False)
class LastRankAveragePrecision(AveragePrecision):
    """Average precision without a cutoff, where tied documents have the rank of the last of them, as in scikit-learn.

    ``AP = (1/R) sum over relevant documents i of #{relevant j: s_j >= s_i} / #{j: s_j >= s_i}``.
    """

    def per_block(self, gains: Floats, relevant: Floats, queries: Segments) -> Callable[[RankedBlock], Floats]:
        def values(ranked: RankedBlock) -> Floats:
            part, tied, found = ranked.part, ranked.tied, gains[ranked.rows]
            last = tied.ends - 1
            found_until = part.sum_before(found)[last] + found[last]
            return part.sum(found * tied.repeat(found_until / (part.positions[last] + 1))) / relevant[ranked.segments]

        return values


def bounds_of_mean_over_found(gains: Floats, scores: Floats, queries: Segments, k: int | None) -> tuple[Floats, Floats]:
    """Smallest and largest average precision over the permutations of ties if it is divided by the number found.

    The relevant documents of a run of ties that the cutoff divides may be within the cutoff or not. Their number within
    the cutoff is in both the sum and the divisor, so the extremes may be at any number. For a given number the value is
    smallest if irrelevant documents are ranked first in each run, and largest if they are ranked last.

    Parameters
    ----------
    gains, scores : ndarray, shape (n_documents,)
        Grouped. Gains are 1 for relevant documents, and 0 for others.
    queries : Segments
    k : int, optional

    Returns
    -------
    low, high : ndarray, shape (n_queries,)
        0 for queries without relevant documents.
    """
    depths = queries.sizes if k is None else np.minimum(queries.sizes, k)
    sums = []
    for tiebreak in (gains, -gains):
        found = gains[queries.sort(scores, tiebreak)]
        sums.append((found, found * (queries.sum_before(found) + 1.0) / (queries.positions + 1)))
    # The run of tied documents that has the last rank within the cutoff.
    runs = queries.runs(scores[queries.sort(scores)])
    last = np.searchsorted(runs.ends, queries.starts + depths, side="left")
    first = runs.starts[last]
    before, above = queries.positions[first], queries.sum_before(sums[0][0])[first]
    within, relevant = depths - before, runs.sum(sums[0][0])[last]
    earlier_low, earlier_high = (queries.sum_before(each)[first] for _, each in sums)
    # One row for each possible number of relevant documents of this run within the cutoff.
    least = np.maximum(0.0, within - (runs.sizes[last] - relevant))
    numbers = Segments.from_sizes((np.minimum(relevant, within) - least).astype(np.int64) + 1)
    number = numbers.repeat(least) + numbers.positions
    a, b, t = (numbers.repeat(each) for each in (above, before, within))
    harmonic = np.concatenate([[0.0], np.cumsum(1.0 / np.arange(1.0, queries.sizes.max() + 1.0))])
    end = b + t - number.astype(np.int64)
    added_low = number + (a - end) * (harmonic[b + t] - harmonic[end])
    added_high = number + (a - b) * (harmonic[b + number.astype(np.int64)] - harmonic[b])
    divisors = np.maximum(a + number, 1.0)
    low = numbers.min((numbers.repeat(earlier_low) + added_low) / divisors)
    return low, numbers.max((numbers.repeat(earlier_high) + added_high) / divisors)


def mean_over_documents(precision: Floats, k: int | None, sizes: Ints) -> Floats:
    """Precision that divides by the number of documents of a query instead of `k`, if it has fewer than `k`.

    Parameters
    ----------
    precision : ndarray, shape (n_queries,)
        Precision that divides by `k`.
    k : int, optional
    sizes : ndarray, shape (n_queries,)
        Numbers of documents.
    """
    return precision if k is None else np.minimum(precision * (k / np.minimum(k, sizes)), 1.0)
