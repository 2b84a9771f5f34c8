"""Model selection: every way through scikit-learn gives the scores of a loop over the folds, or an error."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sklearn
from sklearn.base import clone
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.feature_selection import SelectFromModel
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    HalvingGridSearchCV,
    KFold,
    RandomizedSearchCV,
    cross_validate,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import boostrank as br

NDCG = br.make_scorer("ndcg@10")
KINDS = ["pandas column", "pandas index", "polars column", "pyarrow column"]

of_both = pytest.mark.parametrize("ranker", ["lightgbm", "xgboost"], indirect=True)


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def frames(X, qid):
    """The same features with the query ids in a column or an index."""
    frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(X.shape[1])])
    values = (
        frame.assign(qid=qid),
        frame.set_index(pd.Index(qid, name="qid")),
        pl.DataFrame(frame.assign(qid=qid).to_dict("list")),
        pa.table(frame.assign(qid=qid).to_dict("list")),
    )
    return dict(zip(KINDS, values, strict=True))


PREDICTIONS = {}


def predictions_by_hand(ranker, X, y, qid, n_splits):
    """The test rows of each fold, and their scores by a ranker that is trained on the others; each is trained once."""
    key = repr(ranker), n_splits, X.tobytes()
    if key not in PREDICTIONS:
        PREDICTIONS[key] = []
        for train, test in GroupKFold(n_splits).split(X, groups=qid):
            PREDICTIONS[key].append((test, clone(ranker).fit(X[train], y[train], qid[train]).predict(X[test])))
    return PREDICTIONS[key]


def loop(ranker, X, y, qid, k=10, n_splits=3):
    """NDCG of the folds, by hand."""
    folds = predictions_by_hand(ranker, X, y, qid, n_splits)
    return np.array([br.ndcg_score(y[test], scores, qid[test], k=k) for test, scores in folds])


def equal(seen, expected):
    np.testing.assert_allclose(seen, expected, rtol=0, atol=1e-12)


# With metadata routing


@of_both
@pytest.mark.parametrize("cv", [br.QueryKFold(3), GroupKFold(3)], ids=repr)
def test_cross_validate(ranker, data, routing, cv):
    X, y, qid = data
    # The splitter of scikit-learn calls the queries groups.
    params = {"qid": qid} | ({"groups": qid} if type(cv) is GroupKFold else {})
    seen = cross_validate(ranker, X, y, cv=cv, scoring=NDCG, params=params)
    equal(seen["test_score"], loop(ranker, X, y, qid))


@of_both
def test_grid_with_baselines(ranker, data, routing):
    X, y, qid = data
    baseline = "lambdarank" if isinstance(ranker, br.LightGBMRanker) else "rank:ndcg"
    grid = {"objective": [br.surrogates.Cosine(), baseline], "k": [None, 10]}
    search = GridSearchCV(ranker, grid, cv=br.QueryKFold(3), scoring=NDCG).fit(X, y, qid=qid)
    for parameters, score in zip(search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True):
        equal(score, loop(clone(ranker).set_params(**parameters), X, y, qid).mean())
    best = clone(ranker).set_params(**search.best_params_).fit(X, y, qid)
    np.testing.assert_array_equal(search.predict(X), best.predict(X))
    equal(search.score(X, y, qid=qid), br.ndcg_score(y, best.predict(X), qid, k=10))


@pytest.mark.slow
def test_random_and_halving_search(ranker, data, routing):
    X, y, qid = data
    settings, rates = {"cv": br.QueryKFold(3), "scoring": NDCG}, {"learning_rate": [0.05, 0.1, 0.5]}
    random = RandomizedSearchCV(ranker, rates, n_iter=2, random_state=0, **settings).fit(X, y, qid=qid)
    resources = {"resource": "n_estimators", "min_resources": 1, "max_resources": 4}
    halving = HalvingGridSearchCV(ranker, rates, **resources, **settings).fit(X, y, qid=qid)
    for search in (random, halving):
        for parameters, score in zip(search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True):
            equal(score, loop(clone(ranker).set_params(**parameters), X, y, qid).mean())
    assert len(set(halving.cv_results_["n_resources"])) > 1


@of_both
def test_row_weights_are_routed_on_request(ranker, data, routing):
    X, y, qid = data
    ranker.set_fit_request(sample_weight=True)
    weight = np.random.default_rng(0).integers(1, 4, 24)[[int(q[1:]) for q in qid]]
    params = {"qid": qid, "sample_weight": weight}
    seen = cross_validate(ranker, X, y, cv=br.QueryKFold(3), scoring=NDCG, params=params)["test_score"]
    for (train, test), score in zip(br.QueryKFold(3).split(X, groups=qid), seen, strict=True):
        fitted = clone(ranker).fit(X[train], y[train], qid[train], sample_weight=weight[train])
        equal(score, br.ndcg_score(y[test], fitted.predict(X[test]), qid[test], k=10))


@of_both
def test_selection_of_features(ranker, data, routing):
    X, y, qid = data
    chosen = SelectFromModel(ranker, max_features=3, threshold=-np.inf).fit(X, y, qid=qid)
    assert chosen.transform(X).shape == (len(y), 3)
    assert set(np.flatnonzero(chosen.get_support())) == set(chosen.estimator_.get_feature_importances().index[:3])


# Without metadata routing


# Rankers find queries in frames before the libraries get the features.
@pytest.mark.slow
@pytest.mark.parametrize(
    ("ranker", "kind", "cv"),
    [
        ("lightgbm", "pandas column", GroupKFold(3)),
        ("lightgbm", "pyarrow column", br.QueryKFold(3)),
        ("xgboost", "pandas index", br.QueryKFold(3)),
        ("xgboost", "polars column", br.QueryKFold(3)),
    ],
    indirect=["ranker"],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_frames_carry_the_queries(ranker, data, kind, cv):
    X, y, qid = data
    frame = frames(X, qid)[kind]
    groups = qid if type(cv) is GroupKFold else None
    seen = cross_validate(ranker, frame, y, cv=cv, groups=groups, scoring=NDCG)
    equal(seen["test_score"], loop(ranker, X, y, qid))
    search = GridSearchCV(ranker, {"k": [5, 10]}, cv=cv, scoring=NDCG).fit(frame, y, groups=groups)
    assert search.best_estimator_.n_features_in_ == X.shape[1]
    equal(search.best_score_, loop(clone(ranker).set_params(**search.best_params_), X, y, qid).mean())


def test_cross_validate_of_the_package_takes_all_kinds_of_folds(ranker, data):
    X, y, qid = data
    expected = loop(ranker, X, y, qid)
    for cv in (3, br.QueryKFold(3), GroupKFold(3), list(br.QueryKFold(3).split(X, groups=qid))):
        seen = br.cross_validate(ranker, X, y, qid, cv=cv)
        equal(seen["test_score"], expected)
        assert list(seen["test_n_estimators"]) == [4] * 3
    equal(br.cross_validate(ranker, frames(X, qid)["polars column"], y, cv=3)["test_score"], expected)
    assert not sklearn.get_config()["enable_metadata_routing"]


# Missing query ids


def test_missing_query_ids_are_errors(ranker, data):
    X, y, qid = data
    folds = list(br.QueryKFold(3).split(X, groups=qid))
    ways = [
        lambda: cross_validate(ranker, X, y, cv=folds, scoring=NDCG, error_score="raise"),
        lambda: cross_validate(ranker, X, y, cv=br.QueryKFold(3)),
        lambda: GridSearchCV(ranker, {"k": [5, 10]}, cv=folds, error_score="raise").fit(X, y),
        lambda: clone(ranker).fit(X, y, qid).score(X, y),
        lambda: br.cross_validate(ranker, X, y),
        # The scaler drops the index.
        lambda: make_pipeline(StandardScaler(), ranker).fit(frames(X, qid)["pandas index"], y),
    ]
    for way in ways:
        with pytest.raises(ValueError, match="got no qid"):
            way()
    numbers = pd.DataFrame(X, columns=list("abcdefghij")).assign(qid=np.unique(qid, return_inverse=True)[1])
    with pytest.raises(ValueError, match="not whole"):
        make_pipeline(StandardScaler().set_output(transform="pandas"), ranker).fit(numbers, y)


@pytest.mark.filterwarnings("ignore:The groups parameter is ignored by KFold")
def test_folds_that_cut_queries_are_a_warning_or_an_error(ranker, data, routing):
    X, y, qid = data
    with pytest.warns(UserWarning, match=r"of \d+ of the \d+ scored queries, such as 'q\d+'"):
        cross_validate(ranker, X, y, cv=KFold(3), scoring=NDCG, params={"qid": qid})
    with pytest.raises(ValueError, match=r"rows of query 'q\d+' \(and \d+ others\) on both sides"):
        br.cross_validate(ranker, X, y, qid, cv=KFold(3))


# Early stopping inside the folds


@of_both
def test_early_stopping_inside_the_folds(ranker, data):
    X, y, qid = data
    ranker.set_params(n_estimators=60, early_stopping_rounds=2, validation_fraction=0.3, refit=True, k=10)
    search = br.grid_search(ranker, {"learning_rate": [0.1, 0.5]}, X, y, qid, cv=3)
    found = [search.cv_results_[f"split{i}_test_n_estimators"] for i in range(3)]
    assert len(set(np.ravel(found))) > 1
    assert np.max(found) < 60
    expected = []
    for train, test in br.QueryKFold(3).split(X, groups=qid):
        fitted = clone(ranker).set_params(learning_rate=0.5).fit(X[train], y[train], qid[train])
        expected.append((br.ndcg_score(y[test], fitted.predict(X[test]), qid[test], k=10), fitted.best_iteration_))
    equal(search.cv_results_["mean_test_score"][1], np.mean(expected, axis=0)[0])
    equal(search.cv_results_["mean_test_n_estimators"][1], np.mean(expected, axis=0)[1])
    # The final model has as many rounds as were best on the held-out queries, and is trained on all queries.
    best = search.best_estimator_
    plain = clone(ranker).set_params(**search.best_params_).set_params(refit=False)
    assert best.best_iteration_ == plain.fit(X, y, qid).best_iteration_
    assert not np.array_equal(best.predict(X), plain.predict(X))
    with pytest.raises(ValueError, match="refit=True"):
        clone(ranker).set_params(validation_fraction=None).fit(X, y, qid, eval_set=[(X, y, qid)])


# Requests of users in the issues of LightGBM and XGBoost


@pytest.mark.slow
def test_xgboost_4844_grid_search_in_parallel(data):
    X, y, qid = data
    ranker = br.XGBoostRanker("rank:pairwise", learning_rate=0.1, n_estimators=3, n_jobs=1, random_state=27)
    search = br.grid_search(ranker, {"max_depth": [3, 5], "min_child_weight": [1, 5]}, X, y, qid, cv=3, n_jobs=2)
    equal(search.best_score_, loop(clone(ranker).set_params(**search.best_params_), X, y, qid).mean())
