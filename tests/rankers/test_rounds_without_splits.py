"""Rounds in which LightGBM finds no split: it does not keep them, and later rounds may find some.

So the number of rounds of a model can be less than the number of the round after which the training stopped.
"""

import lightgbm as lgb
import numpy as np
import pytest
from loss_defaults import PLAIN

import boostrank as br
from boostrank import displays

# A random half of the documents decides whether a split gains enough.
SETTINGS = {"min_split_gain": 5, "subsample": 0.5, "subsample_freq": 1, "random_state": 0, "n_jobs": 1}
SETTINGS |= {"num_leaves": 31, "reg_lambda": 50.0, **PLAIN}
# With half of the queries, a split gains less.
OF_HALF = {**SETTINGS, "min_split_gain": 2, "random_state": 1}


@pytest.fixture(scope="module")
def noisy():
    """Data to train on, and data to validate on."""
    random = np.random.default_rng(0)

    def draw(n_queries):
        X = random.normal(size=(10 * n_queries, 5))
        y = np.digitize(X[:, 0] + 3 * random.normal(size=len(X)), [1, 3])
        return X, y, np.repeat(np.arange(n_queries), 10)

    return draw(20), draw(20)


def value(ranker, data):
    X, y, qid = data
    return br.ndcg_score(y, ranker.predict(X), qid)


def expect_best(ranker, test):
    """The model is that of the best round, of which it does not have all rounds before."""
    values = ranker.evals_result_["valid_0"]["ndcg"]
    assert value(ranker, test) == pytest.approx(max(values))
    assert ranker.best_score_["valid_0"]["ndcg"] == max(values)
    assert ranker.best_iteration_ == len(list(ranker.staged_predict(test[0])))
    assert ranker.best_iteration_ < np.argmax(values) + 1


@pytest.mark.parametrize("boosting", ["gbdt", "dart"])
def test_early_stopping_keeps_the_model_of_the_best_round(noisy, boosting):
    train, test = noisy
    ranker = br.LightGBMRanker("softmax", n_estimators=30, early_stopping_rounds=10, boosting=boosting, **SETTINGS)
    expect_best(ranker.fit(*train, eval_set=[test]), test)


def test_a_callback_that_stops_early_keeps_the_model_of_the_best_round(noisy):
    train, test = noisy
    for patience in (10, 100):
        ranker = br.LightGBMRanker("softmax", n_estimators=24, **SETTINGS)
        expect_best(ranker.fit(*train, eval_set=[test], callbacks=[lgb.early_stopping(patience, verbose=False)]), test)


def test_without_early_stopping_the_last_round_counts(noisy):
    train, test = noisy
    ranker = br.LightGBMRanker("softmax", n_estimators=15, **SETTINGS).fit(*train, eval_set=[test])
    assert ranker.best_iteration_ < 15
    assert ranker.best_score_["valid_0"]["ndcg"] == ranker.evals_result_["valid_0"]["ndcg"][-1]


def test_a_training_on_all_queries_has_the_rounds_that_were_found(noisy):
    train, _ = noisy
    stopping = {"n_estimators": 30, "early_stopping_rounds": 10, "validation_fraction": 0.5, "refit": True}
    ranker = br.LightGBMRanker("softmax", **stopping, **OF_HALF).fit(*train)
    best = int(np.argmax(ranker.evals_result_["valid_0"]["ndcg"])) + 1
    again = br.LightGBMRanker("softmax", n_estimators=best, **OF_HALF).fit(*train)
    np.testing.assert_array_equal(ranker.predict(train[0]), again.predict(train[0]))
    assert ranker.best_iteration_ == again.best_iteration_ < best


def test_models_of_folds_are_judged_at_the_best_round(noisy):
    X, y, qid = noisy[0]
    ranker = br.LightGBMRanker("softmax", n_estimators="auto", early_stopping_rounds=10, cv=2, **OF_HALF).fit(X, y, qid)
    best = ranker.cv_results_["n_rounds"].item()
    for i, (train, test) in enumerate(br.QueryKFold(2, shuffle=True, random_state=1).split(X, groups=qid)):
        one = br.LightGBMRanker("softmax", n_estimators=best, **OF_HALF)
        one.fit(X[train], y[train], qid[train])
        expected = br.ndcg_score(y[test], one.predict(X[test]), qid[test])
        assert ranker.evals_result_[f"fold_{i}"]["ndcg"][best - 1] == pytest.approx(expected)


def test_the_picture_marks_the_round_of_the_curve(noisy):
    train, test = noisy
    first = br.LightGBMRanker("softmax", n_estimators=3, random_state=0, n_jobs=1).fit(*train)
    ranker = br.LightGBMRanker("softmax", n_estimators=30, early_stopping_rounds=10, random_state=0, n_jobs=1)
    ranker.fit(*train, eval_set=[test], init_model=first)
    display = displays.TrainingCurveDisplay.from_estimator({"one": ranker})
    (values,) = display.curves.values()
    assert display.best["one"] == np.argmax(values) + 1 == ranker.best_iteration_ - 3
