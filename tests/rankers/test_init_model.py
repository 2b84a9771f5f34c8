"""Training that starts from a model or from scores, in `fit`."""

import lightgbm
import numpy as np
import pandas as pd
import pytest
import xgboost
from loss_defaults import PLAIN

import boostrank as br

VALIDATION = br.make_ranking(n_queries=30, random_state=4)
NATIVE = {br.LightGBMRanker: "lambdarank", br.XGBoostRanker: "rank:ndcg"}


def small(ranker_class, objective="softmax", **parameters):
    """A ranker that draws no random numbers, so that rounds that are added are those of one training."""
    objective = NATIVE[ranker_class] if objective == "native" else objective
    settings = {"n_estimators": 6, "random_state": 0, "n_jobs": 1, **PLAIN}
    return ranker_class(objective, **settings | parameters)


def positions_in_query(qid):
    """Position of each document in its query, counted from 0."""
    return np.concatenate([np.arange(size) for size in np.bincount(qid)])


def test_only_the_model_or_only_the_data_may_have_names(ranker_class, data, frame):
    X, y, qid = data
    named, unnamed = (small(ranker_class).fit(features, y, qid) for features in (frame, X))
    expected = small(ranker_class).fit(X, y, qid, init_model=unnamed).predict(X)
    for features, model in ((X, named), (frame, unnamed)):
        went_on = small(ranker_class).fit(features, y, qid, init_model=model, eval_set=[(features, y, qid)])
        np.testing.assert_array_equal(went_on.predict(features), expected)


@pytest.mark.parametrize("objective", ["softmax", "squared", "native"])
def test_six_rounds_and_six_more_are_twelve(ranker_class, data, objective):
    expected = small(ranker_class, objective, n_estimators=12).fit(*data)
    first = small(ranker_class, objective).fit(*data)
    scores = first.predict(data[0])
    again = small(ranker_class, objective).fit(*data, init_model=first)
    np.testing.assert_array_equal(again.predict(VALIDATION[0]), expected.predict(VALIDATION[0]))
    assert again.best_iteration_ == 12
    np.testing.assert_array_equal(first.predict(data[0]), scores)
    assert first.best_iteration_ == 6


def test_the_model_may_be_a_ranker_a_booster_or_a_file(ranker_class, data, tmp_path):
    first = small(ranker_class).fit(*data)
    first.save_model(tmp_path / "model.txt")
    expected = small(ranker_class, n_estimators=12).fit(*data).predict(data[0])
    for model in (first, first.booster_, tmp_path / "model.txt", str(tmp_path / "model.txt")):
        np.testing.assert_array_equal(small(ranker_class).fit(*data, init_model=model).predict(data[0]), expected)


def test_early_stopping_begins_with_the_new_rounds(ranker_class, data):
    first = small(ranker_class).fit(*data)
    ranker = small(ranker_class, n_estimators=60, early_stopping_rounds=3, learning_rate=0.3)
    ranker.fit(*data, eval_set=[VALIDATION], init_model=first)
    values = ranker.evals_result_["valid_0"]["ndcg"]
    assert ranker.best_iteration_ == 6 + np.argmax(values) + 1
    assert len(values) == np.argmax(values) + 4
    assert ranker.best_score_ == {"valid_0": {"ndcg": max(values)}}
    assert ranker._backend.n_rounds(ranker.booster_) == ranker.best_iteration_
    assert br.ndcg_score(VALIDATION[1], ranker.predict(VALIDATION[0]), VALIDATION[2]) == pytest.approx(
        max(values), abs=1e-6
    )


def test_refit_adds_the_rounds_that_were_found(ranker_class, data):
    first = small(ranker_class).fit(*data)
    stopping = {"n_estimators": 60, "early_stopping_rounds": 3, "validation_fraction": 0.3}
    ranker = small(ranker_class, **stopping, refit=True).fit(*data, init_model=first)
    new = np.argmax(ranker.evals_result_["valid_0"]["ndcg"]) + 1
    expected = small(ranker_class, n_estimators=new).fit(*data, init_model=first)
    np.testing.assert_array_equal(ranker.predict(data[0]), expected.predict(data[0]))
    assert ranker.best_iteration_ == expected.best_iteration_ == 6 + new


def test_a_native_model_goes_on_with_its_own_start(data):
    X, y, qid = data
    matrix = xgboost.DMatrix(X, y > 0, qid=qid)
    booster = xgboost.train({"objective": "reg:squarederror", "base_score": 0.25, "nthread": 1}, matrix, 3)
    ranker = small(br.XGBoostRanker, n_estimators=1, learning_rate=1e-6).fit(X, y, qid, init_model=booster)
    np.testing.assert_allclose(ranker.predict(X), booster.predict(matrix), atol=1e-4)
    native = lightgbm.train(
        {"objective": "binary", "verbosity": -1, "num_threads": 1}, lightgbm.Dataset(X, (y > 0).astype(float)), 3
    )
    ranker = small(br.LightGBMRanker, n_estimators=1, learning_rate=1e-6).fit(X, y, qid, init_model=native)
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
        with pytest.raises(ValueError, match="init_model was trained on columns with other categories"):
            small(ranker_class).fit(features, y, qid, init_model=first)


@pytest.mark.parametrize("objective", ["softmax", "native"])
def test_scores_of_a_model_with_other_bins_are_its_own(ranker_class, data, objective):
    X, y, qid = data
    first = small(ranker_class, objective, max_bin=15).fit(*VALIDATION)
    ranker = small(ranker_class, objective).fit(X, y, qid, init_model=first, eval_set={"a": VALIDATION, "b": data})
    for name, (features, labels, queries) in {"a": VALIDATION, "b": data}.items():
        expected = br.ndcg_score(labels, ranker.predict(features), queries)
        assert ranker.best_score_[name]["ndcg"] == pytest.approx(expected, abs=1e-9)


def test_other_models_are_errors(ranker_class, data, frame):
    X, y, qid = data
    other = next(one for one in NATIVE if one is not ranker_class)
    with pytest.raises(TypeError, match="init_model must be a model of"):
        small(ranker_class).fit(X, y, qid, init_model=small(other).fit(X, y, qid))
    with pytest.raises(TypeError, match="got int"):
        small(ranker_class).fit(X, y, qid, init_model=3)
    first = small(ranker_class).fit(frame, y, qid)
    with pytest.raises(ValueError, match=r"trained on 10 features.*X has 9"):
        small(ranker_class).fit(frame.iloc[:, :9], y, qid, init_model=first)
    with pytest.raises(ValueError, match=r"trained on 10 features.*same sequence"):
        small(ranker_class).fit(frame.iloc[:, ::-1], y, qid, init_model=first)
    with pytest.raises(FileNotFoundError):
        small(ranker_class).fit(X, y, qid, init_model="nothing.txt")


def test_the_number_for_missing_values_stays(data):
    X, y, qid = data
    features = np.where(X > 1, -1.0, X)
    first = small(br.XGBoostRanker, missing=-1).fit(features, y, qid)
    expected = small(br.XGBoostRanker, n_estimators=12, missing=-1).fit(features, y, qid)
    again = small(br.XGBoostRanker, missing=-1).fit(features, y, qid, init_model=first)
    np.testing.assert_array_equal(again.predict(features), expected.predict(features))
    with pytest.raises(ValueError, match=r"init_model was trained with missing=-1.0, and this ranker has missing=nan"):
        small(br.XGBoostRanker).fit(features, y, qid, init_model=first)


@pytest.mark.parametrize(("before", "now"), [("gbtree", "dart"), ("dart", "gbtree")])
def test_xgboost_goes_on_with_the_same_kind_of_model(data, before, now):
    first = small(br.XGBoostRanker, booster=before).fit(*data)
    with pytest.raises(ValueError, match=f"init_model was trained with booster='{before}'"):
        small(br.XGBoostRanker, booster=now).fit(*data, init_model=first)


@pytest.mark.parametrize("objective", ["softmax", "native"])
def test_initial_scores_take_the_place_of_a_model(ranker_class, data, objective):
    X, y, qid = data
    first = small(ranker_class, objective).fit(X, y, qid)
    start, of_validation = first.predict(X), first.predict(VALIDATION[0])
    expected = small(ranker_class, objective, n_estimators=12).fit(X, y, qid, eval_set=[VALIDATION])
    # The queries are mixed, but the documents of each stay in sequence, by which native objectives break ties.
    rows = np.argsort(positions_in_query(qid), kind="stable")
    ranker = small(ranker_class, objective).fit(
        X[rows], y[rows], qid[rows], init_score=start[rows], eval_set=[VALIDATION], eval_init_score=[of_validation]
    )
    scores = of_validation + ranker.predict(VALIDATION[0])
    np.testing.assert_allclose(scores, expected.predict(VALIDATION[0]), atol=1e-5)
    ours, theirs = (one.evals_result_["valid_0"]["ndcg"] for one in (ranker, expected))
    np.testing.assert_allclose(ours, theirs[6:], atol=1e-6)
    held_out = small(ranker_class, objective, validation_fraction=0.3).fit(X, y, qid, init_score=start)
    _, rest = br.split_queries(qid, 0.3, random_state=np.random.RandomState(0))
    assert held_out.evals_result_["valid_0"]["ndcg"][-1] == pytest.approx(
        br.ndcg_score(y[rest], start[rest] + held_out.predict(X[rest]), qid[rest]), abs=1e-6
    )


@pytest.mark.parametrize(
    ("scores", "message"), [([1.0], "has 1 values for the 777"), ("x", "numbers"), (np.nan, "finite")]
)
def test_initial_scores_are_checked(ranker_class, data, scores, message):
    X, y, qid = data
    given = scores if isinstance(scores, list) else [scores] * len(y)
    with pytest.raises(ValueError, match=f"init_score .*{message}"):
        small(ranker_class).fit(X, y, qid, init_score=given)


def test_positions_reach_lightgbm(data):
    X, y, qid = data
    position = positions_in_query(qid)
    ranker = small(br.LightGBMRanker, "native").fit(X, y, qid, position=position + 5)
    settings = {"objective": "lambdarank", "verbosity": -1, "deterministic": True, "force_col_wise": True}
    dataset = lightgbm.Dataset(X, y, group=np.bincount(qid), position=position, params={"verbosity": -1})
    booster = lightgbm.train({**settings, "num_threads": 1, "seed": 0, "min_sum_hessian_in_leaf": 1e-3}, dataset, 6)
    np.testing.assert_array_equal(ranker.predict(X), booster.predict(X, raw_score=True))
    assert not np.array_equal(ranker.predict(X), small(br.LightGBMRanker, "native").fit(X, y, qid).predict(X))
    rows = np.argsort(position, kind="stable")
    mixed = small(br.LightGBMRanker, "native").fit(X[rows], y[rows], qid[rows], position=position[rows])
    np.testing.assert_array_equal(mixed.predict(X), ranker.predict(X))
    strong = small(br.LightGBMRanker, "native", lambdarank_position_bias_regularization=10.0)
    assert not np.array_equal(strong.fit(X, y, qid, position=position).predict(X), ranker.predict(X))
    for objective in ("softmax", "rank_xendcg"):
        with pytest.raises(ValueError, match="position is only for objective='lambdarank'"):
            small(br.LightGBMRanker, objective).fit(X, y, qid, position=position)
    with pytest.raises(ValueError, match=r"XGBoost takes no position.*lambdarank_unbiased"):
        small(br.XGBoostRanker, "native").fit(X, y, qid, position=position)
    with pytest.raises(ValueError, match="position has 776 values"):
        small(br.LightGBMRanker, "native").fit(X, y, qid, position=position[:-1])


def test_lightgbm_takes_no_initial_scores_beside_a_model(data):
    scores = np.zeros(len(data[1]))
    first = small(br.LightGBMRanker).fit(*data)
    for arguments in ({"init_score": scores}, {"eval_set": [data], "eval_init_score": [scores]}):
        with pytest.raises(ValueError, match="no init_score beside init_model"):
            small(br.LightGBMRanker).fit(*data, init_model=first, **arguments)
