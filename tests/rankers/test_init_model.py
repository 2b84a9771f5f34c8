"""Training that starts from a model or from scores, in `fit`."""

import lightgbm
import numpy as np
import pandas as pd
import pytest
import xgboost
from cases import for_each
from loss_defaults import PLAIN

import boostrank as br

VALIDATION = br.make_ranking(n_queries=30, random_state=4)
NATIVE = {br.LightGBMRanker: "lambdarank", br.XGBoostRanker: "rank:ndcg"}


def small(ranker_class, objective="softmax", **parameters):
    """A ranker that draws no random numbers, so that rounds that are added are those of one
    training."""
    objective = NATIVE[ranker_class] if objective == "native" else objective
    settings = {"n_estimators": 6, "random_state": 0, "n_jobs": 1, **PLAIN}
    return ranker_class(objective, **settings | parameters)


def positions_in_query(qid):
    """Position of each document in its query, counted from 0."""
    return np.concatenate([np.arange(size) for size in np.bincount(qid)])


def test_only_the_model_or_only_the_data_may_have_names(ranker_class, data, frame):
    X, y, qid = data
    named, unnamed = (small(ranker_class).fit(features, y, qid) for features in (frame, X))
    went_on = [
        small(ranker_class)
        .fit(features, y, qid, init_model=model, eval_set=[(features, y, qid)])
        .predict(features)
        for features, model in ((X, unnamed), (X, named), (frame, unnamed))
    ]
    np.testing.assert_array_equal(went_on[1:], [went_on[0]] * 2)


@pytest.mark.parametrize("objective", ["softmax", "squared", "native"])
def test_six_rounds_and_six_more_are_twelve(ranker_class, data, objective, tmp_path):
    expected = small(ranker_class, objective, n_estimators=12).fit(*data)
    first = small(ranker_class, objective).fit(*data)
    scores = first.predict(data[0])
    first.save_model(tmp_path / "model.txt")
    for model in (first, first.booster_, tmp_path / "model.txt", str(tmp_path / "model.txt")):
        again = small(ranker_class, objective).fit(*data, init_model=model)
        np.testing.assert_array_equal(again.predict(VALIDATION[0]), expected.predict(VALIDATION[0]))
        assert again.best_iteration_ == 12
    np.testing.assert_array_equal(first.predict(data[0]), scores)
    assert first.best_iteration_ == 6


def test_early_stopping_begins_with_the_new_rounds(ranker_class, data):
    first = small(ranker_class).fit(*data)
    ranker = small(ranker_class, n_estimators=60, early_stopping_rounds=3, learning_rate=0.3)
    ranker.fit(*data, eval_set=[VALIDATION], init_model=first)
    values = ranker.evals_result_["valid_0"]["ndcg"]
    assert len(values) == np.argmax(values) + 4
    assert (
        ranker.best_iteration_
        == 6 + np.argmax(values) + 1
        == len(list(ranker.staged_predict(data[0][:1])))
    )
    assert ranker.best_score_ == {"valid_0": {"ndcg": max(values)}}
    assert ranker.score(*VALIDATION) == pytest.approx(max(values), abs=1e-6)


def test_a_native_model_goes_on_with_its_own_start(data):
    X, y, qid = data
    matrix, settings = (
        xgboost.DMatrix(X, y > 0, qid=qid),
        {"n_estimators": 1, "learning_rate": 1e-6},
    )
    booster = xgboost.train(
        {"objective": "reg:squarederror", "base_score": 0.25, "nthread": 1}, matrix, 3
    )
    ranker = small(br.XGBoostRanker, **settings).fit(X, y, qid, init_model=booster)
    np.testing.assert_allclose(ranker.predict(X), booster.predict(matrix), atol=1e-4)
    dataset = lightgbm.Dataset(X, (y > 0).astype(float))
    native = lightgbm.train({"objective": "binary", "verbosity": -1, "num_threads": 1}, dataset, 3)
    ranker = small(br.LightGBMRanker, **settings).fit(X, y, qid, init_model=native)
    np.testing.assert_allclose(ranker.predict(X), native.predict(X, raw_score=True), atol=1e-4)


def test_categories_go_on_and_others_cannot(ranker_class, data):
    X, y, qid = data
    frame = pd.DataFrame(X).add_prefix("x").assign(kind=pd.Categorical(np.where(y > 1, "a", "b")))
    first = small(ranker_class).fit(frame, y, qid)
    again = small(ranker_class).fit(frame, y, qid, init_model=first)
    expected = small(ranker_class, n_estimators=12).fit(frame, y, qid)
    np.testing.assert_array_equal(again.predict(frame), expected.predict(frame))
    other = frame.assign(kind=frame["kind"].cat.reorder_categories(["b", "a"]))
    for features in (other, frame.assign(kind=y)):
        with pytest.raises(
            ValueError, match="init_model was trained on columns with other categories"
        ):
            small(ranker_class).fit(features, y, qid, init_model=first)


@pytest.mark.parametrize("objective", ["softmax", "native"])
def test_scores_of_a_model_with_other_bins_are_its_own(ranker_class, data, objective):
    X, y, qid = data
    first = small(ranker_class, objective, max_bin=15).fit(*VALIDATION)
    sets = {"eval_set": {"a": VALIDATION, "b": data}, "eval_metric": br.get_measure("ndcg")}
    ranker = small(ranker_class, objective).fit(X, y, qid, init_model=first, **sets)
    for name, (features, labels, queries) in {"a": VALIDATION, "b": data}.items():
        expected = br.ndcg_score(labels, ranker.predict(features), queries)
        assert ranker.best_score_[name]["ndcg"] == pytest.approx(expected, abs=1e-9)


def test_other_models_are_errors(ranker_class, data, frame, fitted):
    X, y, qid = data
    other, first = (
        next(one for one in NATIVE if one is not ranker_class),
        fitted(ranker_class, named=True),
    )
    for features, model, error, message in (
        (X, fitted(other), TypeError, "init_model must be a model of"),
        (X, 3, TypeError, "got int"),
        (X[:, :9], fitted(ranker_class), ValueError, r"trained on 10 features, and X has 9\. Its"),
        (
            frame.iloc[:, :9],
            first,
            ValueError,
            r"X has 9; .* from feature 9 on: \['.*'\] in the model, none in X",
        ),
        (frame.iloc[:, ::-1], first, ValueError, r"trained on 10 features.*same sequence"),
        (X, "nothing.txt", FileNotFoundError, "nothing"),
    ):
        with pytest.raises(error, match=message):
            small(ranker_class).fit(features, y, qid, init_model=model)
    if ranker_class is br.LightGBMRanker:
        for scores in ({"init_score": y}, {"eval_set": [data], "eval_init_score": [y]}):
            with pytest.raises(ValueError, match="no init_model beside init_score"):
                small(ranker_class).fit(X, y, qid, init_model=fitted(ranker_class), **scores)


def test_settings_of_the_model_of_xgboost_stay(data):
    X, y, qid = data
    features = np.where(X > 1, -1.0, X)
    first = small(br.XGBoostRanker, missing=-1).fit(features, y, qid)
    expected = small(br.XGBoostRanker, n_estimators=12, missing=-1).fit(features, y, qid)
    again = small(br.XGBoostRanker, missing=-1).fit(features, y, qid, init_model=first)
    np.testing.assert_array_equal(again.predict(features), expected.predict(features))
    with pytest.raises(
        ValueError, match=r"missing must be -1\.0, as in the training of init_model; got nan"
    ):
        small(br.XGBoostRanker).fit(features, y, qid, init_model=first)
    with pytest.raises(
        ValueError, match="booster must be 'gbtree', as in the training of init_model; got"
    ):
        small(br.XGBoostRanker, booster="dart", missing=-1).fit(features, y, qid, init_model=first)


@pytest.mark.parametrize("objective", ["softmax", "native"])
def test_initial_scores_take_the_place_of_a_model(ranker_class, data, objective):
    X, y, qid = data
    first = small(ranker_class, objective).fit(X, y, qid)
    start, of_validation = first.predict(X), first.predict(VALIDATION[0])
    sets = {"eval_set": [VALIDATION], "eval_metric": br.get_measure("ndcg")}
    expected = small(ranker_class, objective, n_estimators=12).fit(X, y, qid, **sets)
    # The queries are mixed, but the documents of each stay in sequence, by which native objectives
    # break ties.
    rows = np.argsort(positions_in_query(qid), kind="stable")
    sets["eval_init_score"] = [of_validation]
    ranker = small(ranker_class, objective).fit(
        X[rows], y[rows], qid[rows], init_score=start[rows], **sets
    )
    scores = of_validation + ranker.predict(VALIDATION[0])
    np.testing.assert_allclose(scores, expected.predict(VALIDATION[0]), atol=1e-5)
    ours, theirs = (one.evals_result_["valid_0"]["ndcg"] for one in (ranker, expected))
    np.testing.assert_allclose(ours, theirs[6:], atol=1e-6)
    held_out = small(ranker_class, objective, validation_fraction=0.3)
    held_out.fit(X, y, qid, init_score=start, eval_metric="ndcg")
    _, rest = br.split_queries(qid, 0.3, random_state=np.random.RandomState(0))
    last = br.ndcg_score(y[rest], start[rest] + held_out.predict(X[rest]), qid[rest])
    assert held_out.best_score_["valid_0"]["ndcg"] == pytest.approx(last, abs=1e-6)


@for_each(
    ("scores", "message"),
    [([1.0], "has 1 values for the 777"), (["x"] * 777, "numbers"), ([np.nan] * 777, "finite")],
)
def test_initial_scores_are_checked(ranker_class, data, scores, message):
    with pytest.raises(ValueError, match=f"init_score .*{message}"):
        small(ranker_class).fit(*data, init_score=scores)


def test_positions_reach_lightgbm(data):
    X, y, qid = data
    position, ranker = positions_in_query(qid), small(br.LightGBMRanker, "native")
    scores = ranker.fit(X, y, qid, position=position + 5).predict(X)
    settings = {
        "objective": "lambdarank",
        "verbosity": -1,
        "deterministic": True,
        "force_col_wise": True,
    }
    dataset = lightgbm.Dataset(
        X, y, group=np.bincount(qid), position=position, params={"verbosity": -1}
    )
    booster = lightgbm.train(
        {**settings, "num_threads": 1, "seed": 0, "min_sum_hessian_in_leaf": 1e-3}, dataset, 6
    )
    np.testing.assert_array_equal(scores, booster.predict(X, raw_score=True))
    assert not np.array_equal(scores, ranker.fit(X, y, qid).predict(X))
    rows = np.argsort(position, kind="stable")
    np.testing.assert_array_equal(
        ranker.fit(X[rows], y[rows], qid[rows], position=position[rows]).predict(X), scores
    )
    for other, given, message in (
        (
            small(br.LightGBMRanker, "softmax"),
            position,
            "position is only for objective='lambdarank'",
        ),
        (
            small(br.LightGBMRanker, "rank_xendcg"),
            position,
            "position is only for objective='lambdarank'",
        ),
        (
            small(br.XGBoostRanker, "native"),
            position,
            "XGBoost takes no position.*lambdarank_unbiased",
        ),
        (ranker, position[:-1], "position has 776 values"),
    ):
        with pytest.raises(ValueError, match=message):
            other.fit(X, y, qid, position=given)
