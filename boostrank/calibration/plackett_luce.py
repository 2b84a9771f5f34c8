"""Probabilities of ranks by the model of Plackett and Luce.

A document ``i`` with the worth ``w_i = exp(v_i)`` takes the first rank with the probability ``w_i /
sum_j w_j``, the second rank among the others in the same way, and so on. ``v_i`` is its utility.
The page "Scores as probabilities" of the guide (examples/guide/theory/calibration.md) has the
formulas.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from boostrank.inputs.arrays import Floats
from boostrank.queries.queries import Queries
from boostrank.queries.segments import Segments
from boostrank.surrogates.pairs import PairwiseLogistic

#: Draws are made in blocks of about this many documents, which limits the memory.
BLOCK_DOCUMENTS = 500_000
#: With more ranks than these, probabilities are estimated by draws.
EXACT_RANKS = 2


@dataclass(frozen=True)
class RankProbabilities:
    """Probabilities of the ranks of documents within their lists.

    Attributes
    ----------
    ranks : ndarray, shape (n_documents, k)
        The probability of each document to have rank 1, 2, ..., k. The first two columns are exact,
        the others are shares of draws. A list of m documents has only the ranks up to m.
    among_best : ndarray, shape (n_documents, k)
        The probability of each document to be among the best 1, 2, ..., k of its list.
    standard_error : ndarray, shape (n_documents, k)
        The standard error of `among_best` that comes from the number of draws; 0 where it is exact.
    expected_rank : ndarray, shape (n_documents,)
        The exact expectation of the rank.
    """

    ranks: Floats
    among_best: Floats
    standard_error: Floats
    expected_rank: Floats

    def ungrouped(self, queries: Queries) -> RankProbabilities:
        """The same for documents in the sequence of the original rows."""
        return RankProbabilities(
            queries.ungroup(self.ranks),
            queries.ungroup(self.among_best),
            queries.ungroup(self.standard_error),
            queries.ungroup(self.expected_rank),
        )


def mean_of_tables(tables: Sequence[RankProbabilities]) -> RankProbabilities:
    """The probabilities if each of several models is the right one with the same probability."""
    n = len(tables)
    return RankProbabilities(
        np.mean([table.ranks for table in tables], axis=0),
        np.mean([table.among_best for table in tables], axis=0),
        np.sqrt(np.sum([table.standard_error**2 for table in tables], axis=0)) / n,
        np.mean([table.expected_rank for table in tables], axis=0),
    )


def second_probabilities(utilities: Floats, queries: Segments) -> Floats:
    """The probability of each grouped document to have rank 2, shape (n_documents,).

    ``P(i is second) = sum_{j != i} p_j w_i / (W - w_j)`` with ``p_j = w_j / W`` and ``W = sum_j
    w_j``. The document with the largest worth is treated apart, so that no difference of nearly
    equal numbers is taken.

    Examples
    --------
    >>> queries = Segments.from_sizes([3])
    >>> second_probabilities(np.log([0.5, 0.25, 0.25]), queries).round(4).tolist()
    [0.3333, 0.3333, 0.3333]
    """
    probabilities = queries.softmax(utilities)
    largest = queries.sort(utilities)[queries.starts]
    is_largest = np.zeros(len(utilities), dtype=bool)
    is_largest[largest] = True
    of_largest = queries.repeat(probabilities[largest])
    # The shares of the others if the largest one is first.
    others = np.where(is_largest, -np.inf, utilities)
    top = queries.max(others)
    top = np.where(np.isfinite(top), top, 0.0)
    worths = np.exp(others - queries.repeat(top))
    totals = queries.sum(worths)
    shares = worths / queries.repeat(np.where(totals > 0.0, totals, 1.0))
    # The odds of the others, which are at most 1.
    odds = np.where(is_largest, 0.0, probabilities)
    odds /= np.where(is_largest, 1.0, 1.0 - odds)
    if_other_first = queries.repeat(queries.sum(odds)) - odds
    second = probabilities * np.maximum(if_other_first, 0.0)
    return np.where(is_largest, second, second + of_largest * shares)


def expected_ranks(utilities: Floats, queries: Segments) -> Floats:
    """The expected rank of each grouped document, shape (n_documents,).

    It is ``1 + sum_{j != i} w_j / (w_i + w_j)``, because a document is before another one with the
    probability that it is the first of the two.

    Examples
    --------
    >>> expected_ranks(np.log([3.0, 1.0]), Segments.from_sizes([2])).round(4).tolist()
    [1.25, 1.75]
    """
    # The gradient of sum_{i, j} log(1 + exp(v_j - v_i)) is m - 2 sum_j w_j / (w_i + w_j), where j =
    # i counts one half.
    gradient, _ = PairwiseLogistic().gradient_hessian(utilities, np.ones_like(utilities), queries)
    before = (queries.repeat(queries.sizes) - 1.0 - gradient) / 2.0
    return 1.0 + before


def rank_probabilities(
    utilities: Floats, queries: Segments, k: int, n_draws: int, random: np.random.Generator
) -> RankProbabilities:
    """Probabilities of the ranks 1 to `k` of grouped documents.

    Parameters
    ----------
    utilities : ndarray, shape (n_documents,)
        Finite logarithms of the worths.
    queries : Segments
    k : int
        The last rank.
    n_draws : int
        Number of drawn rankings; there are none if `k` is at most 2.
    random : numpy.random.Generator
    """
    exact = [queries.softmax(utilities), second_probabilities(utilities, queries)][:k]
    ranks = np.column_stack(exact)
    among_best = np.minimum(np.cumsum(ranks, axis=1), 1.0)
    error = np.zeros_like(ranks)
    if k > EXACT_RANKS:
        shares = _shares_of_draws(utilities, queries, k, n_draws, random)
        drawn = np.cumsum(shares, axis=1)[:, EXACT_RANKS:]
        # A document that no draw has, or all have, is not certain.
        smoothed = (drawn * n_draws + 1.0) / (n_draws + 2.0)
        errors = np.sqrt(smoothed * (1.0 - smoothed) / n_draws)
        has_all = queries.repeat(queries.sizes)[:, None] <= np.arange(EXACT_RANKS + 1, k + 1)
        ranks = np.hstack([ranks, shares[:, EXACT_RANKS:]])
        among_best = np.hstack([among_best, np.clip(drawn, among_best[:, -1:], 1.0)])
        error = np.hstack([error, np.where(has_all, 0.0, errors)])
    return RankProbabilities(ranks, among_best, error, expected_ranks(utilities, queries))


def _shares_of_draws(
    utilities: Floats, queries: Segments, k: int, n_draws: int, random: np.random.Generator
) -> Floats:
    """The share of draws in which each document has rank 1 to `k`, shape (n_documents, k).

    Utilities plus independent noise of Gumbel, sorted, are a draw of the model.
    """
    n_documents = len(utilities)
    counts = np.zeros((n_documents, k))
    documents = np.arange(n_documents)
    n_at_once = max(1, BLOCK_DOCUMENTS // n_documents)
    for first in range(0, n_draws, n_at_once):
        n = min(n_at_once, n_draws - first)
        copies = Segments.from_sizes(np.tile(queries.sizes, n))
        noisy = np.tile(utilities, n) + random.gumbel(size=n * n_documents)
        place = copies.ranks(noisy) - 1
        counted = place < k
        cells = np.tile(documents, n)[counted] * k + place[counted]
        counts += np.bincount(cells, minlength=counts.size).reshape(counts.shape)
    return counts / n_draws
