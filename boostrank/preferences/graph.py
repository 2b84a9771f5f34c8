"""Preference graphs: per query, weighted edges from a document to one that it is preferred to."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, find, issparse
from scipy.sparse.csgraph import connected_components

from boostrank.arrays import as_array, as_floats, rescale_extreme
from boostrank.dcg import DCG, Gain, Ties, check_relevance, check_ties
from boostrank.preferences.incidence import EdgeBlock, edge_blocks
from boostrank.queries import Queries
from boostrank.segments import Floats, Ints

EdgeWeight = Literal["one", "labels", "gains"]
EDGE_WEIGHTS: tuple[str, ...] = get_args(EdgeWeight)


class Conflicts(NamedTuple):
    """Preferences that contradict each other, which is allowed.

    Attributes
    ----------
    contradictions : ndarray of int64, shape (n_contradictions, 2)
        Pairs of rows with edges both ways.
    cyclic_queries : ndarray
        Ids of the queries with a directed cycle: no ranking agrees with all of their edges.
    """

    contradictions: Ints
    cyclic_queries: NDArray[Any]


class PreferenceGraph:
    """Weighted directed edges between documents of the same query: ``winner -> loser``, "is preferred to".

    One graph holds the preferences of all rows of a data set, and takes the place of the labels `y`. Indexing by rows,
    as cross-validation does, keeps the edges between the rows that are kept. Binary relevance and grades are special
    cases (:meth:`from_grades`), and so are single A/B choices. Memory is proportional to the number of edges.

    Parameters
    ----------
    qid : array-like, shape (n_documents,)
        Query of each row, as for :meth:`boostrank.queries.Queries.from_qid`.
    winner, loser : array-like of int, shape (n_edges,)
        Row numbers. Parallel edges add up; contradictions and cycles are allowed, see :meth:`conflicts`.
    weight : array-like, shape (n_edges,), optional
        Importance of each edge, finite and not negative; all are 1 by default.

    Attributes
    ----------
    qid : ndarray, shape (n_documents,)
    winner, loser : ndarray of int, shape (n_edges,)
    weight : ndarray of float64, shape (n_edges,), or None for ones

    Raises
    ------
    ValueError
        For an edge across queries, from a document to itself, to a row that does not exist, or of a weight that is
        negative or not finite; the message names the edge.

    Examples
    --------
    >>> graph = PreferenceGraph(qid=[1, 1, 1, 2, 2], winner=[0, 1, 3], loser=[1, 2, 4], weight=[1, 1, 5])
    >>> graph
    PreferenceGraph(n_documents=5, n_queries=2, n_edges=3)
    >>> graph[[0, 1, 3]]
    PreferenceGraph(n_documents=3, n_queries=2, n_edges=1)
    >>> graph.disagreement([0.3, 0.2, 0.9, 0.0, 0.0]).tolist()  # a tie counts half
    [1.0, 2.5]
    """

    def __init__(self, qid: ArrayLike, winner: ArrayLike, loser: ArrayLike, weight: ArrayLike | None = None) -> None:
        self.queries = Queries.from_qid(qid)
        self.winner, self.loser = (
            _rows(rows, self.n_documents, name) for rows, name in ((winner, "winner"), (loser, "loser"))
        )
        if self.winner.shape != self.loser.shape:
            raise ValueError(
                f"winner and loser must have the same length; got {len(self.winner)} and {len(self.loser)}"
            )
        self.weight = None if weight is None else _edge_weights(weight, len(self.winner))
        self._check_edges()

    @classmethod
    def from_grades(
        cls,
        y: ArrayLike,
        qid: ArrayLike,
        *,
        weight: EdgeWeight = "one",
        gain: Gain = "exp2",
        threshold: float | None = None,
    ) -> PreferenceGraph:
        """All ordered pairs: an edge from each document to each of its query with a lower label.

        Parameters
        ----------
        y, qid : array-like, shape (n_documents,)
        weight : {"one", "labels", "gains"}, default "one"
            Weight of an edge: 1 (RankNet), the difference of the labels, or of their gains.
        gain
            See :class:`boostrank.dcg.DCG`; for ``weight="gains"``.
        threshold : float, optional
            Compare only labels of at least this with lower ones: the bipartite graph of binary relevance.

        Examples
        --------
        >>> graph = PreferenceGraph.from_grades([0, 2, 1], qid=[7, 7, 7], weight="gains")
        >>> list(zip(graph.winner.tolist(), graph.loser.tolist(), graph.weight.tolist()))
        [(1, 2, 2.0), (1, 0, 3.0), (2, 0, 1.0)]
        """
        if weight not in EDGE_WEIGHTS:
            raise ValueError(f"weight must be one of {', '.join(EDGE_WEIGHTS)}; got {weight!r}")
        labels, queries = check_relevance(y), Queries.from_qid(qid)
        if len(labels) != queries.n_documents:
            raise ValueError(f"y has {len(labels)} labels for {queries.n_documents} rows of qid")
        levels = labels if threshold is None else (labels >= threshold).astype(np.float64)
        winner, loser = _ordered_pairs(levels, queries)
        if weight == "one":
            return cls(qid, winner, loser)
        worth = levels if weight == "labels" else DCG(gain=gain).gains(labels if threshold is None else levels)
        return cls(qid, winner, loser, worth[winner] - worth[loser])

    @classmethod
    def from_scipy(cls, matrix: Any, qid: ArrayLike) -> PreferenceGraph:
        """From a sparse matrix of shape (n_documents, n_documents) with ``matrix[j, k]`` the weight of ``j -> k``."""
        n_documents, shape = Queries.from_qid(qid).n_documents, np.shape(matrix)
        sparse: bool = issparse(matrix)
        if not sparse or shape != (n_documents, n_documents):
            raise ValueError(
                f"matrix must be a scipy sparse array of shape ({n_documents}, {n_documents}), the rows of qid; got "
                f"{type(matrix).__name__} of shape {shape}"
            )
        winner, loser, weight = find(matrix)
        return cls(qid, winner, loser, weight)

    def to_scipy(self) -> Any:
        """A sparse array of shape (n_documents, n_documents), parallel edges added up."""
        shape = (self.n_documents, self.n_documents)
        return csr_array((self.weights, (self.winner, self.loser)), shape=shape)

    @property
    def n_documents(self) -> int:
        """Number of rows."""
        return self.queries.n_documents

    @property
    def n_edges(self) -> int:
        """Number of edges."""
        return len(self.winner)

    @property
    def qid(self) -> NDArray[Any]:
        """Query id of each row, shape (n_documents,)."""
        return self.queries.qid

    @property
    def weights(self) -> Floats:
        """Weight of each edge, shape (n_edges,)."""
        return np.ones(self.n_edges) if self.weight is None else self.weight

    @property
    def shape(self) -> tuple[int]:
        """``(n_documents,)``: to scikit-learn it is an array of labels."""
        return (self.n_documents,)

    def __len__(self) -> int:
        return self.n_documents

    def __repr__(self) -> str:
        return (
            f"PreferenceGraph(n_documents={self.n_documents}, n_queries={self.queries.n_queries}, "
            f"n_edges={self.n_edges})"
        )

    def __getitem__(self, rows: Any) -> PreferenceGraph:
        """The graph of these rows (a slice, a mask or row numbers without repetition), in their order."""
        # scikit-learn asks for array[rows, ...].
        rows = rows[0] if isinstance(rows, tuple) and rows[1:] == (Ellipsis,) else rows
        kept = np.arange(self.n_documents)[rows]
        if kept.ndim != 1:
            raise TypeError(f"a PreferenceGraph is indexed by a slice, a mask or an array of rows; got {rows!r}")
        position = np.full(self.n_documents, -1)
        position[kept] = np.arange(len(kept))
        if np.count_nonzero(position >= 0) != len(kept):
            raise ValueError("rows are repeated: an edge between copies of a document is not defined")
        winner, loser = position[self.winner], position[self.loser]
        edges = (winner >= 0) & (loser >= 0)
        return self._with(
            self.qid[kept], winner[edges], loser[edges], None if self.weight is None else self.weight[edges]
        )

    @cached_property
    def grouped(self) -> PreferenceGraph:
        """The same graph over grouped rows (:meth:`boostrank.queries.Queries.group`), its edges sorted by winner."""
        queries, winner, loser = self.queries, self.winner, self.loser
        if queries.permutation is not None:
            position = np.empty(self.n_documents, dtype=self.winner.dtype)
            position[queries.permutation] = np.arange(self.n_documents)
            winner, loser = position[winner], position[loser]
        elif (winner[1:] >= winner[:-1]).all():
            return self
        by_winner = np.argsort(winner, kind="stable")
        weight = None if self.weight is None else self.weight[by_winner]
        return self._with(queries.group(self.qid), winner[by_winner], loser[by_winner], weight)

    @cached_property
    def indptr(self) -> Ints:
        """Edges ``indptr[i]:indptr[i + 1]`` of a grouped graph are those of query ``i``, shape (n_queries + 1,)."""
        return np.searchsorted(self.winner, self.queries.indptr).astype(np.int64)

    @cached_property
    def blocks(self) -> list[EdgeBlock]:
        """The edges of a grouped graph in blocks, with the matrices that passes over them need."""
        return edge_blocks(self.winner, self.loser, self.queries)

    def sum(self, per_edge: Floats) -> Floats:
        """Sum over the edges of each query, for a grouped graph, shape (n_queries,)."""
        result, some = np.zeros(self.queries.n_queries), np.diff(self.indptr) > 0
        if some.any():
            result[some] = np.add.reduceat(per_edge, self.indptr[:-1][some])
        return result

    def total(self) -> Floats:
        """Weight of all edges of each query, shape (n_queries,)."""
        graph = self.grouped
        return np.diff(graph.indptr).astype(np.float64) if graph.weight is None else graph.sum(graph.weight)

    def disagreement(self, scores: ArrayLike, ties: Ties = "average") -> Floats:
        """Weight of the edges that a ranking by `scores` reverses, per query, shape (n_queries,).

        ``sum_{j -> k} w_jk 1[rank(j) > rank(k)]``.

        Parameters
        ----------
        scores : array-like, shape (n_documents,)
            Finite.
        ties : {"average", "stable", "best", "worst"}, default "average"
            How much of an edge between equal scores counts: half of it (the mean of both rankings), all or nothing by
            the order of rows, nothing, or all.
        """
        check_ties(ties)
        values = as_floats(scores, "scores")
        if values.shape != self.shape or not np.isfinite(values).all():
            raise ValueError(
                f"scores must be one finite number per row, shape {self.shape}; got shape {values.shape}"
                + ("" if np.isfinite(values).all() else ", and not all are finite")
            )
        graph, values = self.grouped, self.queries.group(values)
        reversed_weight = np.empty(self.n_edges)
        for block in graph.blocks:
            margins, part = block.margins @ values[block.documents], reversed_weight[block.edges]
            np.less(margins, 0.0, out=part)
            tied = margins == 0.0
            if ties != "best" and tied.any():
                backwards = graph.winner[block.edges][tied] > graph.loser[block.edges][tied]
                part[tied] = {"average": 0.5, "worst": 1.0}.get(ties, backwards)
            if graph.weight is not None:
                part *= graph.weight[block.edges]
        return graph.sum(reversed_weight)

    def conflicts(self) -> Conflicts:
        """Contradictory edges and cycles."""
        low, high = np.minimum(self.winner, self.loser), np.maximum(self.winner, self.loser)
        codes = low.astype(np.int64) * self.n_documents + high
        both = np.intersect1d(codes[self.winner < self.loser], codes[self.winner > self.loser])
        _, component = connected_components(self.to_scipy(), connection="strong")
        in_cycle = np.bincount(component)[component] > 1
        cyclic = self.queries.max(self.queries.group(in_cycle))
        return Conflicts(np.stack(np.divmod(both, self.n_documents), axis=1), self.queries.ids[cyclic])

    def relative(self) -> PreferenceGraph:
        """The graph; if its weights are extreme, with all of them times a power of two, so that sums do not overflow.

        Losses and measures of preferences do not depend on a factor that is common to all weights.
        """
        weight = None if self.weight is None else rescale_extreme(self.weight)
        return self if weight is self.weight else self._with(self.qid, self.winner, self.loser, weight)

    def reweighted(self, weights: Floats) -> PreferenceGraph:
        """The graph with the edges of each row's query times its weight, from weights of shape (n_documents,)."""
        return self._with(self.qid, self.winner, self.loser, self.weights * np.asarray(weights)[self.winner])

    def check_qid(self, qid: ArrayLike) -> None:
        """Refuse query ids that are not those of this graph."""
        given = as_array(qid, "qid")
        if given.shape != self.shape or not np.array_equal(given.astype(object), self.qid.astype(object)):
            raise ValueError(f"qid differs from the query ids of the preferences, {self!r}: leave qid out")

    @classmethod
    def _with(cls, qid: NDArray[Any], winner: Any, loser: Any, weight: Any) -> PreferenceGraph:
        """A graph from edges that need no check."""
        graph = cls.__new__(cls)
        graph.queries, graph.winner, graph.loser, graph.weight = Queries.from_qid(qid), winner, loser, weight
        return graph

    def _check_edges(self) -> None:
        query = np.empty(self.n_documents, dtype=np.int64)
        query[:] = self.queries.ungroup(self.queries.repeat(np.arange(self.queries.n_queries)))
        across = query[self.winner] != query[self.loser]
        if across.any():
            edge = int(np.argmax(across))
            ids = self.queries.ids
            raise ValueError(
                f"edge {edge}, {self._name(edge)}, goes across queries {str(ids[query[self.winner[edge]]])!r} and "
                f"{str(ids[query[self.loser[edge]]])!r}: documents are compared within a query"
            )
        loops = self.winner == self.loser
        if loops.any():
            edge = int(np.argmax(loops))
            raise ValueError(f"edge {edge}, {self._name(edge)}, prefers a document to itself")

    def _name(self, edge: int) -> str:
        return f"row {self.winner[edge]} -> row {self.loser[edge]}"


def _rows(rows: ArrayLike, n_documents: int, name: str) -> NDArray[Any]:
    array = as_array(rows, name)
    if array.size == 0:
        array = array.astype(np.int64).reshape(-1)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise ValueError(
            f"{name} must be a one-dimensional array of row numbers; got shape {array.shape}, dtype {array.dtype}: "
            "for ids of documents use boostrank.preferences.from_pairs"
        )
    bad = (array < 0) | (array >= n_documents)
    if bad.any():
        edge = int(np.argmax(bad))
        raise ValueError(f"{name}[{edge}] is {array[edge]}, but rows are numbered from 0 to {n_documents - 1}")
    # 32 bits halve the memory traffic of every pass over the edges.
    return array.astype(np.int32 if n_documents <= np.iinfo(np.int32).max else np.int64)


def _edge_weights(weight: ArrayLike, n_edges: int) -> Floats:
    array = as_floats(weight, "weight")
    if array.shape != (n_edges,):
        raise ValueError(f"weight must have one number per edge, shape ({n_edges},); got {array.shape}")
    bad = ~np.isfinite(array) | (array < 0)
    if bad.any():
        edge = int(np.argmax(bad))
        raise ValueError(f"weight[{edge}] is {array[edge]}: weights of edges must be finite and not negative")
    return array


def _ordered_pairs(levels: Floats, queries: Queries) -> tuple[Ints, Ints]:
    """Rows ``(i, j)`` of the same query with ``levels[i] > levels[j]``."""
    by_level = queries.sort(queries.group(levels))
    equal = queries.runs(queries.group(levels)[by_level])
    # Sorted by level, the losers of a document are the rows from the end of its level to the end of the query.
    next_level = equal.repeat(equal.ends)
    counts = queries.repeat(queries.ends) - next_level
    winner = np.repeat(np.arange(len(by_level)), counts)
    within = np.arange(len(winner)) - np.repeat(np.cumsum(counts) - counts, counts)
    rows = by_level if queries.permutation is None else queries.permutation[by_level]
    return rows[winner], rows[np.repeat(next_level, counts) + within]
