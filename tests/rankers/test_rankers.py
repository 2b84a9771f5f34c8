"""Both rankers: fit, stop, predict, score, save, load, and refuse."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import boostrank as br
from boostrank.objective import Objective
from boostrank.queries import Queries
from boostrank.surrogates import SURROGATES, Cosine, Softmax

RANKERS = [br.LightGBMRanker, br.XGBoostRanker]
NATIVE = {
    br.LightGBMRanker: ["lambdarank", "rank_xendcg"],
    br.XGBoostRanker: ["rank:ndcg", "rank:pairwise", "rank:map"],
}
both = pytest.mark.parametrize("ranker_class", RANKERS)


@pytest.fixture(scope="module")
def data():
    return br.make_ranking(n_queries=80, random_state=3)


def small(ranker_class, objective="softmax", **parameters):
    return ranker_class(objective, **{"n_estimators": 15, "random_state": 0, "n_jobs": 1, **parameters})


@pytest.mark.parametrize(
    ("ranker_class", "objective"),
    [(c, o) for c in RANKERS for o in [*SURROGATES, *NATIVE[c], Softmax(hessian="exact")]],
)
def test_every_objective_learns(ranker_class, objective, data):
    X, y, qid = data
    y = np.minimum(y, 1) if objective == "rank:map" else y
    learned = small(ranker_class, objective, k=10).fit(X, y, qid).score(X, y, qid)
    chance = br.ndcg_score(y, np.random.default_rng(0).normal(size=len(y)), qid, k=10)
    assert learned > chance + 0.15


@both
def test_row_order_and_kind_of_qid_do_not_matter(ranker_class, data):
    X, y, qid = data
    expected = small(ranker_class).fit(X, y, qid).predict(X)
    # Interleave the queries without changing the order of their first appearance or the order within a query.
    positions = Queries.from_qid(qid).positions
    order = np.lexsort((qid, positions))
    ranker = small(ranker_class).fit(X[order], y[order], np.array([f"q{i}" for i in qid])[order])
    np.testing.assert_array_equal(ranker.predict(X), expected)


@both
def test_the_same_seed_gives_the_same_model(ranker_class, data):
    X, y, qid = data
    sampled = {"subsample": 0.5, "colsample_bytree": 0.5}
    if ranker_class is br.LightGBMRanker:
        sampled["subsample_freq"] = 1
    first, again = (small(ranker_class, **sampled).fit(X, y, qid).predict(X) for _ in range(2))
    other = small(ranker_class, random_state=1, **sampled).fit(X, y, qid).predict(X)
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


@both
def test_lost_queries_are_an_error(ranker_class, data):
    X, y, qid = data
    with pytest.raises(ValueError, match="got no qid"):
        small(ranker_class).fit(X, y)
    with pytest.raises(ValueError, match="got no qid"):
        small(ranker_class).fit(X, y, qid).score(X, y)


@both
def test_early_stopping_keeps_the_best_round(ranker_class, data):
    X, y, qid = data
    keep, hold_out = br.split_queries(qid, 0.3, random_state=0)
    valid = X[hold_out], y[hold_out], qid[hold_out]
    ranker = small(ranker_class, n_estimators=200, early_stopping_rounds=5, learning_rate=0.5, k=5)
    ranker.fit(X[keep], y[keep], qid[keep], eval_set=[(X[:50], y[:50], qid[:50]), valid])
    history = ranker.evals_result_["valid_1"]["ndcg@5"]
    assert len(history) == ranker.best_iteration_ + 5 < 200
    assert ranker.best_iteration_ == int(np.argmax(history)) + 1
    assert ranker.score(*valid) == pytest.approx(max(history), abs=1e-9)
    assert len(ranker.evals_result_["valid_0"]["ndcg@5"]) == len(history)


@both
def test_validation_fraction_holds_out_whole_queries(ranker_class, data):
    X, y, qid = data
    ranker = small(ranker_class, n_estimators=100, early_stopping_rounds=5, validation_fraction=0.3).fit(X, y, qid)
    assert 1 <= ranker.best_iteration_ < 100
    keep, hold_out = br.split_queries(qid, 0.3, random_state=np.random.RandomState(0))
    assert not set(qid[keep]) & set(qid[hold_out])
    assert ranker.score(X[hold_out], y[hold_out], qid[hold_out]) == pytest.approx(
        max(ranker.evals_result_["valid_0"]["ndcg"]), abs=1e-9
    )


@both
def test_parameters_survive_clone_and_reach_the_backend(ranker_class, data):
    X, y, qid = data
    native = {"extra_trees": True} if ranker_class is br.LightGBMRanker else {"colsample_bynode": 0.3}
    ranker = small(ranker_class, Cosine(epsilon=2.0), k=5, **native)
    assert clone(ranker).get_params() == ranker.get_params()
    assert native.items() <= ranker.get_params().items()
    plain = clone(ranker).set_params(**{name: 1.0 if name[0] == "c" else False for name in native})
    assert not np.array_equal(ranker.fit(X, y, qid).predict(X), plain.fit(X, y, qid).predict(X))
    ranker.set_params(n_estimators=3)
    assert ranker.fit(X, y, qid).best_iteration_ == 3


@both
@pytest.mark.parametrize("wrong", [{"num_leafs": 3}, {"objektive": "softmax"}])
def test_misspelt_parameters_are_errors(ranker_class, wrong, data):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        small(ranker_class, **wrong).fit(*data)
    with pytest.raises(ValueError, match=next(iter(wrong))):
        small(ranker_class).set_params(**wrong).fit(*data)


@pytest.mark.parametrize(
    ("ranker_class", "native"),
    [(br.LightGBMRanker, {"lambda_l2": 1.0}), (br.LightGBMRanker, {"eta": 0.5}), (br.XGBoostRanker, {"eta": 0.5})],
)
def test_a_parameter_under_two_names_is_an_error(ranker_class, native, data):
    with pytest.raises(ValueError, match=next(iter(native))):
        small(ranker_class, **native).fit(*data)


@both
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"objective": "lambdamart"}, "objective must be"),
        ({"k": 0}, "k must be"),
        ({"gain": "exp"}, "gain must be"),
        ({"discount": "log"}, "discount must be"),
        ({"normalize": "idcg"}, "normalize must be"),
        ({"n_estimators": 0}, "n_estimators must be"),
        ({"early_stopping_rounds": 3}, "needs validation queries"),
        ({"validation_fraction": 1.5}, "fraction"),
        ({"objective": "logistic", "normalize": "none"}, "needs targets"),
    ],
)
def test_bad_settings_are_errors_that_name_them(ranker_class, change, message, data):
    with pytest.raises(ValueError, match=message):
        small(ranker_class).set_params(**change).fit(*data)


@both
def test_bad_data_are_errors_that_name_them(ranker_class, data):
    X, y, qid = data
    ranker = small(ranker_class)
    for bad_y, message in ((-y, "negative"), (np.where(y > 2, np.nan, y), "not finite"), (y * 1e4, "gain=")):
        with pytest.raises(ValueError, match=message):
            ranker.fit(X, bad_y, qid)
    with pytest.raises(ValueError, match="rows of X"):
        ranker.fit(X, y[:-1], qid[:-1])
    with pytest.raises(ValueError, match="missing"):
        ranker.fit(X, y, np.where(qid == 0, np.nan, qid))
    with pytest.raises(ValueError, match="infinity"):
        ranker.fit(np.where(X > 3, np.inf, X), y, qid)
    with pytest.raises(ValueError, match="eval_set"):
        ranker.fit(X, y, qid, eval_set=[(X, y)])
    with pytest.raises(ValueError, match="not both"):
        small(ranker_class, validation_fraction=0.2).fit(X, y, qid, eval_set=[(X, y, qid)])
    with pytest.raises(NotFittedError):
        ranker.predict(X)
    with pytest.raises(ValueError, match="features"):
        ranker.fit(X, y, qid).predict(X[:, :3])


@both
def test_missing_features_and_labels_without_relevance(ranker_class, data):
    X, y, qid = data
    assert small(ranker_class).fit(np.where(X > 1, np.nan, X), y, qid).score(X, y, qid) > 0.6
    assert np.ptp(small(ranker_class).fit(X, np.zeros_like(y), qid).predict(X)) == 0


@both
@pytest.mark.parametrize("stop", [KeyboardInterrupt, MemoryError])
def test_an_interrupted_fit_leaves_the_ranker_as_it_was(ranker_class, stop, data, monkeypatch):
    X, y, qid = data
    ranker, unfitted = small(ranker_class).fit(pd.DataFrame(X).rename(columns=str), y, qid), small(ranker_class)
    states = [vars(ranker).copy(), vars(unfitted).copy()]
    before = ranker.predict(pd.DataFrame(X).rename(columns=str))
    rounds = iter(range(5))
    derivatives = Objective.gradient_hessian

    def interrupt_later(self, *arguments):
        if next(rounds, None) is None:
            raise stop
        return derivatives(self, *arguments)

    monkeypatch.setattr(Objective, "gradient_hessian", interrupt_later)
    for interrupted, state in zip((ranker, unfitted), states, strict=True):
        with pytest.raises(stop):
            interrupted.fit(X[:, :4], y, qid)
        assert vars(interrupted) == state
        rounds = iter(range(5))
    np.testing.assert_array_equal(ranker.predict(pd.DataFrame(X).rename(columns=str)), before)
    with pytest.raises(NotFittedError):
        unfitted.predict(X)


@both
@pytest.mark.parametrize("objective", ["softmax", "squared", "cosine"])
def test_integer_weights_repeat_queries(ranker_class, objective, data):
    X, y, qid = data
    # Few distinct values, so that repeating rows moves no bin; leaves limited by Hessian mass, which weights count in.
    X = np.round(X)
    options = {"num_leaves": 7, "min_child_samples": 0} if ranker_class is br.LightGBMRanker else {"max_depth": 3}
    weights = np.random.default_rng(0).integers(0, 4, 80)
    counted = weights[qid][weights[qid] > 0]
    # Weights are relative: a document of mean weight has the Hessian 1, and so has every copy of a document.
    limits = {"min_child_weight": 5.0, "reg_lambda": 2.0}
    ranker = small(ranker_class, objective, **limits, **options)
    weighted = (
        small(ranker_class, objective, **{k: v / counted.mean() for k, v in limits.items()}, **options)
        .fit(X, y, qid, sample_weight=weights)
        .predict(X)
    )
    copies = [(np.flatnonzero(qid == q), c) for q in range(80) for c in range(weights[q])]
    rows = np.concatenate([part for part, _ in copies])
    again = np.concatenate([qid[part] + 80 * c for part, c in copies])
    repeated = clone(ranker).fit(X[rows], y[rows], again).predict(X)
    np.testing.assert_allclose(weighted, repeated, rtol=1e-4, atol=1e-5)
    assert np.ptp(weighted) > 0.1


@both
def test_row_weights_need_a_sum_over_documents(ranker_class, data):
    X, y, qid = data
    weights = np.random.default_rng(0).uniform(0.5, 2, len(y))
    for objective in ("squared", "poisson", "logistic"):
        plain = small(ranker_class, objective).fit(X, y, qid).predict(X)
        assert not np.allclose(small(ranker_class, objective).fit(X, y, qid, sample_weight=weights).predict(X), plain)
    for objective in ("softmax", "cosine"):
        with pytest.raises(ValueError, match="differs within query"):
            small(ranker_class, objective).fit(X, y, qid, sample_weight=weights)


@pytest.mark.parametrize("objective", ["softmax", "logistic", "lambdarank"])
def test_query_weights_change_the_model_and_equal_weights_do_not(objective, data):
    X, y, qid = data
    unweighted = small(br.LightGBMRanker, objective).fit(X, y, qid).predict(X)
    weights = np.random.default_rng(0).integers(1, 5, 80)
    for given in (weights, weights[qid]):
        ranker = small(br.LightGBMRanker, objective).fit(X, y, qid, sample_weight=given)
        assert not np.allclose(ranker.predict(X), unweighted)
    per_row = small(br.LightGBMRanker, objective).fit(X, y, qid, sample_weight=weights[qid]).predict(X)
    per_query = small(br.LightGBMRanker, objective).fit(X, y, qid, sample_weight=weights).predict(X)
    np.testing.assert_array_equal(per_row, per_query)


@both
def test_zero_weight_leaves_a_query_out_of_the_loss(ranker_class, data):
    X, y, qid = data
    weights = (qid < 40).astype(float)
    changed = np.where(qid < 40, y, 5 - y)
    first = small(ranker_class).fit(X, y, qid, sample_weight=weights).predict(X)
    second = small(ranker_class).fit(X, changed, qid, sample_weight=weights).predict(X)
    np.testing.assert_array_equal(first, second)


@both
def test_pipelines_and_importances(ranker_class, data):
    X, y, qid = data
    pipeline = make_pipeline(StandardScaler(), small(ranker_class))
    pipeline.fit(X, y, **{f"{ranker_class.__name__.lower()}__qid": qid})
    assert pipeline.predict(X).shape == y.shape
    ranker = small(ranker_class, n_estimators=60).fit(X, y, qid)
    assert ranker.feature_importances_.shape == (X.shape[1],)
    assert ranker.feature_importances_[[0, 3]].min() > ranker.feature_importances_[5:].max()


def test_mean_average_precision_takes_binary_labels(data):
    X, y, qid = data
    small(br.XGBoostRanker, "rank:map").fit(X, y >= 1, qid)
    with pytest.raises(ValueError, match="rank:map takes labels 0 and 1 only; got labels up to"):
        small(br.XGBoostRanker, "rank:map").fit(X, y, qid)


def test_parameters_of_native_objectives_are_known_beside_them(data):
    pairs = {"lambdarank_pair_method": "topk", "lambdarank_num_pair_per_sample": 2}
    small(br.XGBoostRanker, "rank:ndcg", **pairs).fit(*data)
    small(br.LightGBMRanker, "lambdarank", lambdarank_truncation_level=5).fit(*data)
    with pytest.raises(ValueError, match="lambdarank_pair_method"):
        small(br.XGBoostRanker, "softmax", **pairs).fit(*data)


def test_gain_reaches_the_native_objectives(data):
    X, y, qid = data
    for ranker_class, objective in ((br.LightGBMRanker, "lambdarank"), (br.XGBoostRanker, "rank:ndcg")):
        exp2, linear = (small(ranker_class, objective, gain=g).fit(X, y, qid).predict(X) for g in ("exp2", "linear"))
        assert not np.allclose(exp2, linear)
    with pytest.raises(ValueError, match="rank:ndcg"):
        small(br.XGBoostRanker, "rank:ndcg", gain=[0, 1, 2, 3, 4, 5]).fit(X, y, qid)
    assert small(br.LightGBMRanker, "lambdarank", gain="linear").fit(X, y * 10, qid).score(X, y, qid) > 0.6
