"""Where each query starts: ragged segments of rows, and vectorized reductions over them.

Everything that is computed per query in this library goes through :class:`Queries`. Data stay ragged: there is no
padding and no mask. All operations run over every query at once; none loops over queries or documents.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.floating[Any]]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

# Long enough to amortize NumPy's overhead per call, short enough that the temporaries of one block stay in the
# second-level cache, where a pass costs a third of what it costs over fresh pages.
BLOCK_DOCUMENTS = 16_384


class Block(NamedTuple):
    """A run of whole queries: which queries, which documents, and their own segments."""

    queries: slice
    documents: slice
    segments: Queries


@dataclass(frozen=True, eq=False)
class Queries:
    """Segments of documents, one per query, in the order in which the queries first appear.

    Build it with :meth:`from_qid` or :meth:`from_sizes`. Reductions take *grouped* values: the documents of a query
    next to each other. :meth:`group` brings rows there (stably, a no-op where they are already grouped), and
    :meth:`ungroup` puts results back.

    Attributes
    ----------
    indptr : ndarray of int64, shape (n_queries + 1,)
        Query ``i`` owns the grouped documents ``indptr[i]:indptr[i + 1]``; there is at least one.
    ids : ndarray, shape (n_queries,)
        The query's id as given, in order of first appearance.
    order : ndarray of int64, shape (n_documents,), or None
        ``rows[order]`` are the grouped rows. None when the rows came grouped.

    Examples
    --------
    >>> import numpy as np
    >>> queries = Queries.from_qid(["b", "a", "b"])
    >>> queries.ids.tolist(), queries.sizes.tolist()
    (['b', 'a'], [2, 1])
    >>> grouped = queries.group(np.array([1.0, 5.0, 2.0]))
    >>> queries.sum(grouped).tolist()
    [3.0, 5.0]
    >>> queries.ungroup(grouped).tolist()
    [1.0, 5.0, 2.0]
    """

    indptr: Ints
    ids: NDArray[Any]
    order: Ints | None = None

    @classmethod
    def from_qid(cls, qid: ArrayLike) -> Queries:
        """Segments from one query id per row.

        Parameters
        ----------
        qid : array-like, shape (n_documents,)
            Integers, strings or other hashable ids, in any order; rows of one query need not be adjacent.
            Ids are compared by equality and never sorted by value.

        Raises
        ------
        ValueError
            If `qid` is empty, not one-dimensional, or has missing ids.
        """
        ids = _as_ids(qid)
        starts = np.flatnonzero(np.concatenate([[True], ids[1:] != ids[:-1]]))
        codes, uniques = _factorize(ids[starts])
        if len(uniques) == len(starts):
            return cls(np.append(starts, len(ids)).astype(np.int64), ids[starts])
        row_codes = np.repeat(codes, np.diff(np.append(starts, len(ids))))
        order = np.argsort(row_codes, kind="stable")
        indptr = np.concatenate([[0], np.cumsum(np.bincount(row_codes))]).astype(np.int64)
        return cls(indptr, ids[order[indptr[:-1]]], order)

    @classmethod
    def from_sizes(cls, sizes: ArrayLike) -> Queries:
        """Segments from the number of documents of each query, for rows that are grouped already.

        Parameters
        ----------
        sizes : array-like of int, shape (n_queries,)
            Each at least 1.

        Raises
        ------
        ValueError
            If `sizes` is empty, not integer, or has a size below 1.
        """
        array = np.asarray(sizes)
        if array.ndim != 1 or len(array) == 0:
            raise ValueError(f"sizes must be a non-empty one-dimensional array; got shape {array.shape}")
        if not np.issubdtype(array.dtype, np.integer):
            raise ValueError(f"sizes must be integers; got dtype {array.dtype}")
        if array.min() < 1:
            bad = int(np.argmin(array))
            raise ValueError(f"sizes must be at least 1; sizes[{bad}] is {array[bad]}: leave empty queries out")
        return cls(np.concatenate([[0], np.cumsum(array)]).astype(np.int64), np.arange(len(array)))

    @property
    def n_queries(self) -> int:
        """Number of queries."""
        return len(self.indptr) - 1

    @property
    def n_documents(self) -> int:
        """Number of documents over all queries."""
        return int(self.indptr[-1])

    @property
    def starts(self) -> Ints:
        """First grouped document of each query, shape (n_queries,)."""
        return self.indptr[:-1]

    @cached_property
    def sizes(self) -> Ints:
        """Documents per query, shape (n_queries,)."""
        return np.diff(self.indptr)

    @cached_property
    def positions(self) -> Ints:
        """Position of each grouped document in its query, from 0, shape (n_documents,)."""
        return np.arange(self.n_documents) - self.spread(self.starts)

    @property
    def qid(self) -> NDArray[Any]:
        """Query id of every row, in the order in which the rows came, shape (n_documents,)."""
        return self.ungroup(self.spread(self.ids))

    def group(self, rows: NDArray[Any]) -> NDArray[Any]:
        """Bring row values, shape (n_documents, ...), into grouped order; the same array if they are there."""
        return rows if self.order is None else rows[self.order]

    def ungroup(self, grouped: NDArray[Any]) -> NDArray[Any]:
        """Put grouped values, shape (n_documents, ...), back to the order of the rows."""
        if self.order is None:
            return grouped
        rows = np.empty_like(grouped)
        rows[self.order] = grouped
        return rows

    def take(self, chosen: NDArray[Any]) -> Ints:
        """Rows, in their given order, of the queries in `chosen` (indices or a mask of queries)."""
        mask = np.zeros(self.n_queries, dtype=bool)
        mask[chosen] = True
        return np.flatnonzero(self.ungroup(self.spread(mask)))

    def spread(self, per_query: NDArray[Any]) -> NDArray[Any]:
        """Repeat one value per query, shape (n_queries,), for each of its documents."""
        return np.repeat(per_query, self.sizes)

    def sum(self, grouped: NDArray[Any]) -> NDArray[Any]:
        """Sum over the documents of each query, shape (n_queries,)."""
        return np.add.reduceat(grouped, self.starts)

    def mean(self, grouped: NDArray[Any]) -> Floats:
        """Mean over the documents of each query, shape (n_queries,)."""
        return self.sum(grouped) / self.sizes

    def max(self, grouped: NDArray[Any]) -> NDArray[Any]:
        """Maximum over the documents of each query, shape (n_queries,)."""
        return np.maximum.reduceat(grouped, self.starts)

    def min(self, grouped: NDArray[Any]) -> NDArray[Any]:
        """Minimum over the documents of each query, shape (n_queries,)."""
        return np.minimum.reduceat(grouped, self.starts)

    def logsumexp(self, grouped: Floats) -> Floats:
        """``log(sum(exp(x)))`` of each query, without overflow, shape (n_queries,)."""
        highest = self.max(grouped)
        return np.log(self.sum(np.exp(grouped - self.spread(highest)))) + highest

    def softmax(self, grouped: Floats, mass: Floats | float = 1.0) -> Floats:
        """Softmax within each query, times the query's `mass` (a number or shape (n_queries,)).

        Shape (n_documents,); the documents of query ``i`` sum to ``mass[i]``.
        """
        exponentials = grouped - self.spread(self.max(grouped))
        np.exp(exponentials, out=exponentials)
        exponentials *= self.spread(mass / self.sum(exponentials))
        return exponentials

    def sort(self, scores: Floats, tiebreak: NDArray[Any] | None = None, *, stable: bool = True) -> Ints:
        """Indices that sort each query's grouped documents by decreasing score.

        Parameters
        ----------
        scores : ndarray, shape (n_documents,)
            Without NaN.
        tiebreak : ndarray, shape (n_documents,), optional
            Among equal scores a smaller value comes first; then, and by default, the document that stands first.
        stable : bool, default True
            False leaves documents of equal score in any order, which is faster; without `tiebreak` only.

        Returns
        -------
        ndarray of int64, shape (n_documents,)
            ``scores[result]`` decreases within each segment of `indptr`; segments stay where they are.
        """
        result = np.empty(self.n_documents, dtype=np.int64)
        for block in self.blocks():
            part = None if tiebreak is None else tiebreak[block.documents]
            result[block.documents] = block.segments._sort_block(scores[block.documents], part, stable)
            result[block.documents] += block.documents.start
        return result

    def ranks(self, scores: Floats) -> Ints:
        """Rank of each grouped document in its query, from 1 at the highest score; ties by order of rows."""
        ranks = np.empty(self.n_documents, dtype=np.int64)
        ranks[self.sort(scores)] = self.positions + 1
        return ranks

    def search(self, ascending: Floats, values: Floats, side: Literal["left", "right"] = "left") -> Ints:
        """Where each document's value belongs among the sorted values of its query: ``np.searchsorted`` per query.

        Parameters
        ----------
        ascending : ndarray, shape (n_documents,)
            Increasing within each query.
        values : ndarray, shape (n_documents,)
        side : {"left", "right"}, default "left"
            Before or after equal values.

        Returns
        -------
        ndarray of int64, shape (n_documents,)
            From the query's start in `indptr` to its end.
        """
        low, high = self.spread(self.starts), self.spread(self.indptr[1:])
        for _ in range(int(self.sizes.max()).bit_length()):
            middle = (low + high) >> 1
            at = ascending[np.minimum(middle, high - 1)]
            before = ((at < values) if side == "left" else (at <= values)) & (low < high)
            low, high = np.where(before, middle + 1, low), np.where(before, high, middle)
        return low

    def blocks(self, n_documents: int = BLOCK_DOCUMENTS) -> list[Block]:
        """Cut into runs of whole queries of about `n_documents`; a longer query is a block of its own."""
        return self._blocks if n_documents == BLOCK_DOCUMENTS else self._cut(n_documents)

    @cached_property
    def _blocks(self) -> list[Block]:
        # Kept, with the positions that segments keep: metrics and objectives go over them again and again.
        return self._cut(BLOCK_DOCUMENTS)

    def _cut(self, n_documents: int) -> list[Block]:
        blocks = []
        first = 0
        while first < self.n_queries:
            limit = self.indptr[first] + n_documents
            last = max(first + 1, int(np.searchsorted(self.indptr, limit, side="right")) - 1)
            start, stop = int(self.indptr[first]), int(self.indptr[last])
            segments = Queries(self.indptr[first : last + 1] - start, self.ids[first:last])
            blocks.append(Block(slice(first, last), slice(start, stop), segments))
            first = last
        return blocks

    def _sort_block(self, scores: Floats, tiebreak: NDArray[Any] | None, stable: bool = True) -> Ints:
        # Sorting all scores first and then moving documents to their queries by a stable radix sort of small
        # integers is several times faster than a lexicographic sort of (query, score).
        by_score = np.argsort(-scores)
        if self.n_queries > 1:
            code_type = np.uint16 if self.n_queries <= np.iinfo(np.uint16).max else np.int64
            codes = self.spread(np.arange(self.n_queries, dtype=code_type))
            by_score = by_score[np.argsort(codes[by_score], kind="stable")]
        if tiebreak is None and not stable:
            return by_score
        ordered = scores[by_score]
        new_run = np.concatenate([[True], ordered[1:] != ordered[:-1]])
        new_run[self.starts] = True
        if new_run.all():
            return by_score
        runs = np.cumsum(new_run)
        if tiebreak is not None:
            return by_score[np.lexsort((by_score, tiebreak[by_score], runs))]
        keys = runs * len(scores) + by_score
        keys.sort()
        return keys - runs * len(scores)


def _as_ids(qid: ArrayLike) -> NDArray[Any]:
    ids = np.asarray(qid)
    if ids.ndim == 2 and ids.shape[1] == 1:
        ids = ids[:, 0]
    if ids.ndim != 1 or len(ids) == 0:
        raise ValueError(
            f"qid must have one query id per row: a non-empty one-dimensional array; got shape {ids.shape}"
        )
    import pandas as pd

    missing = pd.isna(ids)
    if np.any(missing):
        raise ValueError(f"qid must not be missing; qid[{int(np.argmax(missing))}] is {ids[np.argmax(missing)]!s}")
    return ids


def _factorize(ids: NDArray[Any]) -> tuple[NDArray[np.intp], Any]:
    # pandas hashes ids of any type in order of appearance; imported here to keep `import boostrank` quick.
    import pandas as pd

    if ids.dtype.kind in "US":
        ids = ids.astype(object)
    return pd.factorize(ids)
