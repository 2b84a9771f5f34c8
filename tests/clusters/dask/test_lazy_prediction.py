"""Lazy predictions are those of the local ranker: scores, leaves and contributions, by all rounds
or by some."""

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from cluster_samples import small, small_local

OPTIONS = [
    {},
    {"num_iteration": 2},
    {"pred_leaf": True, "iteration_range": (1, 3)},
    {"pred_contrib": True, "start_iteration": 1},
]
options = pytest.mark.parametrize(
    "options", OPTIONS, ids=["scores", "first-rounds", "leaves", "contributions"]
)


@pytest.fixture(autouse=True)
def without_cluster():
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.fixture(scope="module")
def few(data):
    return [part[:300] for part in data]


@pytest.fixture(scope="module")
def on_dask(ranker_class, few):
    """Rankers by the type of their features; no test may change them."""
    X, y, qid = few
    frame = (
        pd.DataFrame(X)
        .add_prefix("x")
        .assign(x3=pd.Categorical(np.where(X[:, 3] > 0, "high", "low")), qid=qid)
    )
    rankers = {}
    for name, features in {"array": X, "frame": frame}.items():
        rankers[name] = small(ranker_class)
        vars(rankers[name]).update(vars(small_local(ranker_class).fit(features, y, qid)))
    return rankers, frame


@options
def test_predictions_for_arrays(options, on_dask, few):
    ranker, X = on_dask[0]["array"], few[0]
    rows = da.from_array(X, chunks=(100, 4))
    expected = ranker.to_local().predict(X, **options)
    lazy = ranker.predict(rows, **options)
    assert isinstance(lazy, da.Array)
    assert (lazy.shape, lazy.dtype) == (expected.shape, expected.dtype)
    np.testing.assert_array_equal(lazy.compute(), expected)
    np.testing.assert_array_equal(ranker.predict(X, **options), expected)
    some = ranker.predict(rows[rows[:, 0] > 100], **options).compute()
    assert (some.shape, some.dtype) == ((0, *expected.shape[1:]), expected.dtype)
    sparse = ranker.predict(da.from_array(X, chunks=(100, 10)).map_blocks(sp.csr_array), **options)
    np.testing.assert_array_equal(sparse.compute(), expected)


@options
def test_predictions_for_frames(options, on_dask):
    rankers, frame = on_dask
    ranker, rows = rankers["frame"], dd.from_pandas(frame, npartitions=3)
    expected = ranker.to_local().predict(frame, **options)
    lazy = ranker.predict(rows, **options)
    assert isinstance(lazy, dd.Series if expected.ndim == 1 else dd.DataFrame)
    found = lazy.compute()
    np.testing.assert_array_equal(found, expected)
    pd.testing.assert_index_equal(found.index, frame.index)
    for part in (found, lazy._meta, ranker.predict(rows[rows["x0"] > 100], **options).compute()):
        assert part.shape[1:] == expected.shape[1:]
        assert part.to_numpy().dtype == expected.dtype


def test_apply_is_lazy_and_arguments_are_checked_at_once(on_dask, few):
    ranker, rows = on_dask[0]["array"], da.from_array(few[0], chunks=(100, 10))
    np.testing.assert_array_equal(
        ranker.apply(rows, (1, 3)).compute(), ranker.to_local().apply(few[0], (1, 3))
    )
    with pytest.raises(ValueError, match="the rounds from 0 to 5 go beyond"):
        ranker.predict(rows, num_iteration=5)
    with pytest.raises(TypeError, match="typo"):
        ranker.predict(rows, typo=5)
