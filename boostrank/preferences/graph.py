"""Preference graphs: weighted edges between documents of a query, from the preferred one."""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from boostrank.inputs.arrays import Bools, Floats, Ints, as_array, check_lengths, finite_numbers
from boostrank.inputs.checks import check_choice, refuse_first
from boostrank.ndcg.gains import check_relevance
from boostrank.ndcg.labels import Labels, Rows, RowsOfQueries
from boostrank.queries.by_id import as_frame, rows_with_ids
from boostrank.queries.queries import Queries
from boostrank.queries.rankings import TIES, Ties
from boostrank.queries.segments import ranges
from boostrank.surrogates.convex_functions import MARGINS

#: Names of the losses of edges that rankers take, with the names of their functions of a margin.
EDGE_LOSS_MARGINS = {f"edge-{margin}": margin for margin in MARGINS}
#: Numbers of rows, of 32 or 64 bits.
RowNumbers = NDArray[np.signedinteger[Any]]


class PreferenceGraph(RowsOfQueries, Labels):
    """Preferences between documents: weighted edges from a winner to a loser of the same query.

    One graph contains the preferences of all rows of a data set, and is used in place of the labels
    `y`. Indexing it by rows, as cross-validation does, keeps the edges between these rows. Choices
    between two documents give single edges. Relevance is a special case, see :meth:`from_grades`.
    Memory is proportional to the number of edges.

    Parameters
    ----------
    qid : array-like, shape (n_documents,)
        Query id of each row, as in :meth:`boostrank.Queries.from_qid`.
    winner, loser : array-like of int, shape (n_edges,)
        Row numbers. The weights of edges with the same winner and loser add up. Edges may
        contradict each other: the documents of a cycle are in one strong component
        (``scipy.sparse.csgraph.connected_components``).
    weight : array-like, shape (n_edges,), optional
        Importance of each edge, finite and not negative. By default every weight is 1.

    Attributes
    ----------
    queries : Queries
    winner, loser : ndarray of int, shape (n_edges,)
    weight : ndarray of float64, shape (n_edges,), or None
        None if every weight is 1.

    Raises
    ------
    ValueError
        If an edge is between documents of different queries, from a document to itself, or to a row
        that does not exist, or if a weight is negative or not finite. The message names the edge.

    Examples
    --------
    >>> import boostrank as br
    >>> graph = br.PreferenceGraph(
    ...     qid=[1, 1, 1, 2, 2], winner=[0, 1, 3], loser=[1, 2, 4], weight=[1, 1, 5]
    ... )
    >>> graph
    PreferenceGraph(n_documents=5, n_queries=2, n_edges=3)
    >>> graph[[0, 1, 3]]
    PreferenceGraph(n_documents=3, n_queries=2, n_edges=1)
    >>> # Half of the weight of an edge between tied documents counts.
    >>> graph.disagreement([0.3, 0.2, 0.9, 0.0, 0.0]).tolist()
    [1.0, 2.5]
    """

    default_measure: ClassVar[str] = "agreement"
    losses: ClassVar[str] = f"one of {', '.join(EDGE_LOSS_MARGINS)}"

    def __init__(
        self, qid: ArrayLike, winner: ArrayLike, loser: ArrayLike, weight: ArrayLike | None = None
    ) -> None:
        self.queries = Queries.from_qid(qid)
        self.winner = _rows(winner, self.n_documents, "winner")
        self.loser = _rows(loser, self.n_documents, "loser")
        check_lengths(winner=len(self.winner), loser=len(self.loser))
        self.weight: Floats | None = None
        if weight is not None:
            self.weight = _weights(weight, self.n_edges)
        self._check_edges()

    def _check_edges(self) -> None:
        """Raise ValueError for an edge between queries, or from a document to itself."""
        query = self.queries.ungroup(self.queries.repeat(np.arange(self.queries.n_queries)))
        refuse_first(
            query[self.winner] != query[self.loser],
            lambda i: (
                f"{self._name_of(i)}, goes across queries {str(self.qid[self.winner[i]])!r} and "
                f"{str(self.qid[self.loser[i]])!r}: documents are compared within a query"
            ),
        )
        refuse_first(
            self.winner == self.loser, lambda i: f"{self._name_of(i)}, prefers a document to itself"
        )

    @classmethod
    def from_grades(cls, y: ArrayLike, qid: ArrayLike) -> PreferenceGraph:
        """Make a graph from relevance.

        It has an edge from each document to each one of its query with a lower label. Every edge
        has the weight 1, as in RankNet.

        Parameters
        ----------
        y, qid : array-like, shape (n_documents,)
            Relevance and query id of each row.

        Returns
        -------
        PreferenceGraph

        Raises
        ------
        ValueError
            If an argument is invalid.

        Examples
        --------
        >>> import boostrank as br
        >>> graph = br.PreferenceGraph.from_grades([0, 2, 1], qid=[7, 7, 7])
        >>> list(zip(graph.winner.tolist(), graph.loser.tolist()))
        [(1, 2), (1, 0), (2, 0)]
        """
        labels = check_relevance(y)
        queries = Queries.from_qid(qid)
        check_lengths(qid=queries.n_documents, y=len(labels))
        grouped = queries.group(labels)
        by_level = queries.sort(grouped)
        equal = queries.runs(grouped[by_level])
        # When rows are sorted by level, a row wins against the rows from the end of its level to
        # the end of its query.
        next_level = equal.repeat(equal.ends)
        counts = queries.repeat(queries.ends) - next_level
        rows = queries.group(np.arange(len(labels)))[by_level]
        return cls(qid, np.repeat(rows, counts), rows[ranges(next_level, counts)])

    @property
    def n_edges(self) -> int:
        """Number of edges."""
        return len(self.winner)

    @property
    def weights(self) -> Floats:
        """Weight of each edge, shape (n_edges,)."""
        return np.ones(self.n_edges) if self.weight is None else self.weight

    def __repr__(self) -> str:
        return (
            f"PreferenceGraph(n_documents={len(self)}, n_queries={self.queries.n_queries}, "
            f"n_edges={self.n_edges})"
        )

    def __getitem__(self, rows: Rows) -> PreferenceGraph:
        """The graph of some rows: a slice, a mask, or row numbers without repetition.

        Rows are in the sequence in which their numbers are given.
        """
        kept, new_row = self._numbers_of(rows)
        winner = new_row[self.winner]
        loser = new_row[self.loser]
        are_kept = (winner >= 0) & (loser >= 0)
        return self._select(self.qid[kept], winner, loser, are_kept)

    @property
    def content(self) -> tuple[Any, ...]:
        """The query ids and the edges."""
        return self.qid, self.winner, self.loser, self.weight

    def sameness(self, queries: Queries) -> str:
        """Why nothing can be learned from the preferences; "" if there are some."""
        return "" if self.n_edges else "there is no preference between two documents"

    def group(self, queries: Queries) -> PreferenceGraph:
        """:attr:`grouped`; ValueError if `queries` are not the queries of the graph."""
        self.check_qid(queries.qid)
        return self.grouped

    @cached_property
    def grouped(self) -> PreferenceGraph:
        """The graph of the rows grouped by :meth:`Queries.group`, with edges sorted by winner."""
        if self.queries.permutation is None and (self.winner[1:] >= self.winner[:-1]).all():
            return self
        old_rows = self.queries.group(np.arange(self.n_documents))
        position = np.argsort(old_rows).astype(self.winner.dtype)
        winner = position[self.winner]
        by_winner = np.argsort(winner, kind="stable")
        qid = self.queries.group(self.qid)
        return self._select(qid, winner, position[self.loser], by_winner)

    def sum(self, per_edge: Floats) -> Floats:
        """In a grouped graph, the sum over the edges of each query, shape (n_queries,)."""
        result = np.zeros(self.queries.n_queries)
        ends = np.searchsorted(self.winner, self.queries.indptr)
        has_edges = np.diff(ends) > 0
        if has_edges.any():
            result[has_edges] = np.add.reduceat(per_edge, ends[:-1][has_edges])
        return result

    def total(self) -> Floats:
        """Sum of the weights of the edges of each query, shape (n_queries,)."""
        return self.grouped.sum(self.grouped.weights)

    def disagreement(self, scores: ArrayLike, ties: Ties = "average") -> Floats:
        """Sum of the weights of the edges that a ranking by `scores` reverses, for each query.

        That is ``sum_{j -> k} w_jk 1[rank(j) > rank(k)]``, shape (n_queries,).

        Parameters
        ----------
        scores : array-like, shape (n_documents,)
            Finite numbers.
        ties : {"average", "stable", "best", "worst"}, default "average"
            How much of the weight of an edge between documents of equal score counts. "average"
            counts half of it, "stable" all of it if the winner has the larger row number, "best"
            nothing, and "worst" all of it.

        Raises
        ------
        ValueError
            If `ties` has another value, or `scores` are not one finite number for each row.
        """
        check_choice("ties", ties, TIES)
        values = self.queries.group(finite_numbers(scores, "scores", qid=len(self)))
        graph = self.grouped
        margins = values[graph.winner] - values[graph.loser]
        is_reversed = (margins < 0.0).astype(np.float64)
        tied = np.flatnonzero(margins == 0.0)
        if ties == "average":
            is_reversed[tied] = 0.5
        elif ties == "worst":
            is_reversed[tied] = 1.0
        elif ties == "stable":
            is_reversed[tied] = graph.winner[tied] > graph.loser[tied]
        return graph.sum(is_reversed * graph.weights)

    def with_weight(self, weight: Floats | None) -> PreferenceGraph:
        """The graph with other weights of its edges, shape (n_edges,)."""
        return self._with(self.qid, self.winner, self.loser, weight)

    def _with(
        self,
        qid: NDArray[np.generic],
        winner: RowNumbers,
        loser: RowNumbers,
        weight: Floats | None,
    ) -> PreferenceGraph:
        """Make a graph from edges that are known to be valid."""
        graph = PreferenceGraph.__new__(PreferenceGraph)
        graph.queries = Queries.from_qid(qid)
        graph.winner = winner
        graph.loser = loser
        graph.weight = weight
        return graph

    def _select(
        self, qid: NDArray[np.generic], winner: RowNumbers, loser: RowNumbers, edges: Bools | Ints
    ) -> PreferenceGraph:
        """Make a graph from some of the edges of this one, with other numbers of rows."""
        weight = None if self.weight is None else self.weight[edges]
        return self._with(qid, winner[edges], loser[edges], weight)

    def _name_of(self, edge: int) -> str:
        """An edge as messages name it."""
        return f"edge {edge}, row {self.winner[edge]} -> row {self.loser[edge]}"


def from_pairs(
    pairs: object, qid: ArrayLike, documents: ArrayLike | None = None
) -> PreferenceGraph:
    """Make a preference graph from a table of pairs.

    Parameters
    ----------
    pairs : DataFrame or mapping of columns
        Columns "winner" and "loser"; also "weight" if edges differ in importance, and "qid" if ids
        of documents are unique only within a query.
    qid : array-like, shape (n_documents,)
        Query id of each row of the features.
    documents : array-like, shape (n_documents,), optional
        Id of the document of each row of the features; "winner" and "loser" contain these ids.
        Without it, "winner" and "loser" contain row numbers.

    Returns
    -------
    PreferenceGraph

    Raises
    ------
    ValueError
        If a column is missing, if no row or several rows have the id of a document, or if
        :class:`PreferenceGraph` refuses an edge.

    Examples
    --------
    >>> import boostrank as br
    >>> pairs = {"winner": ["b", "a"], "loser": ["a", "c"], "weight": [1.0, 0.5]}
    >>> graph = br.preferences.from_pairs(pairs, qid=[1, 1, 1], documents=["a", "b", "c"])
    >>> graph.winner.tolist(), graph.loser.tolist()
    ([1, 0], [0, 2])

    A judgment that two documents are equal is two pairs, one in each direction, of half of the
    weight:

    >>> equal = {"winner": [0, 1], "loser": [1, 0], "weight": [0.5, 0.5]}
    >>> br.preferences.from_pairs(equal, qid=[1, 1]).disagreement([2.0, 1.0])
    array([0.5])
    """
    frame = as_frame(pairs, "pairs", "winner", "loser")
    weight = frame["weight"].to_numpy() if "weight" in frame else None
    if documents is None:
        return PreferenceGraph(qid, frame["winner"].to_numpy(), frame["loser"].to_numpy(), weight)
    of_queries = as_array(qid, "qid")
    of_documents = as_array(documents, "documents")
    check_lengths(qid=len(of_queries), documents=len(of_documents))
    queries = {"query": (of_queries, frame["qid"])} if "qid" in frame else {}
    winner = rows_with_ids(**queries, document=(of_documents, frame["winner"]))
    loser = rows_with_ids(**queries, document=(of_documents, frame["loser"]))
    return PreferenceGraph(qid, winner, loser, weight)


def _weights(weight: ArrayLike, n_edges: int) -> Floats:
    """The weights of edges as float64; raise ValueError for one that is invalid."""
    weights = finite_numbers(weight, "weight", winner=n_edges)
    refuse_first(
        weights < 0,
        lambda i: f"weight[{i}] is {weights[i]}: weights of edges must not be negative",
    )
    return weights


def _rows(rows: ArrayLike, n_documents: int, name: str) -> RowNumbers:
    """Numbers of rows as integers of 32 or 64 bits; raise ValueError for one that is invalid."""
    array = as_array(rows, name)
    if array.size == 0:
        array = array.astype(np.int64).reshape(-1)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise ValueError(
            f"{name} must be a one-dimensional array of row numbers; got shape {array.shape}, "
            f"dtype {array.dtype}: for ids of documents use boostrank.preferences.from_pairs with "
            "documents="
        )
    last = n_documents - 1
    refuse_first(
        (array < 0) | (array > last),
        lambda i: f"{name}[{i}] is {array[i]}, but rows are numbered from 0 to {last}",
    )
    # With 32 bits, a pass over the edges reads half of the memory.
    if n_documents <= np.iinfo(np.int32).max:
        return array.astype(np.int32)
    return array.astype(np.int64)
