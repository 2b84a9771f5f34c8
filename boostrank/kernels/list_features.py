"""Features of documents relative to the list of their query: ranks, and places in its range."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from boostrank.inputs.arrays import Bools, Floats, Ints
from boostrank.kernels.library import block_rows, call, is_available
from boostrank.queries.segments import Block, Segments
from boostrank.queries.threads import for_each

ListFeature = Literal["rank", "standardize", "minmax"]
#: A kind of feature, and the number of the column that it is computed from.
KindAndColumn = tuple[ListFeature, int]
Matrix = NDArray[np.float32] | NDArray[np.float64]

# The number of each kind in list_features.c.
_KINDS: dict[ListFeature, int] = {"rank": 0, "standardize": 1, "minmax": 2}


def compute(X: Matrix, features: Sequence[KindAndColumn], queries: Segments) -> NDArray[np.float32]:
    """Compute features from columns, each within the lists of the queries.

    ``"rank"`` is the rank of a value among those of its list, 1 for the smallest one, divided by
    their number. Equal values share the mean of their ranks. ``"standardize"`` is the number of
    standard deviations of the list, whose variance is divided by the number of values, between the
    value and the mean. ``"minmax"`` is 0 for the least and 1 for the largest value, and linear
    between them. Both are 0 where all values are equal. NaN stays NaN and does not count in any
    kind; infinite values stay infinite in the second and third, and do not count there.

    Parameters
    ----------
    X : ndarray of float32 or float64, shape (n_documents, n_columns)
        Grouped by query.
    features : list of (kind, column)
        Each kind is "rank", "standardize" or "minmax".
    queries : Segments

    Returns
    -------
    ndarray of float32, shape (n_documents, len(features))

    Examples
    --------
    >>> price = np.array([[3.0], [5.0], [5.0], [7.0], [2.0]])
    >>> queries = Segments.from_sizes([4, 1])
    >>> compute(price, [("rank", 0)], queries).ravel().tolist()
    [0.25, 0.625, 0.625, 1.0, 1.0]
    >>> print(compute(price, [("standardize", 0)], queries).ravel().round(3))
    [-1.414  0.     0.     1.414  0.   ]
    """
    values = np.empty((len(X), len(features)), dtype=np.float32)
    of_lists = _in_c if is_available() else _with_numpy

    def compute_block(block: Block) -> None:
        rows: Any = np.ascontiguousarray(X[block.rows])
        values[block.rows] = of_lists(rows, features, block.part)

    for_each(compute_block, queries.blocks(block_rows()))
    return values


def _in_c(X: Matrix, features: Sequence[KindAndColumn], queries: Segments) -> NDArray[np.float32]:
    """As :func:`compute`, for a contiguous `X`; it needs the compiled library."""
    is_float = X.dtype in (np.float32, np.float64)
    if not is_float or len(X) != queries.n_rows or not X.flags.c_contiguous:
        raise ValueError(
            f"X must be a contiguous array of {queries.n_rows} rows of floats; got {X.dtype}, "
            f"{X.shape}"
        )
    values = np.empty((len(X), len(features)), dtype=np.float32)
    call(
        "list_features",
        X.reshape(-1).view(np.uint8),
        X.dtype == np.float32,
        X.shape[1],
        queries.indptr,
        queries.n_segments,
        np.array([_KINDS[kind] for kind, _ in features], dtype=np.int64),
        np.array([column for _, column in features], dtype=np.int64),
        len(features),
        values.reshape(-1),
    )
    return values


def _with_numpy(X: Matrix, features: Sequence[KindAndColumn], queries: Segments) -> Floats:
    """As :func:`compute`, without the compiled library."""
    query = queries.repeat(np.arange(queries.n_segments))
    columns = X[:, [column for _, column in features]].astype(np.float64)
    kinds = np.array([kind for kind, _ in features])
    is_rank = kinds == "rank"
    values = np.empty(columns.shape)
    lists = pd.DataFrame(columns[:, is_rank]).groupby(query)
    values[:, is_rank] = lists.rank() / lists.transform("count")
    values[:, ~is_rank] = _scale(columns[:, ~is_rank], query, kinds[~is_rank] == "minmax")
    return values


def _scale(columns: Floats, query: Ints, is_minmax: Bools) -> Floats:
    """Standardize columns within queries, or move them to the range from 0 to 1.

    The second comes first in both, so that nothing overflows.
    """
    is_finite = np.isfinite(columns)
    halves = pd.DataFrame(np.where(is_finite, 0.5 * columns, np.nan))
    lists = halves.groupby(query)
    least = lists.transform("min").to_numpy()
    width = lists.transform("max").to_numpy() - least
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        scale = 1.0 / width
        moved = pd.DataFrame((halves.to_numpy() - least) * np.where(np.isfinite(scale), scale, 0.0))
        mean = moved.groupby(query).transform("mean").to_numpy()
        variance = (moved**2).groupby(query).transform("mean").to_numpy() - mean**2
        deviation = np.where(variance > 0.0, np.sqrt(variance), np.inf)
        standardized = (moved.to_numpy() - mean) / deviation
    return np.where(is_finite, np.where(is_minmax, moved, standardized), columns)
