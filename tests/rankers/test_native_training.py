"""Our losses: the models are those of lightgbm.train and xgboost.train, also with native parameters
of trees.

test_peers.py tests native parameters with the libraries' own objectives.
"""

import lightgbm
import numpy as np
import pytest
import xgboost
from bound_losses import bind_loss
from loss_defaults import LIGHTGBM_DEFAULTS, PLAIN_TREES, XGBOOST_PENALTIES, XGBOOST_SHAPE

import boostrank as br
from boostrank.ndcg.dcg import DCG
from boostrank.queries.queries import Queries

X, Y, QID = br.make_ranking(n_queries=20, random_state=3)
SIZES = np.bincount(QID)
ROUNDS = 6
BAGGING = {"subsample": 0.7, "subsample_freq": 1}
#: GOSS samples from the round 1 / learning_rate on.
LEARNING_RATE = 0.3


def by_hand(objective):
    """The gradient and Hessian of a loss, without any of the callables under test."""
    bound = bind_loss(objective, Y, Queries.from_sizes(SIZES), DCG(10))
    return lambda scores, _: tuple(array.copy() for array in bound.gradient_hessian(scores))


def scores(ranker_class, objective="softmax", **parameters):
    # The exact tree method does not draw the features of a node.
    by_node = {"colsample_bynode": None} if parameters.get("tree_method") == "exact" else {}
    settings = {
        "n_estimators": ROUNDS,
        "learning_rate": LEARNING_RATE,
        "n_jobs": 1,
        **PLAIN_TREES,
        **by_node,
    }
    return ranker_class(objective, **{**settings, **parameters}).fit(X, Y, QID).predict(X)


def scores_of_lightgbm_itself(objective, **parameters):
    native = {
        "deterministic": True,
        "force_col_wise": True,
        "num_threads": 1,
        "verbosity": -1,
        "metric": "None",
    }
    native.update(learning_rate=LEARNING_RATE, **LIGHTGBM_DEFAULTS, **parameters)
    dataset = lightgbm.Dataset(X, Y, group=SIZES, params=dict(native))
    native["objective"] = objective
    return lightgbm.train(native, dataset, ROUNDS).predict(X, raw_score=True)


def scores_of_xgboost_itself(objective, **parameters):
    native = {
        "base_score": 0,
        "disable_default_eval_metric": True,
        "nthread": 1,
        "eta": LEARNING_RATE,
    }
    native.update(XGBOOST_PENALTIES | parameters)
    if native.get("tree_method") != "exact" and not parameters.keys() & XGBOOST_SHAPE:
        native.update(XGBOOST_SHAPE)
    data = xgboost.DMatrix(X, Y, qid=QID, nthread=1)
    return xgboost.train(native, data, ROUNDS, obj=objective).predict(data, output_margin=True)


#: The training and the objective of each library.
LIBRARIES = {
    br.LightGBMRanker: (scores_of_lightgbm_itself, br.lightgbm_objective),
    br.XGBoostRanker: (scores_of_xgboost_itself, br.xgboost_objective),
}


@pytest.mark.parametrize("objective", ["softmax", "cosine", "edge-logistic"])
def test_the_library_gets_the_gradients_of_the_loss(ranker_class, objective):
    scores_of_library, bind_loss = LIBRARIES[ranker_class]
    expected, function = scores_of_library(by_hand(objective)), bind_loss(objective, k=10)
    np.testing.assert_array_equal(scores(ranker_class, objective, k=10), expected)
    np.testing.assert_array_equal(scores_of_library(function), expected)
    if ranker_class is br.LightGBMRanker:
        settings = {
            "n_estimators": ROUNDS,
            "learning_rate": LEARNING_RATE,
            "n_jobs": 1,
            **LIGHTGBM_DEFAULTS,
        }
        estimator = lightgbm.LGBMRanker(objective=function, metric="None", verbosity=-1, **settings)
        np.testing.assert_allclose(
            estimator.fit(X, Y, group=SIZES).predict(X), expected, rtol=1e-12
        )


@pytest.mark.parametrize(
    ("ranker_class", "native"),
    [
        (br.LightGBMRanker, {"data_sample_strategy": "goss", "top_rate": 0.3}),
        (br.LightGBMRanker, {"linear_tree": True, "linear_lambda": 1.0}),
        (
            br.LightGBMRanker,
            {"use_quantized_grad": True, "num_grad_quant_bins": 16, "quant_train_renew_leaf": True},
        ),
        (br.XGBoostRanker, {"tree_method": "exact"}),
        (
            br.XGBoostRanker,
            {"grow_policy": "lossguide", "max_leaves": 5, "max_depth": 0, "tree_method": "approx"},
        ),
        (br.XGBoostRanker, {"booster": "dart", "rate_drop": 0.5}),
        (
            br.XGBoostRanker,
            {"colsample_bynode": 0.5, "colsample_bylevel": 0.5, "max_delta_step": 0.1},
        ),
    ],
    ids=str,
)
def test_trees_are_those_of_the_library(ranker_class, native):
    scores_of_library, bind_loss = LIBRARIES[ranker_class]
    given = scores(ranker_class, **native)
    np.testing.assert_array_equal(given, scores_of_library(bind_loss("softmax"), **native))
    assert not np.array_equal(given, scores(ranker_class))


def test_a_random_forest_is_an_error():
    for objective, native in (
        ("softmax", {"boosting": "rf"}),
        ("lambdarank", {"boosting_type": "random_forest"}),
    ):
        with pytest.raises(ValueError, match="take no custom objective"):
            scores(br.LightGBMRanker, objective, **native, **BAGGING)


@pytest.mark.parametrize("native", [{"drop_rate": 0.5}, BAGGING], ids=str)
def test_dart_with_a_surrogate_gives_the_same_model_every_time(native):
    models = []
    for i in range(4):
        # The memory that LightGBM gets next has other contents every time.
        _ = [np.random.default_rng(i).bytes(400 + 100 * i) for _ in range(50)]
        models.append(scores(br.LightGBMRanker, boosting="dart", **native))
    assert all(np.array_equal(model, models[0]) for model in models)
    assert not np.array_equal(models[0], scores(br.LightGBMRanker, **native))


@pytest.mark.parametrize(
    "parameters", [{"max_leaves": 5}, {"grow_policy": "lossguide"}, {"max_bin": 16}], ids=str
)
def test_parameters_that_the_exact_tree_method_ignores_are_errors(parameters):
    with pytest.raises(
        ValueError, match=f"{next(iter(parameters))}=.* no effect.*tree_method='exact'"
    ):
        scores(br.XGBoostRanker, tree_method="exact", **parameters)
