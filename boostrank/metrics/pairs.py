"""Pairs of documents that a ranking reverses, and the area under the ROC curve, made of them."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from boostrank.inputs.arrays import Floats, Ints
from boostrank.inputs.checks import check_number, setting
from boostrank.metrics.base import Domain, PreparedRanks, QueryMeasure
from boostrank.metrics.labels import GroupedLabels
from boostrank.metrics.summaries import Empty
from boostrank.queries.rankings import RankedBlock, Ties, break_ties
from boostrank.queries.segments import Segments


def label_codes(labels: Floats, queries: Segments) -> tuple[Ints, Ints]:
    """Number the different labels of each query, and count its pairs of equal labels.

    Returns
    -------
    codes : ndarray of int64, shape (n_documents,)
        0 for documents with the largest label of their query, 1 for those with the second largest,
        and so on.
    same_label : ndarray of int64, shape (n_queries,)
        Number of pairs of documents with equal labels.
    """
    by_label = queries.sort(labels)
    label_runs = queries.runs(labels[by_label])
    distinct = label_runs.repeat(np.arange(label_runs.n_segments))
    codes = np.empty(queries.n_rows, dtype=np.int64)
    codes[by_label] = distinct - queries.repeat(distinct[queries.starts])
    return codes, queries.sum(label_runs.repeat(label_runs.sizes - 1)) // 2


def count_reversed_pairs(codes: Ints, ranked: RankedBlock, ties: Ties) -> Floats:
    """Number of pairs of documents of each query of a block that a ranking of all reverses.

    A pair is reversed if the document with the larger code is ranked first. Tied documents are
    ranked by the tie rule `ties`; with ``"average"`` half of their pairs are reversed.
    """
    rules: tuple[Ties, ...] = (ties,)
    if ties == "average":
        rules = ("best", "worst")
    rankings = [break_ties(ranked, -1.0 * codes, rule) for rule in rules]
    counts = [count_inversions(codes[ranking.rows], ranking.part) for ranking in rankings]
    return np.mean(counts, axis=0)


def count_inversions(codes: Ints, queries: Segments) -> Ints:
    """Number of pairs of each query of which the first has the larger code, shape (n_queries,).

    Whether a pair is such an inversion depends on the highest bit in which its codes differ. So,
    for each bit from the highest to the lowest, and among documents with equal higher bits, the
    number of 1s before each 0 is added. Then a stable sort by this bit moves the 0s before the 1s.
    """
    count = np.zeros(queries.n_segments, dtype=np.int64)
    for bit in reversed(range(int(codes.max()).bit_length())):
        agree = queries.runs(codes >> (bit + 1))
        bits = (codes >> bit) & 1
        ones_before = agree.sum_before(bits)
        count += queries.sum((1 - bits) * ones_before)
        n_zeros = agree.sizes - agree.sum(bits)
        if_one = agree.repeat(n_zeros) + ones_before
        position = np.where(bits == 1, if_one, agree.positions - ones_before)
        moved = np.empty_like(codes)
        moved[agree.repeat(agree.starts) + position] = codes
        codes = moved
    return count


class AUC(QueryMeasure):
    """Mean over queries of the area under the ROC curve.

    ``AUC = (C + T / 2) / (R I)``, where a query has ``R`` relevant and ``I`` irrelevant documents.
    Of its ``R I`` pairs of a relevant and an irrelevant document, ``C`` have the higher score at
    the relevant document, and ``T`` have equal scores. Pairs of documents of different queries do
    not count.

    Parameters
    ----------
    threshold : float, default 1
        Labels of at least this are relevant.
    empty : {"zero", "one", "skip", "raise"}, default "skip"
        AUC of a query whose documents are all relevant or all irrelevant: 0, 1, left out of the
        mean, or an error.

    References
    ----------
    Hanley and McNeil, "The meaning and use of the area under a receiver operating characteristic
    (ROC) curve", Radiology 1982.

    Examples
    --------
    >>> from boostrank.metrics import get_measure
    >>> get_measure("auc")([1, 0, 1, 0], [0.9, 0.5, 0.5, 0.1], qid=[7, 7, 7, 7])  # C = 3, T = 1
    0.875
    """

    name: ClassVar[str] = "auc"
    domain: ClassVar[Domain] = "arrays"
    reason: ClassVar[str] = (
        "has only relevant or only irrelevant documents (relevant: a label of at least "
        "{0.threshold:g})"
    )
    threshold: float = setting(1, check_number, above=0)
    empty: Empty = "skip"

    def prepare(self, labels: GroupedLabels) -> PreparedRanks:
        queries = labels.queries
        gains, relevant = labels.binary(self.threshold)
        pairs = relevant * (queries.sizes - relevant)
        codes = (1.0 - gains).astype(np.int64)

        def per_block(ranked: RankedBlock) -> Floats:
            n_pairs = pairs[ranked.segments]
            return (n_pairs - count_reversed_pairs(codes, ranked, "average")) / n_pairs

        return PreparedRanks(pairs == 0, queries.sizes, per_block, stable=False)
