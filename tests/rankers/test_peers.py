"""With the libraries' own objectives, our rankers give the numbers of LGBMRanker and XGBRanker, bit
for bit.

There are two differences, which are documented: our scores of a random forest are sums over its
trees; and measures of boostrank count a query without relevant documents as 0. Parameters of trees
with our losses are tested in test_native_training.py."""

import inspect
import re
from pathlib import Path

import lightgbm
import numpy as np
import pandas as pd
import pytest
import xgboost
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.metrics import mean_squared_error, roc_auc_score

import boostrank as br

X, Y, QID = br.make_ranking(n_queries=30, random_state=3)
X = X.astype(np.float32).astype(np.float64)
SIZES = np.bincount(QID)
X_VALID, Y_VALID, QID_VALID = br.make_ranking(n_queries=15, random_state=4)
# LightGBM chooses by measured time how it builds histograms, and XGBoost's estimators have a
# learning rate of 0.3.
FIXED = {"deterministic": True, "force_col_wise": True, "verbose": -1}


def rankers(objective, **settings):
    """Our ranker and that of the library which has this objective."""
    settings = {"n_estimators": 5, "n_jobs": 1, **settings}
    if objective.startswith("rank:"):
        of_xgboost = {"tree_method": "hist", "base_score": 0.0, "learning_rate": 0.1, **settings}
        return br.XGBoostRanker(objective, **settings), xgboost.XGBRanker(
            objective=objective, **of_xgboost
        )
    return br.LightGBMRanker(objective, **settings), lightgbm.LGBMRanker(
        objective=objective, **FIXED, **settings
    )


@pytest.mark.parametrize(
    ("objective", "settings"),
    [
        ("lambdarank", {}),
        (
            "lambdarank",
            {"num_leaves": 7, "learning_rate": 0.3, "min_child_samples": 3, "reg_lambda": 1.0},
        ),
        (
            "lambdarank",
            {"subsample": 0.6, "subsample_freq": 1, "colsample_bytree": 0.5, "random_state": 7},
        ),
        (
            "lambdarank",
            {"boosting_type": "dart", "subsample": 0.7, "subsample_freq": 1, "random_state": 1},
        ),
        # GOSS samples from round 1 / learning_rate on.
        (
            "lambdarank",
            {
                "data_sample_strategy": "goss",
                "top_rate": 0.3,
                "learning_rate": 0.5,
                "random_state": 2,
            },
        ),
        ("lambdarank", {"max_bin": 15, "extra_trees": True, "reg_alpha": 0.1, "random_state": 3}),
        (
            "lambdarank",
            {"bagging_by_query": True, "subsample": 0.5, "subsample_freq": 1, "random_state": 4},
        ),
        ("lambdarank", {"linear_tree": True, "linear_lambda": 1.0}),
        ("lambdarank", {"lambdarank_truncation_level": 3, "sigmoid": 2.0}),
        ("lambdarank", {"lambdarank_norm": False}),
        (
            "lambdarank",
            {"use_quantized_grad": True, "num_grad_quant_bins": 16, "quant_train_renew_leaf": True},
        ),
        ("rank_xendcg", {"objective_seed": 77}),
        ("rank:ndcg", {}),
        (
            "rank:ndcg",
            {"max_depth": 3, "learning_rate": 0.3, "min_child_weight": 0.1, "gamma": 0.01},
        ),
        ("rank:ndcg", {"subsample": 0.6, "colsample_bytree": 0.5, "random_state": 7}),
        ("rank:ndcg", {"booster": "dart", "rate_drop": 0.3, "random_state": 1}),
        ("rank:ndcg", {"tree_method": "exact", "reg_lambda": 2.0}),
        ("rank:ndcg", {"tree_method": "approx", "max_bin": 16}),
        ("rank:ndcg", {"grow_policy": "lossguide", "max_leaves": 6, "max_depth": 0}),
        (
            "rank:ndcg",
            {
                "lambdarank_pair_method": "mean",
                "lambdarank_num_pair_per_sample": 2,
                "random_state": 3,
            },
        ),
        ("rank:ndcg", {"lambdarank_unbiased": True, "lambdarank_num_pair_per_sample": 4}),
        ("rank:pairwise", {}),
        ("rank:map", {"learning_rate": 0.2}),
    ],
    ids=str,
)
def test_models_are_those_of_the_library(objective, settings):
    labels = np.minimum(Y, 1) if objective == "rank:map" else Y
    ours, theirs = (
        one.fit(X, labels, group=SIZES).predict(X) for one in rankers(objective, **settings)
    )
    np.testing.assert_array_equal(ours, theirs.astype(np.float64))
    assert np.ptp(ours) > 0
    if settings:
        plain = rankers(objective, learning_rate=settings.get("learning_rate", 0.1))[0]
        assert (
            not np.array_equal(ours, plain.fit(X, labels, QID).predict(X))
            or objective == "rank:map"
        )


def test_weights_gains_and_initial_scores_are_those_of_the_libraries():
    of_queries = np.random.default_rng(0).uniform(0.5, 9, 30)
    weights = of_queries[QID]
    for objective, given in (("lambdarank", weights), ("rank:ndcg", of_queries)):
        ours, theirs = rankers(objective, reg_lambda=3.0)
        theirs.fit(X, Y, group=SIZES, sample_weight=given)
        for same in (weights, of_queries):
            ours.fit(X, Y, QID, sample_weight=same)
            np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    # Weights that float32 does not hold are relative.
    tiny = rankers("lambdarank")[0].fit(X, Y, QID, sample_weight=weights * 2.0**-200)
    plain = rankers("lambdarank")[0].fit(X, Y, QID, sample_weight=weights / weights.mean())
    np.testing.assert_array_equal(tiny.predict(X), plain.predict(X))
    start = np.random.default_rng(0).normal(size=len(Y)).astype(np.float32)
    theirs = rankers("rank:ndcg", ndcg_exp_gain=False)[1].fit(X, Y, qid=QID, base_margin=start)
    ours = br.XGBoostRanker(None, n_estimators=5, gain="linear", n_jobs=1).fit(
        X, Y, QID, init_score=start
    )
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
        np.testing.assert_array_equal(
            ours.fit(X, Y, QID, init_model=model).predict(X), theirs.predict(X)
        )


# Scripts in which only the import is changed. LightGBM warns that it prefers eval_X and that
# eval_at is given twice.
of_lightgbm = pytest.mark.filterwarnings(
    "ignore:The argument 'eval_set' is deprecated", "ignore:Found 'eval_at'"
)


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
        parameters = {
            "objective": None,
            "class_weight": None,
            "task": "train",
            "n_jobs": 1,
            "n_estimators": 20,
        }
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
        {
            "base_score": None,
            "missing": np.inf,
            "scale_pos_weight": None,
            "validate_parameters": True,
        },
        {"callbacks": [xgboost.callback.LearningRateScheduler([0.3, 0.2, 0.1, 0.3, 0.2])]},
        {"eval_metric": ["ndcg@3", "ndcg@5-", "ndcg"]},
    ],
    ids=lambda settings: "-".join(settings),
)
def test_a_script_for_xgbranker_gives_its_model(settings):
    features, models = (
        np.where(X > 2, np.inf, X) if "missing" in settings else X,
        rankers("rank:pairwise", **settings),
    )
    first = (
        None if "base_score" in settings else rankers("rank:pairwise")[1].fit(features, Y, qid=QID)
    )
    sets = {"eval_set": [(features, Y), (X_VALID, Y_VALID)], "eval_qid": [QID, QID_VALID]}
    for model in models:
        model.fit(
            features,
            Y,
            qid=QID,
            **sets,
            xgb_model=first,
            sample_weight_eval_set=None,
            verbose=False,
        )
    ours, theirs = (
        model.predict(features, validate_features=True, output_margin=True) for model in models
    )
    np.testing.assert_allclose(ours, theirs, atol=1e-7 if "base_score" in settings else 0)
    assert np.ptp(theirs) > 0
    assert (
        list(models[0].evals_result())
        == list(models[1].evals_result())
        == ["validation_0", "validation_1"]
    )


@of_lightgbm
@pytest.mark.parametrize("seed", range(2))
def test_with_the_metric_of_the_library_early_stopping_finds_its_round(seed):
    """Features of few values give many ties, and three queries have no relevant document."""
    (features, labels, ids), held_out = (
        br.make_ranking(20, random_state=i) for i in (seed, seed + 100)
    )
    train, valid = features.round(), held_out.X.round()
    settings, sizes = (
        {"n_estimators": 60, "learning_rate": 0.2, "early_stopping_rounds": 4},
        np.bincount(ids),
    )
    sets = {
        "eval_set": [(valid, np.where(held_out.qid < 3, 0, held_out.y))],
        "eval_group": [np.bincount(held_out.qid)],
    }
    ours, theirs = rankers("lambdarank", **settings)
    theirs.fit(train, labels, group=sizes, eval_at=[3], **sets)
    ours.fit(train, labels, group=sizes, eval_metric="lightgbm:ndcg@3", **sets)
    assert ours.best_iteration_ == theirs.best_iteration_
    values, expected = (one.evals_result_["valid_0"]["ndcg@3"] for one in (ours, theirs))
    np.testing.assert_allclose(values, expected, atol=1e-12)
    np.testing.assert_array_equal(ours.predict(valid), theirs.predict(valid))
    theirs = rankers("rank:ndcg", **settings, eval_metric="ndcg@3")[1]
    theirs.fit(train, labels, group=sizes, verbose=False, **sets)
    ours = rankers("rank:ndcg", **settings, eval_metric="xgboost:ndcg@3")[0].fit(
        train, labels, group=sizes, **sets
    )
    assert ours.best_iteration_ == theirs.best_iteration + 1
    assert ours.best_score_["valid_0"]["ndcg@3"] == pytest.approx(theirs.best_score, abs=1e-6)
    np.testing.assert_array_equal(ours.predict(valid), theirs.predict(valid))


# Names of the rankers of the libraries

SWITCH = Path(__file__).parents[2] / "examples" / "guide" / "switch.md"


@pytest.mark.parametrize(
    "theirs", [lightgbm.LGBMRanker(n_estimators=2, verbose=-1), xgboost.XGBRanker(n_estimators=2)]
)
def test_the_guide_names_everything_that_the_ranker_of_the_library_has(theirs):
    """A new keyword or attribute of the library is to be taken, or to be refused with a reason, and
    named there."""
    theirs.fit(X, Y, group=SIZES)
    names = {
        name
        for method in (type(theirs).__init__, theirs.fit, theirs.predict)
        for name in inspect.signature(method).parameters
    } - {"self", "kwargs", "X", "y"}
    names |= {
        name
        for name in dir(theirs)
        if not name.startswith(("_", "set_")) and not hasattr(BaseEstimator, name)
    }
    of_both, of_lightgbm, of_xgboost = re.split(r"\n### What .* ha.*\n", SWITCH.read_text())[1:]
    section = of_both + (of_xgboost if hasattr(theirs, "get_booster") else of_lightgbm)
    assert names - set(re.findall(r"\w+", " ".join(re.findall(r"`[^`\n]+`", section)))) == set()


@pytest.mark.parametrize("objective", ["lambdarank", "rank:ndcg"])
def test_parameters_of_the_ranker_of_the_library_train_its_model(objective):
    theirs = (
        rankers(objective, num_leaves=7)
        if objective == "lambdarank"
        else rankers(objective, device="cpu")
    )
    ours = type(theirs[0])(**theirs[1].get_params()).fit(X, Y, group=SIZES)
    np.testing.assert_array_equal(ours.predict(X), theirs[1].fit(X, Y, group=SIZES).predict(X))
    np.testing.assert_allclose(ours.feature_importances_, theirs[1].feature_importances_, rtol=1e-6)
    assert ours.subsample_freq == 0 if objective == "lambdarank" else ours.device == "cpu"
    assert not hasattr(ours, "subsample_frequency")


def test_parameters_have_the_values_of_the_libraries_too():
    table = [0, 1, 5, 6, 20, 50]
    for values, expected in (
        ({"label_gain": ",".join(map(str, table))}, {"gain": table}),
        (
            {"ndcg_exp_gain": False, "verbose": 0, "disable_default_eval_metric": True},
            {"gain": "linear"},
        ),
    ):
        objective = "lambdarank" if "label_gain" in values else "rank:ndcg"
        scores = [
            rankers(objective, **given)[0].fit(X, Y, QID).predict(X)
            for given in (values, expected, {})
        ]
        np.testing.assert_array_equal(scores[0], scores[1])
        assert not np.array_equal(scores[0], scores[2])


def test_attributes_of_lgbmranker():
    ours, theirs = (ranker.fit(X, Y, group=SIZES) for ranker in rankers("lambdarank"))
    for name in ("feature_name_", "n_features_", "n_estimators_", "n_iter_", "fitted_"):
        assert getattr(ours, name) == getattr(theirs, name)
    assert not br.LightGBMRanker().fitted_


def test_attributes_of_xgbranker():
    settings = {
        "n_estimators": 60,
        "learning_rate": 0.3,
        "early_stopping_rounds": 3,
        "base_score": 0.25,
    }
    sets = {"eval_set": [(X_VALID, Y_VALID)], "eval_qid": [QID_VALID]}
    ours, theirs = (
        ranker.fit(X, Y, qid=QID, **sets, verbose=False)
        for ranker in rankers("rank:ndcg", **settings)
    )
    assert ours.best_iteration == theirs.best_iteration == ours.booster_.best_iteration < 56
    assert ours.best_score == pytest.approx(theirs.best_score, abs=1e-6)
    assert ours.get_num_boosting_rounds() == theirs.get_num_boosting_rounds() == 60
    np.testing.assert_array_equal(ours.intercept_, theirs.intercept_)
    assert ours.get_booster() is ours.booster_
    margin = np.linspace(-1, 1, len(X))
    scores = [ranker.predict(X, base_margin=margin) for ranker in (ours, theirs)]
    np.testing.assert_allclose(*scores, atol=1e-5)
    booster = xgboost.train(
        ours.get_xgb_params(), xgboost.QuantileDMatrix(X, Y, qid=QID), theirs.best_iteration + 1
    )
    np.testing.assert_allclose(booster.inplace_predict(X), ours.predict(X), atol=1e-6)
    # Without early stopping there is no best round, also not that of the model that goes on.
    again = br.XGBoostRanker("rank:ndcg", n_estimators=2, base_score=0.25).fit(
        X, Y, QID, init_model=ours
    )
    for ranker in (again, rankers("rank:ndcg")[1].fit(X, Y, qid=QID)):
        with pytest.raises(AttributeError, match="best_iteration"):
            ranker.best_iteration  # noqa: B018
    assert again.set_params(n_estimators=None).get_num_boosting_rounds() == ours.best_iteration_ + 2


@pytest.mark.parametrize(
    ("objective", "parameters"),
    [("lambdarank", {"lambdarank_norm": False}), ("rank:ndcg", {"lambdarank_unbiased": True})],
)
def test_parameters_of_lambdamart_mean_lambdamart(objective, parameters):
    explicit = rankers(objective, **parameters)[0].fit(X, Y, QID)
    ranker = type(explicit)(n_estimators=5, n_jobs=1, **parameters)
    with pytest.warns(
        UserWarning, match=rf"{next(iter(parameters))} is a parameter of LambdaMART.*{objective}"
    ) as caught:
        ranker.fit(X, Y, QID)
    assert (len(caught), ranker.objective_) == (1, objective)
    np.testing.assert_array_equal(ranker.predict(X), explicit.predict(X))
    with pytest.raises(ValueError, match=f"{next(iter(parameters))}.* cannot be used"):
        ranker.set_params(objective="squared").fit(X, Y, QID)


@pytest.mark.filterwarnings("ignore:Only one class")
def test_a_metric_of_scikit_learn_gets_one_query_after_another():
    labels, sets = (Y > 1).astype(int), [(X_VALID, (Y_VALID > 1).astype(int), QID_VALID)]
    ranker = br.XGBoostRanker(
        "rank:ndcg", n_estimators=60, early_stopping_rounds=5, eval_metric=roc_auc_score
    )
    ranker.fit(X, labels, QID, eval_set=sets)
    scores = ranker.predict(X_VALID)
    expected = [
        roc_auc_score((Y_VALID > 1)[q == QID_VALID], scores[q == QID_VALID]) for q in range(15)
    ]
    values = ranker.evals_result()["validation_0"]["roc_auc_score"]
    assert values[ranker.best_iteration] == max(values)
    assert ranker.best_score == pytest.approx(np.nanmean(expected))
    assert len(values) == ranker.best_iteration + 6
    # The weight of a query is the mean of those of its documents.
    weights = np.arange(1.0, 16.0)
    ranker.set_params(n_estimators=3, early_stopping_rounds=None)
    ranker.fit(X, labels, QID, eval_set=sets, eval_sample_weight=[weights])
    scores = ranker.predict(X_VALID)
    values = [
        roc_auc_score((Y_VALID > 1)[q == QID_VALID], scores[q == QID_VALID]) for q in range(15)
    ]
    counts = ~np.isnan(values)
    expected = np.average(np.array(values)[counts], weights=weights[counts])
    last = ranker.evals_result()["validation_0"]["roc_auc_score"][-1]
    assert last == pytest.approx(expected)
    ranker.set_params(n_estimators=60, early_stopping_rounds=5)
    ranker.set_params(eval_metric=mean_squared_error).fit(X, labels, QID, eval_set=sets)
    assert ranker.best_score == min(ranker.evals_result()["validation_0"]["mean_squared_error"])


@of_lightgbm
def test_the_flow_of_a_script_for_lgbmranker(tmp_path):
    """Train with early stopping, look at the result, save, and load: with the names of
    LGBMRanker."""
    pytest.importorskip("matplotlib")  # plot_metric needs it.
    sizes, of_valid = SIZES, np.bincount(QID_VALID)

    def gain(labels, scores, weight, group):
        return (
            "gain at 1",
            br.ndcg_score(labels, scores, np.repeat(np.arange(len(group)), group), k=1),
            True,
        )

    ranker = br.LightGBMRanker(
        boosting_type="gbdt", objective="lambdarank", max_depth=5, n_estimators=100, verbose=-1
    )
    stopping = [
        lightgbm.early_stopping(10, first_metric_only=True, verbose=False),
        lightgbm.log_evaluation(0),
    ]
    validation = {"eval_set": [(X_VALID, Y_VALID)], "eval_group": [of_valid], "eval_at": [3, 5]}
    ranker.fit(X, Y, group=sizes, **validation, eval_metric=["ndcg", gain], callbacks=stopping)
    assert ranker.best_iteration_ == ranker.n_iter_ < 100
    assert list(ranker.best_score_["valid_0"]) == ["ndcg@3", "ndcg@5", "gain at 1"]
    best = ranker.predict(X_VALID, num_iteration=ranker.best_iteration_)
    np.testing.assert_array_equal(best, ranker.predict(X_VALID, raw_score=True))
    importance = dict(zip(ranker.feature_name_, ranker.feature_importances_, strict=True))
    assert max(importance.values()) > 0
    ranker.booster_.save_model(tmp_path / "model.txt")
    np.testing.assert_array_equal(
        lightgbm.Booster(model_file=tmp_path / "model.txt").predict(X_VALID), best
    )
    assert lightgbm.plot_metric(ranker.evals_result_, metric="ndcg@5").lines[0].get_ydata()[-1] > 0


def test_the_flow_of_a_script_for_xgbranker(tmp_path):
    """Sorted rows with ids, pairs of the first ranks, metrics in the constructor: with the names of
    XGBRanker."""
    frame = pd.DataFrame(X).add_prefix("f").assign(qid=QID, label=Y).sort_values("qid")
    features, valid = frame.drop(columns=["label", "qid"]), pd.DataFrame(X_VALID).add_prefix("f")
    settings = {
        "tree_method": "hist",
        "device": "cpu",
        "lambdarank_pair_method": "topk",
        "ndcg_exp_gain": True,
    }
    metrics = {"lambdarank_num_pair_per_sample": 13, "eval_metric": ["ndcg@1", "ndcg@8"]}
    stop = xgboost.callback.EarlyStopping(
        rounds=5, data_name="validation_0", metric_name="ndcg@8", save_best=True
    )
    ranker = br.XGBoostRanker(
        objective="rank:ndcg", n_estimators=60, **settings, **metrics, callbacks=[stop]
    )
    sets = {"eval_set": [(valid, Y_VALID)], "eval_qid": [QID_VALID], "verbose": False}
    ranker.fit(features, frame["label"], qid=frame["qid"], **sets)
    values = ranker.evals_result()["validation_0"]["ndcg@8"]
    assert ranker.best_iteration == np.argmax(values) < 55
    assert ranker.best_score == pytest.approx(max(values), abs=1e-6)
    scores = ranker.predict(valid, iteration_range=(0, ranker.best_iteration + 1))
    assert br.ndcg_score(Y_VALID, scores, QID_VALID, k=8) == pytest.approx(max(values), abs=1e-6)
    matrix = xgboost.DMatrix(valid)
    np.testing.assert_array_equal(ranker.get_booster().predict(matrix), scores)
    ranker.save_model(tmp_path / "model.json")
    loaded = xgboost.XGBRanker()
    loaded.load_model(tmp_path / "model.json")
    np.testing.assert_array_equal(loaded.predict(valid), scores)


@pytest.mark.parametrize("objective", ["lambdarank", "rank_xendcg"])
def test_weights_of_documents_multiply_rows_as_in_lightgbm(objective):
    weights = np.random.default_rng(0).uniform(0.2, 3.0, len(Y))
    weights[:4] = 0
    routed = {"group": SIZES, "sample_weight": weights}
    ours, theirs = (one.fit(X, Y, **routed).predict(X) for one in rankers(objective))
    np.testing.assert_array_equal(ours, theirs)
    plain = rankers(objective)[0].fit(X, Y, QID).predict(X)
    assert abs(ours - plain).max() > 0.1
    with pytest.raises(ValueError, match=r"differs within query.*XGBoost takes one weight per"):
        rankers("rank:ndcg")[0].fit(X, Y, **routed)


def own_metric(labels, scores):
    return "own", -float(np.abs(labels - scores).mean()), True


@of_lightgbm
@pytest.mark.parametrize(
    "metric",
    [None, "ndcg", "map", ["map", "ndcg"], "None", own_metric],
    ids=lambda metric: getattr(metric, "__name__", str(metric)),
)
@pytest.mark.parametrize("cutoffs", [None, [10], [3, 1]], ids=str)
@pytest.mark.parametrize("parameters", [{}, {"metric": "map"}, {"eval_at": [2]}], ids=str)
def test_metrics_of_lightgbms_objective_are_those_of_lgbmranker(metric, cutoffs, parameters):
    rounded = X.round(), X_VALID.round()  # Few values give ties.
    sets = {"eval_set": [(rounded[1], Y_VALID)], "eval_group": [np.bincount(QID_VALID)]}
    if metric is not None:
        sets["eval_metric"] = metric
    if cutoffs is not None:
        sets["eval_at"] = cutoffs
    fitted = []
    for stops in ({"early_stopping_rounds": 5}, {}):
        for ranker in rankers("lambdarank", n_estimators=60, **parameters, **stops):
            callbacks = [] if stops else [lightgbm.early_stopping(5, verbose=False)]
            if metric == "None":
                ranker.set_params(early_stopping_rounds=None)
                callbacks = []
            fitted.append(ranker.fit(rounded[0], Y, group=SIZES, callbacks=callbacks, **sets))
    for ours, theirs in (fitted[:2], fitted[2:]):
        expected = theirs.evals_result_.get("valid_0", {})
        if metric == "None" and not expected:
            continue
        values = ours.evals_result_["valid_0"]
        assert list(values) == list(expected)
        for name in values:
            np.testing.assert_allclose(values[name], expected[name], atol=1e-6)
        assert ours.best_iteration_ == theirs.n_estimators_ or theirs.best_iteration_
        np.testing.assert_array_equal(ours.predict(X_VALID), theirs.predict(X_VALID))


@pytest.mark.parametrize(
    ("objective", "texts"),
    [
        ("rank:ndcg", {"monotone_constraints": "(1,0,-1,0,0,0,0,0,0,0)"}),
        ("rank:ndcg", {"interaction_constraints": "[[0, 1, 2], [3, 4, 5, 6, 7, 8, 9]]"}),
        ("rank:ndcg", {"interaction_constraints": "[[0, 1, 2]]"}),
        ("lambdarank", {"monotone_constraints": "1,0,-1,0,0,0,0,0,0,0"}),
        ("lambdarank", {"interaction_constraints": "[0,1,2],[3,4,5,6,7,8,9]"}),
        ("lambdarank", {"interaction_constraints": "[0,1,2]"}),
        ("lambdarank", {"feature_contri": "1,1,1,0.1,1,1,1,1,1,1"}),
    ],
    ids=str,
)
def test_constraints_may_be_the_texts_of_the_libraries(objective, texts):
    ours, theirs = (one.fit(X, Y, group=SIZES).predict(X) for one in rankers(objective, **texts))
    np.testing.assert_array_equal(ours, theirs)
    assert not np.array_equal(ours, rankers(objective)[0].fit(X, Y, QID).predict(X))
    (name,) = texts
    with pytest.raises(ValueError, match=f"{name} must be"):
        rankers(objective, **{name: "(1,"})[0].fit(X, Y, QID)
