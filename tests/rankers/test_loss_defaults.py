"""Defaults of parameters that are None: those of boostrank for its losses, and otherwise those of the library."""

import json

import numpy as np
import pytest

import boostrank as br
from boostrank.backends.lightgbm import parameters as of_lightgbm
from boostrank.backends.xgboost import parameters as of_xgboost
from boostrank.training.features import TrainingFeatures
from boostrank.training.settings import (
    LOSS_LEARNING_RATE,
    LOSS_ROUNDS,
    MAX_LEARNING_RATE,
    MIN_NODE_FEATURES,
    NODE_SHARE,
    QUERY_SHARE,
    TREE_SHARE,
)

SMALL = {"n_estimators": 2, "n_jobs": 1, "random_state": 0}
NATIVE = {br.LightGBMRanker: ["lambdarank", "rank_xendcg"], br.XGBoostRanker: ["rank:ndcg", "rank:pairwise"]}
#: `reg_lambda` and `min_child_weight` for the losses of boostrank, and of the libraries themselves.
THEIRS = {br.LightGBMRanker: (0.0, 1e-3), br.XGBoostRanker: (1.0, 1.0)}
OURS = {
    one: (own.LOSS_DEFAULTS["reg_lambda"], own.LOSS_DEFAULTS.get("min_child_weight", THEIRS[one][1]))
    for one, own in ((br.LightGBMRanker, of_lightgbm), (br.XGBoostRanker, of_xgboost))
}
SHAPE = {br.LightGBMRanker: of_lightgbm.TREE_SHAPE, br.XGBoostRanker: of_xgboost.TREE_SHAPE}
#: Shares of the features that losses of boostrank draw for a tree and for a node of it, with the ten features of the
#: data of these tests: eight features at each node.
TREES, NODES = 1.0, MIN_NODE_FEATURES / 10


def of_trees(ranker):
    """The parameters of the trees of a fitted ranker on XGBoost, read from its booster, as text."""
    booster = json.loads(ranker.booster_.save_config())["learner"]["gradient_booster"]
    return booster.get("gbtree", booster)["tree_train_param"]


def in_booster(ranker, *names):
    """Parameters of a fitted ranker, read from its booster, by their names in the ranker."""
    if isinstance(ranker, br.LightGBMRanker):
        values = dict(line[1:-1].split(": ") for line in ranker.booster_.model_to_string().splitlines() if ": " in line)
    else:
        values = of_trees(ranker)
    return tuple(round(float(values[ranker._backend.PARAMETERS[name]]), 6) for name in names)


@pytest.fixture
def specified(ranker_class):
    """A function that gives the specification of the training of a ranker with these parameters."""

    def specify(*objective, n_features=10, **parameters):
        features = TrainingFeatures()
        features.n_features_in_ = n_features
        settings = ranker_class(*objective, **parameters)._settings()
        return settings.specification(features, settings.random_state())

    return specify


def test_rounds_and_learning_rate(ranker_class, specified):
    rate = ranker_class._backend.PARAMETERS["learning_rate"]

    def chosen(*objective, **parameters):
        specification = specified(*objective, **parameters)
        return specification.n_rounds, specification.parameters[rate]

    for objective in ((), ("softmax",), ("edge-logistic",)):
        assert chosen(*objective) == chosen(*objective, n_estimators=None) == (LOSS_ROUNDS, LOSS_LEARNING_RATE)
    # Rounds times rate stay the same, as far as the rate is at most 0.1.
    total = LOSS_ROUNDS * LOSS_LEARNING_RATE
    for n_rounds in (1, 150, 151, 2000):
        n, found = chosen(n_estimators=n_rounds)
        assert (n, found) == (n_rounds, pytest.approx(min(MAX_LEARNING_RATE, total / n_rounds)))
    # Where the rounds are found in the training, they do not decide.
    assert chosen(early_stopping_rounds=3) == (LOSS_ROUNDS, LOSS_LEARNING_RATE)
    assert chosen(early_stopping_rounds=3, n_estimators=20) == (20, LOSS_LEARNING_RATE)
    assert chosen(n_estimators="auto")[1] == LOSS_LEARNING_RATE
    for objective in (NATIVE[ranker_class][0], squares):
        assert chosen(objective) == (100, 0.1)
        assert chosen(objective, n_estimators=700) == (700, 0.1)
        assert chosen(objective, early_stopping_rounds=3) == (100, 0.1)
    for objective in ("softmax", NATIVE[ranker_class][0], squares):
        assert chosen(objective, n_estimators=700, learning_rate=0.3) == (700, 0.3)


def test_shares_of_queries_and_of_features(ranker_class, specified):
    names = [ranker_class._backend.PARAMETERS[name] for name in ("colsample_bytree", "colsample_bynode")]
    assert specified().query_share == specified("edge-logistic", n_features=3).query_share == QUERY_SHARE
    for objective in (*NATIVE[ranker_class], squares):
        specification = specified(objective)
        assert specification.query_share == 1
        assert not set(names) & set(specification.parameters)
    assert specified(squares, subsample_queries=0.3).query_share == specified(subsample_queries=0.3).query_share == 0.3


def test_shares_of_features(ranker_class, specified):
    names = [ranker_class._backend.PARAMETERS[name] for name in ("colsample_bytree", "colsample_bynode")]

    def shares(n_features, **parameters):
        found = specified(n_features=n_features, **parameters).parameters
        return [found[name] for name in names]

    for n_features in (20, 1000):
        assert shares(n_features) == pytest.approx([TREE_SHARE, NODE_SHARE])
    for n_features in (1, 7, 8, 9, 16, 17, 19):
        by_tree, by_node = shares(n_features)
        # At least eight features at a node, and twice as many for a tree, as far as there are as many.
        assert by_tree * by_node * n_features == pytest.approx(min(MIN_NODE_FEATURES, n_features))
        assert by_tree * n_features == pytest.approx(min(MIN_NODE_FEATURES / NODE_SHARE, n_features))
    # With a share of the user, the other one follows.
    assert shares(50, colsample_bytree=0.6) == pytest.approx([0.6, TREE_SHARE * NODE_SHARE / 0.6])
    assert shares(50, colsample_bytree=0.3) == [0.3, 1.0]
    assert shares(50, colsample_bynode=0.3) == [1.0, 0.3]
    assert shares(50, colsample_bytree=0.6, colsample_bynode=0.3) == [0.6, 0.3]


def test_parameters_of_random_trees_reach_the_booster(ranker_class, data):
    few = [values[data[2] < 5] for values in data]
    ranker = ranker_class(n_jobs=1, random_state=0).fit(*few, eval_set=[few])
    assert len(ranker.evals_result_["training"]["ndcg"]) == LOSS_ROUNDS
    names = ("learning_rate", "colsample_bytree", "colsample_bynode")
    assert in_booster(ranker, *names) == (LOSS_LEARNING_RATE, TREES, NODES)


def test_leaves_of_our_losses_on_lightgbm(data):
    def leaves(*objective, **parameters):
        return in_booster(br.LightGBMRanker(*objective, **SMALL, **parameters).fit(*data), "num_leaves")[0]

    assert leaves() == leaves("edge-logistic", num_leaves=None) == SHAPE[br.LightGBMRanker]["num_leaves"]
    assert leaves("lambdarank") == leaves("rank_xendcg", num_leaves=None) == leaves(squares) == 31
    assert leaves(num_leaves=5) == leaves("lambdarank", num_leaves=5) == leaves(squares, num_leaf=5) == 5


def test_trees_of_our_losses_on_xgboost_grow_by_leaves(data):
    def shape(objective="softmax", **parameters):
        trained = of_trees(br.XGBoostRanker(objective, **SMALL, **parameters).fit(*data))
        return trained["grow_policy"], int(trained["max_leaves"]), int(trained["max_depth"])

    ours, theirs = (
        (*(SHAPE[br.XGBoostRanker][name] for name in ("grow_policy", "max_leaves", "max_depth")),),
        ("depthwise", 0, 6),
    )
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


def test_trees_of_our_losses_on_xgboost_have_a_limit_of_leaves(data):
    trees = br.XGBoostRanker(**SMALL, min_child_weight=0.0, reg_lambda=0.0).fit(*data).booster_.trees_to_dataframe()
    leaves = trees[trees["Feature"] == "Leaf"].groupby("Tree").size()
    assert leaves.tolist() == [SHAPE[br.XGBoostRanker]["max_leaves"]] * 2


@pytest.mark.parametrize(("objective", "expected"), [("softmax", "1"), ("rank:ndcg", "0")])
def test_rounds_of_our_losses_on_xgboost_have_their_own_seeds(data, objective, expected):
    # So the rounds of a training do not depend on other trainings in the same process.
    booster = br.XGBoostRanker(objective, **SMALL).fit(*data).booster_
    assert json.loads(booster.save_config())["learner"]["generic_param"]["seed_per_iteration"] == expected


def squares(y, scores):
    return scores - y, np.ones(len(y))


@pytest.fixture
def trained(ranker_class, data):
    """A function that gives the two parameters of the booster of a ranker with these parameters."""

    def of(*objective, **parameters):
        ranker = ranker_class(*objective, **SMALL, **parameters).fit(*data)
        return in_booster(ranker, "reg_lambda", "min_child_weight")

    return of


def test_penalties_are_ours_for_our_losses_and_those_of_the_library_for_others(ranker_class, trained):
    for objective in ((), (br.surrogates.get_surrogate("cosine"),), ("edge-logistic",)):
        assert trained(*objective) == OURS[ranker_class]
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
