"""Defaults of parameters that are None: those of boostrank for its losses, and otherwise those of the library."""

import json

import numpy as np
import pytest

import boostrank as br
from boostrank.rankers import automatic

SMALL = {"n_estimators": 2, "n_jobs": 1, "random_state": 0}
NATIVE = {br.LightGBMRanker: ["lambdarank", "rank_xendcg"], br.XGBoostRanker: ["rank:ndcg", "rank:pairwise"]}
#: `reg_lambda` and `min_child_weight` for the losses of boostrank, and of the libraries themselves.
OURS = {br.LightGBMRanker: (50.0, 1e-3), br.XGBoostRanker: (50.0, 20.0)}
THEIRS = {br.LightGBMRanker: (0.0, 1e-3), br.XGBoostRanker: (1.0, 1.0)}


def of_trees(ranker):
    """The parameters of the trees of a fitted ranker on XGBoost, read from its booster, as text."""
    booster = json.loads(ranker.booster_.save_config())["learner"]["gradient_booster"]
    return booster.get("gbtree", booster)["tree_train_param"]


def test_nodes_of_our_losses_on_xgboost_draw_their_features(data):
    def share(objective="softmax", **parameters):
        ranker = br.XGBoostRanker(objective, **SMALL, **parameters).fit(*data)
        return round(float(of_trees(ranker)["colsample_bynode"]), 6)

    assert share() == share(colsample_bynode=None) == share(booster="dart") == 0.7
    assert share("rank:ndcg") == share(squares) == share(colsample_bynode=1.0) == 1.0
    assert share("rank:ndcg", colsample_bynode=0.4) == share(colsample_bynode=0.4) == 0.4
    # The exact tree method does not have it.
    assert share(tree_method="exact") == 1.0
    with pytest.raises(ValueError, match=r"colsample_bynode must be a number above 0 and at most 1"):
        share(colsample_bynode=0.0)


def test_trees_of_our_losses_on_xgboost_grow_by_leaves(data):
    def shape(objective="softmax", **parameters):
        trained = of_trees(br.XGBoostRanker(objective, **SMALL, **parameters).fit(*data))
        return trained["grow_policy"], int(trained["max_leaves"]), int(trained["max_depth"])

    ours, theirs = ("lossguide", 31, 0), ("depthwise", 0, 6)
    assert shape() == shape("edge-logistic") == shape(booster="dart") == shape(tree_method="approx") == ours
    assert shape("rank:ndcg") == shape(squares) == theirs
    # Whoever sets one of the three gets XGBoost's defaults of the others.
    assert shape(max_depth=6) == shape("rank:ndcg", max_depth=6) == theirs
    assert shape(max_depth=3) == ("depthwise", 0, 3)
    assert shape(max_leaves=5) == ("depthwise", 5, 6)
    assert shape(grow_policy="lossguide") == ("lossguide", 0, 6)
    assert shape("rank:ndcg", grow_policy="lossguide", max_leaves=4, max_depth=0) == ("lossguide", 4, 0)
    # The exact tree method has only the depth.
    assert shape(tree_method="exact") == theirs
    assert shape(tree_method="exact", max_depth=3) == ("depthwise", 0, 3)


def test_trees_of_our_losses_on_xgboost_have_at_most_31_leaves(data):
    trees = br.XGBoostRanker(**SMALL, min_child_weight=0.0, reg_lambda=0.0).fit(*data).booster_.trees_to_dataframe()
    leaves = trees[trees["Feature"] == "Leaf"].groupby("Tree").size()
    assert leaves.tolist() == [31, 31]


@pytest.mark.parametrize(("objective", "expected"), [("softmax", "1"), ("rank:ndcg", "0")])
def test_rounds_of_our_losses_on_xgboost_have_their_own_seeds(data, objective, expected):
    # So the rounds of a training do not depend on other trainings in the same process.
    booster = br.XGBoostRanker(objective, **SMALL).fit(*data).booster_
    assert json.loads(booster.save_config())["learner"]["generic_param"]["seed_per_iteration"] == expected


def squares(y, scores):
    return scores - y, np.ones(len(y))


def in_booster(ranker):
    """`reg_lambda` and `min_child_weight` of a fitted ranker, read from its booster."""
    if isinstance(ranker, br.LightGBMRanker):
        lines = dict(line[1:-1].split(": ") for line in ranker.booster_.model_to_string().splitlines() if ": " in line)
        return float(lines["lambda_l2"]), float(lines["min_sum_hessian_in_leaf"])
    return float(of_trees(ranker)["lambda"]), float(of_trees(ranker)["min_child_weight"])


@pytest.fixture
def trained(ranker_class, data):
    """A function that gives the two parameters of the booster of a ranker with these parameters."""
    return lambda *objective, **parameters: in_booster(ranker_class(*objective, **SMALL, **parameters).fit(*data))


@pytest.mark.parametrize("objective", [(), (br.surrogates.get_surrogate("cosine"),), ("edge-logistic",)], ids=str)
def test_losses_of_boostrank_have_its_defaults(ranker_class, trained, objective):
    assert trained(*objective) == OURS[ranker_class]
    assert trained(*objective, reg_lambda=None, min_child_weight=None) == OURS[ranker_class]


def test_objectives_of_the_library_and_functions_have_those_of_the_library(ranker_class, trained):
    for objective in (*NATIVE[ranker_class], squares):
        assert trained(objective) == THEIRS[ranker_class]
        assert trained(objective, reg_lambda=None, min_child_weight=None) == THEIRS[ranker_class]


@pytest.mark.parametrize(("objective", "reg_lambda"), [("softmax", 0), ("native", 3.0), (squares, 3.0)])
def test_values_that_were_given_are_kept_under_all_their_names(ranker_class, trained, objective, reg_lambda):
    objective = NATIVE[ranker_class][0] if objective == "native" else objective
    expected = (reg_lambda, 2.0)
    assert trained(objective, reg_lambda=reg_lambda, min_child_weight=2.0) == expected
    others = {
        br.LightGBMRanker: [("lambda_l2", "min_sum_hessian_in_leaf"), ("lambda", "min_hessian")],
        br.XGBoostRanker: [("lambda", "min_child_weight")],
    }
    for names in others[ranker_class]:
        assert trained(objective, **dict(zip(names, expected, strict=True))) == expected


@pytest.mark.slow
def test_candidates_of_auto_have_the_defaults_of_their_objectives(ranker_class, data, monkeypatch):
    X, y, qid = data
    objectives = ["softmax", NATIVE[ranker_class][0]]
    monkeypatch.setattr(automatic, "ERRORS_TO_DROP", 1e9)
    monkeypatch.setattr(ranker_class, "_candidates", ({}, *({"objective": name} for name in objectives)))
    ranker = ranker_class("auto", **SMALL).fit(X, y, qid)
    scores = []
    for objective in ("consistent-lambdarank", *objectives):
        native = objective == objectives[-1]
        reg_lambda, min_child_weight = (THEIRS if native else OURS)[ranker_class]
        explicit = {"reg_lambda": reg_lambda, "min_child_weight": min_child_weight}
        held_out = []
        for train, test in br.QueryKFold(3, shuffle=True, random_state=0).split(X, groups=qid):
            one = ranker_class(objective, **SMALL, **explicit).fit(X[train], y[train], qid[train])
            held_out += [*br.ndcg_score(y[test], one.predict(X[test]), qid[test], k=10, per_query=True)]
        scores.append(np.mean(held_out))
    np.testing.assert_allclose(ranker.cv_results_["mean_test_score"], scores, atol=1e-6)
