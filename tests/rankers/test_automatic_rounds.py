"""The number of rounds by cross-validation over the training queries.

The oracle trains one ranker per fold, by itself, and looks at the mean of the recorded metrics.
"""

import numpy as np
import pandas as pd
import pytest
from cases import for_each
from scipy.sparse import csr_matrix

import boostrank as br

PATIENCE = 3
#: More than the rounds of any training that ends by itself.
N_ROUNDS = 30
COMMON = {"n_jobs": 1, "random_state": 0, "learning_rate": 0.5, "max_depth": 3}
# XGBoost has one stream of random numbers for all boosters, so that in trainings on folds each round has its own seed.
SAMPLED = {
    br.LightGBMRanker: {"extra_trees": True, "colsample_bytree": 0.5, "subsample": 0.7, "subsample_freq": 1},
    br.XGBoostRanker: {"subsample": 0.6, "colsample_bytree": 0.5, "seed_per_iteration": True},
}


def folds_of(X, qid, n_folds, seed=0):
    return list(br.QueryKFold(n_folds, shuffle=True, random_state=seed).split(X, groups=qid))


def fold_rankers(make, data, n_folds, n_rounds, metric="ndcg", seed=0, **fit):
    """A ranker for each fold, trained for all rounds, and the mean over folds of the metric after each round."""
    X, y, qid = data
    rankers = []
    for train, test in folds_of(X, qid, n_folds, seed):
        arguments = {name: value[train] for name, value in fit.items()}
        ranker = make(n_estimators=n_rounds)
        part = (X[test], y[test], qid[test])
        settings = {} if metric == "ndcg" else {"eval_metric": metric}
        init = {"eval_init_score": [fit["init_score"][test]]} if "init_score" in fit else {}
        rankers.append(ranker.fit(X[train], y[train], qid[train], eval_set=[part], **arguments, **settings, **init))
    return rankers, np.mean([ranker.evals_result_["valid_0"][metric] for ranker in rankers], axis=0)


def rounds_of(curve, patience=PATIENCE):
    """The best number of rounds, and the number of rounds until there was no better one for so long."""
    best = 0
    for i in range(len(curve)):
        if curve[i] > curve[best]:
            best = i
        if i - best == patience:
            return best + 1, i + 1
    raise AssertionError("the curve does not end")


@pytest.fixture
def make(ranker_class):
    return lambda **settings: ranker_class(**{**COMMON, **settings})


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sampled", "weights, initial scores and another metric"])
def test_rounds_are_the_best_of_the_mean_over_separate_trainings(ranker_class, data, kind):
    X, y, qid = data
    random = np.random.default_rng(0)
    fit, metric = {}, "ndcg"
    if kind != "sampled":
        fit["sample_weight"] = np.repeat(random.uniform(0.1, 5, len(np.unique(qid))), np.bincount(qid)[np.unique(qid)])
        fit["init_score"] = 0.3 * random.normal(size=len(y))
        metric = "map"
    settings = {**COMMON, **(SAMPLED[ranker_class] if kind == "sampled" else {})}

    def make(**changed):
        return ranker_class(**settings, **changed)

    _, curve = fold_rankers(make, data, 3, N_ROUNDS, metric, **fit)
    best, trained = rounds_of(curve)
    ranker = make(n_estimators="auto", cv=3, early_stopping_rounds=PATIENCE)
    ranker.fit(X, y, qid, **fit, **({} if metric == "ndcg" else {"eval_metric": ["map", "ndcg@3"]}))
    assert ranker.best_iteration_ == best
    np.testing.assert_array_equal(ranker.cv_results_["mean_curve"][0], curve[:trained])
    names = ["n_rounds", "rounds_trained", "mean_test_score", "metric"]
    assert [ranker.cv_results_[name].tolist() for name in names] == [[best], [trained], [curve[best - 1]], [metric]]
    assert 1 < best < N_ROUNDS - PATIENCE
    again = make(n_estimators=best).fit(X, y, qid, **fit)
    np.testing.assert_array_equal(ranker.predict(X), again.predict(X))


@pytest.mark.slow
def test_the_rounds_of_a_metric_of_which_lower_is_better(make, data):
    def loss(y, scores):
        return "loss", float(np.mean((y - scores) ** 2)), False

    ranker = make(n_estimators="auto", cv=3, early_stopping_rounds=PATIENCE)
    ranker.fit(*data, eval_metric=["ndcg", loss], early_stopping_metric="loss")
    found = np.mean([metrics["loss"] for metrics in ranker.evals_result_.values()], axis=0)
    assert ranker.best_iteration_ == np.argmin(found) + 1 == len(found) - PATIENCE
    np.testing.assert_array_equal(found, ranker.cv_results_["mean_curve"][0])


@pytest.mark.slow
def test_defaults_are_five_folds_and_a_patience_of_150(make, data):
    # Trees of one split and long steps: the curve soon gets worse.
    few = data[2] < 15
    ranker = make(n_estimators="auto", max_depth=1, learning_rate=1.0).fit(*(values[few] for values in data))
    curve = ranker.cv_results_["mean_curve"][0]
    assert (ranker.best_iteration_, len(curve)) == rounds_of(curve, 150)
    assert list(ranker.evals_result_) == [f"fold_{i}" for i in range(5)]


def test_rounds_end_at_the_largest_number(make, data, monkeypatch):
    monkeypatch.setattr("boostrank.training.settings.MAX_ROUNDS", 3)
    ranker = make(n_estimators="auto", learning_rate=0.01, cv=2).fit(*data)
    assert ranker.cv_results_["rounds_trained"].tolist() == [3]


@pytest.mark.slow
def test_a_validation_set_is_evaluated_and_does_not_decide(make, data):
    X, y, qid = data
    settings = {"n_estimators": "auto", "cv": 3, "early_stopping_rounds": 5, "learning_rate": 0.2}
    alone = make(**settings).fit(X, y, qid)
    # On opposite labels, early stopping would end the training.
    labels = y.max() - y
    ranker = make(**settings).fit(X, y, qid, eval_set={"test": (X, labels, qid)})
    stopped = make(**{**settings, "n_estimators": 30, "cv": None}).fit(X, y, qid, eval_set=[(X, labels, qid)])
    assert stopped.best_iteration_ < ranker.best_iteration_
    np.testing.assert_array_equal(ranker.predict(X), alone.predict(X))
    assert list(ranker.evals_result_) == ["fold_0", "fold_1", "fold_2", "test"]
    assert len(ranker.evals_result_["test"]["ndcg"]) == ranker.best_iteration_
    values = [ranker.evals_result_[f"fold_{i}"]["ndcg"][ranker.best_iteration_ - 1] for i in range(3)]
    assert [ranker.best_score_[f"fold_{i}"]["ndcg"] for i in range(3)] == values
    assert np.mean(values) == pytest.approx(ranker.cv_results_["mean_test_score"][0])
    np.testing.assert_allclose(ranker.best_score_["test"]["ndcg"], ranker.score(X, labels, qid), rtol=1e-6)


def test_dart_is_trained_again(data):
    X, y, qid = data
    dart = br.LightGBMRanker(boosting="dart", n_estimators="auto", cv=3, early_stopping_rounds=PATIENCE, **COMMON)
    ranker = dart.fit(X, y, qid)
    again = br.LightGBMRanker(boosting="dart", n_estimators=ranker.best_iteration_, **COMMON).fit(X, y, qid)
    np.testing.assert_array_equal(ranker.predict(X), again.predict(X))


@pytest.mark.slow
def test_all_kinds_of_features_and_rows_in_any_sequence(make, data):
    X, y, qid = data
    settings = {"n_estimators": "auto", "cv": 2, "early_stopping_rounds": PATIENCE}
    expected = make(**settings).fit(X, y, qid).predict(X)
    sparse = make(**settings).fit(csr_matrix(X), y, qid)
    np.testing.assert_allclose(sparse.predict(csr_matrix(X)), expected, rtol=1e-6, atol=1e-7)
    # First the first document of each query, then the second of each, ...: grouped, they are the same data.
    place = np.concatenate([np.arange(size) for size in np.bincount(qid)])
    rows = np.argsort(place, kind="stable")
    shuffled = make(**settings).fit(X[rows], y[rows], qid[rows])
    np.testing.assert_array_equal(shuffled.predict(X), expected)
    kinds = pd.DataFrame({"kind": pd.Categorical(np.where(y > 1, "a", "b")), "qid": qid})
    assert np.ptp(make(**settings).fit(kinds, y).predict(kinds)) > 0


def test_an_earlier_model_goes_on(make, data):
    X, y, qid = data
    model = make(n_estimators=4).fit(X, y, qid)
    settings = {"n_estimators": "auto", "cv": 3, "early_stopping_rounds": PATIENCE}
    ranker = make(**settings).fit(X, y, qid, init_model=model)
    n_new = ranker.cv_results_["n_rounds"][0]
    assert ranker.best_iteration_ == 4 + n_new
    again = make(n_estimators=n_new).fit(X, y, qid, init_model=model)
    np.testing.assert_array_equal(ranker.predict(X), again.predict(X))


@pytest.mark.slow
def test_folds_are_drawn_by_the_random_state(make, data):
    X, y, qid = data
    settings = {"n_estimators": "auto", "early_stopping_rounds": PATIENCE, "cv": 3}

    def curve(**changed):
        return make(**settings, **changed).fit(X, y, qid).cv_results_["mean_curve"][0]

    np.testing.assert_array_equal(curve(), curve(n_jobs=2))
    _, expected = fold_rankers(lambda **changed: make(random_state=1, **changed), data, 3, N_ROUNDS, seed=1)
    other = curve(random_state=1)
    np.testing.assert_allclose(other, expected[: len(other)], rtol=1e-6)
    # From a RandomState, each fit draws other folds, and the sequence of fits can be repeated.
    first, same = ([curve(random_state=state).tolist() for _ in "ab"] for state in map(np.random.RandomState, (5, 5)))
    assert first == same
    assert first[0] != first[1]


def test_a_fold_on_which_the_metric_is_undefined_is_named(make, data):
    X, y, qid = data
    only_one = np.where(qid == qid[0], y, 0)
    with pytest.raises(ValueError, match=r"the queries that fold_\d holds out: no query is left to average"):
        make(n_estimators="auto", cv=3).fit(X, only_one, qid, eval_metric=br.get_measure("ndcg", empty="skip"))


@for_each(
    ("settings", "fit", "message"),
    [
        ({"n_estimators": "auto", "cv": 31}, {}, r"cv=31 folds need at least 31 training queries; got 30"),
        ({"cv": 3}, {}, "cv=3 would have no effect"),
        ({"early_stopping_rounds": 3}, {}, "needs validation queries: .*n_estimators='auto'"),
        ({"n_estimators": "auto", "validation_fraction": 0.2}, {}, "n_estimators='auto' or validation_fraction"),
        ({"n_estimators": "auto"}, {"early_stopping_metric": "map"}, "early_stopping_metric must be one of ndcg"),
    ],
)
def test_settings_that_cannot_work(make, data, settings, fit, message):
    ranker = make(**settings)
    with pytest.raises(ValueError, match=message):
        ranker.fit(*data, **fit)
    assert not hasattr(ranker, "booster_")
