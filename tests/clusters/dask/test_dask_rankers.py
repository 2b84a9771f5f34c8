"""Rankers on Dask as estimators: parameters, attributes, predictions, scores, and errors that name
the argument."""

import copy
import pickle

import dask.array as da
import dask.dataframe as dd
import lightgbm
import numpy as np
import pandas as pd
import pytest
import xgboost
from cluster_samples import aligned_sizes, assert_close, small, small_local
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import get_tags

import boostrank as br


@pytest.fixture(scope="module")
def fitted(ranker_class, rows):
    """A ranker that no test may fit again or change."""
    return small(ranker_class, k=5, gain="linear").fit(*rows)


# Parameters


def test_parameters_are_those_of_the_local_ranker(ranker_class):
    local_class = getattr(br, ranker_class.__name__)
    ranker, local = (one("squared", k=5, a_native_one=3) for one in (ranker_class, local_class))
    assert isinstance(ranker, local_class)
    assert ranker.get_params() == local.get_params()
    assert (
        repr(ranker)
        == repr(local)
        == f"{ranker_class.__name__}(a_native_one=3, k=5, objective='squared')"
    )
    assert get_tags(ranker) == get_tags(local)
    ranker.k = 7
    assert ranker.k == ranker.get_params()["k"] == ranker.to_local().k == 7
    assert ranker.set_params(k=3, a_native_one=2).get_params()["a_native_one"] == 2
    assert ranker.k == 3


def test_the_client_belongs_to_this_ranker_alone(ranker_class):
    client = object()
    ranker = ranker_class("softmax", k=5, client=client)
    assert ranker.client is client
    assert "client" not in ranker.get_params()
    for same in (clone(ranker), copy.copy(ranker), pickle.loads(pickle.dumps(ranker))):
        assert type(same) is ranker_class
        assert same.get_params() == ranker.get_params()
        assert same.client is None
        # Nothing is shared with the ranker that it was made from.
        same.k = 10
    assert ranker.k == 5


# Attributes


def test_attributes_are_those_of_the_local_ranker(fitted, ranker_class, data):
    local = small_local(ranker_class, k=5, gain="linear").fit(*data)
    assert vars(fitted).keys() | {"_trained_on"} == vars(local).keys()
    assert fitted.n_features_in_ == local.n_features_in_ == 10
    np.testing.assert_allclose(fitted.feature_importances_, local.feature_importances_, rtol=1e-5)
    assert (fitted.best_iteration_, fitted.evals_result_) == (local.best_iteration_, {})


def test_copies_have_the_model_and_clones_have_none(fitted, ranker_class, data, rows, tmp_path):
    expected = fitted.to_local().predict(data[0])
    assert type(fitted.to_local()) is getattr(br, ranker_class.__name__)
    path = tmp_path / "model.json"
    fitted.save_model(path)
    local, on_dask = type(fitted.to_local())().load_model(path), ranker_class().load_model(path)
    copies = [
        local,
        on_dask,
        pickle.loads(pickle.dumps(fitted)),
        copy.copy(fitted),
        fitted.to_local(),
    ]
    # Another fit of a copy, and one that fails, change no other.
    copy.copy(fitted).set_params(n_estimators=1).fit(*rows)
    ranker = clone(fitted)
    with pytest.raises(ValueError, match="negative"):
        ranker.fit(rows[0], -rows[1], rows[2])
    with pytest.raises(NotFittedError):
        ranker.predict(rows[0])
    for same in copies:
        np.testing.assert_array_equal(same.predict(data[0]), expected)


# Predictions and scores


def test_predictions_are_those_of_the_local_ranker(fitted, rows, data):
    expected = fitted.to_local().predict(data[0])
    np.testing.assert_array_equal(fitted.predict(rows[0]).compute(), expected)
    with pytest.raises(ZeroDivisionError):
        fitted.predict(rows[0].map_blocks(lambda block: 1 / 0, meta=np.empty((0, 10)))).compute()
    assert fitted.score(*data) == fitted.to_local().score(*data)
    with pytest.raises(ValueError, match=r"Ranker\.score got no qid"):
        fitted.score(*rows[:2])
    weights = np.arange(150.0)
    expected = fitted.to_local().score(*data, sample_weight=weights)
    assert fitted.score(*rows, sample_weight=weights) == pytest.approx(expected)
    with pytest.raises(ValueError, match="X has 5 features"):
        fitted.predict(rows[0][:, :5])


# Errors


def test_bad_data_are_errors_that_name_them(client, rows, data):
    workers = set(client.nthreads())
    X, y, qid = rows
    ranker = small(br.dask.XGBoostRanker)
    cases = [
        (
            (X, y, da.where(qid == 149, np.nan, qid)),
            ValueError,
            "partition 2: qid holds .* such as nan",
        ),
        ((X, -y, qid), ValueError, "partition [012]: relevance.*negative"),
        ((X, y.rechunk(-1)[:-1], qid), ValueError, "y has 1 partitions, but X has 3"),
        ((X, y, None), ValueError, r"Ranker\.fit got no qid"),
        (
            (dd.from_dask_array(X).rename(columns={0: "qid"}), y, qid),
            ValueError,
            "column or index 'qid': give no qid",
        ),
        ((X, y, data[2]), TypeError, r"qid must be a dask Array.*or dask\.array\.from_array"),
        ((X, data[1].tolist(), qid), TypeError, "y must be a dask"),
        (data, TypeError, "X must be a dask Array.*use the ranker of boostrank itself"),
        ((X[:, 0], y, qid), ValueError, "Expected 2D array, got 1D array"),
        ((X[:0], y[:0], qid[:0]), ValueError, "X has no rows"),
    ]
    for arguments, error, message in cases:
        with pytest.raises(error, match=message):
            ranker.fit(*arguments)
    assert set(client.nthreads()) == workers


def test_bad_weights_are_errors_that_name_them(rows):
    X, y, qid = rows
    ranker = small(br.dask.LightGBMRanker, "pnorm")
    cases = [
        (da.ones(150, chunks=50), r"sample_weight has 50 values for the \d+ rows of X"),
        (da.ones(150), "sample_weight has 1 partitions, but X has 3"),
        (y * 0, "sample_weight is zero for all queries to train on"),
        (y + 1, "sample_weight differs within query"),
    ]
    for weights, message in cases:
        with pytest.raises(ValueError, match=message):
            ranker.fit(X, y, qid, sample_weight=weights)


def test_bad_validation_sets_are_errors_that_name_them(rows, data):
    X, y, qid = rows
    ranker = small(br.dask.LightGBMRanker)
    cases = [
        ((X + 0, y), ValueError, r"eval_set\[1\]: .*got no qid"),
        ((X[:, :5], y, qid), ValueError, r"eval_set\[1\]: X has 5 features"),
        ((X, -y, qid), ValueError, r"eval_set\[1\]: partition [012]: relevance.*negative"),
        (data, TypeError, "X must be a dask"),
    ]
    for triple, error, message in cases:
        with pytest.raises(error, match=message):
            ranker.fit(X, y, qid, eval_set=[rows, triple])
    with pytest.raises(
        ValueError, match=r"eval_metric 'err@3' is not possible .*get_measure\('err@3', max_grade"
    ):
        ranker.fit(X, y, qid, eval_set=[rows], eval_metric="err@3")
    with pytest.raises(ValueError, match="needs validation queries"):
        small(br.dask.LightGBMRanker, early_stopping_rounds=3).fit(X, y, qid)


def test_frames_must_have_known_categories_and_the_same_names(client, data):
    frame = pd.DataFrame(data[0]).rename(columns=str).assign(y=data[1], qid=data[2])
    on_dask = dd.from_pandas(frame, npartitions=2)
    X, y = on_dask.drop(columns="y"), on_dask["y"]
    ranker = small(br.dask.LightGBMRanker, n_estimators=1).fit(X, y)
    with pytest.raises(ValueError, match="feature names"):
        ranker.predict(X.rename(columns={"1": "one"}))
    unknown = X["0"].astype(int).astype("category").cat.as_unknown()
    with pytest.raises(ValueError, match=r"categories of \['0'\].*X\.categorize\(\)"):
        ranker.fit(X.assign(**{"0": unknown}), y)


# Arguments of the rankers of lightgbm.dask and xgboost.dask


@pytest.fixture(scope="module")
def whole(place, data):
    """Data whose partitions have whole queries, and the sizes of the queries of each partition."""
    rows = place(data, aligned_sizes(data[2], 3))
    sizes = [
        np.unique(part, return_counts=True)[1]
        for part in np.split(data[2], np.cumsum(rows[2].chunks[0])[:-1])
    ]
    return rows, da.concatenate([da.from_array(part.astype(float)) for part in sizes])


def test_sizes_of_queries_are_query_ids(whole, data):
    (X, y, qid), sizes = whole
    expected = small(br.dask.XGBoostRanker).fit(X, y, qid, eval_set=[(X + 0, y, qid)])
    for group in (sizes, dd.from_dask_array(sizes)):
        ranker = small(br.dask.XGBoostRanker).fit(
            X, y, group=group, eval_set=[(X + 0, y)], eval_group=[group]
        )
        np.testing.assert_array_equal(ranker.predict(data[0]), expected.predict(data[0]))
        assert ranker.evals_result_ == expected.evals_result_
    named = small(br.dask.LightGBMRanker, n_estimators=1).fit(
        X,
        y,
        group=sizes,
        eval_set=[(X + 0, y), (X, y)],
        eval_qid=[qid, None],
        eval_names=["own", None],
        eval_at=[3],
    )
    assert [(name, *scores) for name, scores in named.best_score_.items()] == [
        ("own", "ndcg@3"),
        ("training", "ndcg@3"),
    ]
    with pytest.raises(ValueError, match="fit got both qid and group; give only one of them"):
        small(br.dask.XGBoostRanker).fit(X, y, qid, group=sizes)
    with pytest.raises(ValueError, match=r"partition \d: qid has \d+ values for the \d+ rows of X"):
        small(br.dask.XGBoostRanker).fit(X, y, group=sizes + 1)


def test_callbacks_are_called_by_the_workers(ranker_class, rows, data):
    rates = [0.5, 0.4, 0.2, 0.1]
    if ranker_class is br.dask.LightGBMRanker:
        callback = lightgbm.reset_parameter(learning_rate=rates)
    else:
        callback = xgboost.callback.LearningRateScheduler(rates)
    ranker = small(ranker_class).fit(*rows, callbacks=[callback])
    local = small_local(ranker_class).fit(*data, callbacks=[callback])
    np.testing.assert_allclose(
        ranker.predict(data[0]), local.predict(data[0]), rtol=1e-5, atol=1e-5
    )
    with pytest.raises(
        TypeError, match=r"fit has no argument 'eval_sample_weight': its help lists"
    ):
        small(ranker_class).fit(*rows, eval_sample_weight=[1])


def test_targets_of_clicks_train_the_model_of_the_clicks(rows, data):
    X, y, qid = data
    sessions = np.repeat([0, 10, 40], 50)
    log = br.simulate_clicks(y, X[:, 0], qid, depth=None, n_sessions=sessions, random_state=0).log
    labels = br.ClickLabels(log, ("power", 1.0))
    ranker = small(br.dask.XGBoostRanker, k=5, gain="linear", normalize="none")
    with pytest.raises(
        TypeError, match=r"y must be a dask Array.*got ClickLabels.*for clicks see the notes of fit"
    ):
        ranker.fit(rows[0], labels)
    columns = labels.targets(dcg=br.DCG(5)), labels.qid, labels.document_weights
    y, qid, weights = (da.from_array(column, chunks=rows[0].chunks[0]) for column in columns)
    ranker.fit(rows[0], y, qid, sample_weight=weights)
    expected = small_local(br.dask.XGBoostRanker, k=5).fit(X, labels).predict(X)
    assert_close(ranker.to_local().predict(X), expected, atol=1e-5)
