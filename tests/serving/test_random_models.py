"""Random models of both libraries, of all kinds: the documents of all engines give the scores of
the model.

`export` compares them, at all thresholds and on given rows; test_export_proof.py holds it to find
what is wrong."""

import lightgbm as lgb
import numpy as np
import pytest
import xgboost as xgb

import boostrank as br

N_MODELS, N_QUICK = 160, 40
NAMES = ["bm25(title)", "closeness(field,embedding)", "price", "attribute(x).y"]
#: Factors of features: LightGBM's zero, subnormal numbers of float32, and large ones.
SCALES = [1.0, 1.0, 1.0, 10.0, 1e-3, 1e-36, 1e-40, 1e9, 1e37]
# Values to choose from, for parameters of rankers, and of models that the libraries train
# themselves.
LIGHTGBM = {
    "objective": ["softmax", "lambdarank"],
    "num_leaves": [2, 31],
    "min_child_samples": [1, 5],
}
LIGHTGBM |= {
    "boosting": ["gbdt", "gbdt", "dart"],
    "max_bin": [4, 255],
    "use_missing": [True, True, False],
}
LIGHTGBM |= {"extra_trees": [False, True], "min_split_gain": [0.0, 0.0, 0.0, 1e9]}
XGBOOST = {
    "objective": ["softmax", "rank:ndcg"],
    "booster": ["gbtree", "dart"],
    "num_parallel_tree": [1, 1, 3],
}
XGBOOST |= {
    "max_depth": [1, 3, 9],
    "tree_method": ["hist", "exact"],
    "min_child_weight": [0, 1],
    "gamma": [0, 0, 1e9],
}
FOREST = {"boosting": "rf", "bagging_freq": 1, "bagging_fraction": 0.5}
OWN_LIGHTGBM = [
    FOREST,
    {"boosting": "dart"},
    {"objective": "binary"},
    {"min_data_in_leaf": 1, "use_missing": False},
]
OWN_XGBOOST = [
    {"booster": "dart", "rate_drop": 0.5},
    {"objective": "binary:logistic"},
    {"base_score": 7.25},
]


def random_features(rng, n):
    """Columns of float32 of several kinds, some with repeated values, zeros of both signs, and
    missing values."""
    X = rng.normal(size=(n, len(NAMES))) * rng.choice(SCALES, len(NAMES))
    X[:, 0] = rng.normal(size=n)
    for column in X.T[1:]:
        kind = rng.integers(5)
        if kind == 0:
            column[:] = rng.integers(-3, 4, n)
        elif kind == 1:
            column[rng.random(n) < 0.5] = rng.choice([0.0, -0.0])
        elif kind == 2:
            column[:] = np.abs(column)
    if rng.random() < 0.4:
        X[rng.random(X.shape) < rng.choice([0.02, 0.3])] = np.nan
    return X.astype(np.float32)


def random_model(rng, tmp_path):
    """A fitted ranker, or one that has read a model of a library's own, and its features."""
    n = int(rng.integers(30, 150))
    X, y, qid = random_features(rng, n), rng.integers(0, 3, n), np.arange(n) // 10
    is_lightgbm, kind = rng.random() < 0.5, rng.integers(8)
    rounds, seed = int(rng.integers(1, 7)), int(rng.integers(999))
    ranker = (br.LightGBMRanker if is_lightgbm else br.XGBoostRanker)()
    if kind > 1:
        values = LIGHTGBM if is_lightgbm else XGBOOST
        ranker.set_params(
            **{name: choices[rng.integers(len(choices))] for name, choices in values.items()}
        )
        ranker.set_params(n_estimators=rounds, random_state=seed, n_jobs=1)
        if kind == 2:
            ranker = br.BaggedRanker(ranker, n_estimators=2, random_state=seed)
        elif kind == 3:
            booster = {"boosting": "gbdt"} if is_lightgbm else {"booster": "gbtree"}
            ranker.set_params(early_stopping_rounds=2, validation_fraction=0.3, **booster)
        return ranker.fit(X, y, qid), X
    parameters = {"seed": seed, **rng.choice(OWN_LIGHTGBM if is_lightgbm else OWN_XGBOOST)}
    path = tmp_path / "model.json"
    if is_lightgbm:
        data = lgb.Dataset(X, y > 0 if "objective" in parameters else y + 3)
        lgb.train({"verbose": -1, "num_threads": 1, **parameters}, data, rounds).save_model(path)
    else:
        xgb.train({"nthread": 1, **parameters}, xgb.DMatrix(X, y > 0), rounds).save_model(path)
    return ranker.load_model(path), X


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "seeds",
    [range(N_QUICK), pytest.param(range(N_QUICK, N_MODELS), marks=pytest.mark.slow)],
    ids=["quick", "slow"],
)
def test_scores_are_those_of_predict(seeds, tmp_path):
    refused = []
    for seed in seeds:
        rng = np.random.default_rng(seed)
        ranker, X = random_model(rng, tmp_path)
        # By default, missing values count as such if the training had any; XGBoost's small models
        # may not show it.
        absent = rng.choice(["missing", "zero"] if np.isnan(X).any() else ["missing", "zero", None])
        # The two plugins have one format.
        for engine in ("solr", "vespa", ("elasticsearch", "opensearch", "elastic")[seed % 3]):
            # Solr's thresholds around 0 do not separate these from 0.
            is_zero = (X > -(2**-43)) & (X < 1.01e-35) & (X != 0) & (engine == "solr")
            try:
                ranker.export(
                    tmp_path / "m.json",
                    engine,
                    features=NAMES,
                    absent=absent,
                    check=np.where(is_zero, 0, X),
                )
            except ValueError as error:
                # Solr cannot represent thresholds of very different sizes.
                if engine != "solr" or "multiply this feature" not in str(error):
                    raise AssertionError(seed, engine, ranker) from error
                refused.append(seed)
    assert len(refused) <= 0.2 * len(seeds)
