"""Scripts for LGBMRanker and XGBRanker in which only the class is another one: with the objective
of the library they give its numbers.

A script is a function of the class; what it returns is compared.
"""

import functools
import pickle

import lightgbm
import numpy as np
import pandas as pd
import pytest
import xgboost
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.model_selection import GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import boostrank as br

X, Y, QID = br.make_ranking(n_queries=30, random_state=0)
X_VALID, Y_VALID, QID_VALID = br.make_ranking(n_queries=20, random_state=9)
# Values that float32 holds, of which some are equal, so that there are ties.
X = X.round(1).astype(np.float32).astype(np.float64)
X_VALID = X_VALID.round(1).astype(np.float32).astype(np.float64)
SIZES, SIZES_VALID = np.bincount(QID), np.bincount(QID_VALID)
NAMES = [f"f{i}" for i in range(X.shape[1])]
FRAME, FRAME_VALID = pd.DataFrame(X, columns=NAMES), pd.DataFrame(X_VALID, columns=NAMES)
VALID = {"eval_set": [(X_VALID, Y_VALID)], "eval_group": [SIZES_VALID]}
OF_LIGHTGBM, OF_XGBOOST = {}, {}


def of_lightgbm(script):
    OF_LIGHTGBM[script.__name__] = script
    return script


def of_xgboost(script):
    OF_XGBOOST[script.__name__] = script
    return script


@of_lightgbm
def early_stopping_by_any_metric(ranker_class):
    model = ranker_class(n_estimators=60, importance_type="gain").fit(
        FRAME,
        Y,
        group=SIZES.tolist(),
        eval_set=[(FRAME, Y), (FRAME_VALID, Y_VALID)],
        eval_group=[SIZES, SIZES_VALID],
        eval_metric="ndcg",
        eval_at=[5, 1, 3],
        callbacks=[lightgbm.early_stopping(5, verbose=False), lightgbm.log_evaluation(0)],
    )
    found = model.best_iteration_, model.best_score_, model.evals_result_, model.feature_name_
    return model.predict(FRAME_VALID), model.feature_importances_, *found


@of_lightgbm
def early_stopping_in_the_constructor(ranker_class):
    settings = {"subsample": 0.7, "subsample_freq": 1, "colsample_bytree": 0.8, "random_state": 4}
    model = ranker_class(n_estimators=60, early_stopping_rounds=5, **settings)
    model.fit(X, Y, group=SIZES, **VALID)
    attributes = model.subsample_freq, model.min_split_gain, model.subsample_for_bin
    return model.predict(X_VALID), model.best_iteration_, attributes


@of_lightgbm
def cross_validation(ranker_class):
    parts = []
    for train, test in GroupKFold(3).split(X, Y, QID):
        sizes, sizes_of_test = (
            np.unique(QID[rows], return_counts=True)[1] for rows in (train, test)
        )
        stop = lightgbm.early_stopping(5, first_metric_only=True, verbose=False)
        sets = {"eval_set": [(X[test], Y[test])], "eval_group": [sizes_of_test]}
        model = ranker_class(n_estimators=40).fit(
            X[train], Y[train], group=sizes, **sets, eval_metric=["map", "ndcg"], callbacks=[stop]
        )
        parts += [model.predict(X[test]), model.best_iteration_]
    return parts


@of_lightgbm
def own_metric(ranker_class):
    def error(labels, scores, weight, group):
        return "error", float(np.mean((labels - scores) ** 2)), False

    stop = [lightgbm.early_stopping(5, verbose=False)]
    model = ranker_class(n_estimators=60).fit(
        X, Y, group=SIZES, **VALID, eval_metric=error, callbacks=stop
    )
    return model.predict(X_VALID), model.best_iteration_, model.best_score_


@of_lightgbm
def weights_of_rows(ranker_class):
    weights = np.random.default_rng(0).uniform(0.5, 5, len(Y))
    model = ranker_class(n_estimators=20, reg_lambda=2.0)
    return model.fit(X, Y, sample_weight=weights, group=SIZES).predict(X_VALID)


@of_lightgbm
def changing_rate_and_recorded_metrics(ranker_class):
    recorded = {}
    callbacks = [
        lightgbm.reset_parameter(learning_rate=lambda i: 0.1 * 0.95**i),
        lightgbm.record_evaluation(recorded),
    ]
    sets = {**VALID, "eval_names": ["held out"], "eval_metric": "map"}
    model = ranker_class(n_estimators=15).fit(X, Y, group=SIZES, **sets, callbacks=callbacks)
    return model.predict(X_VALID), recorded


@of_lightgbm
def categories_and_constraints(ranker_class):
    kind, kind_valid = (np.floor(np.abs(features[:, 0])) for features in (X, X_VALID))
    constrained = {"monotone_constraints": [1] + [0] * 10, "max_bin": 63, "lambda_l1": 0.1}
    model = ranker_class(n_estimators=15, **constrained).fit(
        FRAME.assign(kind=kind), Y, group=SIZES, categorical_feature=["kind"]
    )
    features = FRAME_VALID.assign(kind=kind_valid)
    others = model.predict(features, pred_leaf=True), model.predict(features, pred_contrib=True)
    return model.predict(features), *others, model.predict(features, num_iteration=3)


@of_lightgbm
def pipeline_clone_and_pickle(ranker_class):
    steps = make_pipeline(StandardScaler(), ranker_class(n_estimators=10))
    name = steps.steps[-1][0]
    steps.fit(X, Y, **{f"{name}__group": pd.Series(SIZES), f"{name}__eval_at": [3]})
    again = clone(steps[-1]).set_params(num_leaves=9).fit(csr_matrix(X), Y, group=SIZES)
    return steps.predict(X_VALID), pickle.loads(pickle.dumps(again)).predict(csr_matrix(X_VALID))


@of_lightgbm
def more_rounds_dart_and_goss(ranker_class):
    first = ranker_class(n_estimators=5).fit(X, Y, group=SIZES)
    more = ranker_class(n_estimators=5).fit(X, Y, group=SIZES, init_model=first.booster_)
    dart = ranker_class(boosting_type="dart", n_estimators=10, random_state=3)
    goss = ranker_class(data_sample_strategy="goss", learning_rate=0.3, n_estimators=10)
    fitted = [more, dart.fit(X, Y, group=SIZES), goss.fit(X, Y, group=SIZES)]
    return [model.predict(X_VALID) for model in fitted], more.booster_.num_trees()


@of_lightgbm
def label_gain_and_xendcg(ranker_class):
    table = ranker_class(n_estimators=10, label_gain=[0, 1, 2, 3, 4, 5], eval_at=5)
    table.fit(X, Y, group=SIZES, **VALID)
    xendcg = ranker_class(objective="rank_xendcg", n_estimators=10, metric="map", eval_at=(5,))
    xendcg.fit(X, Y, group=SIZES, **VALID)
    return [(model.predict(X_VALID), model.evals_result_) for model in (table, xendcg)]


@of_xgboost
def early_stopping(ranker_class):
    pairs = {"lambdarank_pair_method": "topk", "lambdarank_num_pair_per_sample": 8}
    model = ranker_class(n_estimators=40, early_stopping_rounds=5, **pairs)
    sets = {"eval_set": [(X_VALID, Y_VALID)], "eval_qid": [QID_VALID]}
    model.fit(X, Y, qid=QID, **sets, verbose=False)
    return model.predict(X_VALID), model.best_iteration, model.best_score, model.evals_result()


@of_xgboost
def booster_matrix_and_importances(ranker_class):
    model = ranker_class(n_estimators=15).fit(FRAME, Y, qid=QID)
    booster = model.get_booster()
    scores = booster.predict(xgboost.DMatrix(FRAME_VALID))
    gains = booster.get_score(importance_type="gain")
    return model.predict(FRAME_VALID), scores, model.apply(FRAME_VALID), gains


@of_xgboost
def weights_of_queries_and_of_features(ranker_class):
    weights = np.random.default_rng(0).uniform(0.5, 5, 30)
    drawn = {"feature_weights": np.linspace(0.1, 1, 10), "colsample_bynode": 0.5}
    weighted = ranker_class(n_estimators=15).fit(X, Y, qid=QID, sample_weight=weights)
    sampled = ranker_class(n_estimators=15, random_state=1, **drawn).fit(X, Y, qid=QID)
    return weighted.predict(X_VALID), sampled.predict(X_VALID)


@of_xgboost
def all_forms_of_constraints(ranker_class):
    forms = ["(1,0,0,0,0,0,0,0,0,0)", (1,) + (0,) * 9, {"f0": 1}]
    settings = [{"monotone_constraints": form} for form in forms]
    settings.append({"interaction_constraints": "[[0,1],[2,3,4]]"})
    models = [ranker_class(n_estimators=8, **one).fit(FRAME, Y, qid=QID) for one in settings]
    return [model.predict(FRAME_VALID) for model in models]


@of_xgboost
def model_of_bytes(ranker_class):
    model = ranker_class(n_estimators=8).fit(X, Y, group=SIZES)
    loaded = ranker_class()
    loaded.load_model(bytearray(model.get_booster().save_raw("json")))
    taken = ranker_class()
    taken._Booster = model.get_booster().copy()
    return loaded.predict(X_VALID), taken.predict(X_VALID)


@of_xgboost
def callbacks_of_the_user(ranker_class):
    class Stop(xgboost.callback.TrainingCallback):
        def after_iteration(self, model, epoch, evals_log):
            seen.append((epoch, list(evals_log)))
            return epoch >= 3

    seen = []
    sets = {"eval_set": [(X_VALID, Y_VALID)], "eval_qid": [QID_VALID]}
    model = ranker_class(n_estimators=10, callbacks=[Stop()])
    return model.fit(X, Y, qid=QID, **sets, verbose=False).predict(X_VALID), str(seen)


@of_xgboost
def margins_missing_values_and_continued_training(ranker_class):
    with_missing = np.where(X > 1, -999.0, X)
    first = ranker_class(n_estimators=5, missing=-999.0).fit(with_missing, Y, qid=QID)
    more = ranker_class(n_estimators=5).fit(X, Y, qid=QID, base_margin=X[:, 0])
    last = ranker_class(n_estimators=5).fit(X, Y, qid=QID, xgb_model=more.get_booster())
    margins = more.predict(X_VALID, base_margin=X_VALID[:, 0])
    rounds = last.predict(X_VALID, iteration_range=(0, 3))
    return first.predict(with_missing), first.missing, margins, rounds, last.predict(X_VALID)


@of_xgboost
def a_column_of_query_ids_and_categories(ranker_class):
    frames = []
    for features, ids in ((FRAME, QID), (FRAME_VALID, QID_VALID)):
        kind = pd.Categorical(np.where(features["f0"] > 0, "new", "old"))
        frames.append(features.assign(qid=ids, kind=kind))
    model = ranker_class(n_estimators=8, enable_categorical=True, max_cat_to_onehot=1)
    return model.fit(frames[0], Y).predict(frames[1]), model.max_cat_threshold, model.device


@of_xgboost
def pairs_maps_and_bias(ranker_class):
    settings = [
        {"objective": "rank:pairwise", "booster": "dart", "rate_drop": 0.2, "random_state": 0},
        {"objective": "rank:map"},
        {"lambdarank_unbiased": True, "lambdarank_num_pair_per_sample": 5},
        {"ndcg_exp_gain": False, "num_parallel_tree": 2, "subsample": 0.5, "random_state": 5},
    ]
    labels = [Y, np.minimum(Y, 1), Y, Y]
    scores = []
    for setting, of_setting in zip(settings, labels, strict=True):
        model = ranker_class(**{"n_estimators": 8, **setting}).fit(X, of_setting, qid=QID)
        scores += [model.predict(X_VALID), model.intercept_]
    return scores


def same(ours, theirs):
    """Assert that two results are equal, up to the rounding of metrics and of float32."""
    if isinstance(ours, dict):
        assert ours.keys() == theirs.keys()
        for name, value in ours.items():
            same(value, theirs[name])
    elif isinstance(ours, (list, tuple)):
        assert len(ours) == len(theirs)
        for pair in zip(ours, theirs, strict=True):
            same(*pair)
    elif ours is None or isinstance(ours, str):
        assert ours == theirs
    else:
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", OF_LIGHTGBM)
def test_a_script_of_lgbmranker(name):
    def ours(**settings):
        return br.LightGBMRanker(**{"objective": None, "n_jobs": 1, **settings})

    fixed = {"deterministic": True, "force_col_wise": True, "verbose": -1, "n_jobs": 1}
    theirs = functools.partial(lightgbm.LGBMRanker, **fixed)
    same(OF_LIGHTGBM[name](ours), OF_LIGHTGBM[name](theirs))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", OF_XGBOOST)
def test_a_script_of_xgbranker(name):
    def ours(**settings):
        return br.XGBoostRanker(**{"objective": None, **fixed, **settings})

    fixed = {"tree_method": "hist", "n_jobs": 1, "learning_rate": 0.2}
    theirs = functools.partial(xgboost.XGBRanker, **fixed)
    same(OF_XGBOOST[name](ours), OF_XGBOOST[name](theirs))
