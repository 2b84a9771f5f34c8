"""Arguments of `fit`: validation sets, their metrics, and those that the estimators of the
libraries have."""

import inspect

import lightgbm
import numpy as np
import pandas as pd
import pytest
import xgboost
from cases import for_each
from rankers.small_rankers import small
from scipy.sparse import csr_array

import boostrank as br

VALIDATION = br.make_ranking(n_queries=15, random_state=4)


def squared_error(y, scores):
    return "mse", float(np.mean((y - scores) ** 2)), False


def test_every_metric_of_every_set_is_recorded_by_name(ranker_class, data):
    def several(y, scores, weight):
        assert weight is None
        return [squared_error(y, scores), ("max", scores.max(), True)]

    sets = {"train": data, "test": VALIDATION}
    ranker = small(ranker_class).fit(*data, eval_set=sets, eval_metric=["ndcg@5", "map", several])
    for name, (X, y, qid) in sets.items():
        scores, metrics = ranker.predict(X), ranker.evals_result_[name]
        expected = br.evaluate(y, scores, qid, ["ndcg@5", "map"])
        expected |= {"mse": np.mean((y - scores) ** 2), "max": scores.max()}
        assert {metric: len(values) for metric, values in metrics.items()} == dict.fromkeys(
            expected, 6
        )
        assert {metric: values[-1] for metric, values in metrics.items()} == pytest.approx(
            expected, rel=1e-5
        )


def test_names_of_sets_are_given_or_numbered(ranker_class, data):
    X, y, qid = data
    ranker = small(ranker_class)
    own = ranker.fit(X, y, qid, eval_set=[(X, y), VALIDATION]).evals_result_
    assert list(own) == ["training", "valid_1"]
    assert list(
        ranker.fit(X, y, qid, eval_set=[VALIDATION], eval_names=["test"]).evals_result_
    ) == ["test"]
    assert list(ranker.fit(X, y, qid, eval_set=VALIDATION).evals_result_) == ["valid_0"]
    assert list(ranker.fit(X, y, qid, eval_set=[(X, y, qid.astype(str))]).evals_result_) == [
        "valid_0"
    ]


def test_query_ids_of_sets_are_found_as_in_training(ranker_class, data):
    X, y, qid = data
    expected = small(ranker_class).fit(X, y, qid, eval_set=[VALIDATION]).evals_result_
    features, labels, ids = VALIDATION
    for queries in ({"eval_qid": [ids]}, {"eval_group": [np.bincount(ids)]}):
        ranker = small(ranker_class).fit(
            X, y, group=np.bincount(qid), eval_set=[(features, labels)], **queries
        )
        assert ranker.evals_result_ == expected
    frame, other = (
        pd.DataFrame(part).add_prefix("x").assign(query=q)
        for part, q in ((X, qid), (features, ids))
    )
    by_name = small(ranker_class).fit(frame, y, "query", eval_set=[(other, labels)])
    assert by_name.evals_result_ == expected


def test_weights_of_a_set_are_those_of_its_mean_and_not_of_the_training(ranker_class, data):
    def weight_and_group(y, scores, weight, group):
        return "sum", weight.sum() + group.sum(), True

    random, plain = np.random.default_rng(0), small(ranker_class).fit(*data)
    sets = {"queries": VALIDATION, "documents": VALIDATION, "training": data}
    weights = [random.uniform(0, 3, 15), random.uniform(1, 3, len(VALIDATION.y)), np.arange(30.0)]
    given = {
        "eval_set": sets,
        "eval_sample_weight": weights,
        "eval_metric": ["ndcg", weight_and_group],
    }
    ranker = small(ranker_class).fit(*data, **given)
    np.testing.assert_array_equal(ranker.predict(data[0]), plain.predict(data[0]))
    for (name, (X, y, qid)), of_set in zip(sets.items(), weights, strict=True):
        # The weight of a query is the mean of those of its documents, which functions get as they
        # are.
        of_rows = of_set if name == "documents" else of_set[qid]
        means = np.bincount(qid, of_rows) / np.bincount(qid)
        expected = br.ndcg_score(y, plain.predict(X), qid, sample_weight=means)
        assert abs(expected - br.ndcg_score(y, plain.predict(X), qid)) > 1e-4
        assert ranker.best_score_[name]["ndcg"] == pytest.approx(expected, abs=1e-6)
        assert ranker.best_score_[name]["sum"] == pytest.approx(of_rows.sum() + len(y))


@pytest.mark.parametrize("metric", [None, "map", "mse"])
def test_one_metric_of_the_last_held_out_set_stops_the_training(ranker_class, data, metric):
    ranker = small(ranker_class, n_estimators=60, early_stopping_rounds=4, learning_rate=0.3, k=1)
    metrics = {"eval_metric": ["ndcg@1", "map", squared_error], "early_stopping_metric": metric}
    ranker.fit(*data, eval_set=[VALIDATION, (data[0], data[1])], **metrics)
    values = np.array(ranker.evals_result_["valid_0"][metric or "ndcg@1"])
    best = np.argmin(values) if metric == "mse" else np.argmax(values)
    assert (
        ranker.best_iteration_ == best + 1 == len(values) - 4 == ranker.apply(data[0][:1]).shape[1]
    )
    if metric is None:
        assert ranker.score(*VALIDATION) == pytest.approx(max(values), abs=1e-6)


@for_each(
    ("arguments", "message"),
    [
        ({"eval_set": 3}, "eval_set must be a list or dict of .X, y, qid.; got int"),
        (
            {"eval_set": [VALIDATION[:2]]},
            r"got no qid.* Give the set as \(X, y, qid\), or eval_qid or",
        ),
        (
            {"eval_set": [VALIDATION], "eval_qid": [VALIDATION[2]]},
            "has query ids, and so has eval_qid",
        ),
        ({"eval_set": [VALIDATION], "early_stopping_metric": "map"}, "needs early_stopping_rounds"),
        (
            {"eval_set": [VALIDATION], "eval_names": ["a", "b"]},
            "eval_names must be a list with one element for each",
        ),
        (
            {"eval_set": {"a": VALIDATION}, "eval_names": ["b"]},
            "as keys of eval_set or as eval_names, not both",
        ),
        (
            {"eval_set": [VALIDATION, VALIDATION], "eval_names": ["a", "a"]},
            "must have different names",
        ),
        (
            {"eval_set": {"a": VALIDATION}, "eval_sample_weight": {"a": [1.0] * 30}},
            "eval_sample_weight must be a list",
        ),
        (
            {"eval_set": [VALIDATION], "eval_metric": ["map", lambda y, s: ("map", 0.5, True)]},
            "a name of its own",
        ),
        (
            {"eval_set": [VALIDATION], "eval_metric": lambda y, s: (str(s.sum()), 1, True)},
            "same names in every round",
        ),
        (
            {"eval_set": [VALIDATION], "eval_metric": lambda y, s: 0.5},
            "must return .name, value, is_higher_better",
        ),
        (
            {"eval_set": [VALIDATION], "eval_metric": lambda y: 0.5},
            r"\(y, scores\), .* -> .name, value, is_higher",
        ),
        (
            {"eval_set": [VALIDATION], "eval_metric": lambda y, s: ("a", np.nan, True)},
            "return .* with a finite value",
        ),
        ({"eval_set": [VALIDATION], "eval_sample_weight": [[1.0, 2.0]]}, "one weight per query"),
        ({"eval_set": [VALIDATION], "verbose": "loud"}, "verbose must be"),
    ],
)
def test_unclear_sets_and_metrics_are_errors_that_name_the_argument(
    ranker_class, data, arguments, message
):
    with pytest.raises(ValueError, match=message):
        small(ranker_class).fit(*data, **arguments)


HOLDS_OUT = {"validation_fraction": 0.3}


@for_each(
    ("settings", "arguments", "message"),
    [
        (
            {"early_stopping_rounds": 3},
            {},
            "needs validation queries: give eval_set or validation_fraction",
        ),
        (
            HOLDS_OUT,
            {"eval_set": [VALIDATION]},
            "give either eval_set or validation_fraction, not both",
        ),
        (
            {**HOLDS_OUT, "early_stopping_rounds": 3},
            {"early_stopping_metric": "map"},
            "must be one of ndcg",
        ),
    ],
)
def test_settings_that_contradict_each_other_are_errors(
    ranker_class, data, settings, arguments, message
):
    ranker = small(ranker_class, **settings)
    with pytest.raises(ValueError, match=message):
        ranker.fit(*data, **arguments)
    assert not hasattr(ranker, "booster_")


def test_training_data_stop_the_training_only_where_there_is_no_other_set(ranker_class, data):
    scores = np.random.default_rng(0).normal(size=len(data[1]))
    ranker = small(ranker_class, n_estimators=60, learning_rate=0.3, early_stopping_rounds=3)
    ranker.fit(
        *data, init_score=scores, eval_set=[VALIDATION, data], eval_init_score=[None, scores]
    )
    found = ranker.best_iteration_
    assert found == ranker.fit(*data, init_score=scores, eval_set=[VALIDATION]).best_iteration_ < 60
    values = ranker.fit(*data, eval_set=[data]).evals_result_["training"]["ndcg"]
    assert ranker.best_iteration_ == np.argmax(values) + 1 == len(values) - 3


@pytest.mark.parametrize(
    "parameters", [{"boosting": "dart", "skip_drop": 0.0}, {"bagging_by_query": True}]
)
def test_metrics_of_the_training_data_are_those_of_the_model(data, parameters):
    settings = {"n_estimators": 9, "subsample": 0.7, "subsample_freq": 1, **parameters}
    objective = "softmax" if "boosting" in parameters else "lambdarank"
    ranker = small(br.LightGBMRanker, objective, **settings).fit(
        *data, eval_set=[data], eval_metric=br.get_measure("ndcg")
    )
    expected = br.ndcg_score(data[1], ranker.predict(data[0]), data[2])
    assert ranker.best_score_["training"]["ndcg"] == pytest.approx(expected, abs=1e-12)
    alone = small(br.LightGBMRanker, objective, **settings).fit(*data)
    np.testing.assert_array_equal(ranker.predict(data[0]), alone.predict(data[0]))


def test_names_that_xgboost_does_not_take_are_errors(data):
    def of_colon(y, scores):
        return "a:b", 0.5, True

    for name, metric, argument in (
        ("my test", "map", "names"),
        ("a-b", "map", "names"),
        ("a", of_colon, "metric"),
    ):
        with pytest.raises(ValueError, match=f"eval_{argument}"):
            small(br.XGBoostRanker).fit(*data, eval_set={name: VALIDATION}, eval_metric=metric)


# Arguments that the estimators of the libraries have: they are taken, or errors say what to use
# instead


ESTIMATORS = {br.LightGBMRanker: lightgbm.LGBMRanker, br.XGBoostRanker: xgboost.XGBRanker}


def test_every_argument_of_the_library_is_taken_or_has_advice(ranker_class, data):
    own = inspect.signature(ranker_class.fit).parameters
    others = [
        name
        for name in inspect.signature(ESTIMATORS[ranker_class].fit).parameters
        if name not in own
    ]
    assert others or lightgbm.__version__ < "4.7"
    small(ranker_class).fit(*data, **dict.fromkeys(others))
    for name in others:
        with pytest.raises(
            (TypeError, ValueError),
            match=rf"{ranker_class.__name__}.fit has no argument '{name}': (give|set) |"
            "must be|init_",
        ):
            small(ranker_class).fit(*data, **{name: object()})


OTHER_NAMES = {
    "base_margin": "init_score",
    "base_margin_eval_set": "eval_init_score",
    "sample_weight_eval_set": "eval_sample_weight",
}


@for_each("name", OTHER_NAMES)
def test_other_names_of_arguments_mean_the_same(ranker_class, data, name):
    _, y, _ = data
    eval_set = [tuple(values[:100] for values in data)]
    values = np.random.default_rng(0).uniform(1, 9, 100 if name.endswith("set") else len(y))
    values = [values] if name.endswith("set") else values
    results = [
        small(ranker_class).fit(*data, eval_set=eval_set, **given).evals_result_
        for given in ({name: values}, {OTHER_NAMES[name]: values}, {})
    ]
    assert results[0] == results[1] != results[2]
    with pytest.raises(
        TypeError, match=f"{name}.*another name of {OTHER_NAMES[name]}, which is given"
    ):
        small(ranker_class).fit(
            *data, eval_set=eval_set, **{name: values, OTHER_NAMES[name]: values}
        )


@for_each(
    ("given", "advice"),
    [
        (
            {"early_stopping_rounds": 5},
            r"a parameter of the ranker, \w+Ranker\(early_stopping_rounds=\.\.\.\)",
        ),
        ({"eval_X": 1}, r"give either eval_set=\[\(X, y, qid\)\] or both eval_X and eval_y"),
        ({"eval_X": 1, "eval_y": 1, "eval_set": []}, "give either eval_set"),
        ({"sampel_weight": 5}, r"its help lists those that it has \(did you mean 'sample_weight'"),
    ],
)
def test_other_arguments_are_errors(ranker_class, data, given, advice):
    with pytest.raises(TypeError, match=advice):
        ranker_class().fit(*data, **given)


def test_validation_sets_are_features_and_labels_as_in_lightgbm(ranker_class, data):
    sizes, (X, y, qid) = np.bincount(VALIDATION[2]), VALIDATION
    expected = (
        small(ranker_class)
        .fit(*data, eval_set=[(X, y, qid)] * 2, eval_names=["a", "b"])
        .evals_result_
    )
    both = {
        "eval_X": (X, X),
        "eval_y": (y, y),
        "eval_group": [sizes, sizes],
        "eval_names": ["a", "b"],
    }
    assert small(ranker_class).fit(*data, **both).evals_result_ == expected
    one = small(ranker_class).fit(*data, eval_X=X, eval_y=y, eval_group=[sizes])
    assert one.evals_result_["valid_0"] == expected["a"]
    with pytest.raises(ValueError, match="eval_y has 1 values for the 2 rows of eval_X"):
        small(ranker_class).fit(*data, **{**both, "eval_y": y})


def test_features_have_names_and_categories_as_in_lightgbm(data):
    X, y, qid = np.round(3 * np.abs(data[0])), *data[1:]
    names = [f"f{i}" for i in range(X.shape[1])]
    ranker = small(br.LightGBMRanker).fit(
        X, y, qid, feature_name=np.array(names), categorical_feature=[0, "f3"]
    )
    expected = small(br.LightGBMRanker, categorical_feature=[0, 3]).fit(
        pd.DataFrame(X, columns=names), y, qid
    )
    frame = pd.DataFrame(X, columns=names)
    np.testing.assert_array_equal(ranker.predict(frame), expected.predict(frame))
    assert ranker.feature_name_ == ranker.feature_names_in_.tolist() == names
    assert "categorical_feature" not in ranker.get_params()
    sparse = small(br.LightGBMRanker).fit(csr_array(X), y, qid, feature_name=names)
    np.testing.assert_array_equal(
        sparse.predict(frame), small(br.LightGBMRanker).fit(X, y, qid).predict(X)
    )
    small(br.LightGBMRanker).fit(X, y, qid, feature_name=None, categorical_feature=None)
    with pytest.raises(
        ValueError,
        match="feature_name must be one name for each of the 10 columns of X; got 1 names",
    ):
        small(br.XGBoostRanker).fit(X, y, qid, feature_name=["a"])
    with pytest.raises(
        ValueError, match="'categorical_feature' cannot be used in a ranker: set feature_types"
    ):
        small(br.XGBoostRanker).fit(X, y, qid, categorical_feature=[0])


def names(ranker_class, data, of_fit=None, **parameters):
    ranker = small(ranker_class, **parameters).fit(*data, eval_set={"test": data}, **(of_fit or {}))
    return list(ranker.best_score_["test"])


def test_metrics_are_those_of_fit_and_of_the_parameters(ranker_class, data):
    own = "metric" if ranker_class is br.LightGBMRanker else "eval_metric"
    assert names(ranker_class, data, {"eval_at": [3, 5]}) == ["ndcg@3", "ndcg@5"]
    three = {"eval_metric": ["ndcg", "map@2", "auc"], "eval_at": 3}
    assert names(ranker_class, data, three) == ["ndcg@3", "map@2", "auc"]
    assert (
        names(ranker_class, data, {"eval_metric": "None"}) == names(ranker_class, data) == ["ndcg"]
    )
    assert names(ranker_class, data, **{own: "mean_average_precision", "eval_at": (2,)}) == [
        "map@2"
    ]
    assert names(ranker_class, data, {"eval_metric": ["auc", "map"]}, **{own: "map"}) == [
        "auc",
        "map",
    ]
    assert names(
        ranker_class, data, {"eval_metric": lambda y, s: ("own", 1.0, True)}, **{own: "None"}
    ) == ["own"]
    assert names(br.XGBoostRanker, data, eval_metric="pre@3") == ["pre@3"]
    assert names(br.XGBoostRanker, data, eval_metric="precision@3-") == ["precision@3-"]
    # The name is the one that was asked for, and the gain that of the ranker.
    for metric in (
        {"eval_at": [3]},
        {"eval_metric": "ndcg", "eval_at": 3},
        {"eval_metric": "lightgbm:ndcg@3"},
    ):
        assert names(ranker_class, data, metric, gain="linear") == ["ndcg@3"]
    ranker = small(ranker_class, gain="linear").fit(*data, eval_set={"test": data}, eval_at=3)
    expected = br.ndcg_score(data[1], ranker.predict(data[0]), data[2], k=3, gain="linear")
    assert ranker.best_score_["test"]["ndcg@3"] == pytest.approx(expected, abs=1e-6)


def test_the_metric_that_decides_is_that_of_the_library(ranker_class, data):
    test = br.make_ranking(n_queries=20, random_state=5)
    rounds = {"n_estimators": 60, "learning_rate": 0.3, "early_stopping_rounds": 3}

    def best(parameters, **of_fit):
        return (
            small(ranker_class, **rounds, **parameters)
            .fit(*data, eval_set=[test], **of_fit)
            .best_iteration_
        )

    deciding = "map" if ranker_class is br.LightGBMRanker else "ndcg@1"
    expected = {metric: best({}, eval_metric=metric) for metric in ("map", "ndcg@1")}
    assert expected["map"] != expected["ndcg@1"]
    assert best({"eval_metric": ["map", "ndcg@1"]}) == expected[deciding]


def test_only_the_first_of_several_sets_is_the_training_data(ranker_class, data):
    X, y, qid = data
    ranker = small(ranker_class).fit(X, y, qid, eval_set=[data, data])
    assert list(ranker.evals_result_) == ["training", "valid_1"]
    first, second = (values["ndcg"] for values in ranker.evals_result_.values())
    np.testing.assert_allclose(first, second, atol=1e-9)


def test_negative_labels_of_pairs_are_shifted(data):
    X, y, qid = data
    models = [
        small(br.XGBoostRanker, "rank:pairwise").fit(X, labels, qid) for labels in (y, y - 2.0)
    ]
    np.testing.assert_array_equal(*(model.predict(X) for model in models))
    assert np.ptp(models[0].predict(X)) > 0
    with pytest.raises(ValueError, match="relevance"):
        small(br.XGBoostRanker, "rank:ndcg").fit(X, y - 2.0, qid)


def test_the_training_data_with_negative_labels_are_known_as_a_validation_set(data):
    X, y, qid = data
    labels = y - 2.0
    ranker = small(br.XGBoostRanker, "rank:pairwise")
    ranker.fit(X, labels, qid, eval_set=[(X, labels, qid)], eval_metric="ndcg@10")
    assert list(ranker.evals_result_) == ["training"]


@pytest.mark.parametrize("name", ["gain", "importance_type"])
def test_parameters_without_a_default_of_the_library_may_not_be_none(ranker_class, data, name):
    ranker = small(ranker_class, **{name: None})
    if name == "gain":
        with pytest.raises(ValueError, match="gain"):
            ranker.fit(*data)
    else:
        assert ranker.fit(*data).feature_importances_.shape == (data[0].shape[1],)


def test_a_metric_without_validation_sets_is_not_computed(ranker_class, data):
    plain = small(ranker_class).fit(*data)
    for metric in ("ndgc", ["ndcg@5", "mpa"]):
        with pytest.warns(UserWarning, match="did you mean.*not computed") as caught:
            ranker = small(ranker_class).fit(*data, eval_metric=metric)
        assert len(caught) == 1
        np.testing.assert_array_equal(ranker.predict(data[0]), plain.predict(data[0]))
        for sets in ({"eval_set": [data]}, {}):
            held_out = {} if sets else {"validation_fraction": 0.3}
            with pytest.raises(ValueError, match="did you mean"):
                small(ranker_class, **held_out).fit(*data, eval_metric=metric, **sets)
