"""Features with those of lists behind them, which are computed where they are read."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from typing import Any, Protocol, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from boostrank.inputs.streams import FeatureMatrix, FeatureStream
from boostrank.kernels.list_features import compute
from boostrank.queries.queries import Queries
from boostrank.queries.segments import BLOCK_ROWS, Segments, parts

#: The kind of a feature, and the index of its column.
Feature = tuple[str, int]


class FittedTransformer(Protocol):
    """The part of a fitted :class:`~boostrank.QueryFeatures` that is used here."""

    features_: list[Feature]

    def get_feature_names_out(self) -> NDArray[Any]:
        """Names of all columns."""


class WithQueryFeatures(FeatureStream):
    """Features with those that a :class:`QueryFeatures` adds, computed where they are read.

    Parameters
    ----------
    X : ndarray or FeatureStream, shape (n_documents, n_features)
        Grouped by query.
    queries : Queries
    transformer : QueryFeatures
        Fitted.
    """

    def __init__(self, X: FeatureMatrix, queries: Queries, transformer: FittedTransformer) -> None:
        self._X = X
        self._queries = queries
        self._transformer = transformer
        self._rows = np.arange(queries.n_documents)
        self.names = transformer.get_feature_names_out().tolist()
        self.shape = queries.n_documents, len(self.names)
        self.dtype = np.result_type(X.dtype, np.float32)
        self.in_memory = not isinstance(X, FeatureStream)
        self.cache = getattr(X, "cache", None)

    def __getitem__(self, rows: Any) -> Self:
        """Choose rows, whose numbers increase; the features are still those of whole lists."""
        taken = copy.copy(self)
        taken._rows = self._rows[rows]
        taken.shape = len(taken._rows), self.shape[1]
        return taken

    @property
    def rows_per_block(self) -> int:
        """Number of rows of the blocks that are read: at least those of the longest list."""
        return max(super().rows_per_block, int(self._queries.sizes.max(initial=1)))

    def read(
        self, start: int = 0, stop: int | None = None, columns: slice = slice(None)
    ) -> NDArray[Any]:
        """Read rows, and compute the features of their lists: all columns, or some new ones."""
        rows = self._rows[start:stop]
        n_columns = self._X.shape[1]
        first, end, _ = columns.indices(self.shape[1])
        features = self._transformer.features_[max(0, first - n_columns) : end - n_columns]
        n_old = end - first - len(features)
        values = np.empty((len(rows), end - first), self.dtype if n_old else np.float32)
        if not len(rows):
            return values
        ends = [rows[0], rows[-1]]
        first_list, last_list = np.searchsorted(self._queries.indptr, ends, side="right")
        indptr = self._queries.indptr[first_list - 1 : last_list + 1]
        for lists in parts(indptr[1:] - indptr[0], BLOCK_ROWS):
            low = indptr[lists.start]
            high = indptr[lists.stop]
            block = dense_rows(self._X, slice(low, high))
            part = Segments(indptr[lists.start : lists.stop + 1] - low)
            taken = slice(*np.searchsorted(rows, [low, high]))
            rows_of_block = rows[taken] - low
            added = compute_features(block, part, range(n_columns), features)
            values[taken, :n_old] = block[rows_of_block, first:]
            values[taken, n_old:] = added[rows_of_block]
        return values

    def own_features(self) -> Any:
        """The features of X."""
        return self._X if len(self) == len(self._X) else self._X[self._rows]

    def column_blocks(self) -> Iterator[NDArray[Any]]:
        """Return the features of X, and then blocks of a quarter as many of the new ones."""
        yield self.own_features()
        n_columns = self._X.shape[1]
        width = max(1, n_columns // 4)
        for first in range(n_columns, self.shape[1], width):
            yield self.read(columns=slice(first, first + width))


def compute_features(
    rows: NDArray[Any], part: Segments, columns: Sequence[int], features: Sequence[Feature]
) -> NDArray[np.float32]:
    """Features of whole lists, from the dense values of some columns."""
    positions = {column: i for i, column in enumerate(columns)}
    by_position: list[Any] = [(kind, positions[column]) for kind, column in features]
    return compute(rows, by_position, part)


def dense_rows(X: FeatureMatrix, rows: slice, columns: Sequence[int] | None = None) -> NDArray[Any]:
    """Rows of some columns, or of all, as an array of floats."""
    block: Any
    if isinstance(X, pd.DataFrame):
        block = X.iloc[rows, columns]  # type: ignore[index]
        return block.to_numpy(np.float64, na_value=np.nan)
    if isinstance(X, FeatureStream):
        block = X.read(rows.start or 0, rows.stop)
    else:
        block = X[rows]
    if columns is not None:
        block = block[:, columns]
    return block.toarray() if hasattr(block, "toarray") else block
