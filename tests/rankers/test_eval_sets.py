"""Validation sets and their metrics in `fit`: names, weights, several metrics, and which of them stops the training."""

import numpy as np
import pandas as pd
import pytest
from cases import for_each

import boostrank as br

VALIDATION = br.make_ranking(n_queries=15, random_state=4)


def small(ranker_class, objective="softmax", **parameters):
    return ranker_class(objective, **{"n_estimators": 8, "random_state": 0, "n_jobs": 1, **parameters})


def squared_error(y, scores):
    return "mse", float(np.mean((y - scores) ** 2)), False


def test_every_metric_of_every_set_is_recorded_by_name(ranker_class, data):
    ranker = small(ranker_class).fit(
        *data, eval_set={"train": data, "test": VALIDATION}, eval_metric=["ndcg@5", "map", squared_error]
    )
    assert {name: list(metrics) for name, metrics in ranker.evals_result_.items()} == {
        "train": ["ndcg@5", "map", "mse"],
        "test": ["ndcg@5", "map", "mse"],
    }
    for name, (X, y, qid) in (("train", data), ("test", VALIDATION)):
        scores, last = ranker.predict(X), {metric: values[-1] for metric, values in ranker.evals_result_[name].items()}
        expected = br.evaluate(y, scores, qid, ["ndcg@5", "map"])
        assert last["ndcg@5"] == pytest.approx(expected["ndcg@5"], abs=1e-6)
        assert last["map"] == pytest.approx(expected["map"], abs=1e-6)
        assert last["mse"] == pytest.approx(np.mean((y - scores) ** 2), rel=1e-5)


def test_names_of_sets_are_given_or_numbered(ranker_class, data):
    X, y, qid = data
    ranker = small(ranker_class)
    own = ranker.fit(X, y, qid, eval_set=[(X, y), VALIDATION]).evals_result_
    assert list(own) == ["training", "valid_1"]
    assert list(ranker.fit(X, y, qid, eval_set=[VALIDATION], eval_names=["test"]).evals_result_) == ["test"]
    assert list(ranker.fit(X, y, qid, eval_set=VALIDATION).evals_result_) == ["valid_0"]
    assert list(ranker.fit(X, y, qid, eval_set=[(X, y, qid.astype(str))]).evals_result_) == ["valid_0"]


def test_query_ids_of_sets_are_found_as_in_training(ranker_class, data):
    X, y, qid = data
    expected = small(ranker_class).fit(X, y, qid, eval_set=[VALIDATION]).evals_result_
    features, labels, ids = VALIDATION
    sizes = np.bincount(ids)
    for arguments in (
        {"eval_set": [(features, labels)], "eval_qid": [ids]},
        {"eval_set": [(features, labels)], "eval_group": [sizes]},
    ):
        assert small(ranker_class).fit(X, y, group=np.bincount(qid), **arguments).evals_result_ == expected
    frame, other = (pd.DataFrame(part).add_prefix("x").assign(query=q) for part, q in ((X, qid), (features, ids)))
    by_name = small(ranker_class).fit(frame, y, "query", eval_set=[(other, labels)])
    assert by_name.evals_result_ == expected


def test_weights_of_a_set_are_those_of_its_mean_and_not_of_the_training(ranker_class, data):
    features, labels, ids = VALIDATION
    weights = np.random.default_rng(0).uniform(0, 3, 15)
    plain = small(ranker_class).fit(*data, eval_set=[VALIDATION])
    both = small(ranker_class).fit(
        *data, eval_set=[(features, labels, ids), (data[0], data[1])], eval_sample_weight=[weights, np.arange(30.0)]
    )
    np.testing.assert_array_equal(both.predict(features), plain.predict(features))
    scores = plain.predict(features)
    expected = br.ndcg_score(labels, scores, ids, sample_weight=weights)
    assert abs(expected - br.ndcg_score(labels, scores, ids)) > 1e-4
    assert both.evals_result_["valid_0"]["ndcg"][-1] == pytest.approx(expected, abs=1e-6)
    expected = br.ndcg_score(data[1], plain.predict(data[0]), data[2], sample_weight=np.arange(30.0))
    assert both.evals_result_["training"]["ndcg"][-1] == pytest.approx(expected, abs=1e-6)

    def weight_and_group(y, scores, weight, group):
        return "sum", weight.sum() + group.sum(), True

    given = {"eval_set": [VALIDATION], "eval_sample_weight": [weights], "eval_metric": weight_and_group}
    custom = small(ranker_class).fit(*data, **given)
    assert custom.evals_result_["valid_0"]["sum"][-1] == pytest.approx(weights @ np.bincount(ids) + len(labels))


@pytest.mark.parametrize("metric", [None, "map", "mse"])
def test_one_metric_of_the_last_held_out_set_stops_the_training(ranker_class, data, metric):
    ranker = small(ranker_class, n_estimators=60, early_stopping_rounds=4, learning_rate=0.3)
    ranker.fit(
        *data,
        eval_set=[VALIDATION, (data[0], data[1])],
        eval_metric=["ndcg@1", "map", squared_error],
        early_stopping_metric=metric,
    )
    values = np.array(ranker.evals_result_["valid_0"][metric or "ndcg@1"])
    best = np.argmin(values) if metric == "mse" else np.argmax(values)
    assert ranker.best_iteration_ == best + 1
    assert len(values) == best + 5
    if metric == "map":
        assert br.evaluate(VALIDATION[1], ranker.predict(VALIDATION[0]), VALIDATION[2], ["map"])["map"] == max(values)
    assert ranker._backend.n_rounds(ranker.booster_) == best + 1


def test_a_metric_may_have_several_values(ranker_class, data):
    def several(y, scores, weight):
        assert weight is None
        return [("mean", scores.mean(), True), ("max", scores.max(), True)]

    result = small(ranker_class).fit(*data, eval_set=[VALIDATION], eval_metric=[several]).evals_result_["valid_0"]
    assert {name: len(values) for name, values in result.items()} == {"mean": 8, "max": 8}


@for_each(
    ("arguments", "message"),
    [
        ({"eval_set": 3}, "eval_set must be a list or dict of .X, y, qid.; got int"),
        ({"eval_set": [VALIDATION], "eval_qid": [VALIDATION[2]]}, "has query ids, and so has eval_qid"),
        ({"eval_set": [VALIDATION], "early_stopping_metric": "map"}, "needs early_stopping_rounds"),
        ({"eval_set": [VALIDATION], "eval_names": ["a", "b"]}, "eval_names must be a list with one element for each"),
        ({"eval_set": [VALIDATION, VALIDATION], "eval_names": ["a", "a"]}, "must have different names"),
        ({"eval_set": {"a": VALIDATION}, "eval_sample_weight": {"a": [1.0] * 30}}, "eval_sample_weight must be a list"),
        ({"eval_set": VALIDATION[0]}, "eval_set must be a list or dict of"),
        ({"eval_set": [VALIDATION], "eval_metric": ["map", lambda y, s: ("map", 0.5, True)]}, "a name of its own"),
        ({"eval_set": [VALIDATION], "eval_metric": lambda y, s: (str(s.sum()), 1, True)}, "same names in every round"),
        ({"eval_set": [VALIDATION], "eval_metric": lambda y, s: 0.5}, "must return .name, value, is_higher_better"),
        (
            {"eval_set": [VALIDATION], "eval_metric": lambda y: 0.5},
            r"\(y, scores\), .* -> .name, value, is_higher_better",
        ),
        ({"eval_set": [VALIDATION], "eval_metric": lambda y, s: ("a", np.nan, True)}, "finite number"),
        ({"eval_set": [VALIDATION], "eval_sample_weight": [[1.0, 2.0]]}, "one weight per query"),
        ({"eval_set": [VALIDATION], "verbose": "loud"}, "verbose must be"),
    ],
)
def test_unclear_sets_and_metrics_are_errors_that_name_the_argument(ranker_class, data, arguments, message):
    with pytest.raises(ValueError, match=message):
        small(ranker_class).fit(*data, **arguments)


def test_a_metric_that_is_not_there_cannot_stop_the_training(ranker_class, data):
    ranker = small(ranker_class, early_stopping_rounds=2)
    with pytest.raises(ValueError, match=r"early_stopping_metric must be one of ndcg@5.*'map'"):
        ranker.fit(*data, eval_set=[VALIDATION], eval_metric="ndcg@5", early_stopping_metric="map")
    assert not hasattr(ranker, "booster_")


def test_training_data_with_initial_scores_do_not_stop_the_training(ranker_class, data):
    scores = np.random.default_rng(0).normal(size=len(data[1]))
    ranker = small(ranker_class, n_estimators=60, learning_rate=0.3, early_stopping_rounds=3)
    ranker.fit(*data, init_score=scores, eval_set=[VALIDATION, data], eval_init_score=[None, scores])
    found = ranker.best_iteration_
    assert found == ranker.fit(*data, init_score=scores, eval_set=[VALIDATION]).best_iteration_ < 60


@pytest.mark.parametrize("parameters", [{"boosting": "dart", "skip_drop": 0.0}, {"bagging_by_query": True}])
def test_metrics_of_the_training_data_are_those_of_the_model(data, parameters):
    settings = {"n_estimators": 9, "subsample": 0.7, "subsample_freq": 1, **parameters}
    objective = "softmax" if "boosting" in parameters else "lambdarank"
    ranker = small(br.LightGBMRanker, objective, **settings).fit(*data, eval_set=[data])
    expected = br.ndcg_score(data[1], ranker.predict(data[0]), data[2])
    assert ranker.best_score_["training"]["ndcg"] == pytest.approx(expected, abs=1e-12)
    alone = small(br.LightGBMRanker, objective, **settings).fit(*data)
    np.testing.assert_array_equal(ranker.predict(data[0]), alone.predict(data[0]))


@pytest.mark.parametrize(
    ("name", "metric", "message"),
    [
        ("my test", "map", "eval_names"),
        ("a-b", "map", "eval_names"),
        ("a", lambda y, s: ("a:b", 0.5, True), "eval_metric"),
    ],
)
def test_names_that_xgboost_does_not_take_are_errors(data, name, metric, message):
    with pytest.raises(ValueError, match=message):
        small(br.XGBoostRanker).fit(*data, eval_set={name: VALIDATION}, eval_metric=metric)


def test_a_set_without_query_ids_says_how_to_give_them(ranker_class, data):
    with pytest.raises(ValueError, match=r"eval_set got no qid.* Give the set as \(X, y, qid\), or give eval_qid or"):
        small(ranker_class).fit(*data, eval_set=[VALIDATION[:2]])
