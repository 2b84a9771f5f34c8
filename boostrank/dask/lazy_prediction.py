"""Lazy predictions: a local ranker predicts each block of a dask collection when the result is computed."""

from __future__ import annotations

from typing import Any

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from boostrank.rankers.base import BoostedRanker


def predict_lazily(local: BoostedRanker, X: Any, options: dict[str, Any]) -> Any:
    """Predictions of `local`, a fitted ranker, for each row of `X`.

    Parameters
    ----------
    local : LightGBMRanker or XGBoostRanker
    X : dask Array or DataFrame, shape (n_documents, n_features)
        Its columns were checked before.
    options : dict
        Keywords of the local ranker's `predict`. They are checked at once.

    Returns
    -------
    dask Array, Series or DataFrame
        An Array for an Array. For a DataFrame, scores are a Series; leaves and contributions are a DataFrame with the
        columns 0, 1, ...
    """
    ranker = dask.delayed(local)
    if isinstance(X, dd.DataFrame):
        nothing = _as_frame(_predict_block(X._meta_nonempty, local, options)[:0], X._meta.index[:0])
        return X.map_partitions(_predict_partition, ranker, options, nothing, meta=nothing)
    nothing = _predict_block(np.zeros((1, X.shape[1])), local, options)[:0]
    shape: dict[str, Any] = {"drop_axis": 1} if nothing.ndim == 1 else {"chunks": (X.chunks[0], (nothing.shape[1],))}
    return X.rechunk({1: -1}).map_blocks(
        _predict_block, ranker, options, nothing=nothing, dtype=nothing.dtype, meta=nothing, **shape
    )


def _predict_block(
    X: Any, ranker: BoostedRanker, options: dict[str, Any], nothing: NDArray[Any] | None = None
) -> NDArray[Any]:
    """Predictions for a block of rows; `nothing` are those for a block without rows."""
    if nothing is not None and not X.shape[0]:
        return nothing
    found = ranker.predict(X, **options)
    # Contributions are sparse for sparse features.
    return found if isinstance(found, np.ndarray) else found.toarray()


def _predict_partition(X: Any, ranker: BoostedRanker, options: dict[str, Any], nothing: Any) -> Any:
    return _as_frame(_predict_block(X, ranker, options), X.index) if len(X) else nothing


def _as_frame(values: NDArray[Any], index: Any) -> Any:
    return pd.Series(values, index=index, name="score") if values.ndim == 1 else pd.DataFrame(values, index=index)
