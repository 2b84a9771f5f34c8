"""Compatibility: the largest rank-biased overlap of a ranking with an ideal ranking."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from boostrank.core.discounts import N_ADDED, sums_over_ranks
from boostrank.core.rankings import RankedBlock
from boostrank.core.segments import Segments
from boostrank.inputs.arrays import Floats, Ints
from boostrank.inputs.checks import check_count, check_flag, check_number, setting
from boostrank.metrics.base import Domain, PreparedRanks, QueryMeasure
from boostrank.metrics.grouped_labels import GroupedLabels


@dataclass(frozen=True, kw_only=True, repr=False)
class Compatibility(QueryMeasure):
    """Compatibility as a measure: the largest rank-biased overlap with a ranking by decreasing relevance.

    ``RBO = (sum over depths d <= D of p^(d-1) n_d / d) / (sum over depths d <= D of p^(d-1))``, where n_d documents are
    among the first d of the ranking and among the first d of the ideal ranking. An ideal ranking has all documents with
    a relevance above 0, by decreasing relevance, and among documents of equal relevance the overlap is largest if they
    are in the sequence of the ranking, with those that were not retrieved at the end. Any relevance above 0 is allowed,
    as for preferences; only its sequence matters. It is undefined for queries without relevant documents.

    Parameters
    ----------
    p : float, default 0.95
        Weight of a depth, relative to that of the depth before, in (0, 1).
    normalize : bool, default True
        Divide by the overlap of the ideal ranking with itself, which is below 1 if it is short.
    k : int, optional
        The largest depth D, also beyond the end of both rankings. The default is the length of the longer one, as in
        ir_measures. The program of the authors has 1000.
    ties : "stable"
        It is not averaged over permutations of tied documents.

    References
    ----------
    Clarke, Vtyurina and Smucker, "Assessing top-k preferences", TOIS 2021; Clarke, Smucker and Vtyurina, "Offline
    evaluation by maximum similarity to an ideal ranking", CIKM 2020.

    Examples
    --------
    >>> from boostrank import evaluate_run
    >>> values = evaluate_run({"q": {"a": 2, "b": 1, "c": 1}}, {"q": {"a": 3.0, "x": 2.0, "c": 1.0}}, "Compat(p=0.5)")
    >>> round(values["Compat(p=0.5)"], 4)  # (1 + 0.5 (1/2) + 0.25 (2/3)) / (1 + 0.5 + 0.25)
    0.8095
    """

    name: ClassVar[str] = "compat"
    domain: ClassVar[Domain] = "runs"
    tie_rules: ClassVar[tuple[str, ...]] = ("stable",)
    p: float = setting(0.95, check_number, above=0.0, below=1.0)
    normalize: bool = setting(True, check_flag)
    k: int | None = setting(None, check_count, optional=True)
    ties: Literal["stable"] = "stable"

    def prepare(self, labels: GroupedLabels) -> PreparedRanks:
        queries, values = labels.queries, labels.values
        by_relevance = queries.sort(values)
        levels = queries.runs(values[by_relevance])
        # Number of documents of the query with a larger relevance.
        n_larger = np.empty(queries.n_rows, dtype=np.int64)
        n_larger[by_relevance] = levels.repeat(queries.positions[levels.starts])
        n_ideal = queries.sum((values > 0).astype(np.int64))

        def per_block(ranked: RankedBlock) -> Floats:
            part, ideal = ranked.part, n_ideal[ranked.segments]
            longest = np.maximum(part.sizes, ideal)
            # Real numbers, because the depth may be above the largest integer of NumPy.
            depth = longest.astype(np.float64) if self.k is None else np.full(part.n_segments, float(self.k))
            query, both = _shared_from(ranked, values, n_larger)
            own, to_depth = np.minimum(ideal, depth), self._sums(depth, longest)
            before = self._sums(np.minimum(both - 1, depth[query]), longest)
            shared = np.maximum(to_depth[query] - before, 0.0)
            overlap = np.bincount(query, shared, minlength=part.n_segments)
            if not self.normalize:
                return overlap * (1.0 - self.p) / (1.0 - self.p**depth)
            # Depths up to the length of the ideal ranking have n_d / d = 1, and then n_d is this length.
            best = (1.0 - self.p**own) / (1.0 - self.p) + ideal * (to_depth - self._sums(own, longest))
            return np.divide(overlap, best, out=np.zeros(part.n_segments), where=ideal > 0)

        return PreparedRanks(n_ideal == 0, queries.sizes, per_block, True)

    def _sums(self, ends: Floats, lengths: Ints) -> Floats:
        """Sum of ``p^(d-1) / d`` over the depths up to each end, in rankings of these lengths."""
        n_added = max(N_ADDED, int(lengths.max()))
        return sums_over_ranks(lambda depths: self.p ** (depths - 1.0) / depths, ends, n_added)


def _shared_from(ranked: RankedBlock, values: Floats, n_larger: Ints) -> tuple[Ints, Ints]:
    """Query of each retrieved relevant document of a block, and the depth from which on both rankings have it.

    Parameters
    ----------
    ranked : RankedBlock
    values : ndarray, shape (n_documents,)
        Relevance of all documents.
    n_larger : ndarray of int64, shape (n_documents,)
        Number of documents of the query with a larger relevance.
    """
    part, relevance = ranked.part, values[ranked.rows]
    number, found = part.repeat(np.arange(part.n_segments)), np.flatnonzero(relevance > 0)
    if len(found) == 0:
        return found, found
    # The documents of equal relevance of a query, by rank; lexsort is stable.
    by_level = found[np.lexsort((relevance[found], number[found]))]
    own_queries = Segments.from_sizes(np.unique(number[found], return_counts=True)[1])
    level = own_queries.runs(relevance[by_level])
    rank_in_ideal = n_larger[ranked.rows[by_level]] + level.positions + 1
    return number[by_level], np.maximum(rank_in_ideal, part.positions[by_level] + 1)
