"""Settings that would have no effect are refused, and errors name the argument that caused them."""

import numpy as np
import pandas as pd
import pytest

import boostrank as br
from boostrank import metrics
from hostile.entry_points import RANKERS, tiny
from hostile.outcomes import check_fault, check_message

X, Y, QID = br.make_ranking(n_queries=10, n_documents=6, random_state=0)
STOPPING = {"early_stopping_rounds": 2, "validation_fraction": 0.3}
LIGHTGBM = {
    **dict.fromkeys(["num_iterations", "num_iteration", "n_iter", "num_tree", "num_trees", "num_round"], 4),
    **dict.fromkeys(["num_rounds", "nrounds", "num_boost_round", "max_iter"], 4),
    **dict.fromkeys(["early_stopping_round", "early_stopping", "n_iter_no_change"], 1),
    **dict.fromkeys(["seed", "random_seed"], 5),
    **dict.fromkeys(["metric", "metrics", "metric_types"], "auc"),
    **{name: [1] for name in ["eval_at", "ndcg_eval_at", "ndcg_at"]},
    **dict.fromkeys(["application", "app", "loss", "objective_type"], "binary"),
    **dict.fromkeys(["input_model", "model_input", "output_model", "data", "valid"], "model.txt"),
    **dict.fromkeys(["metric_freq", "snapshot_freq", "save_period"], 1),
    "label_gain": [0, 1, 3, 7],
    "lambdarank_truncation_level": 3,
    "lambdarank_norm": False,
    "first_metric_only": True,
    "task": "predict",
    "weight_column": "0",
    "group_column": "0",
    "label_column": "0",
}
XGBOOST = {
    "eval_metric": "auc",
    "base_score": 3.0,
    "seed": 5,
    "random_state_of_nobody": 1,
    "num_boost_round": 4,
    "ndcg_exp_gain": False,
    "lambdarank_num_pair_per_sample": 3,
    "disable_default_eval_metric": False,
}


@pytest.mark.parametrize(
    ("ranker_class", "name", "value"),
    [pytest.param(br.LightGBMRanker, *item, id=f"lightgbm-{item[0]}") for item in LIGHTGBM.items()]
    + [pytest.param(br.XGBoostRanker, *item, id=f"xgboost-{item[0]}") for item in XGBOOST.items()],
)
def test_a_native_parameter_that_would_act_otherwise_is_refused(ranker_class, name, value, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ranker = tiny(ranker_class, n_estimators=6, **STOPPING, **{name: value})
    check_fault(lambda: ranker.fit(X, Y, QID), name)


@pytest.mark.parametrize(
    ("ranker_class", "objective", "name", "value"),
    [
        pytest.param(br.LightGBMRanker, "lambdarank", "eval_at", [1], id="lambdarank-eval_at"),
        pytest.param(br.XGBoostRanker, "rank:ndcg", "base_score", 3.0, id="rank-ndcg-base_score"),
        pytest.param(br.XGBoostRanker, "rank:ndcg", "eval_metric", "auc", id="rank-ndcg-eval_metric"),
    ],
)
def test_a_native_parameter_beside_a_native_objective_is_refused(ranker_class, objective, name, value):
    ranker = tiny(ranker_class, objective=objective, **{name: value})
    check_fault(lambda: ranker.fit(X, Y, QID), name)


GAINS = {
    "lambdarank-label_gain": (br.LightGBMRanker, "lambdarank", "label_gain", [0, 1, 1, 2, 2, 9]),
    "rank-ndcg-ndcg_exp_gain": (br.XGBoostRanker, "rank:ndcg", "ndcg_exp_gain", False),
}


@pytest.mark.parametrize(("ranker_class", "objective", "name", "value"), GAINS.values(), ids=GAINS)
def test_a_native_gain_is_that_of_the_ranker_or_is_refused(ranker_class, objective, name, value):
    gain = "linear" if value is False else value
    try:
        ranker = tiny(ranker_class, objective=objective, **{name: value}).fit(X, Y, QID)
    except ValueError as error:
        check_message(error, name)
    else:
        same = tiny(ranker_class, objective=objective, gain=gain).fit(X, Y, QID)
        np.testing.assert_array_equal(ranker.predict(X), same.predict(X))
        assert ranker.score(X, Y, QID) == same.score(X, Y, QID)


def test_native_parameters_of_native_objectives_act():
    models = [
        tiny(br.LightGBMRanker, objective="lambdarank", lambdarank_truncation_level=k).fit(X, Y, QID) for k in (1, 30)
    ]
    assert not np.array_equal(*(model.predict(X) for model in models))


def fit(ranker_class, **parameters):
    return tiny(ranker_class, **parameters).fit(X, Y, QID)


def works_or_names(call, name):
    """A setting that has a meaning works; otherwise the error names it."""
    try:
        call()
    except (ValueError, TypeError) as error:
        check_message(error, name)


FRAMES = {
    "frame-without-columns": pd.DataFrame(index=range(len(Y))),
    "series-as-features": pd.Series(X[:, 0], name="x"),
}


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
@pytest.mark.parametrize("ranker_class", RANKERS.values(), ids=RANKERS)
def test_features_without_columns(ranker_class, frame):
    check_fault(
        lambda: tiny(ranker_class).fit(frame, Y, QID),
        r"\bX\b|feature|two-dimensional|2D",
        "column|feature|dimension|2D",
    )


@pytest.mark.parametrize("qid", [5, "abc", 5.0], ids=lambda qid: f"qid-{qid}")
def test_one_id_for_all_rows_is_named(qid):
    for call in (
        lambda: br.ndcg_score(Y, Y, qid),
        lambda: tiny(br.LightGBMRanker).fit(X, Y, qid),
        lambda: br.split_queries(qid, 0.5),
        lambda: br.PreferenceGraph(qid, [], []),
        lambda: br.write_letor("unused.txt", X, Y, qid),
    ):
        check_fault(call, "qid")


@pytest.mark.parametrize("ranker_class", RANKERS.values(), ids=RANKERS)
@pytest.mark.parametrize("n_weights", [1, 7, 42, 59, 61], ids=lambda n: f"{n}-weights")
def test_weights_of_a_wrong_length_with_validation_fraction(ranker_class, n_weights):
    ranker = tiny(ranker_class, validation_fraction=0.3)
    check_fault(lambda: ranker.fit(X, Y, QID, sample_weight=np.ones(n_weights)), "sample_weight", "10.*60|60.*10")


NAMED = {
    "learning_rate": ("learning_rate", "a"),
    "min_child_weight": ("min_child_weight", None),
}


@pytest.mark.parametrize(("name", "value"), NAMED.values(), ids=NAMED)
@pytest.mark.parametrize("ranker_class", RANKERS.values(), ids=RANKERS)
def test_settings_of_a_wrong_type_are_named(ranker_class, name, value):
    works_or_names(lambda: fit(ranker_class, **{name: value}), name)


def test_max_bin_none():
    works_or_names(lambda: fit(br.XGBoostRanker, max_bin=None), "max_bin")


@pytest.mark.parametrize("ranker_class", RANKERS.values(), ids=RANKERS)
def test_importance_type(ranker_class):
    ranker = tiny(ranker_class, importance_type="foo")
    check_fault(lambda: ranker.fit(X, Y, QID).feature_importances_, "importance_type", "split|gain")
    check_fault(lambda: fit(ranker_class).get_feature_importances("foo"), "importance_type", "split|gain")


@pytest.mark.parametrize("label", [40.0, 0.5, 32.5], ids=lambda label: f"label-{label}")
def test_labels_of_rank_ndcg(label):
    labels = np.where(Y.max() == Y, label, Y)
    check_fault(lambda: tiny(br.XGBoostRanker, objective="rank:ndcg").fit(X, labels, QID), "label", "rank:ndcg")


COLUMNS = ["a,b", "price [EUR]", 'x"y', "a:b", "{z}", "[0]", "ä", "a b", "x<y", "tab\there"]


@pytest.mark.parametrize("column", COLUMNS, ids=[f"column-{number}" for number in range(len(COLUMNS))])
@pytest.mark.parametrize("ranker_class", RANKERS.values(), ids=RANKERS)
def test_names_of_columns(ranker_class, column, tmp_path):
    frame = pd.DataFrame(X).add_prefix("x").rename(columns={"x0": column})
    ranker = tiny(ranker_class)
    try:
        ranker.fit(frame, Y, QID)
    except ValueError as error:
        check_message(error, column)
        return
    np.testing.assert_array_equal(ranker.predict(frame), fit(ranker_class).predict(X))
    assert ranker.feature_names_in_[0] == column
    assert column in ranker.get_feature_importances().index
    path = tmp_path / "model.json"
    ranker.save_model(path)
    again = ranker_class().load_model(path)
    np.testing.assert_array_equal(again.predict(frame), ranker.predict(frame))


@pytest.mark.parametrize("cv", ["a", 0, 1, 2.5, None, True], ids=lambda cv: f"cv-{cv}")
def test_folds_that_are_none(cv):
    ranker = tiny(br.LightGBMRanker)
    check_fault(lambda: br.grid_search(ranker, {"k": [1]}, X, Y, QID, cv=cv), r"\bcv\b|n_splits|folds")
    check_fault(lambda: br.cross_validate(ranker, X, Y, QID, cv=cv), r"\bcv\b|n_splits|folds")


HUGE = 10**30


def test_cutoffs_beyond_int64_count_all_ranks():
    rows = Y, X[:, 0], QID
    for name in ("ndcg", "recall", "map", "mrr", "err", "rbp"):
        measure = metrics.get_measure(name)
        assert metrics.get_measure(f"{name}@{HUGE}")(*rows) == measure(*rows)
    assert metrics.precision_score([1, 0], [1, 0], [0, 0], k=HUGE) == pytest.approx(1e-30)
    assert metrics.ndcg_curve(*rows, ks=[HUGE])[0] == pytest.approx(br.ndcg_score(*rows))
    np.testing.assert_array_equal(br.expected_ndcg(*rows, k=HUGE), br.expected_ndcg(*rows))


@pytest.mark.parametrize("ranker_class", RANKERS.values(), ids=RANKERS)
def test_rankers_at_a_cutoff_beyond_int64(ranker_class):
    np.testing.assert_array_equal(fit(ranker_class, k=HUGE).predict(X), fit(ranker_class, k=None).predict(X))
