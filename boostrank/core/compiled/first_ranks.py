"""The documents of the first ranks of each query, without sorting the others."""

from __future__ import annotations

import numpy as np

from boostrank.core.compiled import _call, _floats
from boostrank.core.segments import Segments
from boostrank.inputs.arrays import Floats, Ints


def first_ranks(scores: Floats, queries: Segments, cutoffs: Ints) -> tuple[Ints, Ints]:
    """Rows of the documents of the first ranks of each query, and of those that are tied with the last of them.

    Parameters
    ----------
    scores : ndarray of float64, shape (n_documents,)
        NaN has the last ranks.
    queries : Segments
    cutoffs : ndarray of int64, shape (n_queries,)
        Number of ranks, from 1 to the number of documents of the query. Large cutoffs take much time.

    Returns
    -------
    rows : ndarray of int64
        Rows of the documents of the first query, sorted by decreasing score, those of equal score by row, then those of
        the next query, and so on.
    sizes : ndarray of int64, shape (n_queries,)
        Number of these documents of each query.

    Examples
    --------
    >>> from boostrank.core.compiled import is_available
    >>> scores, queries = np.array([3.0, 2.0, 3.0, 3.0, 1.0]), Segments.from_sizes([2, 3])
    >>> expected = [0, 2, 3], [1, 2]
    >>> found = first_ranks(scores, queries, np.array([1, 1])) if is_available() else map(np.array, expected)
    >>> [array.tolist() for array in found]
    [[0, 2, 3], [1, 2]]
    """
    if cutoffs.shape != (queries.n_segments,) or cutoffs.min() < 1 or (cutoffs > queries.sizes).any():
        raise ValueError("there must be a cutoff from 1 to the number of its documents for each query")
    rows, sizes = np.empty(queries.n_rows, np.int64), np.empty(queries.n_segments, np.int64)
    wanted = np.ascontiguousarray(cutoffs)
    _call("first_ranks", _floats(scores, queries), queries.indptr, queries.n_segments, wanted, rows, sizes)
    return rows[: int(sizes.sum())], sizes
