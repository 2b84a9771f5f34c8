"""Features of documents relative to the list of their query: their rank in it, and their place in
its range.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from boostrank.inputs.arrays import Bools
from boostrank.queries import compiled
from boostrank.queries.compiled import ListFeature
from boostrank.queries.rankings import COMPILED_BLOCK_ROWS
from boostrank.queries.segments import BLOCK_ROWS, Block, Segments
from boostrank.queries.threads import for_each


def compute(
    X: NDArray[Any], features: Sequence[tuple[ListFeature, int]], queries: Segments
) -> NDArray[np.float32]:
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
    is_compiled = compiled.is_available()

    def compute_block(block: Block) -> None:
        rows = np.ascontiguousarray(X[block.rows])
        function = compiled.list_features if is_compiled else _compute
        values[block.rows] = function(rows, features, block.part)

    for_each(compute_block, queries.blocks(COMPILED_BLOCK_ROWS if is_compiled else BLOCK_ROWS))
    return values


def _compute(
    X: NDArray[Any], features: Sequence[tuple[ListFeature, int]], queries: Segments
) -> NDArray[np.float64]:
    """The same as :func:`compute`, without the compiled library."""
    query = queries.repeat(np.arange(queries.n_segments))
    columns = X[:, [column for _, column in features]].astype(np.float64)
    kinds = np.array([kind for kind, _ in features])
    is_rank = kinds == "rank"
    values = np.empty(columns.shape)
    lists = pd.DataFrame(columns[:, is_rank]).groupby(query)
    values[:, is_rank] = lists.rank() / lists.transform("count")
    values[:, ~is_rank] = _scale(columns[:, ~is_rank], query, kinds[~is_rank] == "minmax")
    return values


def _scale(
    columns: NDArray[np.float64], query: NDArray[Any], is_minmax: Bools
) -> NDArray[np.float64]:
    """Standardize columns within queries, or move them to the range from 0 to 1; this comes first,
    for no overflow.
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
        standardized = (moved.to_numpy() - mean) / np.where(
            variance > 0.0, np.sqrt(variance), np.inf
        )
    return np.where(is_finite, np.where(is_minmax, moved, standardized), columns)
