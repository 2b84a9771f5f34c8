"""Features: forms that mean the same dense array, faults, and values beyond float32."""

import numpy as np
import pandas as pd
import pytest
from cases import for_each
from scipy import sparse

import boostrank as br
from hostile.entry_points import NATIVE, RANKERS, tiny
from hostile.outcomes import NAMES, Fault, check_fault, with_faults

polars = pytest.importorskip("polars")
pyarrow = pytest.importorskip("pyarrow")

pytestmark = pytest.mark.filterwarnings(
    "ignore:X (does not have|has) (valid )?feature names:UserWarning"
)
N_ROWS = 40
_random = np.random.default_rng(3)
#: Numbers of few digits; half of them are zero.
X = np.where(_random.random((N_ROWS, 3)) < 0.5, 0.0, _random.integers(-8, 9, (N_ROWS, 3)) / 4)
NAN, INF = float("nan"), float("inf")
MISSING = np.where(X == 2.0, NAN, X)


def with_value(value, dtype=None):
    changed = X.astype(object if dtype is None else dtype)
    changed[5, 1] = value
    return changed


def with_unsorted_duplicates():
    """A sparse matrix whose stored values must be added up, in no sequence."""
    columns = [2, 0, 1, 2, 0, 1]
    starts = np.arange(0, N_ROWS * len(columns) + 1, len(columns))
    return sparse.csr_matrix(
        ((X / 2)[:, columns].ravel(), np.tile(columns, N_ROWS), starts), X.shape
    )


FRAME = pd.DataFrame(X, columns=["a", "b", "c"])
VALID = {
    "list-of-lists": (X.tolist(), X),
    "strided": (np.repeat(X, 2, axis=1)[:, ::2], X),
    "float32": (X.astype(np.float32), X),
    "integers": ((X * 4).astype(np.int8), X * 4),
    "bool": (X > 0, (X > 0).astype(float)),
    "masked-array-without-mask": (np.ma.masked_array(X, mask=np.zeros(X.shape, bool)), X),
    "missing": (MISSING, MISSING),
    "none-among-objects": (with_value(None), with_value(NAN, float)),
    "csr": (sparse.csr_matrix(X), X),
    "coo": (sparse.coo_array(X), X),
    "csr-with-unsorted-duplicates": (with_unsorted_duplicates(), X),
    "csr-with-missing": (sparse.csr_matrix(MISSING), MISSING),
    "frame-with-reversed-index": (FRAME.set_index(np.arange(N_ROWS)[::-1]), X),
    "frame-of-nullable-numbers": (FRAME.astype("Float64"), X),
    "frame-of-mixed-types": (
        FRAME.astype({"a": np.float32, "b": np.float64, "c": bool}),
        np.c_[X[:, :2], X[:, 2] != 0],
    ),
    "frame-of-sparse-columns": (FRAME.astype(pd.SparseDtype(float, 0.0)), X),
    "polars": (polars.DataFrame(X, schema=["a", "b", "c"]), X),
    "arrow": (pyarrow.table({name: X[:, i] for i, name in enumerate("abc")}), X),
    "batch-of-arrow": (pyarrow.record_batch({name: X[:, i] for i, name in enumerate("abc")}), X),
}
FAULTY = {
    "infinity": (with_value(INF, float), "inf"),
    "infinity-in-csr": (sparse.csr_matrix(with_value(INF, float)), "inf"),
    "complex": (X + 1j, "[Cc]omplex"),
    "text": (with_value("high"), ""),
    "text-in-a-frame": (FRAME.astype({"b": str}), ""),
    "masked": (np.ma.masked_array(X, mask=X > 1), "mask"),
    "a-series": (FRAME["a"], ""),
    "no-columns": (X[:, :0], ""),
    "no-rows": (X[:0], ""),
    "too-short": (X[:-1], "40|39"),
    "too-long": (np.vstack([X, X[:1]]), "40|41"),
    "one-column-twice": (FRAME[["a", "b", "b"]], ""),
    "ragged": ([[1.0, 2.0], [3.0]] * 20, ""),
    "nothing": (None, ""),
}
FEATURES = with_faults(VALID, FAULTY)
QID = np.arange(N_ROWS) % 5
Y = np.random.default_rng(1).integers(0, 4, N_ROWS)
#: Both rankers check faults by the same code.
FITS = [(name, "XGBoostRanker") for name in FEATURES] + [(name, "LightGBMRanker") for name in VALID]


@pytest.mark.slow
@for_each(("name", "ranker"), FITS)
def test_features(name, ranker):
    given, meaning = FEATURES[name]

    def fit():
        return tiny(RANKERS[ranker]).fit(given, Y, QID, eval_set=[(given, Y, QID)])

    if isinstance(meaning, Fault):
        check_fault(fit, NAMES["features"], meaning.pattern)
        return
    fitted, expected = (
        fit(),
        tiny(RANKERS[ranker]).fit(meaning, Y, QID, eval_set=[(meaning, Y, QID)]),
    )
    np.testing.assert_allclose(
        fitted.predict(given), expected.predict(meaning), rtol=1e-6, atol=1e-7
    )
    curves = (next(iter(ranker.evals_result_.values()))["ndcg@3"] for ranker in (fitted, expected))
    np.testing.assert_allclose(*curves, rtol=1e-6)


OTHER_CALLS = {
    **{
        f"predict of {name}": lambda ranker, X: ranker.fit(FRAME, Y, QID).predict(X)
        for name in RANKERS
    },
    **{
        f"eval_set of {name}": lambda ranker, X: ranker.fit(FRAME, Y, QID, eval_set=[(X, Y, QID)])
        for name in RANKERS
    },
    **{f"native fit of {name}": lambda ranker, X: ranker.fit(X, Y, QID) for name in RANKERS},
}


@for_each(
    ("call", "fault"),
    [(call, fault) for call in OTHER_CALLS for fault in ("text-in-a-frame", "no-columns")],
)
def test_all_calls_check_their_features(call, fault):
    name = call.rpartition(" ")[2]
    ranker = tiny(RANKERS[name], objective=NATIVE[name] if call.startswith("native") else "softmax")
    check_fault(lambda: OTHER_CALLS[call](ranker, FEATURES[fault][0]), NAMES["features"])


def test_values_beyond_float32():
    huge = np.where(X == 2.0, 1e300, X)
    assert np.isfinite(tiny(br.LightGBMRanker).fit(huge, Y, QID).predict(huge)).all()
    with pytest.raises(ValueError, match="too large"):
        tiny(br.XGBoostRanker).fit(huge, Y, QID)
