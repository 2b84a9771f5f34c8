"""Rounds and models without splits: LightGBM does not keep a round without one, and later rounds
may have some.

So the number of rounds of a model can be less than the number of the round after which the training
stopped."""

import lightgbm as lgb
import numpy as np
import pytest
from cases import for_each
from loss_defaults import PLAIN
from sklearn.base import clone

import boostrank as br

# A random half of the documents decides whether a split gains enough.
SETTINGS = {
    "min_split_gain": 5,
    "subsample": 0.5,
    "subsample_freq": 1,
    "random_state": 0,
    "n_jobs": 1,
}
SETTINGS |= {"num_leaves": 31, "reg_lambda": 50.0, **PLAIN}


@pytest.fixture(scope="module")
def noisy():
    """Data to train on, and data to validate on."""
    random = np.random.default_rng(0)

    def draw(n_queries):
        X = random.normal(size=(10 * n_queries, 5))
        y = np.digitize(X[:, 0] + 3 * random.normal(size=len(X)), [1, 3])
        return X, y, np.repeat(np.arange(n_queries), 10)

    return draw(20), draw(20)


def expect_best(ranker, test):
    """The model is that of the best round, of which it does not have all rounds before."""
    values = ranker.evals_result_["valid_0"]["ndcg"]
    assert ranker.score(*test) == pytest.approx(max(values))
    assert ranker.best_score_["valid_0"]["ndcg"] == max(values)
    assert ranker.best_iteration_ == len(list(ranker.staged_predict(test[0])))
    assert ranker.best_iteration_ < np.argmax(values) + 1


@pytest.mark.parametrize("boosting", ["gbdt", "dart"])
def test_early_stopping_keeps_the_model_of_the_best_round(noisy, boosting):
    train, test = noisy
    ranker = br.LightGBMRanker("softmax", n_estimators=15, boosting=boosting, **SETTINGS).fit(
        *train, eval_set=[test]
    )
    assert ranker.best_iteration_ < 15
    assert ranker.best_score_["valid_0"]["ndcg"] == ranker.evals_result_["valid_0"]["ndcg"][-1]
    ranker = br.LightGBMRanker(
        "softmax", n_estimators=30, early_stopping_rounds=10, boosting=boosting, **SETTINGS
    )
    expect_best(ranker.fit(*train, eval_set=[test]), test)
    if boosting == "gbdt":
        for patience in (10, 100):
            ranker = br.LightGBMRanker("softmax", n_estimators=24, **SETTINGS)
            callback = lgb.early_stopping(patience, verbose=False)
            expect_best(ranker.fit(*train, eval_set=[test], callbacks=[callback]), test)


# Models without any split: the warning says whether the cause lies in the labels or in the clicks


X, Y, QID = br.make_ranking(n_queries=10, n_documents=5, random_state=0)
RANKERS = [
    ranker("softmax", n_estimators=2, n_jobs=1) for ranker in (br.LightGBMRanker, br.XGBoostRanker)
]
DART = br.LightGBMRanker("softmax", n_estimators=2, n_jobs=1, boosting="dart")


@pytest.mark.parametrize("ranker", [*RANKERS, DART], ids=["LightGBM", "XGBoost", "DART"])
def test_a_model_without_splits_warns(ranker):
    for features, parameters in ((np.ones_like(X), {}), (X, {"min_child_weight": 1e9})):
        with pytest.warns(UserWarning, match="no tree has a split.*min_child_weight"):
            fitted = clone(ranker).set_params(**parameters).fit(features, Y, QID)
        assert np.ptp(fitted.predict(features)) == 0
    for label in (0, 1):
        cause = f"The cause is that all labels are {label}; give labels that differ within queries"
        with pytest.warns(
            UserWarning,
            match=f"no tree has a split, so every document gets the same score. {cause}",
        ):
            clone(ranker).fit(X, np.full(len(Y), label), QID)


@pytest.mark.parametrize("ranker", RANKERS, ids=["LightGBM", "XGBoost"])
@for_each(
    ("clicked", "model", "cause"),
    [
        (0, ("power", 1.0), "no document of the click log was clicked; train on more sessions"),
        (0, "trust-bias", "no document of the click log was clicked; train on more sessions"),
        (1, 1.0, "all documents have the same estimated relevance, 1; train on more sessions"),
    ],
)
def test_logs_from_which_nothing_can_be_learned_are_a_warning(ranker, clicked, model, cause):
    log = br.ClickLog(
        np.repeat(np.arange(8), 5), np.arange(40), np.tile(np.arange(1, 6), 8), np.full(40, clicked)
    )
    with pytest.warns(
        UserWarning, match=f"every document gets the same score. The cause is that {cause}$"
    ):
        clone(ranker).fit(np.arange(40.0)[:, None], br.ClickLabels(log, model))


SAME_WITHIN = [
    (np.full(len(QID), 3), "all labels are 3"),
    (QID % 4, "the labels of each query are equal"),
    (QID + 1, "the labels of each query are equal"),
    (np.full(len(QID), 0.7), "all labels are 0.7"),
]


@pytest.mark.parametrize("ranker", RANKERS, ids=["LightGBM", "XGBoost"])
@for_each(("labels", "cause"), SAME_WITHIN)
@for_each(
    "loss", ["softmax", "power", "pairwise-logistic", "centered-squared", "consistent-lambdarank"]
)
def test_rounding_errors_of_gradients_are_not_learned(ranker, labels, cause, loss):
    fitted = clone(ranker).set_params(objective=loss, n_estimators=None)
    with pytest.warns(UserWarning, match=f"{cause}; give labels that differ within queries"):
        fitted.fit(X, labels, QID)
    assert np.ptp(fitted.predict(X)) == 0
    assert fitted.best_iteration_ < 300


@pytest.mark.parametrize("ranker", RANKERS, ids=["LightGBM", "XGBoost"])
@for_each(("labels", "cause"), SAME_WITHIN[:3])
@for_each("loss", ["squared", "poisson", "cosine", None])
def test_labels_that_are_equal_within_every_query_warn(ranker, labels, cause, loss):
    with pytest.warns(UserWarning, match=f"{cause}; give labels that differ within queries"):
        clone(ranker).set_params(objective=loss).fit(X, labels, QID)


def test_query_ids_that_are_row_numbers():
    with pytest.warns(UserWarning, match="each query has one document; check that qid names"):
        br.LightGBMRanker(n_estimators=2).fit(X, Y, np.arange(len(Y)))
