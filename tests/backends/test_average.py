"""The average of models against the mean of their predictions, and as a model: files, SHAP values,
ONNX."""

import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import xgboost as xgb

import boostrank as br

onnxruntime = pytest.importorskip("onnxruntime")
treelite = pytest.importorskip("treelite")

KINDS = [
    (br.LightGBMRanker, {}),
    (br.LightGBMRanker, {"boosting": "dart", "drop_rate": 0.5, "linear_tree": True}),
    (br.LightGBMRanker, {"num_leaves": 3, "min_gain_to_split": 4.0}),
    (br.XGBoostRanker, {}),
    (br.XGBoostRanker, {"objective": "rank:ndcg", "lambdarank_unbiased": True}),
    (
        br.XGBoostRanker,
        {"booster": "dart", "rate_drop": 0.5, "num_parallel_tree": 3, "subsample": 0.5},
    ),
    (br.XGBoostRanker, {"tree_method": "exact", "gamma": 3.0}),
    (br.XGBoostRanker, {"missing": 1.0}),
]
TOLERANCE = {br.LightGBMRanker: 1e-13, br.XGBoostRanker: 2e-6}


@pytest.fixture(scope="module")
def frame(data):
    """Features of all kinds: numbers, with missing ones, and categories with names, also missing
    ones."""
    X, y, _ = data
    rng = np.random.default_rng(0)
    X = np.where(rng.random(X.shape) < 0.2, np.nan, X).round(1)
    codes = np.clip(y.astype(int) + rng.integers(-1, 3, len(y)), -1, 2)
    kinds = pd.Categorical.from_codes(codes, ["low", "middle", "high"])
    return pd.DataFrame(X, columns=["größe 1", *(f"x{i}" for i in range(1, X.shape[1]))]).assign(
        kind=kinds
    )


def train(ranker_class, X, data, rounds=(2, 5, 3), **parameters):
    """Rankers of small trees and of different numbers of rounds, each trained on other queries."""
    _, y, sizes = data
    qid = np.repeat(np.arange(len(sizes)), sizes)
    rankers = []
    for seed, n in enumerate(rounds):
        rows = np.flatnonzero(qid % 3 != seed)
        ranker = ranker_class(
            n_estimators=n, random_state=seed, n_jobs=1, max_depth=4, **parameters
        )
        part = X.iloc[rows] if isinstance(X, pd.DataFrame) else X[rows]
        rankers.append(ranker.fit(part, y[rows], qid[rows]))
    return rankers


def averaged(rankers, path):
    """A ranker with the average of the boosters, which is written and read."""
    ranker = rankers[0]
    ranker._backend.save(ranker._backend.average([one.booster_ for one in rankers]), path)
    return type(ranker)().load_model(path)


def assert_mean(ranker, rankers, X):
    expected = np.mean([one.predict(X) for one in rankers], axis=0)
    assert np.ptp(expected) > 0
    tolerance = TOLERANCE[type(ranker)]
    np.testing.assert_allclose(ranker.predict(X), expected, rtol=tolerance, atol=tolerance)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ranker_class", "parameters"), KINDS, ids=lambda value: getattr(value, "__name__", None)
)
def test_scores_are_the_mean_and_other_properties_those_of_all_trees(
    ranker_class, parameters, data, frame, tmp_path
):
    matrix = sp.csr_array(np.nan_to_num(frame.drop(columns="kind").to_numpy()))
    has_categories = parameters.get("tree_method") != "exact" and "missing" not in parameters
    for X in (matrix, frame if has_categories else frame.drop(columns="kind")):
        rankers = train(ranker_class, X, data, **parameters)
        ranker = averaged(rankers, tmp_path / "model.json")
        assert_mean(ranker, rankers, X)
        assert ranker.best_iteration_ == sum(one.best_iteration_ for one in rankers)
    X, tolerance = X[::10], {"rtol": 1e-5, "atol": 1e-5}
    leaves = np.hstack([one.predict(X, pred_leaf=True) for one in rankers])
    np.testing.assert_array_equal(ranker.predict(X, pred_leaf=True), leaves)
    for kind in (
        ("split", "gain")
        if ranker_class is br.LightGBMRanker
        else ("weight", "total_gain", "total_cover")
    ):
        importances = sum(one.get_feature_importances(kind).sort_index() for one in rankers)
        if ranker_class is br.XGBoostRanker:
            counts = [one.booster_.get_score(importance_type=kind) for one in rankers]
            scale = sum(sum(scores.values()) for scores in counts)
            importances = sum(
                one.get_feature_importances(kind).sort_index() * (sum(scores.values()) / scale)
                for one, scores in zip(rankers, counts, strict=True)
            )
        pd.testing.assert_series_equal(
            ranker.get_feature_importances(kind).sort_index(), importances, rtol=1e-5
        )
        assert importances.sum() > 0
    # The rounds of a model are the same in the average.
    second = {
        "start_iteration": rankers[0].best_iteration_,
        "num_iteration": rankers[1].best_iteration_,
    }
    base = ranker._backend.base_score(ranker.booster_)
    np.testing.assert_allclose(
        3 * (ranker.predict(X, **second) - base), rankers[1].predict(X), **tolerance
    )
    *_, last = ranker.staged_predict(X)
    np.testing.assert_allclose(last, ranker.predict(X), **tolerance)
    if "linear_tree" not in parameters:
        contributions = np.mean([one.predict(X, pred_contrib=True) for one in rankers], axis=0)
        np.testing.assert_allclose(ranker.predict(X, pred_contrib=True), contributions, **tolerance)


def test_onnx_and_treelite_give_the_same_scores(ranker_class, data, frame, tmp_path):
    # Rounded features are between the thresholds of splits, so that float32 does not move a row to
    # another leaf.
    X = frame.drop(columns="kind").to_numpy().astype(np.float32)
    parameters = (
        {"boosting": "dart"}
        if ranker_class is br.LightGBMRanker
        else {"booster": "dart", "rate_drop": 0.5}
    )
    ranker = averaged(train(ranker_class, X, data, **parameters), tmp_path / "model.json")
    session = onnxruntime.InferenceSession(ranker.to_onnx().SerializeToString())
    np.testing.assert_allclose(session.run(None, {"X": X})[0].ravel(), ranker.predict(X), atol=1e-5)
    load = getattr(treelite.frontend, f"load_{ranker._backend.parameters.LIBRARY.lower()}_model")
    scores = treelite.gtil.predict(load(str(tmp_path / "model.json")), X).ravel()
    np.testing.assert_allclose(scores, ranker.predict(X), atol=1e-5)


def test_averages_of_averages_of_continued_models_and_of_models_without_a_split(
    ranker_class, data, frame, tmp_path
):
    qid = np.repeat(np.arange(len(data[2])), data[2])
    first = train(ranker_class, frame, data, rounds=(2, 3))
    continued = ranker_class(n_estimators=2, n_jobs=1).fit(frame, data[1], qid, init_model=first[0])
    constant = ranker_class(n_estimators=2, n_jobs=1, min_child_weight=1e9)
    with pytest.warns(UserWarning, match="no tree has a split"):
        constant.fit(frame, data[1], qid)
    three = [constant, averaged(first, tmp_path / "first"), continued]
    assert_mean(averaged(three, tmp_path / "three"), three, frame)


def test_models_of_the_libraries_are_averaged(data):
    X, y, _ = data
    boosters = [
        lgb.train({"verbosity": -1, "objective": objective, "num_threads": 1}, lgb.Dataset(X, y), 6)
        for objective in ("regression", "poisson")
    ]
    boosters[0].best_iteration = 2
    average = br.LightGBMRanker._backend.average(boosters)
    scores = [boosters[0].predict(X, num_iteration=2), boosters[1].predict(X, raw_score=True)]
    np.testing.assert_allclose(
        average.predict(X, raw_score=True), np.mean(scores, axis=0), rtol=1e-12
    )
    matrix = xgb.DMatrix(X, y > 1)
    settings = [
        {"objective": "binary:logistic"},
        {"base_score": 7.25},
        {"base_score": -1.0, "booster": "dart"},
    ]
    boosters = [xgb.train(one, matrix, 3) for one in settings]
    for booster in boosters:
        booster.set_attr(best_iteration="1", boostrank_missing="1.0")
    average = br.XGBoostRanker._backend.average(boosters)
    scores = np.mean([one.predict(matrix, output_margin=True) for one in boosters], axis=0)
    np.testing.assert_allclose(average.predict(matrix), scores, atol=1e-6)
    # Attributes of one model are not those of the average.
    assert average.attributes() == {"boostrank_missing": "1.0"}
