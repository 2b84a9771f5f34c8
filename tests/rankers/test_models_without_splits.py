"""Rankers that find no split: the warning says whether the cause lies in the labels or in the clicks."""

import numpy as np
import pytest
from loss_defaults import PLAIN_TREES
from sklearn.base import clone

import boostrank as br

X, Y, QID = br.make_ranking(n_queries=10, n_documents=5, random_state=0)
RANKERS = [ranker("softmax", n_estimators=2, n_jobs=1) for ranker in (br.LightGBMRanker, br.XGBoostRanker)]
DART = br.LightGBMRanker("softmax", n_estimators=2, n_jobs=1, boosting="dart")
by_ranker = pytest.mark.parametrize("ranker", RANKERS, ids=lambda ranker: type(ranker).__name__)


@pytest.mark.parametrize("ranker", [*RANKERS, DART], ids=["LightGBM", "XGBoost", "DART"])
def test_a_model_without_splits_warns(ranker):
    for features, parameters in ((np.ones_like(X), {}), (X, {"min_child_weight": 1e9})):
        with pytest.warns(UserWarning, match="no tree has a split.*min_child_weight"):
            fitted = clone(ranker).set_params(**parameters).fit(features, Y, QID)
        assert np.ptp(fitted.predict(features)) == 0
    for label in (0, 1):
        cause = f"The cause is that all labels are {label}; give labels that differ within queries"
        with pytest.warns(UserWarning, match=f"no tree has a split, so every document gets the same score. {cause}"):
            clone(ranker).fit(X, np.full(len(Y), label), QID)


@by_ranker
@pytest.mark.parametrize(
    ("clicked", "model", "cause"),
    [
        (np.zeros(40, dtype=int), ("power", 1.0), "no document of the click log was clicked; train on more sessions"),
        (np.zeros(40, dtype=int), "trust-bias", "no document of the click log was clicked; train on more sessions"),
        (np.ones(40, dtype=int), 1.0, "all documents have the same estimated relevance, 1; train on more sessions"),
    ],
)
def test_logs_from_which_nothing_can_be_learned_are_a_warning(ranker, clicked, model, cause):
    qid, position = np.repeat(np.arange(8), 5), np.tile(np.arange(1, 6), 8)
    X, log = np.arange(40.0)[:, None], br.ClickLog(qid, np.arange(40), position, clicked)
    with pytest.warns(UserWarning, match=f"every document gets the same score. The cause is that {cause}$"):
        clone(ranker).fit(X, br.ClickLabels(log, model))


@by_ranker
def test_one_session_and_one_position_teach_something(ranker):
    qid = np.repeat(np.arange(8), 5)
    clicked = (np.arange(40) % 5 == 0).astype(int)
    one_position = br.ClickLog(qid, np.arange(40), np.ones(40, dtype=int), clicked)
    one_session = br.ClickLog(qid, np.arange(5), np.arange(1, 6), clicked[:5])
    X, settings = clicked[:, None] + 0.0, {"n_estimators": 2, "min_child_weight": 1e-3, **PLAIN_TREES}
    settings |= {"min_child_samples": 1} if "min_child_samples" in ranker.get_params() else {}
    for log in (one_position, one_session):
        scores = clone(ranker).set_params(**settings).fit(X, br.ClickLabels(log, ("power", 1.0))).predict(X)
        assert scores[clicked == 1].min() > scores[clicked == 0].max()
