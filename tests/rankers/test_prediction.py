"""Predictions by all rounds and by some: scores, leaves, contributions of features, and scores
after each round."""

import functools
from itertools import product

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import xgboost as xgb
from cases import for_each
from rankers.small_rankers import small
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import boostrank as br
from boostrank.backends.xgboost import features as xgboost_features

pl = pytest.importorskip("polars")

N_ROUNDS = 6
#: Native parameters by kind of model.
KINDS = {
    "trees": (br.LightGBMRanker, {}),
    "linear-trees": (br.LightGBMRanker, {"linear_tree": True}),
    "xgboost-trees": (br.XGBoostRanker, {}),
    "xgboost-dart": (br.XGBoostRanker, {"booster": "dart", "rate_drop": 0.5}),
    "parallel": (br.XGBoostRanker, {"num_parallel_tree": 3, "subsample": 0.5}),
}
#: Pairs of keywords in both notations, and the rounds that they mean.
RANGES = [
    ({"num_iteration": 4}, {"iteration_range": (0, 4)}, (0, 4)),
    ({"start_iteration": 2}, {"iteration_range": (2, 0)}, (2, 6)),
    (
        {"start_iteration": np.int64(2), "num_iteration": np.int32(3)},
        {"iteration_range": [2, np.int64(5)]},
        (2, 5),
    ),
    ({"start_iteration": 3, "num_iteration": -1}, {"iteration_range": (3, 6)}, (3, 6)),
]
RESULTS = {"scores": {}, "leaves": {"pred_leaf": True}, "contributions": {"pred_contrib": True}}
kinds = pytest.mark.parametrize("kind", KINDS)
# LightGBM has no contributions for linear models in leaves.
TREES = [kind for kind in KINDS if kind != "linear-trees"]


@pytest.fixture(scope="module")
def trained(data):
    """Rankers by kind, which no test may change."""
    return functools.cache(lambda kind: small(KINDS[kind][0], **KINDS[kind][1]).fit(*data))


def predict_by_rounds(ranker, X, start, stop, result):
    """Predictions of the Booster itself, from each round alone: their sum, or the leaves of all
    rounds in one array."""
    booster = ranker.booster_
    if isinstance(ranker, br.LightGBMRanker):
        kind = result or {"raw_score": True}
        parts = [
            booster.predict(X, start_iteration=i, num_iteration=1, **kind)
            for i in range(start, stop)
        ]
    else:
        name = {"pred_leaf": "pred_leaf", "pred_contrib": "pred_contribs"}.get(
            next(iter(result), ""), "output_margin"
        )
        # A slice of the model is the model of these rounds.
        parts = [
            booster[i : i + 1].predict(xgb.DMatrix(X), **{name: True}) for i in range(start, stop)
        ]
    if "pred_leaf" in result:
        return np.concatenate([part.reshape(len(X), -1) for part in parts], axis=1)
    return np.sum(parts, axis=0, dtype=np.float64)


@pytest.mark.parametrize(
    ("kind", "name"), [*product(KINDS, ["scores", "leaves"]), *product(TREES, ["contributions"])]
)
def test_ranges_of_rounds_are_those_of_the_booster(kind, name, trained, data):
    ranker, X, result = trained(kind), data[0][:60], RESULTS[name]
    for of_lightgbm, of_xgboost, (start, stop) in RANGES:
        found = ranker.predict(X, **of_lightgbm, **result)
        np.testing.assert_array_equal(found, ranker.predict(X, **of_xgboost, **result))
        np.testing.assert_allclose(
            found, predict_by_rounds(ranker, X, start, stop, result), atol=2e-6
        )
        assert found.dtype == (np.int32 if "pred_leaf" in result else np.float64)
    if name == "leaves":
        assert ranker.apply(X, (2, 4)).shape == (60, 2 * (3 if kind == "parallel" else 1))
        np.testing.assert_array_equal(ranker.apply(X), ranker.predict(X, pred_leaf=True))
    whole = ranker.predict(X, **result)
    np.testing.assert_allclose(whole, predict_by_rounds(ranker, X, 0, N_ROUNDS, result), atol=2e-6)
    for keywords in (
        {"num_iteration": N_ROUNDS},
        {"num_iteration": -1},
        {"iteration_range": (0, 0)},
    ):
        np.testing.assert_array_equal(ranker.predict(X, **keywords, **result), whole)


@kinds
def test_staged_scores_are_those_of_the_first_rounds(kind, trained, data):
    ranker, X = trained(kind), data[0]
    stages = list(ranker.staged_predict(X))
    assert len(stages) == N_ROUNDS
    for n, scores in enumerate(stages, start=1):
        assert scores.dtype == np.float64
        exact = {"rtol": 0} if isinstance(ranker, br.LightGBMRanker) else {"atol": 1e-6}
        np.testing.assert_allclose(scores, ranker.predict(X, num_iteration=n), **exact)


def test_rounds_after_the_best_one_are_not_kept(ranker_class, fitted, data):
    ranker, X = fitted(ranker_class), data[0]
    best = ranker.best_iteration_
    assert 1 < best < 30
    np.testing.assert_array_equal(ranker.predict(X, num_iteration=best), ranker.predict(X))
    for keywords in (
        {"num_iteration": best + 1},
        {"start_iteration": best},
        {"iteration_range": (0, best + 1)},
    ):
        with pytest.raises(
            ValueError, match=rf"the number of rounds of the model, {best} \(rounds after the best"
        ):
            ranker.predict(X, **keywords)


@pytest.mark.parametrize(
    ("kind", "container"),
    [("trees", sp.csr_matrix), ("xgboost-trees", sp.csr_array), ("xgboost-dart", sp.csc_array)],
)
def test_elements_that_a_sparse_matrix_does_not_store_are_zero(
    kind, container, trained, data, monkeypatch
):
    ranker, X = trained(kind), np.where(data[0] > 0.2, data[0], 0.0)[:350]
    # Several blocks of rows.
    monkeypatch.setattr(xgboost_features, "BLOCK_ELEMENTS", 100 * X.shape[1])
    for result, rounds in product(RESULTS.values(), ({}, {"iteration_range": (1, 3)})):
        found, expected = (
            ranker.predict(features, **rounds, **result) for features in (container(X), X)
        )
        if "pred_contrib" in result:
            assert isinstance(found, sp.csr_matrix if container is sp.csr_matrix else sp.csr_array)
            found = found.toarray()
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-15)
    np.testing.assert_array_equal(
        list(ranker.staged_predict(container(X))), list(ranker.staged_predict(X))
    )


def test_columns_of_frames_are_checked(ranker_class, fitted, data, frame):
    ranker, of_array = fitted(ranker_class, named=True), fitted(ranker_class)
    for result in RESULTS.values():
        expected = of_array.predict(data[0], **result, num_iteration=2)
        for same in (frame, frame.assign(qid=data[2]), pl.DataFrame(frame.to_dict("list"))):
            np.testing.assert_array_equal(ranker.predict(same, **result, num_iteration=2), expected)
    for call in (ranker.predict, ranker.staged_predict, ranker.apply):
        with pytest.raises(ValueError, match="same order"):
            call(frame[frame.columns[::-1]])


def test_columns_of_all_types_of_numbers_give_the_same_scores_as_nullable_ones(ranker_class):
    X, y, qid = br.make_ranking(n_queries=30, n_features=7, random_state=0)
    types = dict(zip("abcdefg", ["f8", "f4", "i8", "?", "f2", "u1", "i4"], strict=True))
    frame = pd.DataFrame((X * 10).clip(0, 200), columns=list(types)).astype(types)
    frame.iloc[3:6, :2] = np.nan
    ranker = small(ranker_class).fit(frame, y, qid)
    for result, rows in product(RESULTS.values(), (slice(3, 4), slice(20))):
        nullable = frame.convert_dtypes(convert_integer=False)
        np.testing.assert_array_equal(
            ranker.predict(frame[rows], **result), ranker.predict(nullable[rows], **result)
        )
    refusing = small(br.XGBoostRanker).fit(frame, y, qid)
    with pytest.raises(ValueError, match="column 'a' of X contains infinity"):
        refusing.predict(frame[:1].assign(a=np.inf))
    with pytest.raises(ValueError, match="validate_features must be True or False"):
        ranker.predict(frame[:1], validate_features=1)


@pytest.mark.parametrize(
    ("booster", "objective"), [("gbtree", "binary:logistic"), ("dart", "rank:ndcg")]
)
def test_base_score_of_models_of_xgboost_counts_once(booster, objective, data, tmp_path):
    X, y, _ = data
    matrix = (
        xgb.DMatrix(X, y > 1, qid=data[2]) if objective == "rank:ndcg" else xgb.DMatrix(X, y > 1)
    )
    parameters = {"objective": objective, "base_score": 0.7, "booster": booster, "nthread": 1}
    model = xgb.train(parameters, matrix, 5)
    model.save_model(tmp_path / "model.json")
    ranker = br.XGBoostRanker().load_model(tmp_path / "model.json")
    for keywords in ({}, {"iteration_range": (0, 3)}, {"iteration_range": (2, 4)}):
        expected = model.predict(matrix, output_margin=True, **keywords)
        np.testing.assert_allclose(ranker.predict(X, **keywords), expected, atol=1e-6)
        contributions = ranker.predict(X, pred_contrib=True, **keywords)
        np.testing.assert_allclose(contributions.sum(axis=1), expected, atol=2e-6)
    for n, scores in enumerate(ranker.staged_predict(X), start=1):
        np.testing.assert_allclose(scores, ranker.predict(X, num_iteration=n), atol=1e-6)


@for_each(
    ("keywords", "message"),
    [
        ({"start_iteration": 4, "num_iteration": 3}, "the rounds from 4 to 7 go beyond"),
        ({"num_iteration": 2.0}, "num_iteration must be None or an integer; got 2.0"),
        ({"start_iteration": -1}, "start_iteration must be an integer of at least 0; got -1"),
        (
            {"start_iteration": 6},
            "the rounds from 6 to the last go beyond the number of rounds of the model, 6 ",
        ),
        (
            {"iteration_range": (0, 7)},
            "the rounds from 0 to 7 go beyond the number of rounds of the model, 6 ",
        ),
        ({"iteration_range": (3, 3)}, r"0 <= first < end, .*got \(3, 3\)"),
        ({"iteration_range": (-1, 2)}, r"0 <= first < end, .*got \(-1, 2\)"),
        ({"iteration_range": (0, 2.0)}, r"iteration_range must be \(first, end\) .*got \(0, 2.0\)"),
        (
            {"iteration_range": (0, 2), "start_iteration": 1},
            "give either iteration_range, or num_iteration and start",
        ),
        (
            {"pred_leaf": True, "pred_contrib": True},
            "give either pred_leaf=True or pred_contrib=True, not both",
        ),
        ({"validate_features": "no"}, "validate_features must be True or False; got 'no'"),
    ],
)
@for_each("kind", ["trees", "xgboost-trees"])
def test_arguments_that_are_refused(kind, keywords, message, trained, data):
    with pytest.raises(ValueError, match=message):
        trained(kind).predict(data[0], **keywords)


def test_linear_models_in_leaves_have_no_contributions(trained, data):
    with pytest.raises(ValueError, match=r"no contributions \(pred_contrib\): .*linear trees"):
        trained("linear-trees").predict(data[0], pred_contrib=True)


def test_keywords_that_change_nothing(ranker_class, fitted, frame):
    ranker, renamed = fitted(ranker_class, named=True), frame.add_prefix("other_")
    expected = ranker.predict(frame)
    threads = {"num_threads": 2} if ranker_class is br.LightGBMRanker else {}
    np.testing.assert_array_equal(
        ranker.predict(frame, raw_score=True, output_margin=False, **threads), expected
    )
    np.testing.assert_array_equal(ranker.predict(renamed, validate_features=False), expected)
    for features, keywords in ((renamed, {}), (renamed.iloc[:, 1:], {"validate_features": False})):
        with pytest.raises(ValueError, match="feature names"):
            ranker.predict(features, **keywords)
    np.testing.assert_array_equal(ranker.predict(frame, predict_disable_shape_check=True), expected)
    np.testing.assert_allclose(ranker.predict(frame, base_margin=expected), 2 * expected, rtol=1e-6)
    with pytest.raises(ValueError, match="init_score must be one finite number for each row"):
        ranker.predict(frame, init_score=np.full(len(frame), np.nan))
    if ranker_class is br.XGBoostRanker:
        with pytest.raises(ValueError, match="takes no num_threads=2: set n_jobs"):
            ranker.predict(frame, num_threads=2)


def test_rankers_that_are_not_fitted(ranker_class, fitted, data):
    for ranker in (ranker_class(), clone(fitted(ranker_class))):
        for call in (
            ranker.predict,
            ranker.staged_predict,
            ranker.apply,
            lambda _, one=ranker: one.evals_result(),
        ):
            with pytest.raises(NotFittedError):
                call(data[0])
        assert not hasattr(ranker, "feature_importances_")
