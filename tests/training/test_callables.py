"""Custom objectives and metrics for LightGBM and XGBoost: weights, changes of a data set, copies,
values and errors."""

import copy
import pickle
import warnings

import lightgbm as lgb
import numpy as np
import pytest
import xgboost as xgb
from bound_losses import bind_loss

import boostrank as br
from boostrank.queries.queries import Queries
from boostrank.queries.threads import n_threads, use_threads
from boostrank.surrogates import Power

X, Y, QID = br.make_ranking(n_queries=50, random_state=5)
SIZES = np.bincount(QID)
SCORES = np.random.default_rng(0).normal(size=len(Y)).astype(np.float32)
LIGHTGBM = {"verbosity": -1, "seed": 1, "num_threads": 1, "metric": "None", "force_col_wise": True}


def lightgbm_set(y=Y, sizes=SIZES, weights=None):
    return lgb.Dataset(
        X, y, group=sizes, weight=None if weights is None else np.repeat(weights, sizes)
    ).construct()


def xgboost_set(y=Y, sizes=SIZES, weights=None):
    return xgb.DMatrix(X, y, group=sizes, weight=weights)


LIBRARIES = {
    "lightgbm": (lightgbm_set, br.lightgbm_objective, br.lightgbm_metric),
    "xgboost": (xgboost_set, br.xgboost_objective, br.xgboost_metric),
}
by_library = pytest.mark.parametrize(
    ("make_set", "make", "make_metric"), LIBRARIES.values(), ids=LIBRARIES
)


@by_library
@pytest.mark.parametrize(
    "other", [None, np.geomspace(10.0, 0.1, 50)], ids=["no weights", "other weights"]
)
def test_weights_of_a_data_set_count_and_new_ones_are_noticed(make_set, make, make_metric, other):
    # The libraries store float32.
    weights = np.geomspace(0.1, 10.0, 50).astype(np.float32)
    dataset, objective, metric = make_set(weights=other), make(), make_metric("ndcg@5", empty="one")
    before = objective(SCORES, dataset)[1].copy(), metric(SCORES, dataset)[1]
    dataset.set_weight(np.repeat(weights, SIZES) if make_set is lightgbm_set else weights)
    bound = bind_loss("softmax", Y, Queries.from_sizes(SIZES), weights=weights)
    for seen, expected in zip(
        objective(SCORES, dataset), bound.gradient_hessian(SCORES), strict=True
    ):
        np.testing.assert_array_equal(seen, expected)
    ndcg = br.ndcg_score(Y, SCORES, QID, k=5, empty="one", sample_weight=weights)
    assert metric(SCORES, dataset)[:2] == ("ndcg@5", pytest.approx(ndcg))
    if make_set is lightgbm_set:
        assert metric(Y, SCORES, weights.repeat(SIZES), SIZES) == (
            "ndcg@5",
            pytest.approx(ndcg),
            True,
        )
    assert not np.allclose(objective(SCORES, dataset)[1], before[0])
    assert metric(SCORES, dataset)[1] != before[1]


@by_library
def test_new_labels_and_new_queries_are_noticed(make_set, make, make_metric):
    dataset, kept, labels = make_set(), make("softmax"), Y.max() - Y
    first = kept(SCORES, dataset)[0].copy()
    other = make_set(labels)
    relabelled = make("softmax")(SCORES, other)[0].copy()
    # Of two data sets, each has its own gradients.
    np.testing.assert_array_equal(kept(SCORES, other)[0], relabelled)
    np.testing.assert_array_equal(kept(SCORES, dataset)[0], first)
    dataset.set_label(labels)
    np.testing.assert_array_equal(kept(SCORES, dataset)[0], relabelled)
    dataset.set_group([len(Y)])
    one_query = make("softmax")(SCORES, make_set(labels, [len(Y)]))[0].copy()
    np.testing.assert_array_equal(kept(SCORES, dataset)[0], one_query)
    assert not np.allclose(relabelled, one_query)


@by_library
@pytest.mark.parametrize(
    "duplicate", [copy.deepcopy, lambda thing: pickle.loads(pickle.dumps(thing))]
)
def test_callables_can_be_copied_after_use(make_set, make, make_metric, duplicate):
    dataset = make_set()
    for function in (make(Power(0)), make_metric()):
        expected = np.array(function(SCORES, dataset)[1])
        np.testing.assert_array_equal(duplicate(function)(SCORES, dataset)[1], expected)


@by_library
def test_errors_name_what_is_wrong(make_set, make, make_metric):
    with pytest.raises(ValueError, match="no query groups"):
        make()(
            SCORES, lgb.Dataset(X, Y).construct() if make_set is lightgbm_set else xgb.DMatrix(X, Y)
        )
    with pytest.raises(FloatingPointError, match="not finite"):
        make()(np.full(len(Y), np.nan, np.float32), make_set())
    with pytest.raises(
        ValueError, match="normalize must be one of dcg, none, l2, sum, softmax; got 'x'"
    ):
        make(normalize="x")
    for measure in ("click-dcg@5", br.get_measure("click-dcg")):
        with pytest.raises(
            ValueError, match=r"click-dcg.* needs ClickLabels, and a Dataset or a DMatrix has only"
        ):
            make_metric(measure)
    assert repr(br.xgboost_metric("map", k=5)) == "NativeMetric(get_measure('map@5'))"
    uneven = lgb.Dataset(X, Y, group=SIZES, weight=np.arange(1.0, len(Y) + 1)).construct()
    with pytest.raises(ValueError, match="differs within query"):
        br.lightgbm_objective("pnorm")(np.zeros(len(Y)), uneven)


def test_lightgbm_cv_keeps_queries_whole():
    features = np.round(X)  # few values, so that every training set has the same bins
    parameters = {
        **LIGHTGBM,
        "objective": br.lightgbm_objective("softmax", k=10),
        "deterministic": True,
    }
    folds, metric = list(br.QueryKFold(4).split(X, groups=QID)), br.lightgbm_metric("ndcg@10")
    dataset = lgb.Dataset(features, Y, group=SIZES)
    results = lgb.cv(parameters, dataset, 5, folds=folds, feval=metric, return_cvbooster=True)
    expected = []
    for (train, test), booster in zip(folds, results["cvbooster"].boosters, strict=True):
        sizes = np.unique(QID[train], return_counts=True)[1]
        alone = lgb.train(
            parameters, lgb.Dataset(features[train], Y[train], group=sizes), num_boost_round=5
        )
        np.testing.assert_allclose(booster.predict(features), alone.predict(features), atol=1e-12)
        expected.append(br.ndcg_score(Y[test], alone.predict(features[test]), QID[test], k=10))
    assert results["valid ndcg@10-mean"][-1] == pytest.approx(np.mean(expected), abs=1e-12)


def test_metrics_stop_and_record_trainings():
    train, held_out = lgb.Dataset(X, Y, group=SIZES), br.make_ranking(20, random_state=6)
    valid = lgb.Dataset(held_out.X, held_out.y, group=np.bincount(held_out.qid), reference=train)
    parameters, stop = (
        {**LIGHTGBM, "objective": br.lightgbm_objective(), "learning_rate": 1.0},
        lgb.early_stopping(3),
    )
    metric = br.lightgbm_metric("ndcg@5")
    booster = lgb.train(parameters, train, 50, valid_sets=[valid], feval=metric, callbacks=[stop])
    scores = booster.predict(held_out.X, num_iteration=booster.best_iteration)
    best = br.ndcg_score(held_out.y, scores, held_out.qid, k=5)
    assert booster.best_score["valid_0"]["ndcg@5"] == pytest.approx(best)
    assert booster.best_iteration < 50
    history, dtrain = {}, xgboost_set()
    settings = {"base_score": 0.0, "disable_default_eval_metric": True, "nthread": 1}
    watch = {
        "evals": [(dtrain, "train")],
        "evals_result": history,
        "custom_metric": br.xgboost_metric("ndcg@5"),
    }
    booster = xgb.train(settings, dtrain, 5, obj=br.xgboost_objective(), **watch)
    last = br.ndcg_score(Y, booster.predict(dtrain), QID, k=5)
    assert history["train"]["ndcg@5"][-1] == pytest.approx(last, abs=1e-6)


def test_a_base_score_other_than_zero_is_a_warning():
    with pytest.warns(UserWarning, match="base_score=0"):
        xgb.train({"nthread": 1}, xgboost_set(), 1, obj=br.xgboost_objective("cosine"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        xgb.train(
            {"nthread": 1, "base_score": 0}, xgboost_set(), 1, obj=br.xgboost_objective("cosine")
        )


def test_gradients_and_metrics_use_the_threads_of_the_training(monkeypatch):
    used = []

    def gain(labels):
        used.append(n_threads())
        return labels

    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    for parameters, expected in (
        ({"num_threads": 1}, 1),
        ({"n_jobs": "2"}, 2),
        ({"nthread": 0}, 3),
        ({}, 3),
    ):
        used.clear()
        train, objective = (
            lgb.Dataset(X, Y, group=SIZES),
            br.lightgbm_objective("softmax", gain=gain),
        )
        given = {"verbosity": -1, "metric": "None", **parameters, "objective": objective}
        lgb.train(
            given, train, 2, valid_sets=[train], feval=br.lightgbm_metric("ndcg@1", gain=gain)
        )
        assert set(used) == {expected}
    # Without the parameters of a training, the number stays as it is.
    used.clear()
    with use_threads(2):
        br.lightgbm_objective("softmax", gain=gain)(Y, np.zeros(len(Y)), None, SIZES)
    assert set(used) == {2}
