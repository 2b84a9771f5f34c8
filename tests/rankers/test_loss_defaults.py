"""Defaults of parameters that are None: those of boostrank for its losses, and otherwise those of
the library."""

import json
import re

import numpy as np
import pytest

import boostrank as br
from boostrank.backends.left_out_queries import FIXED_TOTAL_STEP, MAX_ROUNDS, MIN_TOTAL_STEP
from boostrank.backends.lightgbm import parameters as of_lightgbm
from boostrank.backends.xgboost import parameters as of_xgboost
from boostrank.inputs.checks import as_random_state
from boostrank.training.arguments import RoundArguments
from boostrank.training.defaults import (
    LARGE_DOCUMENTS,
    LARGE_LEARNING_RATE,
    MIN_NODE_FEATURES,
    NODE_SHARE,
    QUERY_SHARE,
    TREE_SHARE,
)
from boostrank.training.features import TrainingFeatures
from boostrank.training.specification import specify

SMALL = {"n_estimators": 2, "n_jobs": 1, "random_state": 0}
NATIVE = {
    br.LightGBMRanker: ["lambdarank", "rank_xendcg"],
    br.XGBoostRanker: ["rank:ndcg", "rank:pairwise"],
}


def squares(y, scores):
    return scores - y, np.ones(len(y))


@pytest.fixture
def specified(ranker_class):
    """A function that gives the specification of the training of a ranker with these parameters."""

    def of_ranker(*objective, n_features=10, n_documents=1000, n_added=0, **parameters):
        features = TrainingFeatures()
        features.n_features_in_ = n_features
        settings = ranker_class(*objective, **parameters)._settings()
        shape = n_documents, n_features + n_added
        return specify(
            settings, features, shape, as_random_state(settings.random_state), RoundArguments()
        )

    return of_ranker


@pytest.fixture
def given(ranker_class, specified):
    """A function that gives parameters of the library, by their names in the ranker; None where
    there is none."""

    def of(names, *objective, **parameters):
        values = specified(*objective, **parameters).parameters
        return [values.get(ranker_class._backend.parameters.PARAMETERS[name]) for name in names]

    return of


def test_rounds_and_learning_rate(ranker_class, specified, given):
    def chosen(*objective, **parameters):
        specification = specified(*objective, **parameters)
        rate = given(["learning_rate"], *objective, **parameters)
        return specification.n_rounds, specification.min_rounds, *rate

    usual = ranker_class._backend.parameters.LOSS_LEARNING_RATE
    least = round(MIN_TOTAL_STEP / usual)
    for objective in ((), ("softmax",), ("edge-logistic",)):
        expected = MAX_ROUNDS, least, usual
        assert chosen(*objective) == chosen(*objective, n_estimators=None) == expected
    # Large data have a larger rate, with fewer rounds. It does not depend on the rounds.
    for n_documents, rate in (
        (int(LARGE_DOCUMENTS * usual / LARGE_LEARNING_RATE), usual),
        (LARGE_DOCUMENTS * 3 // 4, 0.75 * LARGE_LEARNING_RATE),
        (LARGE_DOCUMENTS, LARGE_LEARNING_RATE),
        (10**9, LARGE_LEARNING_RATE),
    ):
        assert chosen(n_documents=n_documents) == (
            MAX_ROUNDS,
            round(MIN_TOTAL_STEP / rate),
            pytest.approx(rate),
        )
    assert chosen(n_documents=10**6, learning_rate=0.1) == (MAX_ROUNDS, 40, 0.1)
    assert chosen(n_estimators=20) == (20, None, usual)
    # Validation sets decide in place of left-out queries.
    assert chosen(early_stopping_rounds=3) == (MAX_ROUNDS, None, usual)
    # Where no queries are left out, the number is fixed.
    assert chosen(subsample_queries=1) == (
        round(FIXED_TOTAL_STEP / usual),
        None,
        usual,
    )
    assert chosen(subsample_queries=1, learning_rate=0.1) == (150, None, 0.1)
    for objective in (NATIVE[ranker_class][0], squares):
        assert chosen(objective) == chosen(objective, early_stopping_rounds=3) == (100, None, 0.1)
        assert chosen(objective, n_estimators=700) == (700, None, 0.1)
    for objective in ("softmax", NATIVE[ranker_class][0], squares):
        assert chosen(objective, n_estimators=700, learning_rate=0.3) == (700, None, 0.3)


def test_the_learning_rate_that_was_used_is_an_attribute(ranker_class, data, monkeypatch):
    monkeypatch.setattr("boostrank.training.defaults.LARGE_DOCUMENTS", 2 * len(data[1]))
    ranker = ranker_class(n_estimators=2, n_jobs=1)
    # Validation sets do not count, and queries that are held out do.
    assert ranker.fit(*data, eval_set=[data]).learning_rate_ == pytest.approx(0.08)
    ranker.set_params(validation_fraction=0.5)
    assert ranker.fit(*data).learning_rate_ == pytest.approx(0.08)
    assert (
        ranker_class("softmax", n_estimators=2, learning_rate=0.3).fit(*data).learning_rate_ == 0.3
    )


def test_shares_of_queries_and_features(ranker_class, specified, given):
    def shares(*objective, **parameters):
        return given(["colsample_bytree", "colsample_bynode"], *objective, **parameters)

    assert (
        specified().query_share
        == specified("edge-logistic", n_features=3).query_share
        == QUERY_SHARE
    )
    assert (
        specified(squares, subsample_queries=0.3).query_share
        == specified(subsample_queries=0.3).query_share
        == 0.3
    )
    for objective in (*NATIVE[ranker_class], squares):
        assert specified(objective).query_share == 1
        assert shares(objective) == [None, None]
    for n_features in (21, 1000):
        assert shares(n_features=n_features) == pytest.approx([TREE_SHARE, NODE_SHARE])
    for n_features in (1, 7, 8, 9, 13, 14, 20):
        by_tree, by_node = shares(n_features=n_features)
        # At least eight features at a node, and so many more for a tree, as far as there are as
        # many.
        assert by_tree * by_node * n_features == pytest.approx(min(MIN_NODE_FEATURES, n_features))
        assert by_tree * n_features == pytest.approx(
            min(MIN_NODE_FEATURES / NODE_SHARE, n_features)
        )
    # With features of lists, trees and nodes draw as many as from the columns of X alone.
    for n_features, n_nodes in ((1, 1), (10, 8), (50, TREE_SHARE * NODE_SHARE * 50)):
        by_tree, by_node = shares(n_features=n_features, n_added=2 * n_features)
        assert by_tree * by_node * 3 * n_features == pytest.approx(n_nodes)
        assert by_node == pytest.approx(NODE_SHARE)
    # With a share of the user, the other one follows.
    assert shares(n_features=50, colsample_bytree=0.6) == pytest.approx(
        [0.6, TREE_SHARE * NODE_SHARE / 0.6]
    )
    assert shares(n_features=50, colsample_bytree=0.3) == [0.3, 1.0]
    assert shares(n_features=50, colsample_bynode=0.3) == [1.0, 0.3]
    assert shares(n_features=50, colsample_bytree=0.6, colsample_bynode=0.3) == [0.6, 0.3]


def test_penalties(ranker_class, given):
    names, defaults = ("reg_lambda", "min_child_weight"), ranker_class().get_params()
    of_losses = ranker_class._backend.parameters.LOSS_DEFAULTS
    for objective in ((), (br.surrogates.get_surrogate("cosine"),), ("edge-logistic",)):
        assert given(names, *objective) == [of_losses.get(name, defaults[name]) for name in names]
    aliases = [("lambda_l2", "min_sum_hessian_in_leaf"), ("lambda", "min_hessian"), names]
    if ranker_class is br.XGBoostRanker:
        aliases = [("lambda", "min_child_weight"), names]
    for objective in ("softmax", NATIVE[ranker_class][0], squares):
        assert objective == "softmax" or given(names, objective) == [
            defaults[name] for name in names
        ]
        for pair in aliases:
            assert given(names, objective, **dict(zip(pair, (3.0, 2.0), strict=True))) == [3.0, 2.0]
        assert given(names, objective, reg_lambda=0)[0] == 0


def of_trees(ranker):
    """The parameters of the trees of a fitted ranker on XGBoost, read from its booster, as text."""
    booster = json.loads(ranker.booster_.save_config())["learner"]["gradient_booster"]
    return booster.get("gbtree", booster)["tree_train_param"]


def test_all_of_them_reach_the_booster(ranker_class, data, given):
    few = [values[data[2] < 5] for values in data]
    ranker = ranker_class(n_jobs=1, random_state=0).fit(*few, eval_set=[few])
    assert len(ranker.evals_result_["training"]["ndcg"]) == ranker.best_iteration_
    names = ["learning_rate", "colsample_bytree", "colsample_bynode", "reg_lambda"]
    if ranker_class is br.LightGBMRanker:
        values = dict(
            line[1:-1].split(": ")
            for line in ranker.booster_.model_to_string().splitlines()
            if ": " in line
        )
    else:
        values, names = of_trees(ranker), [*names, "min_child_weight"]
    stored = [float(values[ranker._backend.parameters.PARAMETERS[name]]) for name in names]
    assert stored == pytest.approx(given(names), rel=1e-6)


def test_leaves_of_our_losses_on_lightgbm(data):
    def leaves(*objective, **parameters):
        ranker = br.LightGBMRanker(*objective, **SMALL, **parameters).fit(*data)
        return int(re.search(r"\[num_leaves: (\d+)\]", ranker.booster_.model_to_string())[1])

    assert (
        leaves() == leaves("edge-logistic", num_leaves=None) == of_lightgbm.TREE_SHAPE["num_leaves"]
    )
    assert leaves("lambdarank") == leaves("rank_xendcg", num_leaves=None) == leaves(squares) == 31
    assert (
        leaves(num_leaves=5)
        == leaves("lambdarank", num_leaves=5)
        == leaves(squares, num_leaf=5)
        == 5
    )


def test_trees_of_our_losses_on_xgboost_grow_by_leaves(data):
    def shape(objective="softmax", **parameters):
        trained = of_trees(br.XGBoostRanker(objective, **SMALL, **parameters).fit(*data))
        return trained["grow_policy"], int(trained["max_leaves"]), int(trained["max_depth"])

    ours = tuple(of_xgboost.TREE_SHAPE[name] for name in ("grow_policy", "max_leaves", "max_depth"))
    theirs = ("depthwise", 0, 6)
    assert (
        shape()
        == shape("edge-logistic")
        == shape(booster="dart")
        == shape(tree_method="approx")
        == ours
    )
    assert shape("rank:ndcg") == shape(squares) == theirs
    # Whoever sets one of the three gets XGBoost's defaults of the others.
    assert shape(max_depth=6) == shape("rank:ndcg", max_depth=6) == theirs
    assert shape(max_depth=3) == ("depthwise", 0, 3)
    assert shape(max_leaves=5) == ("depthwise", 5, 6)
    assert shape(grow_policy="lossguide") == ("lossguide", 0, 6)
    # The exact tree method has only the depth.
    assert shape(tree_method="exact") == theirs
    assert shape(tree_method="exact", max_depth=3) == ("depthwise", 0, 3)
    for objective, expected in (("softmax", "1"), ("rank:ndcg", "0")):
        # Rounds have their own seeds, so that they do not depend on other trainings in the same
        # process.
        config = json.loads(br.XGBoostRanker(objective, **SMALL).fit(*data).booster_.save_config())
        assert config["learner"]["generic_param"]["seed_per_iteration"] == expected
