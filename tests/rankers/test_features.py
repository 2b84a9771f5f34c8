"""Features of every kind: DataFrames of pandas, polars and pyarrow, sparse matrices and missing values."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp

import boostrank as br
from boostrank.backends.xgboost import features as xgboost_features


@pytest.fixture(scope="module")
def data():
    """Features of which many are zero, and which float32 holds exactly."""
    X, y, qid = br.make_ranking(n_queries=40, random_state=3)
    return np.where(np.abs(X) < 0.3, 0.0, X).astype(np.float32).astype(np.float64), y, qid


def small(ranker_class, **parameters):
    return ranker_class(**{"n_estimators": 4, "random_state": 0, "n_jobs": 1, **parameters})


def named(X):
    return pd.DataFrame(X, columns=[f"x{i}" for i in range(X.shape[1])])


def test_qid_of_a_frame_is_no_feature(ranker_class, data):
    X, y, qid = data
    expected, frame = small(ranker_class).fit(X, y, qid), named(X)
    columns = frame.assign(qid=qid)
    index = frame.set_index(pd.Index(qid, name="qid"))
    for other in (columns, index, pl.DataFrame(columns.to_dict("list")), pa.Table.from_pandas(columns)):
        ranker = small(ranker_class).fit(other, y)
        assert ranker.n_features_in_ == X.shape[1]
        assert list(ranker.feature_names_in_) == list(frame.columns)
        np.testing.assert_array_equal(ranker.predict(other), expected.predict(X))
        assert ranker.score(other, y) == pytest.approx(expected.score(X, y, qid), abs=1e-12)
        np.testing.assert_array_equal(ranker.predict(frame), expected.predict(X))


def test_kinds_of_features_agree(ranker_class, data):
    X, y, qid = data
    expected = small(ranker_class).fit(X, y, qid).predict(X)
    frame = named(X)
    read_only = X.copy()
    read_only.setflags(write=False)
    frames = [frame, frame.astype(np.float32), pl.from_pandas(frame), pa.Table.from_pandas(frame)]
    kinds = [*frames, np.asfortranarray(X), X.astype(np.float32), read_only, X.tolist()]
    for other in kinds:
        np.testing.assert_allclose(small(ranker_class).fit(other, y, qid).predict(other), expected, rtol=1e-6)
    labels = pd.Series(y, index=np.random.default_rng(0).permutation(len(y)))
    by_position = small(ranker_class).fit(frame, labels, pl.Series(qid))
    np.testing.assert_array_equal(by_position.predict(frame), expected)


def sparse_kinds(X):
    """Sparse matrices of all kinds with the elements of X."""
    stored_zeros = sp.csr_matrix(np.ones_like(X))
    stored_zeros.data = X.ravel().copy()
    twice = sp.csr_matrix((np.tile(X.ravel() / 2, 2), np.tile(np.indices(X.shape).reshape(2, -1), 2)), X.shape)
    half = sp.coo_array(X / 2)
    rows, columns = half.coords
    unsorted = np.argsort(np.tile(rows, 2), kind="stable")[::1]
    indptr = np.concatenate([[0], np.cumsum(2 * np.bincount(rows, minlength=len(X)))])
    duplicates = sp.csr_array((np.tile(half.data, 2)[unsorted], np.tile(columns, 2)[unsorted], indptr), X.shape)
    kinds = [kind(X) for kind in (sp.csr_matrix, sp.csr_array, sp.csc_matrix, sp.coo_array)]
    return [*kinds, stored_zeros, twice, duplicates]


@pytest.mark.parametrize("parameters", [{"validation_fraction": 0.3}, {"objective": "native", "weighted": True}])
@pytest.mark.slow
def test_sparse_and_dense_features_give_the_same_scores(ranker_class, parameters, data):
    X, y, qid = data
    X = np.where(X > 1.5, np.nan, X)
    parameters = dict(parameters)
    weights = 1.0 + qid % 3 if parameters.pop("weighted", False) else None
    if "objective" in parameters:
        parameters["objective"] = "lambdarank" if ranker_class is br.LightGBMRanker else "rank:ndcg"
    permutation = np.random.default_rng(0).permutation(len(y))
    rows = y[permutation], qid[permutation]
    weighted = {"sample_weight": None if weights is None else weights[permutation]}
    validated = "validation_fraction" in parameters
    expected = small(ranker_class, **parameters)
    expected.fit(X[permutation], *rows, **weighted, eval_set=None if validated else [(X, y, qid)])
    scores = expected.predict(X)
    for matrix in sparse_kinds(X):
        np.testing.assert_array_equal(expected.predict(matrix), scores)
        ranker = small(ranker_class, **parameters)
        features = matrix.tocsr()[permutation]
        ranker.fit(features, *rows, **weighted, eval_set=None if validated else [(matrix, y, qid)])
        np.testing.assert_array_equal(ranker.predict(X), scores)
        assert ranker.evals_result_ == expected.evals_result_


def test_the_blocks_of_sparse_features_do_not_matter(data, monkeypatch):
    X, y, qid = data
    expected = small(br.XGBoostRanker).fit(X, y, qid, eval_set=[(X, y, qid)])
    monkeypatch.setattr(xgboost_features, "BLOCK_ELEMENTS", 70)
    matrix = sp.csr_array(X)
    ranker = small(br.XGBoostRanker).fit(matrix, y, qid, eval_set=[(matrix, y, qid)])
    assert ranker.evals_result_ == expected.evals_result_
    np.testing.assert_array_equal(ranker.predict(matrix), expected.predict(X))


def test_missing_values(ranker_class, data):
    X, y, qid = data
    holes = np.where(X > 1, np.nan, X)
    expected = small(ranker_class).fit(holes, y, qid)
    assert expected.score(holes, y, qid) > 0.6
    frame = named(holes)
    nulls = pl.from_pandas(frame, nan_to_null=True)
    for other in (frame, nulls, nulls.to_arrow()):
        np.testing.assert_allclose(
            small(ranker_class).fit(other, y, qid).predict(other), expected.predict(holes), rtol=1e-6
        )
