"""``n_estimators="auto"``: the number of rounds by plain trainings on folds of the training queries."""

import numpy as np
import pytest
from cases import for_each

import boostrank as br

PATIENCE = 3
COMMON = {"n_jobs": 1, "random_state": 0, "learning_rate": 0.5, "max_depth": 3}
AUTO = {"n_estimators": "auto", "early_stopping_rounds": PATIENCE, "cv": 3}


def variance_of_errors(y, scores):
    return "loss", float(np.var(y - scores)), False


@pytest.fixture
def make(ranker_class):
    return lambda **settings: ranker_class(**{**COMMON, **settings})


def curves_by_hand(make, data, n_folds=3, seed=0, **fit):
    """The values of the metrics in separate trainings that stop early on a fold each."""
    curves = {}
    folds = br.QueryKFold(n_folds, shuffle=True, random_state=seed).split(data[0], groups=data[2])
    arrays = {name: values for name, values in fit.items() if isinstance(values, np.ndarray)}
    for i, (train, test) in enumerate(folds):
        options = {**fit, **{name: values[train] for name, values in arrays.items()}}
        options["eval_set"] = [tuple(values[test] for values in data)]
        if "init_score" in arrays:
            options["eval_init_score"] = [arrays["init_score"][test]]
        ranker = make(n_estimators=200, early_stopping_rounds=PATIENCE, random_state=seed)
        curves[f"fold_{i}"] = ranker.fit(*(values[train] for values in data), **options).evals_result_["valid_0"]
    return curves


def best_round(curves, metric, choose=np.argmax):
    """The round, from 1, with the best mean over folds, of the rounds that all folds have."""
    values = [metrics[metric] for metrics in curves.values()]
    n_common = min(map(len, values))
    return int(choose(np.mean([one_fold[:n_common] for one_fold in values], axis=0))) + 1


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["plain", "weights and initial scores", "lower is better"])
def test_rounds_are_the_best_of_the_mean_over_separate_trainings(make, data, kind):
    X, y, qid = data
    fit, metric = {}, "ndcg"
    if kind == "lower is better":
        fit, metric = {"eval_metric": ["ndcg", variance_of_errors], "early_stopping_metric": "loss"}, "loss"
    elif kind != "plain":
        random = np.random.default_rng(0)
        fit = {"sample_weight": random.uniform(0.1, 5, len(y)), "init_score": 0.3 * random.normal(size=len(y))}
        fit["eval_metric"], metric = ["map", "ndcg@3"], "map"

    curves = curves_by_hand(make, data, **fit)
    best = best_round(curves, metric, np.argmin if metric == "loss" else np.argmax)
    ranker = make(**AUTO).fit(X, y, qid, **fit)
    assert ranker.evals_result_ == curves
    assert ranker.best_iteration_ == best > 1
    assert ranker.best_score_["fold_1"][metric] == curves["fold_1"][metric][best - 1]
    of_fit = {name: values for name, values in fit.items() if isinstance(values, np.ndarray)}
    again = make(n_estimators=best).fit(X, y, qid, **of_fit)
    np.testing.assert_array_equal(ranker.predict(X), again.predict(X))


@pytest.mark.slow
def test_defaults_are_five_folds_and_a_patience_of_150(make, data):
    # Trees of one split and long steps: the curve soon gets worse.
    few = data[2] < 15
    ranker = make(n_estimators="auto", max_depth=1, learning_rate=1.0).fit(*(values[few] for values in data))
    assert list(ranker.evals_result_) == [f"fold_{i}" for i in range(5)]
    for metrics in ranker.evals_result_.values():
        assert len(metrics["ndcg"]) == np.argmax(metrics["ndcg"]) + 1 + 150


def test_rounds_end_at_the_largest_number(make, data, monkeypatch):
    monkeypatch.setattr("boostrank.training.settings.MAX_ROUNDS", 3)
    ranker = make(n_estimators="auto", learning_rate=0.01, cv=2).fit(*data)
    assert [len(metrics["ndcg"]) for metrics in ranker.evals_result_.values()] == [3, 3]


def test_a_validation_set_is_evaluated_and_does_not_decide(make, data):
    X, y, qid = data
    alone = make(**AUTO).fit(X, y, qid)
    # On opposite labels, early stopping would end the training.
    ranker = make(**AUTO).fit(X, y, qid, eval_set={"test": (X, y.max() - y, qid)})
    np.testing.assert_array_equal(ranker.predict(X), alone.predict(X))
    assert list(ranker.evals_result_) == ["fold_0", "fold_1", "fold_2", "test"]
    assert len(ranker.evals_result_["test"]["ndcg"]) == ranker.best_iteration_ > 1
    np.testing.assert_allclose(ranker.best_score_["test"]["ndcg"], ranker.score(X, y.max() - y, qid), rtol=1e-6)


def test_an_earlier_model_goes_on(make, data):
    model = make(n_estimators=4).fit(*data)
    ranker = make(**AUTO).fit(*data, init_model=model)
    n_new = best_round(ranker.evals_result_, "ndcg")
    assert ranker.best_iteration_ == 4 + n_new
    again = make(n_estimators=n_new).fit(*data, init_model=model)
    np.testing.assert_array_equal(ranker.predict(data[0]), again.predict(data[0]))


@pytest.mark.slow
def test_folds_are_drawn_by_the_random_state(make, data):
    X, y, qid = data

    def curves(**changed):
        return make(**AUTO, **changed).fit(X, y, qid).evals_result_

    assert curves(random_state=1) == curves_by_hand(make, data, seed=1)
    # First the first document of each query, then the second of each, ...: grouped, they are the same data.
    rows = np.argsort(np.concatenate([np.arange(size) for size in np.bincount(qid)]), kind="stable")
    assert make(**AUTO, n_jobs=2).fit(X[rows], y[rows], qid[rows]).evals_result_ == curves()
    # From a RandomState, each fit draws other folds, and the sequence of fits can be repeated.
    first, same = ([curves(random_state=state) for _ in "ab"] for state in map(np.random.RandomState, (5, 5)))
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
