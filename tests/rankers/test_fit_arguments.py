"""Arguments of ``fit`` that the estimators of the libraries have: they are taken, or errors say what to use instead."""

import inspect

import lightgbm
import numpy as np
import pytest
import xgboost

import boostrank as br

ESTIMATORS = {br.LightGBMRanker: lightgbm.LGBMRanker, br.XGBoostRanker: xgboost.XGBRanker}


def small(ranker_class, **parameters):
    return ranker_class("softmax", **{"n_estimators": 3, "n_jobs": 1, "random_state": 0, **parameters})


def test_every_argument_of_the_library_is_taken_or_has_advice(ranker_class, data):
    own = inspect.signature(ranker_class.fit).parameters
    others = [name for name in inspect.signature(ESTIMATORS[ranker_class].fit).parameters if name not in own]
    assert others
    small(ranker_class).fit(*data, **dict.fromkeys(others))
    for name in others:
        with pytest.raises(
            (TypeError, ValueError),
            match=rf"{ranker_class.__name__}.fit has no argument '{name}': (give|set) |must be|init_",
        ):
            small(ranker_class).fit(*data, **{name: object()})


OTHER_NAMES = {
    "base_margin": "init_score",
    "base_margin_eval_set": "eval_init_score",
    "sample_weight_eval_set": "eval_sample_weight",
}


@pytest.mark.parametrize("name", OTHER_NAMES)
def test_other_names_of_arguments_mean_the_same(ranker_class, data, name):
    X, y, qid = data
    eval_set = [(X[:100], y[:100], qid[:100])]
    n_queries = len(np.unique(qid[:100]))
    n_values = n_queries if "weight" in name else 100 if name.endswith("set") else len(y)
    values = np.random.default_rng(0).uniform(1, 9, n_values)
    values = [values] if name.endswith("set") else values
    results = [
        small(ranker_class).fit(*data, eval_set=eval_set, **given).evals_result_
        for given in ({name: values}, {OTHER_NAMES[name]: values}, {})
    ]
    assert results[0] == results[1] != results[2]
    with pytest.raises(TypeError, match=f"{name}.*another name of {OTHER_NAMES[name]}, which is given"):
        small(ranker_class).fit(*data, eval_set=eval_set, **{name: values, OTHER_NAMES[name]: values})


def test_the_model_to_continue_has_two_names(ranker_class, data):
    first = small(ranker_class).fit(*data)
    models = [small(ranker_class).fit(*data, **{name: first}) for name in ("init_model", "xgb_model")]
    assert [model.best_iteration_ for model in models] == [6, 6]


@pytest.mark.parametrize(
    ("given", "advice"),
    [
        ({"early_stopping_rounds": 5}, r"a parameter of the ranker, \w+Ranker\(early_stopping_rounds=\.\.\.\)"),
        ({"feature_name": ["a"]}, "give X as a DataFrame"),
        ({"categorical_feature": [0]}, "feature_types of XGBoostRanker"),
        ({"sampel_weight": 5}, r"its help lists those that it has \(did you mean 'sample_weight'"),
    ],
)
def test_other_arguments_are_errors(ranker_class, data, given, advice):
    with pytest.raises(TypeError, match=advice):
        ranker_class().fit(*data, **given)


# Metrics


def names(ranker_class, data, of_fit=None, **parameters):
    ranker = small(ranker_class, **parameters).fit(*data, eval_set={"test": data}, **(of_fit or {}))
    return list(ranker.best_score_["test"])


def test_metrics_are_those_of_fit_and_of_the_parameters(ranker_class, data):
    own = "metric" if ranker_class is br.LightGBMRanker else "eval_metric"
    assert names(ranker_class, data, {"eval_at": [3, 5]}) == ["ndcg@3", "ndcg@5"]
    assert names(ranker_class, data, {"eval_metric": ["ndcg", "map@2", "auc"], "eval_at": 3}) == [
        "ndcg@3",
        "map@2",
        "auc",
    ]
    assert names(ranker_class, data, {"eval_metric": "None"}) == names(ranker_class, data) == ["ndcg"]
    assert names(ranker_class, data, **{own: "mean_average_precision", "eval_at": (2,)}) == ["map@2"]
    assert names(ranker_class, data, {"eval_metric": ["auc", "map"]}, **{own: "map"}) == ["auc", "map"]
    assert names(ranker_class, data, {"eval_metric": lambda y, s: ("own", 1.0, True)}, **{own: "None"}) == ["own"]
    assert names(br.XGBoostRanker, data, eval_metric="pre@3") == names(
        br.XGBoostRanker, data, eval_metric="precision@3-"
    )
    # The gain of the ranker is that of the metric.
    for metric in ({"eval_at": [3]}, {"eval_metric": "ndcg", "eval_at": 3}, {"eval_metric": "lightgbm:ndcg@3"}):
        assert names(ranker_class, data, metric, gain="linear") == ["ndcg(gain=linear)@3"]


def test_the_metric_that_decides_is_that_of_the_library(ranker_class, data):
    test = br.make_ranking(n_queries=20, random_state=5)
    rounds = {"n_estimators": 60, "learning_rate": 0.3, "early_stopping_rounds": 3}

    def best(parameters, **of_fit):
        return small(ranker_class, **rounds, **parameters).fit(*data, eval_set=[test], **of_fit).best_iteration_

    deciding = "map" if ranker_class is br.LightGBMRanker else "ndcg@1"
    expected = {metric: best({}, eval_metric=metric) for metric in ("map", "ndcg@1")}
    assert expected["map"] != expected["ndcg@1"]
    assert best({"eval_metric": ["map", "ndcg@1"]}) == expected[deciding]


def test_callbacks_may_be_parameters(ranker_class, data):
    if ranker_class is br.LightGBMRanker:
        callback = lightgbm.reset_parameter(learning_rate=[0.3, 0.2, 0.1])
    else:
        callback = xgboost.callback.LearningRateScheduler([0.3, 0.2, 0.1])
    expected = small(ranker_class).fit(*data, callbacks=[callback]).predict(data[0])
    np.testing.assert_array_equal(small(ranker_class, callbacks=[callback]).fit(*data).predict(data[0]), expected)
    assert not np.array_equal(small(ranker_class).fit(*data).predict(data[0]), expected)


def test_weights_of_documents_of_validation_sets(ranker_class, data):
    X, y, qid = data
    weights, seen = np.random.default_rng(0).uniform(1, 3, len(y)), []

    def metric(labels, scores, weight):
        seen.append(weight)
        return "own", 1.0, True

    ranker = small(ranker_class).fit(
        *data, eval_set=[(X.copy(), y, qid)], eval_sample_weight=[weights], eval_metric=["ndcg@5", metric]
    )
    means = np.bincount(qid, weights) / np.bincount(qid)
    expected = br.ndcg_score(y, ranker.predict(X), qid, k=5, sample_weight=means)
    assert ranker.best_score_["valid_0"]["ndcg@5"] == pytest.approx(expected, abs=1e-6)
    np.testing.assert_array_equal(seen[0], weights)
