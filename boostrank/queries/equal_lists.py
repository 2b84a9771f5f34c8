"""Lists that are equal under different query ids, as those of a query that is often in a log."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from boostrank.inputs.arrays import Floats, Ints
from boostrank.inputs.streams import FeatureBlocks, FeatureStream
from boostrank.inputs.table import is_pandas
from boostrank.queries.queries import Queries

Hashes = NDArray[np.uint64]

#: With fewer lists of different features, equal lists are no copies: there are few kinds of
#: documents, and lists of them are equal by chance.
MIN_LISTS = 20
# An odd number by which hashes are multiplied, so that the sequence of the columns counts.
_FACTOR = np.uint64(0x9E3779B97F4A7C15)


def numbers_of_lists(X: FeatureBlocks, labels: Floats, queries: Queries) -> Ints:
    """A number for each list: equal for lists that have equal rows of features and labels.

    The rows of equal lists may be in another sequence. Rows are compared by hashes of 64 bits. If
    fewer than :data:`MIN_LISTS` lists have different features, each list has a number of its own.

    Parameters
    ----------
    X : ndarray, sparse matrix, DataFrame, FeatureStream, or list of ndarray
        Of the shape (n_documents, n_features), grouped by query. Arrays of a list contain
        consecutive rows.
    labels : ndarray, shape (n_documents,)
    queries : Queries

    Returns
    -------
    ndarray of int64, shape (n_queries,)
        From 0 to the number of different lists, without this one.

    Examples
    --------
    >>> X = np.repeat(np.arange(25.0), 2)[:, None]
    >>> X = np.vstack([X, X[:4]])
    >>> numbers = numbers_of_lists(X, np.zeros(54), Queries.from_sizes([2] * 27))
    >>> numbers[[0, 1, 24, 25, 26]].tolist()
    [0, 1, 24, 0, 1]
    """
    every_list = np.arange(queries.n_queries)
    candidates, rows, hashes = _equal_features(X, queries)
    if not len(candidates):
        return every_list
    part = Queries.from_sizes(queries.sizes[candidates])
    n_different = queries.n_queries - len(candidates) + len(np.unique(_of_lists(hashes, part)))
    if n_different < MIN_LISTS:
        return every_list
    keys = _of_lists(_combine(hashes, _hash(labels[rows])), part)
    # The number of a list is that of the first list that is equal to it.
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    numbers = every_list.copy()
    numbers[candidates] = candidates[first[inverse]]
    return np.unique(numbers, return_inverse=True)[1].astype(np.int64)


def _equal_features(X: FeatureBlocks, queries: Queries) -> tuple[Ints, Ints, Hashes]:
    """The lists whose features are those of other lists, their rows, and the hashes of the rows.

    After each column, lists that differ from all others are left out. Few columns are read if all
    lists differ.
    """
    candidates = np.arange(queries.n_queries)
    rows = np.arange(queries.n_documents)
    part = queries
    hashes = np.zeros(len(rows), dtype=np.uint64)
    for column in _columns(X):
        hashes = _combine(hashes, _hash(column(rows)))
        keys = _of_lists(hashes, part)
        _, inverse, counts = np.unique(keys, return_inverse=True, return_counts=True)
        is_shared = counts[inverse] > 1
        if is_shared.all():
            continue
        kept = part.repeat(is_shared)
        candidates = candidates[is_shared]
        rows = rows[kept]
        hashes = hashes[kept]
        if not len(candidates):
            break
        part = Queries.from_sizes(queries.sizes[candidates])
    return candidates, rows, hashes


def _columns(X: Any) -> Iterator[Callable[[Ints], Any]]:
    """For each column of X, a function that returns its values in some rows.

    Features of files, and sparse ones, have one column, of hashes of rows.
    """
    # Imported on use: it takes long, and measures need it not.
    from scipy.sparse import issparse

    if isinstance(X, FeatureStream):
        X = X.own_features()
    if isinstance(X, FeatureStream):
        yield _row_hashes(X).__getitem__
    elif issparse(X):
        yield _sparse_row_hashes(X).__getitem__
    elif is_pandas(X):
        for i in range(X.shape[1]):
            yield X.iloc[:, i].take
    elif isinstance(X, list):
        for i in range(X[0].shape[1]):
            yield np.concatenate([block[:, i] for block in X]).__getitem__
    else:
        for i in range(X.shape[1]):
            yield X[:, i].__getitem__


def _row_hashes(X: FeatureStream) -> Hashes:
    """The hash of each row of features in files."""
    found = []
    for block in X.blocks():
        hashes = np.zeros(len(block), dtype=np.uint64)
        for column in block.T:
            hashes = _combine(hashes, _hash(column))
        found.append(hashes)
    return np.concatenate(found)


def _sparse_row_hashes(X: Any) -> Hashes:
    """The hash of each row of a sparse matrix."""
    from scipy.sparse import csr_array

    rows = csr_array(X)
    values = _combine(_hash(rows.indices.astype(np.int64)), _hash(rows.data))
    # Sums over rows, which may have no values.
    sums = np.append(np.uint64(0), np.cumsum(_hash(values)))
    return sums[rows.indptr[1:]] - sums[rows.indptr[:-1]]


def _hash(values: NDArray[np.generic] | pd.Series) -> Hashes:
    """The hashes of the values of an array or a Series."""
    hashes: Any
    if isinstance(values, pd.Series):
        hashes = pd.util.hash_pandas_object(values, index=False, categorize=False).to_numpy()
    else:
        hashes = pd.util.hash_array(values, categorize=False)
    return hashes


def _combine(hashes: Hashes, others: Hashes) -> Hashes:
    return hashes * _FACTOR + others


def _of_lists(hashes: Hashes, lists: Queries) -> Hashes:
    """One hash for each list, which does not depend on the sequence of its rows."""
    # The hashes of rows are linear in those of single columns, so they are hashed once more before
    # they are added.
    return lists.sum(_hash(hashes))
