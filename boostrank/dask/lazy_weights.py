"""Weights of documents and of queries for rankers on a Dask cluster."""

from __future__ import annotations

from typing import Any

import dask.array as da
import dask.dataframe as dd
import numpy as np

from boostrank.core.queries import Queries
from boostrank.core.weights import query_weights
from boostrank.dask.partitions import is_collection
from boostrank.inputs.arrays import Floats, as_array
from boostrank.inputs.frames import is_pandas


def is_per_document(weights: Any, X: Any) -> bool:
    """Whether these weights are partitioned as X is, so that they are weights of documents."""
    if not is_collection(weights):
        return False
    lengths = [values.shape[0] for values in (weights, X) if isinstance(values, da.Array)]
    if len(lengths) == 2 and not np.isnan(lengths).any():
        return bool(lengths[0] == lengths[1])
    return bool(weights.npartitions == X.npartitions)


def computed_query_weights(weights: Any, n_queries: int) -> Floats:
    """Weights of queries in order of first appearance, computed to this process."""
    given = as_array(weights.compute() if is_collection(weights) else weights, "sample_weight", keep_shape=True)
    if given.shape not in {(n_queries,), (n_queries, 1)}:
        raise ValueError(
            f"sample_weight must have one weight per query ({n_queries}), or be a dask Array or Series of one per "
            f"document that is partitioned like X; got shape {given.shape}"
        )
    if is_pandas(weights) or isinstance(weights, dd.Series):
        raise ValueError(
            "sample_weight is a Series of one weight per query, and its index is not used on Dask: pass an array, in "
            "the sequence in which the queries first appear"
        )
    return query_weights(given.ravel(), Queries.from_sizes(np.ones(n_queries, dtype=np.int64)))
