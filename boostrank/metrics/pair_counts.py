"""Counts of pairs of documents, for Kendall's tau and agreement; without a loop over pairs."""

from __future__ import annotations

import numpy as np

from boostrank.dcg import Ties
from boostrank.segments import Floats, Ints, Segments


def label_codes(labels: Floats, queries: Segments) -> tuple[Ints, Ints]:
    """Rank of each label among the distinct labels of its query, and the pairs of equal labels of each query.

    Returns
    -------
    codes : ndarray of int64, shape (n_documents,)
        0 for the highest label of a query, 1 for the next one, and so on.
    same_label : ndarray of int64, shape (n_queries,)
    """
    codes = np.empty(queries.n_rows, dtype=np.int64)
    same_label = np.empty(queries.n_segments, dtype=np.int64)
    for block in queries.blocks():
        part, values = block.part, labels[block.rows]
        by_label = part.sort(values)
        label_runs = part.runs(values[by_label])
        distinct = label_runs.repeat(np.arange(label_runs.n_segments))
        codes[block.rows][by_label] = distinct - part.repeat(distinct[part.starts])
        same_label[block.segments] = count_tied_pairs(label_runs, part)
    return codes, same_label


def count_turned_pairs(codes: Ints, scores: Floats, queries: Segments, ties: Ties) -> Floats:
    """Pairs of documents of each query whose labels differ and that the scores sort the other way round.

    Of the pairs of equal scores half of them count (``"average"``), those that the order of rows turns round
    (``"stable"``), none (``"best"``) or all (``"worst"``).
    """
    turned = np.empty(queries.n_segments)
    for block in queries.blocks():
        part, values, by = block.part, codes[block.rows], scores[block.rows]
        tiebreaks = {"average": (values, -values), "stable": (None,), "best": (values,), "worst": (-values,)}[ties]
        permutations = [part.sort(by, tiebreak) for tiebreak in tiebreaks]
        counts = [count_inversions(values[permutation], part) for permutation in permutations]
        turned[block.segments] = np.mean(counts, axis=0)
    return turned


def count_tied_pairs(tied: Segments, queries: Segments) -> Ints:
    """Pairs of documents in the same run of `tied`, for each query."""
    pairs = np.zeros(queries.n_rows, dtype=np.int64)
    pairs[tied.starts] = tied.sizes * (tied.sizes - 1) // 2
    return queries.sum(pairs)


def count_inversions(codes: Ints, queries: Segments) -> Ints:
    """Pairs of documents of each query of which the first has the larger code.

    They are counted bit by bit: a pair is an inversion by the highest bit in which its codes differ. So, from the
    highest bit down, among documents that agree in the bits above, the 1s before each 0 are counted. Then the 0s are
    moved before the 1s, without changing the order of either.
    """
    count = np.zeros(queries.n_segments, dtype=np.int64)
    for bit in reversed(range(int(codes.max()).bit_length())):
        agree = queries.runs(codes >> (bit + 1))
        ones = (codes >> bit) & 1
        ones_before = agree.sum_before(ones)
        count += queries.sum((1 - ones) * ones_before)
        zeros = agree.sizes - agree.sum(ones)
        position = np.where(ones == 1, agree.repeat(zeros) + ones_before, agree.positions - ones_before)
        moved = np.empty_like(codes)
        moved[agree.repeat(agree.starts) + position] = codes
        codes = moved
    return count
