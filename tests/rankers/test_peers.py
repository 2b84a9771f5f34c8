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
# LightGBM chooses by measured time how it builds histograms, and XGBoost's estimators have a learning rate of 0.3.
FIXED = {"deterministic": True, "force_col_wise": True, "verbose": -1}


def rankers(objective, **settings):
    """Our ranker and that of the library which has this objective."""
    settings = {"n_estimators": 5, "n_jobs": 1, **settings}
    if objective.startswith("rank:"):
        of_xgboost = {"tree_method": "hist", "base_score": 0.0, "learning_rate": 0.1, **settings}
        return br.XGBoostRanker(objective, **settings), xgboost.XGBRanker(objective=objective, **of_xgboost)
    return br.LightGBMRanker(objective, **settings), lightgbm.LGBMRanker(objective=objective, **FIXED, **settings)


@pytest.mark.parametrize(
    ("objective", "settings"),
    [
        ("lambdarank", {}),
        ("lambdarank", {"num_leaves": 7, "learning_rate": 0.3, "min_child_samples": 3, "reg_lambda": 1.0}),
        ("lambdarank", {"subsample": 0.6, "subsample_freq": 1, "colsample_bytree": 0.5, "random_state": 7}),
        ("lambdarank", {"boosting_type": "dart", "subsample": 0.7, "subsample_freq": 1, "random_state": 1}),
        # GOSS samples from round 1 / learning_rate on.
        ("lambdarank", {"data_sample_strategy": "goss", "top_rate": 0.3, "learning_rate": 0.5, "random_state": 2}),
        ("lambdarank", {"max_bin": 15, "extra_trees": True, "reg_alpha": 0.1, "random_state": 3}),
        ("lambdarank", {"bagging_by_query": True, "subsample": 0.5, "subsample_freq": 1, "random_state": 4}),
        ("lambdarank", {"linear_tree": True, "linear_lambda": 1.0}),
        ("lambdarank", {"lambdarank_truncation_level": 3, "sigmoid": 2.0}),
        ("lambdarank", {"lambdarank_norm": False}),
        ("lambdarank", {"use_quantized_grad": True, "num_grad_quant_bins": 16, "quant_train_renew_leaf": True}),
        ("rank_xendcg", {"objective_seed": 77}),
        ("rank:ndcg", {}),
        ("rank:ndcg", {"max_depth": 3, "learning_rate": 0.3, "min_child_weight": 0.1, "gamma": 0.01}),
        ("rank:ndcg", {"subsample": 0.6, "colsample_bytree": 0.5, "random_state": 7}),
        ("rank:ndcg", {"booster": "dart", "rate_drop": 0.3, "random_state": 1}),
        ("rank:ndcg", {"tree_method": "exact", "reg_lambda": 2.0}),
        ("rank:ndcg", {"tree_method": "approx", "max_bin": 16}),
        ("rank:ndcg", {"grow_policy": "lossguide", "max_leaves": 6, "max_depth": 0}),
        ("rank:ndcg", {"lambdarank_pair_method": "mean", "lambdarank_num_pair_per_sample": 2, "random_state": 3}),
        ("rank:ndcg", {"lambdarank_unbiased": True, "lambdarank_num_pair_per_sample": 4}),
        ("rank:pairwise", {}),
        ("rank:map", {"learning_rate": 0.2}),
    ],
    ids=str,
)
def test_models_are_those_of_the_library(objective, settings):
    labels = np.minimum(Y, 1) if objective == "rank:map" else Y
    ours, theirs = (one.fit(X, labels, group=SIZES).predict(X) for one in rankers(objective, **settings))
    np.testing.assert_array_equal(ours, theirs.astype(np.float64))
    assert np.ptp(ours) > 0
    if settings:
        plain = rankers(objective, learning_rate=settings.get("learning_rate", 0.1))[0]
        assert not np.array_equal(ours, plain.fit(X, labels, QID).predict(X)) or objective == "rank:map"


def test_weights_gains_and_initial_scores_are_those_of_the_libraries():
    weights = np.random.default_rng(0).uniform(0.5, 1.5, 30)[QID]
    weights /= weights.mean()
    results = [one.fit(X, Y, group=SIZES, sample_weight=weights).predict(X) for one in rankers("lambdarank")]
    np.testing.assert_array_equal(*results)
    start = np.random.default_rng(0).normal(size=len(Y)).astype(np.float32)
    theirs = rankers("rank:ndcg", ndcg_exp_gain=False)[1].fit(X, Y, qid=QID, base_margin=start)
    ours = br.XGBoostRanker(None, n_estimators=5, gain="linear", n_jobs=1).fit(X, Y, QID, init_score=start)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    assert ours.objective_ == xgboost.XGBRanker().objective == "rank:ndcg"


@pytest.mark.parametrize("objective", ["lambdarank", "rank:ndcg"])
def test_a_training_goes_on_as_that_of_the_libraries(objective):
    (ours, first), (_, theirs) = rankers(objective), rankers(objective)
    with pytest.raises(NotFittedError):
        ours.fit(X, Y, QID, init_model=first)
    first.fit(X, Y, group=SIZES)
    is_lightgbm = objective == "lambdarank"
    theirs.fit(X, Y, group=SIZES, **{"init_model" if is_lightgbm else "xgb_model": first})
    for model in (first, first.booster_ if is_lightgbm else first.get_booster()):
        np.testing.assert_array_equal(ours.fit(X, Y, QID, init_model=model).predict(X), theirs.predict(X))


# Scripts in which only the import is changed. LightGBM warns that it prefers eval_X and that eval_at is given twice.
of_lightgbm = pytest.mark.filterwarnings("ignore:The argument 'eval_set' is deprecated", "ignore:Found 'eval_at'")


@of_lightgbm
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"objective": "xendcg", "metric": ["ndcg", "mean_average_precision"]},
        {"label_gain": [0, 1, 5, 6, 20, 50], "metric": "map", "eval_at": [2]},
    ],
    ids=str,
)
def test_a_script_for_lgbmranker_gives_its_model(settings):
    rows, models = QID_VALID < 12, []
    for ranker_class, fixed in ((br.LightGBMRanker, {}), (lightgbm.LGBMRanker, FIXED)):
        parameters = {"objective": None, "class_weight": None, "task": "train", "n_jobs": 1, "n_estimators": 20}
        sets = [(X_VALID[rows], Y_VALID[rows]), (X, Y)]
        groups = {"group": SIZES.astype(float), "eval_group": [np.bincount(QID_VALID[rows]), SIZES]}
        neutral = {"feature_name": "auto", "categorical_feature": "auto"}
        ranker = ranker_class(**{**parameters, **settings}, **fixed)
        models.append(ranker.fit(X, Y, **groups, eval_set=sets, eval_at=[3], **neutral))
    np.testing.assert_array_equal(*(model.predict(X) for model in models))
    names = [{name: set(values) for name, values in model.best_score_.items()} for model in models]
    assert names[0] == names[1]
    assert models[0].objective_ == ("rank_xendcg" if "objective" in settings else "lambdarank")


@pytest.mark.parametrize(
    "settings",
    [
        {"base_score": 0.5},
        {"base_score": None, "missing": np.inf, "scale_pos_weight": None, "validate_parameters": True},
        {"callbacks": [xgboost.callback.LearningRateScheduler([0.3, 0.2, 0.1, 0.3, 0.2])]},
        {"eval_metric": ["ndcg@3", "ndcg@5-", "ndcg"]},
    ],
    ids=lambda settings: "-".join(settings),
)
def test_a_script_for_xgbranker_gives_its_model(settings):
    features, models = np.where(X > 2, np.inf, X) if "missing" in settings else X, rankers("rank:pairwise", **settings)
    first = None if "base_score" in settings else rankers("rank:pairwise")[1].fit(features, Y, qid=QID)
    sets = {"eval_set": [(features, Y), (X_VALID, Y_VALID)], "eval_qid": [QID, QID_VALID]}
    for model in models:
        model.fit(features, Y, qid=QID, **sets, xgb_model=first, sample_weight_eval_set=None, verbose=False)
    ours, theirs = (model.predict(features, validate_features=True, output_margin=True) for model in models)
    np.testing.assert_allclose(ours, theirs, atol=1e-7 if "base_score" in settings else 0)
    assert np.ptp(theirs) > 0
    assert list(models[0].evals_result()) == list(models[1].evals_result()) == ["validation_0", "validation_1"]


@of_lightgbm
@pytest.mark.parametrize("seed", range(2))
def test_with_the_metric_of_the_library_early_stopping_finds_its_round(seed):
    """Features of few values give many ties, and three queries have no relevant document."""
    (features, labels, ids), held_out = (br.make_ranking(20, random_state=i) for i in (seed, seed + 100))
    train, valid = features.round(), held_out.X.round()
    settings, sizes = {"n_estimators": 60, "learning_rate": 0.2, "early_stopping_rounds": 4}, np.bincount(ids)
    sets = {"eval_set": [(valid, np.where(held_out.qid < 3, 0, held_out.y))], "eval_group": [np.bincount(held_out.qid)]}
    ours, theirs = rankers("lambdarank", **settings)
    theirs.fit(train, labels, group=sizes, eval_at=[3], **sets)
    ours.fit(train, labels, group=sizes, eval_metric="lightgbm:ndcg@3", **sets)
    assert ours.best_iteration_ == theirs.best_iteration_
    values, expected = (one.evals_result_["valid_0"]["ndcg@3"] for one in (ours, theirs))
    np.testing.assert_allclose(values, expected, atol=1e-12)
    np.testing.assert_array_equal(ours.predict(valid), theirs.predict(valid))
    theirs = rankers("rank:ndcg", **settings, eval_metric="ndcg@3")[1]
    theirs.fit(train, labels, group=sizes, verbose=False, **sets)
    ours = rankers("rank:ndcg", **settings, eval_metric="xgboost:ndcg@3")[0].fit(train, labels, group=sizes, **sets)
    assert ours.best_iteration_ == theirs.best_iteration + 1
    assert ours.best_score_["valid_0"]["ndcg@3"] == pytest.approx(theirs.best_score, abs=1e-6)
    np.testing.assert_array_equal(ours.predict(valid), theirs.predict(valid))
