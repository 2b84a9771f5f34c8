"""Features as LightGBM takes them: for a Dataset, and in blocks to predict from."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, issparse, isspmatrix

from boostrank.backends.base import GroupedData, import_backend
from boostrank.backends.features import NameCode
from boostrank.backends.interrupts import interruptible
from boostrank.inputs.frames import is_pandas
from boostrank.inputs.streams import FeatureStream

#: Names of features with these characters are errors, or are written to model files as other names.
NAMES = NameCode(r"\s\x00-\x1f\",:\[\]{}=")
#: LightGBM counts the rows of a Dataset, and those of all workers together, in 32 bits.
MAX_ROWS = 2**31 - 1


def check_n_rows(n_rows: int, where: str) -> None:
    """Raise ValueError for more rows than LightGBM can count; `where` says where they are."""
    if n_rows > MAX_ROWS:
        raise ValueError(
            f"LightGBM takes at most 2^31 - 1 rows, and there are {n_rows:,} {where}: use XGBoostRanker, or fewer rows"
        )


def dataset_features(data: GroupedData) -> dict[str, Any]:
    """The arguments of a Dataset that describe its features."""
    check_n_rows(data.queries.n_documents, "in X")
    if not isinstance(data.X, FeatureStream):
        return {"data": _plain(NAMES.encode_columns(data.X) if is_pandas(data.X) else data.X)}
    if data.X.cache is not None:
        raise ValueError(
            "LightGBM keeps the bins of the features in memory, not in the folder cache of FeatureFiles: make "
            "FeatureFiles without cache, or use XGBoostRanker"
        )
    names = data.X.names
    return {
        "data": _sequence_class()(data.X),
        "feature_name": "auto" if names is None else [NAMES.encode(name) for name in names],
    }


def blocks(X: Any) -> Iterator[Any]:
    """Features as LightGBM takes them to predict: all of them, or blocks of the rows of files."""
    if isinstance(X, FeatureStream):
        yield from X.blocks()
    else:
        yield _plain(X)


def join(results: list[NDArray[Any]]) -> NDArray[Any]:
    """Concatenate the results of blocks; the result of a single block is not copied."""
    return results[0] if len(results) == 1 else np.concatenate(results)


def _plain(X: Any) -> Any:
    """Features of a type that LightGBM takes: sparse arrays become sparse matrices of the same memory."""
    if not issparse(X) or isspmatrix(X):
        return X
    rows: Any = X
    return csr_matrix((rows.data, rows.indices, rows.indptr), shape=rows.shape)


@functools.cache
def _sequence_class() -> type[Any]:
    """The class of features that LightGBM reads in batches. It is made on use, because it needs LightGBM."""
    lgb = import_backend("lightgbm")

    class FileSequence(lgb.Sequence):  # type: ignore[name-defined]
        """Rows of files. LightGBM first reads single rows, a sample with increasing numbers, and then all batches."""

        def __init__(self, features: FeatureStream) -> None:
            self.batch_size = features.rows_per_block
            self._features = features
            # The block that contains the row that was read last.
            self._block, self._start = features.read(0, 0), 0

        def __len__(self) -> int:
            return len(self._features)

        def __getitem__(self, rows: Any) -> NDArray[Any]:
            if isinstance(rows, slice):
                self._block, self._start = self._features.read(0, 0), 0
                return interruptible(self._features.read, rows.start, rows.stop)
            if not 0 <= rows - self._start < len(self._block):
                self._start = int(rows) - int(rows) % self.batch_size
                self._block = interruptible(self._features.read, self._start, self._start + self.batch_size)
            # LightGBM takes sampled rows in float64 only.
            return self._block[rows - self._start].astype(np.float64)

    return FileSequence
