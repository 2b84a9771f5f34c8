"""Counts of pairs of documents, for Kendall's tau and agreement. They are computed without a loop over pairs."""

from __future__ import annotations

import numpy as np

from boostrank.core.dcg import Ties, tiebreak
from boostrank.core.segments import Segments
from boostrank.inputs.arrays import Floats, Ints


def label_codes(labels: Floats, queries: Segments) -> tuple[Ints, Ints]:
    """Number the different labels of each query, and count its pairs of documents with equal labels.

    Returns
    -------
    codes : ndarray of int64, shape (n_documents,)
        0 for documents with the largest label of their query, 1 for those with the second largest, and so on.
    same_label : ndarray of int64, shape (n_queries,)
        Number of pairs of documents with equal labels.
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


def count_reversed_pairs(codes: Ints, scores: Floats, queries: Segments, ties: Ties) -> Floats:
    """Number of pairs of documents of each query that the ranking by `scores` reverses, shape (n_queries,).

    A pair is reversed if the document with the smaller label is ranked first. Tied documents are ranked by the tie rule
    `ties`; with ``"average"`` half of their pairs are reversed.
    """
    rules: tuple[Ties, ...] = ("best", "worst") if ties == "average" else (ties,)
    result = np.empty(queries.n_segments)
    for block in queries.blocks():
        part, values, by = block.part, codes[block.rows], scores[block.rows]
        permutations = [part.sort(by, tiebreak(-values, rule)) for rule in rules]
        counts = [count_inversions(values[permutation], part) for permutation in permutations]
        result[block.segments] = np.mean(counts, axis=0)
    return result


def count_tied_pairs(tied: Segments, queries: Segments) -> Ints:
    """Number of pairs of documents of each query that are in the same run of `tied`, shape (n_queries,)."""
    pairs = np.zeros(queries.n_rows, dtype=np.int64)
    pairs[tied.starts] = tied.sizes * (tied.sizes - 1) // 2
    return queries.sum(pairs)


def count_inversions(codes: Ints, queries: Segments) -> Ints:
    """Number of pairs of documents of each query of which the first has the larger code, shape (n_queries,).

    Whether a pair is such an inversion depends on the highest bit in which its codes differ. So, for each bit from the
    highest to the lowest, and among documents with equal higher bits, the number of 1s before each 0 is added. Then a
    stable sort by this bit moves the 0s before the 1s.
    """
    count = np.zeros(queries.n_segments, dtype=np.int64)
    for bit in reversed(range(int(codes.max()).bit_length())):
        agree = queries.runs(codes >> (bit + 1))
        bits = (codes >> bit) & 1
        ones_before = agree.sum_before(bits)
        count += queries.sum((1 - bits) * ones_before)
        n_zeros = agree.sizes - agree.sum(bits)
        position = np.where(bits == 1, agree.repeat(n_zeros) + ones_before, agree.positions - ones_before)
        moved = np.empty_like(codes)
        moved[agree.repeat(agree.starts) + position] = codes
        codes = moved
    return count
