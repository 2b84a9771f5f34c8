"""CalibratedRanker with the target "first"."""

import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn
from cases import for_each
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import estimator_checks

import boostrank as br

PLAIN = {"n_estimators": 30, "learning_rate": 0.1, "random_state": 0, "n_jobs": 1}


@pytest.fixture(scope="module")
def races():
    """Lists of six in which one document wins, with the probability of each document to win."""
    random = np.random.default_rng(0)
    X = random.standard_normal((600 * 6, 3))
    queries = br.Queries.from_sizes(np.full(600, 6))
    utilities = X[:, 0] - 0.7 * X[:, 1]
    noisy = utilities + random.gumbel(size=len(X))
    y = (noisy == queries.repeat(queries.max(noisy))).astype(float)
    return X, y, queries.qid, queries.softmax(utilities)


@pytest.fixture(scope="module")
def fitted(races):
    X, y, qid, _ = races
    rows = qid < 400
    return br.CalibratedRanker(br.LightGBMRanker(**PLAIN), cv=4).fit(X[rows], y[rows], qid[rows])


def log_loss(probabilities, y):
    return -np.log(probabilities[y == 1]).mean()


@pytest.mark.parametrize("library", [br.LightGBMRanker, br.XGBoostRanker])
def test_probabilities_sum_to_one_and_are_near_the_truth(races, library):
    X, y, qid, truth = races
    train, test = qid < 400, qid >= 400
    ranker = br.CalibratedRanker(library(**PLAIN), cv=4).fit(X[train], y[train], qid[train])
    probabilities = ranker.predict_proba(X[test], qid=qid[test])
    assert br.Queries.from_qid(qid[test]).sum(probabilities) == pytest.approx(1.0)
    excess = log_loss(probabilities, y[test]) - log_loss(truth[test], y[test])
    assert excess < 0.1
    # The scores themselves, softmax of which is the probability.
    scores = ranker.predict(X[test])
    queries = br.Queries.from_qid(qid[test])
    assert queries.softmax(scores) == pytest.approx(probabilities)
    own = ranker.ranker_.predict(X[test])
    assert scores == pytest.approx(own / ranker.temperature_)


def test_rows_need_not_be_grouped(races, fitted):
    X, _, qid, _ = races
    rows = np.random.default_rng(0).permutation(np.flatnonzero(qid >= 400))
    probabilities = fitted.predict_proba(X[rows], qid=qid[rows])
    sorted_rows = np.sort(rows)
    expected = fitted.predict_proba(X[sorted_rows], qid=qid[sorted_rows])
    assert probabilities[np.argsort(rows)] == pytest.approx(expected)
    ranks = fitted.predict_ranks(X[rows], qid=qid[rows], k=2)
    assert ranks.ranks[:, 0] == pytest.approx(probabilities)


def test_the_temperature_is_that_of_scores_out_of_the_folds(races):
    X, y, qid, _ = races
    rows = qid < 100
    X, y, qid = X[rows], y[rows], qid[rows]
    overfitted = br.LightGBMRanker(**{**PLAIN, "n_estimators": 200}, subsample_queries=1)
    ranker = br.CalibratedRanker(overfitted, cv=4).fit(X, y, qid)
    prefit = br.CalibratedRanker(ranker.ranker_, cv="prefit").fit(X, y, qid)
    # On the lists of the training the scores seem to say too little.
    assert prefit.temperature_ < 1.0 < ranker.temperature_


def test_groups_are_not_divided(races):
    X, y, qid, _ = races
    rows = qid < 60
    users = qid[rows] // 20
    ranker = br.CalibratedRanker(br.LightGBMRanker(**PLAIN), cv=3, ensemble=True)
    ranker.fit(X[rows], y[rows], qid[rows], groups=users)
    trained = [set(member.ranker._trained_on.ids // 20) for member in ranker.calibrated_rankers_]
    assert all(len(groups) == 2 for groups in trained)
    with pytest.raises(ValueError, match="4 folds need at least 4"):
        clone(ranker).set_params(cv=4).fit(X[rows], y[rows], qid[rows], groups=users)


def test_an_ensemble_is_the_mean_of_the_rankers_of_the_folds(races):
    X, y, qid, _ = races
    rows = qid < 120
    ranker = br.CalibratedRanker(br.LightGBMRanker(**PLAIN), cv=3, ensemble=True)
    ranker.fit(X[rows], y[rows], qid[rows])
    members = ranker.calibrated_rankers_
    assert len(members) == 3
    queries = br.Queries.from_qid(qid)
    own = [
        queries.softmax(member.ranker.predict(X) / member.calibration.temperature)
        for member in members
    ]
    assert ranker.predict_proba(X, qid=qid) == pytest.approx(np.mean(own, axis=0))
    assert ranker.predict_ranks(X, qid=qid, k=1).ranks[:, 0] == pytest.approx(np.mean(own, axis=0))
    assert not hasattr(ranker, "temperature_")


def test_a_frozen_ranker_is_not_trained_again(races):
    X, y, qid, _ = races
    base = br.LightGBMRanker(**PLAIN).fit(X[qid < 200], y[qid < 200], qid[qid < 200])
    other = (qid >= 200) & (qid < 400)
    frozen = br.CalibratedRanker(FrozenEstimator(base)).fit(X[other], y[other], qid[other])
    prefit = br.CalibratedRanker(base, cv="prefit").fit(X[other], y[other], qid[other])
    assert frozen.ranker_ is base
    assert frozen.temperature_ == prefit.temperature_
    with pytest.raises(NotFittedError):
        br.CalibratedRanker(br.LightGBMRanker(), cv="prefit").fit(X[other], y[other], qid[other])


def test_query_ids_may_be_a_column(races):
    X, y, qid, _ = races
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(race=qid, user=qid // 2)[qid < 120]
    ranker = br.CalibratedRanker(br.LightGBMRanker(**PLAIN), cv=3)
    ranker.fit(frame, y[qid < 120], "race", groups="user")
    assert ranker.feature_names_in_.tolist() == ["a", "b", "c"]
    probabilities = ranker.predict_proba(frame)
    ids = qid[qid < 120]
    assert probabilities == pytest.approx(ranker.predict_proba(frame[["a", "b", "c"]], qid=ids))
    assert ranker.predict(frame) == pytest.approx(ranker.predict(frame[["a", "b", "c"]]))
    sizes = np.full(120, 6)
    assert ranker.predict_proba(frame[["a", "b", "c"]], group=sizes) == pytest.approx(probabilities)
    one = frame[frame["race"] == 3][["a", "b", "c"]]
    assert ranker.predict_proba(one, qid=0).sum() == pytest.approx(1.0)


def test_weights_count_in_training_and_calibration(races):
    X, y, qid, _ = races
    rows = qid < 120
    X, y, qid = X[rows], y[rows], qid[rows]
    base = br.LightGBMRanker(**PLAIN, subsample_queries=1, colsample_bytree=1, colsample_bynode=1)
    folds = [(np.flatnonzero(qid >= 40), np.flatnonzero(qid < 40))]
    weights = np.where(np.arange(120) < 20, 0.0, 1.0)
    weighted = br.CalibratedRanker(base, cv=folds, ensemble=True)
    weighted.fit(X, y, qid, sample_weight=weights)
    kept = qid >= 20
    X, y, qid = X[kept], y[kept], qid[kept]
    folds = [(np.flatnonzero(qid >= 40), np.flatnonzero(qid < 40))]
    alone = br.CalibratedRanker(base, cv=folds, ensemble=True).fit(X, y, qid)
    assert weighted.temperature_ == pytest.approx(alone.temperature_)


@for_each(
    "make",
    [
        lambda: make_pipeline(StandardScaler(), br.LightGBMRanker(**PLAIN)),
        lambda: make_pipeline(StandardScaler(), LinearRegression()),
        lambda: br.BaggedRanker(br.LightGBMRanker(**PLAIN), 2, random_state=0),
        lambda: br.XGBoostRanker(**PLAIN, query_features=["rank"]),
    ],
)
def test_other_estimators_are_calibrated_too(races, make):
    X, y, qid, truth = races
    train, test = qid < 200, qid >= 400
    ranker = br.CalibratedRanker(make(), cv=3).fit(X[train], y[train], qid[train])
    probabilities = ranker.predict_proba(X[test], qid=qid[test])
    assert log_loss(probabilities, y[test]) < log_loss(truth[test], y[test]) + 0.15
    assert ranker.score(X[test], y[test], qid=qid[test]) > 0.6


def test_conventions_of_scikit_learn(races, fitted):
    X, y, qid, _ = races
    cloned = clone(fitted)
    assert not hasattr(cloned, "calibrated_rankers_")
    assert cloned.get_params()["ranker__learning_rate"] == 0.1
    cloned.set_params(ranker__learning_rate=0.2, cv=3)
    assert cloned.ranker.learning_rate == 0.2
    assert fitted.ranker.learning_rate == 0.1
    for method in ("predict", "predict_proba", "predict_ranks"):
        with pytest.raises(NotFittedError):
            getattr(cloned, method)(X, qid=qid)
    assert fitted.n_features_in_ == 3
    result = br.cross_validate(cloned, X, y, qid, cv=2, scoring="ndcg@3")
    assert result["test_score"].min() > 0.5
    with sklearn.config_context(enable_metadata_routing=True):
        search = sklearn.model_selection.GridSearchCV(
            cloned, {"ranker__num_leaves": [4, 8]}, cv=br.QueryKFold(2)
        )
        rows = qid < 100
        search.fit(X[rows], y[rows], qid=qid[rows], groups=qid[rows] // 2)
    assert search.best_score_ > 0.5


@for_each(
    ("parameters", "message"),
    [
        ({"target": "last"}, "target must be one of first"),
        ({"method": "temprature"}, "did you mean 'temperature'"),
        ({"cv": "prefitted"}, "cv must be"),
        ({"cv": 1}, "cv"),
        ({"ensemble": 2}, "ensemble must be True or False"),
    ],
)
def test_invalid_parameters_are_errors(races, parameters, message):
    X, y, qid, _ = races
    ranker = br.CalibratedRanker(br.LightGBMRanker(**PLAIN)).set_params(**parameters)
    with pytest.raises(ValueError, match=message):
        ranker.fit(X, y, qid)


def test_bad_data_are_errors_and_leave_the_estimator_as_it_was(races, fitted):
    X, y, qid, _ = races
    before = fitted.predict_proba(X, qid=qid)
    with pytest.raises(ValueError, match="no list to calibrate on"):
        clone(fitted).set_params(ranker__objective="logistic", ranker__normalize="none").fit(
            X, np.arange(len(y)) // 6 % 2, qid
        )
    with pytest.raises(ValueError, match="no list to calibrate on"):
        fitted.set_params(cv="prefit", ranker=fitted.ranker_).fit(X, np.zeros(len(y)), qid)
    assert fitted.predict_proba(X, qid=qid).tolist() == before.tolist()
    with pytest.raises(ValueError, match="needs relevance"):
        fitted.fit(X, br.PreferenceGraph.from_grades(y, qid))
    with pytest.raises(ValueError, match="Probabilities are those of a list"):
        fitted.predict_proba(X)
    with pytest.raises(ValueError, match="got no qid"):
        clone(fitted).fit(X, y)


def test_parameters_follow_scikit_learn_and_pickles_predict_the_same(races, fitted):
    for check in (
        estimator_checks.check_no_attributes_set_in_init,
        estimator_checks.check_get_params_invariance,
        estimator_checks.check_set_params,
        estimator_checks.check_estimator_repr,
        estimator_checks.check_valid_tag_types,
    ):
        check("CalibratedRanker", br.CalibratedRanker(br.LightGBMRanker(**PLAIN)))
    X, _, qid, _ = races
    copied = pickle.loads(pickle.dumps(fitted))
    expected = fitted.predict_proba(X, qid=qid)
    assert copied.predict_proba(X, qid=qid).tolist() == expected.tolist()
    assert copied.temperature_ == fitted.temperature_


def test_lists_of_one_document_have_the_probability_one(races, fitted):
    X, _, _, _ = races
    probabilities = fitted.predict_proba(X[:3], qid=["a", "b", "c"])
    assert probabilities.tolist() == [1.0, 1.0, 1.0]
    ranks = fitted.predict_ranks(X[:3], qid=["a", "b", "c"], k=4, random_state=0)
    assert ranks.ranks.tolist() == [[1.0, 0.0, 0.0, 0.0]] * 3
    assert ranks.expected_rank.tolist() == [1.0, 1.0, 1.0]
