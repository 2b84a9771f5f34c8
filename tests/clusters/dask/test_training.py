"""Training on two workers gives the model of one process, however the data are partitioned."""

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from cluster_samples import aligned_sizes, assert_close, even_sizes, make_data, small, small_local
from loss_defaults import PLAIN_TREES
from scipy.sparse import coo_array, csr_matrix
from scipy.stats import spearmanr

import boostrank as br
from boostrank.queries.queries import Queries

# The model of all workers


@pytest.mark.parametrize("objective", ["pnorm", "edge-logistic"])
def test_the_model_is_the_local_one(ranker_class, objective, place, data, interleaved):
    # All queries are cut. n_jobs=None is the number of threads of the worker, which is 1.
    rows = place(interleaved, even_sizes(len(data[1]), 3))
    ranker = small(ranker_class, objective, k=10, n_jobs=None).fit(*rows)
    expected = small_local(ranker_class, objective, k=10).fit(*data).predict(data[0])
    assert_close(ranker.to_local().predict(data[0]), expected)


def test_with_default_settings_the_model_is_close_to_the_local_one(ranker_class, place):
    X, y, qid = br.make_ranking(n_queries=200, n_documents=(20, 60), random_state=0)
    settings = {"n_estimators": 15, "random_state": 0, "n_jobs": 1, "learning_rate": 0.1, "k": 10}
    rows = place((X, y, qid), even_sizes(len(y), 7))
    # With samples, each worker draws some of its own queries.
    for trees, smallest in ((PLAIN_TREES, 0.99), ({}, 0.95)):
        local = getattr(br, ranker_class.__name__)(**settings, **trees).fit(X, y, qid).predict(X)
        ranker = ranker_class(**settings, **trees).fit(*rows)
        assert spearmanr(ranker.to_local().predict(X), local).statistic > smallest


def test_the_documents_of_all_workers_choose_the_learning_rate(
    ranker_class, rows, data, monkeypatch
):
    monkeypatch.setattr("boostrank.training.defaults.LARGE_DOCUMENTS", 2 * len(data[1]))
    ranker = small(ranker_class, n_estimators=1, learning_rate=None).fit(*rows, eval_set=[rows])
    assert ranker.learning_rate_ == pytest.approx(0.08)


def test_one_worker_may_have_all_the_data(ranker_class, place, data, rows):
    ranker = small(ranker_class).fit(*place(data, [len(data[1])]), eval_set=[rows])
    assert_close(
        ranker.to_local().predict(data[0]), small_local(ranker_class).fit(*data).predict(data[0])
    )
    assert ranker.evals_result_["valid_0"]["ndcg"][-1] == pytest.approx(
        ranker.score(*rows), abs=1e-9
    )


# Features and labels of other kinds


@pytest.mark.usefixtures("client")
def test_frames_have_names_and_query_ids(ranker_class, data):
    kind = "column" if ranker_class is br.dask.LightGBMRanker else "index"
    X, y, qid = data
    names = [f"feature{i}" for i in range(X.shape[1])]
    frame = pd.DataFrame(X, columns=names).assign(y=y)
    local = small_local(ranker_class).fit(frame[names], y, qid)
    if kind == "column":
        frame = frame.assign(qid=[f"q{i}" for i in qid]).set_index(np.arange(len(frame)) + 5)
    else:
        frame = frame.set_index(pd.Index(qid, name="qid"))
    on_dask = dd.from_pandas(frame, npartitions=3, sort=False)
    features = on_dask.drop(columns="y")
    ranker = small(ranker_class).fit(features, on_dask["y"])
    assert ranker.feature_names_in_.tolist() == names
    scores = ranker.predict(features)
    assert isinstance(scores, dd.Series)
    assert scores.compute().index.equals(frame.index)
    assert_close(scores.compute(), local.predict(frame[names]))
    assert ranker.score(features, on_dask["y"]) == pytest.approx(
        local.score(X=frame[names], y=y, qid=qid), abs=1e-6
    )


@pytest.mark.usefixtures("client")
def test_categories_are_those_of_the_local_ranker(data):
    X, y, qid = data
    frame = pd.DataFrame(X).rename(columns=str).assign(y=y, qid=qid)
    frame["0"] = (frame["0"] > 0).map({True: "a", False: "b"}).astype("category")
    on_dask = dd.from_pandas(frame, npartitions=2)
    features = on_dask.drop(columns="y")
    ranker = small(br.dask.LightGBMRanker).fit(features, on_dask["y"])
    local = small(br.LightGBMRanker).fit(frame.drop(columns="y"), frame["y"])
    assert_close(ranker.predict(features).compute(), local.predict(frame.drop(columns="y")))


def test_sparse_and_dense_features_give_the_same_scores(ranker_class, place, data):
    convert = csr_matrix if ranker_class is br.dask.LightGBMRanker else coo_array
    X, y, qid = data
    X = np.where(np.abs(X) > 0.5, X, 0.0)
    dense, *rest = place((X, y, qid), even_sizes(len(y), 3))
    sparse = dense.map_blocks(convert).persist()
    ranker = small(ranker_class).fit(sparse, *rest, eval_set={"valid_0": (sparse, *rest)})
    local = small_local(ranker_class).fit(X, y, qid)
    # Zeros that are taken for missing values change scores by 0.01 and more.
    assert_close(ranker.predict(X), local.predict(X))
    np.testing.assert_array_equal(ranker.predict(sparse).compute(), ranker.predict(X))
    assert ranker.evals_result_["valid_0"]["ndcg"][-1] == pytest.approx(
        local.score(X, y, qid), rel=1e-6
    )


def test_query_features_are_those_of_whole_lists(client, ranker_class, place):
    X, y, qid = make_data(60)
    X, few, models = X[:, :3], np.flatnonzero(qid < 20), []
    expanded = br.QueryFeatures().fit_transform(X, qid=qid)
    # Both workers have rows of some queries.
    for values, kinds in ((expanded, None), (X, ["standardize", "rank"])):
        rows = place((values, y, qid), even_sizes(len(y), 7))
        valid = place((values[few], y[few], qid[few]), [100, len(few) - 100])
        models.append(small(ranker_class, query_features=kinds).fit(*rows, eval_set=[valid]))
    other, ranker = models
    assert ranker.evals_result_ == other.evals_result_
    np.testing.assert_array_equal(ranker.predict(X, qid=qid), other.predict(expanded))
    with pytest.raises(ValueError, match="predict on Dask got no qid"):
        ranker.predict(rows[0])
    frame = pd.DataFrame(X).add_prefix("x").assign(qid=qid)
    # Lists of the training are known now, and Dask makes up rows of others for the type of the
    # result.
    vars(ranker).update(vars(ranker.to_local().fit(frame, y)))
    lists = dd.from_pandas(frame.set_index("qid"), npartitions=5)
    np.testing.assert_array_equal(ranker.predict(lists).compute(), ranker.predict(frame))
    with pytest.raises(ValueError, match=r"the rows of the query '\d+' are in several partitions"):
        ranker.predict(dd.from_pandas(frame, npartitions=7))


def test_a_model_without_splits_warns(place, data):
    rows = place((np.ones((len(data[1]), 2)), *data[1:]), even_sizes(len(data[1]), 2))
    with pytest.warns(UserWarning, match="no tree has a split"):
        small(br.dask.XGBoostRanker).fit(*rows)


# Weights


@pytest.mark.parametrize("kind", ["of queries", "of documents"])
def test_weights(ranker_class, kind, place, interleaved):
    X, y, qid = interleaved
    queries = Queries.from_qid(qid)
    weights = queries.ungroup(
        queries.repeat(np.where(np.arange(150) < 40, 0.0, np.arange(150) % 4 + 0.5))
    )
    if kind == "of documents":
        weights = weights * np.random.default_rng(0).uniform(0.2, 2.0, len(y))
    local = small_local(ranker_class).fit(X, y, qid, sample_weight=weights).predict(X)
    # Weights are relative, also those that are too small for float32.
    *rows, placed = place((X, y, qid, weights * 1e-50), even_sizes(len(y), 3))
    scores = small(ranker_class).fit(*rows, sample_weight=placed).to_local().predict(X)
    np.testing.assert_allclose(scores, local, rtol=1e-4, atol=1e-5)
    assert not np.allclose(scores, small_local(ranker_class).fit(X, y, qid).predict(X), atol=1e-3)


@pytest.mark.parametrize("factor", [1.0, 1e300])
def test_native_objectives_take_weights(ranker_class, lambdamart, place, data, factor):
    # XGBoost divides weights by their mean on each worker: that is the same here. Weights that are
    # too large for float32 are divided by their mean on LightGBM too.
    X, y, qid = data
    half = np.arange(75) % 5 + 0.5
    weights = factor * np.concatenate([half, half[::-1]])[qid]
    *rows, placed = place((*data, weights), aligned_sizes(qid, 4))
    scores = small(ranker_class, lambdamart).fit(*rows, sample_weight=placed).to_local().predict(X)
    local = small_local(ranker_class, lambdamart).fit(X, y, qid, sample_weight=weights).predict(X)
    np.testing.assert_allclose(scores, local, rtol=1e-4, atol=1e-5)
    assert not np.allclose(
        small_local(ranker_class, lambdamart).fit(X, y, qid).predict(X), local, atol=1e-2
    )


# Validation


def test_the_queries_held_out_are_those_of_the_local_ranker(ranker_class, data, rows):
    settings = {
        "n_estimators": 60,
        "early_stopping_rounds": 4,
        "validation_fraction": 0.3,
        "learning_rate": 0.5,
    }
    local = small_local(ranker_class, **settings).fit(*data)
    ranker = small(ranker_class, **settings).fit(*rows)
    assert ranker.best_iteration_ == local.best_iteration_ < 56
    (history,), (expected,) = (
        list(one.evals_result_["valid_0"].values()) for one in (ranker, local)
    )
    np.testing.assert_allclose(history, expected, atol=1e-9)
    np.testing.assert_allclose(
        ranker.to_local().predict(data[0]), local.predict(data[0]), rtol=1e-4, atol=1e-5
    )
