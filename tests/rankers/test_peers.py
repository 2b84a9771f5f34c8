"""With the libraries' own objectives, our rankers give the numbers of LGBMRanker and XGBRanker, bit for bit.

There are three differences, which are documented: our weights are relative, so that the libraries' rankers get weights
with the mean 1; our scores of a random forest are sums over its trees; and our NDCG of a query without relevant
documents is 0. Parameters of trees with our losses are tested in test_native_training.py.
"""

import lightgbm
import numpy as np
import pytest
import xgboost
from sklearn.exceptions import NotFittedError

import boostrank as br

X, Y, QID = br.make_ranking(n_queries=30, random_state=3)
X = X.astype(np.float32).astype(np.float64)
SIZES = np.bincount(QID)
X_VALID, Y_VALID, QID_VALID = br.make_ranking(n_queries=15, random_state=4)
SMALL = {"n_estimators": 5, "n_jobs": 1}
# LightGBM chooses by measured time how it builds histograms, and XGBoost's estimators have a learning rate of 0.3.
FIXED = {"deterministic": True, "force_col_wise": True, "verbose": -1}


def their_lightgbm(objective="lambdarank", **settings):
    return lightgbm.LGBMRanker(objective=objective, **{**SMALL, **FIXED, **settings})


def our_lightgbm(objective="lambdarank", **settings):
    return br.LightGBMRanker(objective, **{**SMALL, **settings})


def their_xgboost(objective="rank:ndcg", **settings):
    return xgboost.XGBRanker(
        objective=objective, **{"tree_method": "hist", "base_score": 0.0, "learning_rate": 0.1, **SMALL, **settings}
    )


def our_xgboost(objective="rank:ndcg", **settings):
    return br.XGBoostRanker(objective, **{**SMALL, **settings})


def relevance(objective):
    return np.minimum(Y, 1) if objective == "rank:map" else Y


# LightGBM


LIGHTGBM_SETTINGS = [
    {},
    {"num_leaves": 7, "learning_rate": 0.3, "min_child_samples": 3, "reg_lambda": 1.0, "reg_alpha": 0.1},
    {"subsample": 0.6, "subsample_freq": 1, "colsample_bytree": 0.5, "random_state": 7},
    {"boosting_type": "dart", "subsample": 0.7, "subsample_freq": 1, "random_state": 1},
    # GOSS samples from round 1 / learning_rate on.
    {"data_sample_strategy": "goss", "top_rate": 0.3, "learning_rate": 0.5, "random_state": 2},
    {"max_bin": 15, "extra_trees": True, "random_state": 3},
    {"bagging_by_query": True, "subsample": 0.5, "subsample_freq": 1, "random_state": 4},
    {"linear_tree": True, "linear_lambda": 1.0},
    {"use_quantized_grad": True, "num_grad_quant_bins": 16, "quant_train_renew_leaf": True},
]


@pytest.mark.parametrize(
    ("objective", "settings"),
    [
        *(("lambdarank", settings) for settings in LIGHTGBM_SETTINGS),
        *(("rank_xendcg", one) for one in LIGHTGBM_SETTINGS[:3]),
    ],
    ids=str,
)
def test_lightgbm_trains_the_model_of_lgbmranker(objective, settings):
    theirs = their_lightgbm(objective, **settings).fit(X, Y, group=SIZES).predict(X)
    ours = our_lightgbm(objective, **settings).fit(X, Y, group=SIZES).predict(X)
    np.testing.assert_array_equal(ours, theirs)
    assert np.ptp(ours) > 0
    if settings:
        rate = settings.get("learning_rate", 0.1)
        others_at_default = our_lightgbm(objective, learning_rate=rate).fit(X, Y, group=SIZES)
        assert not np.array_equal(ours, others_at_default.predict(X))


@pytest.mark.parametrize("settings", [{"lambdarank_truncation_level": 3}, {"lambdarank_norm": False}, {"sigmoid": 2.0}])
def test_parameters_of_lambdarank_reach_lightgbm(settings):
    theirs = their_lightgbm(**settings).fit(X, Y, group=SIZES).predict(X)
    np.testing.assert_array_equal(our_lightgbm(**settings).fit(X, Y, QID).predict(X), theirs)
    assert not np.array_equal(theirs, our_lightgbm().fit(X, Y, QID).predict(X))


def test_weights_with_the_mean_1_are_those_of_lightgbm():
    weights = np.random.default_rng(0).uniform(0.5, 1.5, 30)[QID]
    weights /= weights.mean()
    theirs = their_lightgbm().fit(X, Y, group=SIZES, sample_weight=weights)
    np.testing.assert_array_equal(our_lightgbm().fit(X, Y, QID, sample_weight=weights).predict(X), theirs.predict(X))


# XGBoost


XGBOOST_SETTINGS = [
    {},
    {"max_depth": 3, "learning_rate": 0.3, "min_child_weight": 0.1, "reg_lambda": 2.0, "gamma": 0.01},
    {"subsample": 0.6, "colsample_bytree": 0.5, "random_state": 7},
    {"booster": "dart", "rate_drop": 0.3, "random_state": 1},
    {"tree_method": "exact"},
    {"tree_method": "approx"},
    {"grow_policy": "lossguide", "max_leaves": 6, "max_depth": 0},
    {"lambdarank_pair_method": "mean", "lambdarank_num_pair_per_sample": 2, "random_state": 3},
    {"lambdarank_unbiased": True, "lambdarank_num_pair_per_sample": 4},
]


@pytest.mark.parametrize(
    ("objective", "settings"),
    [
        *(("rank:ndcg", settings) for settings in XGBOOST_SETTINGS),
        ("rank:pairwise", {}),
        ("rank:map", XGBOOST_SETTINGS[1]),
    ],
    ids=str,
)
def test_xgboost_trains_the_model_of_xgbranker(objective, settings):
    labels = relevance(objective)
    theirs = their_xgboost(objective, **settings).fit(X, labels, qid=QID)
    ours = our_xgboost(objective, **settings).fit(X, labels, QID)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X).astype(np.float64))
    assert np.ptp(ours.predict(X)) > 0


def test_gain_is_the_gain_of_xgboost():
    theirs = their_xgboost(ndcg_exp_gain=False).fit(X, Y, qid=QID)
    np.testing.assert_array_equal(our_xgboost(gain="linear").fit(X, Y, QID).predict(X), theirs.predict(X))


def test_initial_scores_are_the_base_margin_of_xgboost():
    start = np.random.default_rng(0).normal(size=len(Y)).astype(np.float32)
    theirs = their_xgboost().fit(X, Y, qid=QID, base_margin=start)
    np.testing.assert_array_equal(our_xgboost().fit(X, Y, QID, init_score=start).predict(X), theirs.predict(X))


# Both


both = pytest.mark.parametrize(("ours", "theirs"), [(our_lightgbm, their_lightgbm), (our_xgboost, their_xgboost)])


@both
def test_a_training_goes_on_as_that_of_the_libraries(ours, theirs):
    first = theirs().fit(X, Y, group=SIZES)
    expected = theirs().fit(X, Y, group=SIZES, **{"init_model" if ours is our_lightgbm else "xgb_model": first})
    booster = first.booster_ if ours is our_lightgbm else first.get_booster()
    for model in (first, booster):
        np.testing.assert_array_equal(ours().fit(X, Y, QID, init_model=model).predict(X), expected.predict(X))
    with pytest.raises(NotFittedError):
        ours().fit(X, Y, QID, init_model=theirs())


@both
def test_importances_are_those_of_the_libraries(ours, theirs):
    expected = theirs(importance_type="gain").fit(X, Y, group=SIZES).feature_importances_
    found = ours(importance_type="gain").fit(X, Y, QID).feature_importances_
    np.testing.assert_allclose(found / found.sum(), expected / expected.sum(), rtol=1e-5)


def test_a_seed_that_is_drawn_from_random_state_changes_with_each_fit():
    for ours, settings in (
        (our_lightgbm, {"subsample": 0.5, "subsample_freq": 1}),
        (our_xgboost, {"subsample": 0.5}),
    ):
        state = np.random.RandomState(0)
        ranker = ours(**settings, random_state=state)
        first, second = (ranker.fit(X, Y, QID).predict(X) for _ in range(2))
        assert not np.array_equal(first, second)
        np.testing.assert_array_equal(
            ours(**settings, random_state=np.random.RandomState(0)).fit(X, Y, QID).predict(X), first
        )


# Scripts in which only the import is changed

# LightGBM prefers eval_X and eval_y, and warns that eval_at is in the constructor and in fit.
of_lightgbm = pytest.mark.filterwarnings("ignore:The argument 'eval_set' is deprecated", "ignore:Found 'eval_at'")


def lightgbm_script(ranker_class, **settings):
    """A fit as users of LGBMRanker write it, and the names of its results."""
    rows = QID_VALID < 12
    ranker = ranker_class(
        **{"objective": None, "class_weight": None, "task": "train", "n_jobs": 1, "n_estimators": 50, **settings},
        **(FIXED if ranker_class is lightgbm.LGBMRanker else {}),
    )
    return ranker.fit(
        X,
        Y,
        group=SIZES.astype(float),
        eval_set=[(X_VALID[rows], Y_VALID[rows]), (X, Y)],
        eval_group=[np.bincount(QID_VALID[rows]), SIZES],
        eval_at=[3],
        feature_name="auto",
        categorical_feature="auto",
    )


@of_lightgbm
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"objective": "xendcg", "metric": ["ndcg", "mean_average_precision"]},
        {"objective": "xe_ndcg_mart", "n_estimators": 3},
        {"label_gain": [0, 1, 2, 3, 4, 5], "metric": "None"},
        {"label_gain": [0, 1, 5, 6, 20, 50], "metric": "map", "eval_at": [2]},
    ],
    ids=str,
)
def test_a_script_for_lgbmranker_gives_its_model(settings):
    theirs, ours = (lightgbm_script(one, **settings) for one in (lightgbm.LGBMRanker, br.LightGBMRanker))
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    if "label_gain" not in settings:
        assert {name: set(values) for name, values in ours.best_score_.items()} == {
            name: set(values) for name, values in theirs.best_score_.items()
        }
    if settings.get("metric") == "map":
        assert list(ours.best_score_["valid_0"]) == list(theirs.best_score_["valid_0"]) == ["map@2"]
    aliases = {None: "lambdarank", "xendcg": "rank_xendcg", "xe_ndcg_mart": "rank_xendcg"}
    assert ours.objective_ == aliases[settings.get("objective")]


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"base_score": 0.5, "objective": "rank:pairwise"},
        {"base_score": None, "missing": np.inf, "scale_pos_weight": None, "validate_parameters": True},
        {"callbacks": [xgboost.callback.LearningRateScheduler([0.3, 0.2, 0.1, 0.3, 0.2])]},
        {"eval_metric": ["ndcg@3", "ndcg@5-", "ndcg"]},
    ],
    ids=lambda settings: "-".join(settings),
)
def test_a_script_for_xgbranker_gives_its_model(settings):
    features = np.where(X > 2, np.inf, X) if "missing" in settings else X
    first = their_xgboost().fit(features, Y, qid=QID) if "base_score" not in settings else None
    rankers = [
        make(**settings).fit(
            features,
            Y,
            qid=QID,
            eval_set=[(features, Y), (X_VALID, Y_VALID)],
            xgb_model=first,
            eval_qid=[QID, QID_VALID],
            sample_weight_eval_set=None,
            verbose=False,
        )
        for make in (their_xgboost, our_xgboost)
    ]
    predicted = [ranker.predict(features, validate_features=True, output_margin=True) for ranker in rankers]
    np.testing.assert_allclose(predicted[1], predicted[0], atol=1e-7 if "base_score" in settings else 0)
    assert np.ptp(predicted[0]) > 0
    assert list(rankers[1].evals_result()) == list(rankers[0].evals_result()) == ["validation_0", "validation_1"]


def test_objective_none_of_xgboost_is_the_default_of_xgbranker():
    assert xgboost.XGBRanker().objective == our_xgboost(None).fit(X, Y, QID).objective_ == "rank:ndcg"


@of_lightgbm
@pytest.mark.parametrize("seed", range(3))
def test_with_the_metric_of_the_library_early_stopping_finds_its_round(seed):
    """Features of few values give many ties, and three queries have no relevant document."""
    draw = {"n_queries": 20, "random_state": seed}
    features, labels, ids = br.make_ranking(**draw)
    held_out = br.make_ranking(**{**draw, "random_state": seed + 100})
    relevance = np.where(held_out.qid < 3, 0, held_out.y)
    train, valid = features.round(), held_out.X.round()
    sizes, eval_sizes = np.bincount(ids), np.bincount(held_out.qid)
    settings = {"n_estimators": 60, "learning_rate": 0.2, "early_stopping_rounds": 4}
    of_fit = {"eval_set": [(valid, relevance)], "eval_group": [eval_sizes]}
    theirs = their_lightgbm(**settings).fit(train, labels, group=sizes, eval_at=[3], **of_fit)
    ours = our_lightgbm(**settings).fit(train, labels, group=sizes, eval_metric="lightgbm:ndcg@3", **of_fit)
    assert ours.best_iteration_ == theirs.best_iteration_
    np.testing.assert_allclose(
        ours.evals_result_["valid_0"]["ndcg@3"], theirs.evals_result_["valid_0"]["ndcg@3"], atol=1e-12
    )
    np.testing.assert_array_equal(ours.predict(valid), theirs.predict(valid))
    theirs = their_xgboost(**settings, eval_metric="ndcg@3").fit(train, labels, group=sizes, verbose=False, **of_fit)
    ours = our_xgboost(**settings, eval_metric="xgboost:ndcg@3").fit(train, labels, group=sizes, **of_fit)
    assert ours.best_iteration_ == theirs.best_iteration + 1
    assert ours.best_score_["valid_0"]["ndcg@3"] == pytest.approx(theirs.best_score, abs=1e-6)
    np.testing.assert_array_equal(ours.predict(valid), theirs.predict(valid))
