"""`cross_validate` and `grid_search` of the package: their arguments, preferences, other libraries, and the result."""

import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.ensemble import RandomForestRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import boostrank as br
from boostrank.model_selection.estimators import accept_qid

# Its `fit` takes sample_weight, which it must not get.
IDENTITY = StandardScaler(with_mean=False, with_std=False)
RATES = {"learning_rate": [0.1, 0.5]}


of_both = pytest.mark.parametrize("ranker", ["lightgbm", "xgboost"], indirect=True)


def scores_by_hand(fit, X, y, qid, n_splits=3):
    """NDCG@10 of the folds, where ``fit(rows)`` returns a ranker that is trained on these rows."""
    scores = []
    for train, test in br.QueryKFold(n_splits).split(X, groups=qid):
        scores.append(br.ndcg_score(y[test], fit(train).predict(X[test]), qid[test], k=10))
    return np.array(scores)


# The result of grid_search


@of_both
def test_a_search_scores_new_data_without_routing(ranker, data):
    X, y, qid = data
    search = br.grid_search(ranker, RATES, X, y, qid, cv=3)
    best = clone(ranker).set_params(**search.best_params_).fit(X, y, qid)
    expected = br.ndcg_score(y, best.predict(X), qid, k=10)
    assert search.score(X, y, qid=qid) == expected
    np.testing.assert_array_equal(search.predict(X), best.predict(X))
    np.testing.assert_array_equal(search.best_estimator_.predict(X), best.predict(X))
    assert pickle.loads(pickle.dumps(search)).score(X, y, qid=qid) == expected
    assert clone(search).fit(X, y, qid=qid).score(X, y, qid=qid) == expected
    with sklearn.config_context(enable_metadata_routing=True):
        assert search.score(X, y, qid=qid) == expected
    with pytest.raises(ValueError, match=r"make_scorer\('ndcg@10'\) got no qid"):
        search.score(X, y)
    assert not sklearn.get_config()["enable_metadata_routing"]


def test_a_search_scores_by_the_measure_of_refit(ranker, data):
    X, y, qid = data
    scoring = {"top": "ndcg@1", "map": br.make_scorer("map", threshold=2)}
    search = br.grid_search(ranker, RATES, X, y, qid, cv=3, scoring=scoring, refit="map")
    expected = br.evaluate(y, search.predict(X), qid, {"map": br.get_measure("map", threshold=2)})["map"]
    assert search.score(X, y, qid=qid) == expected
    assert br.grid_search(ranker, RATES, X, y, qid, cv=3, scoring=scoring, refit=True).refit == "top"
    with pytest.raises(AttributeError, match="predict"):
        br.grid_search(ranker, RATES, X, y, qid, cv=3, refit=False).predict(X)


def test_a_search_takes_frames_with_query_ids(ranker, data):
    X, y, qid = data
    frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(X.shape[1])])
    chosen, grid = make_pipeline(StandardScaler(), ranker), {"lightgbmranker__k": [5, 10]}
    column, index = frame.assign(qid=qid), frame.set_index(pd.Index(qid, name="qid"))
    search = br.grid_search(chosen, grid, column, y, cv=3)
    expected = br.ndcg_score(y, search.predict(frame), qid, k=10)
    np.testing.assert_array_equal(search.predict(column), search.predict(frame))
    assert [search.score(given, y) for given in (column, index)] == [expected] * 2
    assert search.score(frame, y, qid=qid) == expected
    assert search.best_estimator_.n_features_in_ == X.shape[1]


# Arguments of fit


@of_both
@pytest.mark.parametrize("in_pipeline", [False, True])
def test_weights_are_those_of_the_rows_of_a_fold(ranker, data, in_pipeline):
    X, y, qid = data
    first = list(dict.fromkeys(qid.tolist()))
    per_query = np.random.default_rng(0).integers(1, 9, 24)
    per_row = per_query[[first.index(query) for query in qid]]

    def fit(rows):
        return clone(ranker).fit(X[rows], y[rows], qid[rows], sample_weight=per_row[rows])

    chosen = make_pipeline(IDENTITY, ranker) if in_pipeline else ranker
    expected = scores_by_hand(fit, X, y, qid)
    for weights in (per_query, per_row):
        seen = br.cross_validate(chosen, X, y, qid, cv=3, params={"sample_weight": weights})["test_score"]
        np.testing.assert_array_equal(seen, expected)
    assert not np.allclose(expected, br.cross_validate(ranker, X, y, qid, cv=3)["test_score"], atol=1e-3)
    if not in_pipeline:
        search = br.grid_search(ranker, RATES, X, y, qid, cv=3, params={"sample_weight": per_query})
        np.testing.assert_allclose(search.cv_results_["mean_test_score"][0], expected.mean())
        best = clone(ranker).set_params(**search.best_params_).fit(X, y, qid, sample_weight=per_row)
        np.testing.assert_array_equal(search.predict(X), best.predict(X))


def test_requests_of_the_user_are_kept(ranker, data):
    X, y, qid = data
    weights = np.random.default_rng(0).integers(1, 9, 24)
    with sklearn.config_context(enable_metadata_routing=True):
        refusing = clone(ranker).set_fit_request(sample_weight="other")
    with pytest.raises(TypeError, match=r"unexpected argument.*sample_weight"):
        br.cross_validate(refusing, X, y, qid, cv=3, params={"sample_weight": weights})


@of_both
def test_params_may_have_the_query_ids_and_validation_data(ranker, data):
    X, y, qid = data
    expected = br.cross_validate(ranker, X, y, qid, cv=3)["test_score"]
    given = br.cross_validate(ranker, X, y, cv=3, params={"qid": qid, "sample_weight": None})["test_score"]
    np.testing.assert_array_equal(given, expected)
    stopping = clone(ranker).set_params(n_estimators=60, early_stopping_rounds=2)
    validation = {"eval_set": [br.make_ranking(n_queries=10, random_state=2)], "eval_metric": "map"}
    result = br.cross_validate(stopping, X, y, qid, cv=3, params=validation, return_estimator=True)
    assert (result["test_n_estimators"] < 60).all()
    assert list(result["estimator"][0].evals_result_["valid_0"]) == ["map"]


def test_wrong_arguments_are_errors(ranker, data):
    with pytest.raises(ValueError, match=r"one weight per query \(24\) or per document"):
        br.cross_validate(ranker, *data, cv=3, params={"sample_weight": np.ones(23)})
    with pytest.raises(TypeError, match=r"unexpected argument.*typo"):
        br.cross_validate(ranker, *data, cv=3, params={"typo": 1})
    for cv in ("a", 0, 1, 2.5, None, True):
        with pytest.raises(ValueError, match="cv must be an integer of at least 2"):
            br.grid_search(ranker, RATES, *data, cv=cv)


# Preferences


def test_preferences_are_scored_by_agreement(data):
    X, y, qid = data
    ranker = br.LightGBMRanker("edge-logistic", n_estimators=4, n_jobs=1)
    graph = br.PreferenceGraph.from_grades(y, qid)
    folds = list(br.QueryKFold(3).split(X, groups=qid))
    expected = [clone(ranker).fit(X[train], graph[train]).score(X[test], graph[test]) for train, test in folds]
    np.testing.assert_array_equal(br.cross_validate(ranker, X, graph, cv=3)["test_score"], expected)
    search = br.grid_search(ranker, {"learning_rate": [0.1]}, X, graph, cv=3)
    np.testing.assert_allclose(search.best_score_, np.mean(expected))
    assert search.score(X, graph) == search.best_estimator_.score(X, graph)
    for scoring in ("ndcg@10", {"first": br.make_scorer("ndcg@10")}):
        for function, arguments in ((br.cross_validate, ()), (br.grid_search, ({"k": [5]},))):
            with pytest.raises(ValueError, match=r"ndcg@10 needs relevance labels.*measure of preferences is"):
                function(ranker, *arguments, X, graph, cv=3, scoring=scoring)


# Rankers of other libraries


def test_rankers_of_libraries_are_cross_validated(of_library, data):
    X, y, qid = data
    result = br.cross_validate(of_library, X, y, qid, cv=3, return_estimator=True)
    expected = scores_by_hand(lambda rows: accept_qid(of_library).fit(X[rows], y[rows], qid[rows]), X, y, qid)
    np.testing.assert_array_equal(result["test_score"], expected)
    assert result["test_n_estimators"].tolist() == [4, 4, 4]
    assert {type(fitted) for fitted in result["estimator"]} == {type(of_library)}
    pipeline = br.cross_validate(make_pipeline(IDENTITY, of_library), X, y, qid, cv=3)
    np.testing.assert_array_equal(pipeline["test_score"], expected)


def test_a_search_over_parameters_of_libraries(of_library, data):
    X, y, qid = data
    weights = np.random.default_rng(0).integers(1, 9, 24)
    search = br.grid_search(of_library, RATES, X, y, qid, cv=3, params={"sample_weight": weights})
    assert type(search.best_estimator_) is type(of_library)
    assert search.best_estimator_.get_params()["learning_rate"] == search.best_params_["learning_rate"]
    best = accept_qid(clone(of_library)).set_params(**search.best_params_).fit(X, y, qid, sample_weight=weights)
    np.testing.assert_array_equal(search.predict(X), best.predict(X))
    assert search.score(X, y, qid=qid) == br.ndcg_score(y, best.predict(X), qid, k=10)


def test_other_estimators_have_no_number_of_rounds(data):
    X, y, qid = data
    forest = RandomForestRegressor(n_estimators=3, random_state=0)
    result = br.cross_validate(forest, X, y, qid, cv=3)
    expected = scores_by_hand(lambda rows: clone(forest).fit(X[rows], y[rows]), X, y, qid)
    np.testing.assert_array_equal(result["test_score"], expected)
    assert "test_n_estimators" not in result


def test_the_text_of_a_search_has_no_address_in_memory(ranker, data):
    search = br.grid_search(ranker, {"n_estimators": [1]}, *data, cv=2)
    assert "scoring={'n_estimators': number of rounds" in repr(search)
    assert " at 0x" not in repr(search)
    assert repr(pickle.loads(pickle.dumps(search))) == repr(search)
