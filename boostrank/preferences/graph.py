"""Preference graphs: weighted edges from a document to another one of the same query that it is
preferred to.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from boostrank.inputs.arrays import Floats, as_array, check_lengths, finite_numbers
from boostrank.inputs.checks import check_choice, refuse_first
from boostrank.queries.by_id import as_frame, rows_with_ids
from boostrank.queries.dcg import TIES, Ties, check_relevance
from boostrank.queries.labels import Labels, RowsOfQueries
from boostrank.queries.queries import Queries
from boostrank.queries.segments import ranges
from boostrank.surrogates.convex_functions import MARGINS

#: Names of the losses of edges that rankers take, with the names of their functions of a margin.
EDGE_LOSS_MARGINS = {f"edge-{margin}": margin for margin in MARGINS}


class PreferenceGraph(RowsOfQueries, Labels):
    """Preferences between documents: directed, weighted edges from a winner to a loser of the same
    query.

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
        self.weight = weights = (
            None if weight is None else finite_numbers(weight, "weight", winner=self.n_edges)
        )
        if weights is not None:
            refuse_first(
                weights < 0,
                lambda i: f"weight[{i}] is {weights[i]}: weights of edges must not be negative",
            )
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
        """Make a graph from relevance, with an edge from each document to each one of its query
        with a lower label.

        Every edge has the weight 1, as in RankNet.

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
        labels, queries = check_relevance(y), Queries.from_qid(qid)
        check_lengths(qid=queries.n_documents, y=len(labels))
        by_level = queries.sort(queries.group(labels))
        equal = queries.runs(queries.group(labels)[by_level])
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
        n_queries = self.queries.n_queries
        return f"PreferenceGraph(n_documents={len(self)}, n_queries={n_queries}, n_edges={self.n_edges})"

    def __getitem__(self, rows: Any) -> PreferenceGraph:
        """The graph of some rows: a slice, a mask, or row numbers without repetition, in the
        sequence given.
        """
        kept, new_row = self._numbers_of(rows)
        winner, loser = new_row[self.winner], new_row[self.loser]
        return self._select(self.qid[kept], winner, loser, (winner >= 0) & (loser >= 0))

    @property
    def content(self) -> tuple[Any, ...]:
        """The query ids and the edges."""
        return self.qid, self.winner, self.loser, self.weight

    @property
    def sameness(self) -> str:
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
        position = np.argsort(self.queries.group(np.arange(self.n_documents))).astype(
            self.winner.dtype
        )
        winner, loser = position[self.winner], position[self.loser]
        return self._select(
            self.queries.group(self.qid), winner, loser, np.argsort(winner, kind="stable")
        )

    def sum(self, per_edge: Floats) -> Floats:
        """In a grouped graph, the sum over the edges of each query, shape (n_queries,)."""
        result, ends = (
            np.zeros(self.queries.n_queries),
            np.searchsorted(self.winner, self.queries.indptr),
        )
        has_edges = np.diff(ends) > 0
        if has_edges.any():
            result[has_edges] = np.add.reduceat(per_edge, ends[:-1][has_edges])
        return result

    def total(self) -> Floats:
        """Sum of the weights of the edges of each query, shape (n_queries,)."""
        return self.grouped.sum(self.grouped.weights)

    def disagreement(self, scores: ArrayLike, ties: Ties = "average") -> Floats:
        """Sum of the weights of the edges that a ranking by `scores` reverses, for each query,
        shape (n_queries,).

        That is ``sum_{j -> k} w_jk 1[rank(j) > rank(k)]``.

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
        is_reversed, tied = (margins < 0.0).astype(np.float64), np.flatnonzero(margins == 0.0)
        if ties != "best":
            backwards = graph.winner[tied] > graph.loser[tied]
            is_reversed[tied] = {"average": 0.5, "worst": 1.0}.get(ties, backwards)
        return graph.sum(is_reversed * graph.weights)

    def with_weight(self, weight: Floats | None) -> PreferenceGraph:
        """The graph with other weights of its edges, shape (n_edges,)."""
        return self._with(self.qid, self.winner, self.loser, weight)

    def _with(self, qid: NDArray[Any], winner: Any, loser: Any, weight: Any) -> PreferenceGraph:
        """Make a graph from edges that are known to be valid."""
        graph = PreferenceGraph.__new__(PreferenceGraph)
        graph.queries, graph.winner, graph.loser, graph.weight = (
            Queries.from_qid(qid),
            winner,
            loser,
            weight,
        )
        return graph

    def _select(self, qid: NDArray[Any], winner: Any, loser: Any, edges: Any) -> PreferenceGraph:
        """Make a graph from some of the edges of this one, with other numbers of rows."""
        weight = None if self.weight is None else self.weight[edges]
        return self._with(qid, winner[edges], loser[edges], weight)

    def _name_of(self, edge: int) -> str:
        """An edge as messages name it."""
        return f"edge {edge}, row {self.winner[edge]} -> row {self.loser[edge]}"


def from_pairs(pairs: Any, qid: ArrayLike, documents: ArrayLike | None = None) -> PreferenceGraph:
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
    check_lengths(qid=len(as_array(qid, "qid")), documents=len(as_array(documents, "documents")))
    query = {"query": (qid, frame["qid"])} if "qid" in frame else {}
    winner, loser = (
        rows_with_ids(**query, document=(documents, frame[name])) for name in ("winner", "loser")
    )
    return PreferenceGraph(qid, winner, loser, weight)


def _rows(rows: ArrayLike, n_documents: int, name: str) -> NDArray[Any]:
    array = as_array(rows, name)
    if array.size == 0:
        array = array.astype(np.int64).reshape(-1)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise ValueError(
            f"{name} must be a one-dimensional array of row numbers; got shape {array.shape}, "
            f"dtype {array.dtype}: "
            "for ids of documents use boostrank.preferences.from_pairs with documents="
        )
    last = n_documents - 1
    refuse_first(
        (array < 0) | (array > last),
        lambda i: f"{name}[{i}] is {array[i]}, but rows are numbered from 0 to {last}",
    )
    # With 32 bits, a pass over the edges reads half of the memory.
    return array.astype(np.int32 if n_documents <= np.iinfo(np.int32).max else np.int64)
