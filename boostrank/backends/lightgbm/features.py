"""Features as LightGBM's Datasets take them."""

from __future__ import annotations

from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, issparse, isspmatrix

from boostrank.backends.interrupts import interruptible
from boostrank.backends.libraries import import_backend
from boostrank.backends.lightgbm.parameters import FEATURE_NAMES
from boostrank.inputs.streams import FeatureMatrix, FeatureStream
from boostrank.inputs.table import is_pandas

if TYPE_CHECKING:
    from lightgbm import Dataset

    from boostrank.backends.libraries import Parameters
    from boostrank.backends.records import GroupedData

#: LightGBM counts the rows of a Dataset, and those of all workers together, in 32 bits.
MAX_ROWS = 2**31 - 1


def check_n_rows(n_rows: int, where: str) -> None:
    """Raise ValueError for more rows than LightGBM can count; `where` says where they are."""
    if n_rows > MAX_ROWS:
        raise ValueError(
            f"LightGBM takes at most 2^31 - 1 rows, and there are {n_rows:,} {where}: use "
            "XGBoostRanker, or fewer rows"
        )


def dataset_features(
    data: GroupedData, reads_all: bool = False, *, has_bins: bool = False
) -> dict[str, Any]:
    """The arguments of a Dataset that describe its features.

    They are the first block of columns of a FeatureStream in memory, to which :func:`add_columns`
    adds the others; but all columns if `reads_all`, or for a Dataset that gets the bins of another
    one, which is what `has_bins` says.
    """
    check_n_rows(data.queries.n_documents, "in X")
    X = data.X
    if not isinstance(X, FeatureStream):
        if is_pandas(X):
            X = FEATURE_NAMES.encode_columns(X)
        return {"data": plain_matrix(X)}
    if X.cache is not None:
        raise ValueError(
            "LightGBM keeps the bins of the features in memory, not in the folder cache of "
            "FeatureFiles: make FeatureFiles without cache, or use XGBoostRanker"
        )
    rows: Any
    n_columns = X.shape[1]
    if not X.in_memory or (has_bins and not reads_all):
        rows = _sequence_class()(X)
    elif reads_all:
        rows = X.read()
    else:
        rows = next(X.column_blocks())
        n_columns = rows.shape[1]
    if X.names is None:
        return {"data": rows, "feature_name": "auto"}
    names = [FEATURE_NAMES.encode(name) for name in X.names[:n_columns]]
    return {"data": rows, "feature_name": names}


def add_columns(dataset: Dataset, X: FeatureStream, parameters: Parameters) -> None:
    """Add the other blocks of columns to a Dataset of the first one.

    To find bins, LightGBM keeps up to 200,000 rows in float64, so only those of one block at a
    time. It finds the same bins as from all columns together.
    """
    lgb = import_backend("lightgbm")
    names = [FEATURE_NAMES.encode(name) for name in X.names or ()]
    # Features that need not be kept are freed here, before the others are computed.
    dataset.construct()
    for block in islice(X.column_blocks(), 1, None):
        n_columns = dataset.num_feature()
        block_names = names[n_columns : n_columns + block.shape[1]]
        added = lgb.Dataset(block, params=parameters, feature_name=block_names).construct()
        # Dataset.add_features_from does this too, and warns in every call, of what does not matter
        # here. Warnings cannot be ignored for one thread alone, and members of a bag are trained in
        # several.
        lgb.basic._safe_call(
            lgb.basic._LIB.LGBM_DatasetAddFeaturesFrom(dataset._handle, added._handle)
        )
    # Validation sets take them from here.
    dataset.feature_name = dataset.get_feature_name()


def plain_matrix(X: FeatureMatrix) -> Any:
    """Features of a type that LightGBM takes: sparse arrays become matrices of the same memory."""
    if not issparse(X) or isspmatrix(X):
        return X
    rows: Any = X
    return csr_matrix((rows.data, rows.indices, rows.indptr), shape=rows.shape)


@cache
def _sequence_class() -> type[Any]:
    """The class of features that LightGBM reads in batches; it derives from one of LightGBM."""
    lgb = import_backend("lightgbm")

    class FileSequence(lgb.Sequence):  # type: ignore[name-defined]
        """Rows of files.

        LightGBM first reads single rows, a sample with increasing numbers, and then all batches.
        """

        def __init__(self, features: FeatureStream) -> None:
            self.batch_size = features.rows_per_block
            self._features = features
            # The block that contains the row that was read last.
            self._block = features.read(0, 0)
            self._start = 0

        def __len__(self) -> int:
            return len(self._features)

        def __getitem__(self, rows: int | slice) -> NDArray[Any]:
            if isinstance(rows, slice):
                self._block = self._features.read(0, 0)
                self._start = 0
                return interruptible(self._features.read, rows.start, rows.stop)
            if not 0 <= rows - self._start < len(self._block):
                self._start = int(rows) - int(rows) % self.batch_size
                stop = self._start + self.batch_size
                self._block = interruptible(self._features.read, self._start, stop)
            # LightGBM takes sampled rows in float64 only.
            return self._block[rows - self._start].astype(np.float64)

    return FileSequence
