"""Hostile features: each with the dense array that it means, or the fault that it has."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars
import pyarrow
from scipy import sparse

from hostile.outcomes import Fault

N_ROWS = 40
_random = np.random.default_rng(3)
#: Numbers that are exact in half precision; half of them are zero.
X = np.where(_random.random((N_ROWS, 3)) < 0.5, 0.0, _random.integers(-8, 9, (N_ROWS, 3)) / 4)
NAN, INF = float("nan"), float("inf")
MISSING = np.where(X == 2.0, NAN, X)


def with_value(value, dtype=None):
    changed = X.astype(object if dtype is None else dtype)
    changed[5, 1] = value
    return changed


def with_unsorted_duplicates():
    """A sparse matrix whose stored values must be added up, in no sequence."""
    rows, columns = np.nonzero(X)
    values, permutation = X[rows, columns] / 2, np.random.default_rng(0).permutation(2 * len(rows))
    entries = (np.tile(values, 2)[permutation], (np.tile(rows, 2)[permutation], np.tile(columns, 2)[permutation]))
    return sparse.coo_matrix(entries, shape=X.shape)


def with_stored_zeros():
    matrix = sparse.csr_matrix(np.ones_like(X))
    matrix.data = X.ravel().copy()
    return matrix


FRAME = pd.DataFrame(X, columns=["a", "b", "c"])
VALID = {
    "list-of-lists": (X.tolist(), X),
    "strided": (np.repeat(X, 2, axis=1)[:, ::2], X),
    "float32": (X.astype(np.float32), X),
    "float16": (X.astype(np.float16), X),
    "integers": ((X * 4).astype(np.int8), X * 4),
    "bool": (X > 0, (X > 0).astype(float)),
    "masked-array-without-mask": (np.ma.masked_array(X, mask=np.zeros(X.shape, bool)), X),
    "missing": (MISSING, MISSING),
    "none-among-objects": (with_value(None), with_value(NAN, float)),
    "csr": (sparse.csr_matrix(X), X),
    "csc": (sparse.csc_matrix(X), X),
    "coo": (sparse.coo_array(X), X),
    "csr-of-int64-indices": (
        sparse.csr_matrix((X.ravel(), np.tile([0, 1, 2], N_ROWS).astype(np.int64), np.arange(0, 121, 3)), X.shape),
        X,
    ),
    "csr-with-stored-zeros": (with_stored_zeros(), X),
    "coo-with-unsorted-duplicates": (with_unsorted_duplicates(), X),
    "csr-with-missing": (sparse.csr_matrix(MISSING), MISSING),
    "frame": (FRAME, X),
    "frame-with-reversed-index": (FRAME.set_index(np.arange(N_ROWS)[::-1]), X),
    "frame-of-nullable-numbers": (FRAME.astype("Float64"), X),
    "frame-of-mixed-types": (
        FRAME.astype({"a": np.float32, "b": np.float64, "c": bool}),
        np.c_[X[:, :2], X[:, 2] != 0],
    ),
    "frame-of-sparse-columns": (FRAME.astype(pd.SparseDtype(float, 0.0)), X),
    "polars": (polars.DataFrame(X, schema=["a", "b", "c"]), X),
    "arrow": (pyarrow.table({name: X[:, i] for i, name in enumerate("abc")}), X),
}
FAULTY = {
    "infinity": (with_value(INF, float), "inf"),
    "infinity-in-csr": (sparse.csr_matrix(with_value(INF, float)), "inf"),
    "infinity-in-a-frame": (FRAME.where(FRAME != 2.0, INF), "inf"),
    "complex": (X + 1j, "[Cc]omplex"),
    "text": (with_value("high"), ""),
    "text-in-a-frame": (FRAME.astype({"b": str}), ""),
    "dates": (X.astype("datetime64[D]"), ""),
    "masked": (np.ma.masked_array(X, mask=X > 1), "mask"),
    "a-series": (FRAME["a"], ""),
    "no-columns": (X[:, :0], ""),
    "frame-without-columns": (FRAME[[]], ""),
    "no-rows": (X[:0], ""),
    "too-short": (X[:-1], "40|39"),
    "too-long": (np.vstack([X, X[:1]]), "40|41"),
    "one-column-twice": (FRAME[["a", "b", "b"]], ""),
    "ragged": ([[1.0, 2.0], [3.0]] * 20, ""),
    "nothing": (None, ""),
}
FEATURES = {**VALID, **{name: (given, Fault(pattern)) for name, (given, pattern) in FAULTY.items()}}
