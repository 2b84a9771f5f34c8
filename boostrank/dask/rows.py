"""Rows of one partition: checked, split by query and concatenated on a worker."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import issparse, vstack
from sklearn.utils import _safe_indexing, check_array

from boostrank.dcg import check_relevance
from boostrank.queries import Queries
from boostrank.segments import Ints


class Rows(NamedTuple):
    """Features or scores, labels, query ids, and weights of documents if there are any."""

    X: Any
    relevance: Any
    qid: Any
    weights: Any = None


class PartitionSummary(NamedTuple):
    """The only data of a partition that the client gets: hash and size of each query, whether any weight is not 0."""

    hashes: NDArray[np.uint64]
    sizes: Ints
    weighted: bool


def plain_ids(qid: Any) -> NDArray[Any]:
    """Query ids of one partition, converted such that equal ids have the same type in all partitions.

    Raises
    ------
    ValueError
        If an id is missing, or a number that is not whole.
    """
    ids = flat(qid)
    if ids.dtype.kind in "OUS":
        ids = np.asarray(pd.Series(ids, dtype=object).infer_objects())
    if ids.dtype.kind == "f":
        if np.isnan(ids).any():
            raise ValueError(f"qid must not be missing; {int(np.isnan(ids).sum())} of {len(ids)} are")
        if (ids % 1 != 0).any():
            raise ValueError(f"qid holds numbers that are not whole, such as {ids[ids % 1 != 0][0]}; is it a feature?")
        ids = ids.astype(np.int64)
    return ids.astype(np.int64) if ids.dtype.kind in "ib" else ids


def flat(values: Any) -> NDArray[Any]:
    """One value per row, of an array, a Series, or a DataFrame of one column."""
    array = np.asarray(values)
    return array[:, 0] if array.ndim == 2 and array.shape[1] == 1 else array


def stack(blocks: list[Any]) -> Any:
    """Blocks of features, concatenated by row."""
    if len(blocks) == 1:
        return blocks[0]
    if hasattr(blocks[0], "iloc"):
        return pd.concat(blocks)
    return vstack(blocks, format="csr") if issparse(blocks[0]) else np.concatenate(blocks)


def summarize(part: list[Any], number: int) -> PartitionSummary:
    """Check partition `number`, and count its queries."""
    try:
        rows = Rows(*part)
        for name, values in (("y", rows.relevance), ("qid", rows.qid)):
            if len(values) != rows.X.shape[0]:
                raise ValueError(f"{name} has {len(values)} values for the {rows.X.shape[0]} rows of X")
        if rows.X.shape[0] == 0:
            return PartitionSummary(np.empty(0, np.uint64), np.empty(0, np.int64), weighted=False)
        if rows.X.ndim == 2 and not hasattr(rows.X, "iloc"):
            check_array(rows.X, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_all_finite="allow-nan")
        check_relevance(flat(rows.relevance))
        queries = Queries.from_qid(plain_ids(rows.qid))
        weighted = rows.weights is None or _any_weight(flat(rows.weights), queries.n_documents)
    except ValueError as error:
        raise ValueError(f"partition {number}: {error}") from error
    return PartitionSummary(pd.util.hash_array(queries.ids), queries.sizes, weighted)


def split_rows(part: list[Any], targets: Ints) -> dict[int, Rows]:
    """The rows of a partition by the partition that they go to; `targets` is that of each of its queries."""
    rows = Rows(*part)
    queries = Queries.from_qid(plain_ids(rows.qid))
    target = queries.ungroup(queries.repeat(targets))
    permutation = np.argsort(target, kind="stable")
    starts = np.flatnonzero(np.diff(target[permutation], prepend=-1))
    return {int(target[taken[0]]): _take(rows, taken) for taken in np.split(permutation, starts[1:])}


def concatenate(pieces: list[Any]) -> Rows:
    """Pieces of partitions as one partition."""
    parts = [Rows(*piece) for piece in pieces]
    weights = None if parts[0].weights is None else np.concatenate([flat(part.weights) for part in parts])
    return Rows(
        stack([part.X for part in parts]),
        np.concatenate([flat(part.relevance) for part in parts]),
        np.concatenate([plain_ids(part.qid) for part in parts]),
        weights,
    )


def _any_weight(weights: NDArray[Any], n_documents: int) -> bool:
    if weights.shape != (n_documents,):
        raise ValueError(f"sample_weight has shape {weights.shape} for {n_documents} rows")
    if not np.isfinite(weights).all() or weights.min() < 0:
        raise ValueError("sample_weight must be finite, not negative, and not zero everywhere")
    return bool(weights.any())


def _take(rows: Rows, taken: Ints) -> Rows:
    # Consecutive rows are a view and not a copy.
    first, last = int(taken[0]), int(taken[-1])
    chosen: Any = slice(first, last + 1) if last - first + 1 == len(taken) else taken
    X, weights = _safe_indexing(rows.X, chosen), None if rows.weights is None else flat(rows.weights)[chosen]
    return Rows(X, flat(rows.relevance)[chosen], plain_ids(rows.qid)[chosen], weights)
