"""`BaggedRanker` against a loop over the drawn queries, and as an estimator of scikit-learn."""

import pickle

import joblib
import numpy as np
import pandas as pd
import pytest
import sklearn
from cases import for_each
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV

import boostrank as br
from boostrank.rankers.bagging import threads_per_member

N_MEMBERS = 3


def small(ranker_class, *objective, **parameters):
    return ranker_class(
        *objective, **{"n_estimators": 3, "n_jobs": 1, "max_depth": 4, **parameters}
    )


def bagged(ranker_class, *objective, bagging=None, **parameters):
    ranker = small(ranker_class, *objective, **parameters)
    return br.BaggedRanker(ranker, N_MEMBERS, **{"random_state": 0, **(bagging or {})})


@pytest.fixture(scope="session")
def shuffled(data):
    """The data with rows in another order, so that queries are not grouped, and ids that are
    strings."""
    order = np.random.default_rng(1).permutation(len(data[1]))
    X, y, qid = (values[order] for values in data)
    return X, y, np.array([f"query {i}" for i in qid])


def names_of_queries(qid):
    """Query ids in the sequence in which they first appear."""
    return list(dict.fromkeys(qid.tolist()))


def scores_by_hand(model, data, weights=None, **fit):
    """Members that are trained one by one, their mean, and the mean over those that did not see a
    query."""
    X, y, qid = data
    names = names_of_queries(qid)
    seen, out_of_bag = [], np.full((N_MEMBERS, len(y)), np.nan)
    for i, (member, drawn) in enumerate(
        zip(model.estimators_, model.estimators_samples_, strict=True)
    ):
        is_drawn = np.isin(qid, [names[number] for number in drawn])
        inside, outside = np.flatnonzero(is_drawn), np.flatnonzero(~is_drawn)
        # The rows of each query together, as the bagged ranker groups them.
        inside = inside[np.argsort(pd.factorize(qid)[0][inside], kind="stable")]
        ranker = clone(model.ranker).set_params(random_state=member.random_state)
        if ranker.early_stopping_rounds is not None and ranker.validation_fraction is None:
            fit["eval_set"] = [(X[outside], y[outside], qid[outside])]
        given = None if weights is None else weights[inside]
        ranker.fit(X[inside], y[inside], qid[inside], sample_weight=given, **fit)
        assert ranker.best_iteration_ == member.best_iteration_
        seen.append(ranker.predict(X))
        out_of_bag[i, outside] = seen[-1][outside]
    is_known = ~np.isnan(out_of_bag).all(axis=0)
    mean = np.full(len(y), np.nan)
    mean[is_known] = np.nanmean(out_of_bag[:, is_known], axis=0)
    return np.mean(seen, axis=0), mean


def out_of_bag_values(mean, qid, measure):
    """The value ``measure(rows)`` of each query with out-of-bag scores, and NaN for the others."""
    rows_of = [np.flatnonzero(qid == name) for name in names_of_queries(qid)]
    return np.array([np.nan if np.isnan(mean[rows[0]]) else measure(rows) for rows in rows_of])


BY_VALIDATION = {"early_stopping_rounds": 3, "n_estimators": 30, "validation_fraction": 0.3}
#: Parameters of the ranker, of bagging, and the number of queries that each member draws.
CASES = [
    ({}, {}, 21),
    ({"early_stopping_rounds": 3, "learning_rate": 0.3}, {"max_samples": 0.6}, 18),
    (BY_VALIDATION, {"max_samples": 0.67}, 20),
    ({"objective": "native", "k": 5, "early_stopping_rounds": 3}, {}, 21),
    ({"objective": lambda y, scores: (scores - y, np.ones(len(y)))}, {"max_samples": 0.5}, 15),
    ({"objective": "squared", "k": 3, "gain": "linear", "colsample_bytree": 0.5}, {}, 21),
]


@pytest.mark.slow
@pytest.mark.parametrize(("settings", "bagging", "n_drawn"), CASES)
def test_members_are_those_of_a_loop_over_the_drawn_queries(
    ranker_class, lambdamart, settings, bagging, n_drawn, shuffled
):
    X, y, qid = shuffled
    if settings.get("objective") == "native":
        settings = {**settings, "objective": lambdamart}
    model = bagged(ranker_class, bagging=bagging, **settings).fit(X, y, qid=qid)
    for part in model.estimators_samples_:
        assert len(part) == len(set(part.tolist())) == n_drawn
    assert len({member.random_state for member in model.estimators_}) == N_MEMBERS
    expected, out_of_bag = scores_by_hand(model, shuffled)
    np.testing.assert_allclose(model.predict(X), expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(model.oob_prediction_, out_of_bag, rtol=1e-12)
    dcg = {"k": settings.get("k"), "gain": settings.get("gain", "exp2")}
    values = out_of_bag_values(
        out_of_bag, qid, lambda rows: br.ndcg_score(y[rows], out_of_bag[rows], qid[rows], **dcg)
    )
    np.testing.assert_allclose(model.oob_scores_, values, rtol=1e-12)
    known = values[~np.isnan(values)]
    assert 0 < len(known) < 30
    assert model.oob_score_ == pytest.approx(known.mean())
    assert model.score(X, y, qid=qid) == pytest.approx(br.ndcg_score(y, expected, qid, **dcg))
    assert model.best_iteration_ == sum(member.best_iteration_ for member in model.estimators_)


def test_weights_are_those_of_the_queries_that_were_drawn(ranker_class, shuffled):
    X, y, qid = shuffled
    model, random = bagged(ranker_class), np.random.default_rng(0)
    unweighted = model.fit(X, y, qid).predict(X)
    by_query = random.uniform(0.5, 3, 30)
    names = names_of_queries(qid)
    of_rows = np.array([by_query[names.index(name)] for name in qid])
    documents = random.uniform(0.5, 3, len(y))
    for given, by_row in ((by_query, of_rows), (documents, documents)):
        scores = model.fit(X, y, qid, sample_weight=given).predict(X)
        assert not np.allclose(scores, unweighted)
        expected, out_of_bag = scores_by_hand(model, shuffled, by_row)
        np.testing.assert_allclose(scores, expected, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(model.oob_prediction_, out_of_bag, rtol=1e-12)


@pytest.mark.slow
def test_random_state_decides_and_n_jobs_does_not(ranker_class, data):
    def fit(**bagging):
        model = bagged(ranker_class, bagging=bagging, n_jobs=None).fit(*data)
        return model.predict(data[0]), model.oob_prediction_

    first = fit()
    for same in (fit(), fit(n_jobs=2), fit(random_state=np.random.RandomState(0))):
        np.testing.assert_array_equal(same, first)
    for other in (fit(random_state=1), fit(random_state=None)):
        assert not np.allclose(other[0], first[0])


@for_each(
    ("workers", "members", "limit", "expected"),
    [
        (2, 3, "", 4),
        (20, 3, "", 2),
        (100, 100, "", 1),
        (2, 3, "3,1", 3),
        (2, 3, "5", 4),
        (2, 3, "no", 4),
        (1, 3, "3", None),
    ],
)
def test_processors_are_divided_among_the_members(workers, members, limit, expected, monkeypatch):
    monkeypatch.setattr(joblib, "cpu_count", lambda: 8)
    monkeypatch.setattr("boostrank.queries.threads._n_processors", lambda: 8)
    monkeypatch.setenv("OMP_NUM_THREADS", limit)
    assert threads_per_member(workers, members) == expected


def test_preferences(ranker_class, shuffled):
    X, y, qid = shuffled
    graph = br.PreferenceGraph.from_grades(y, qid)
    model = bagged(ranker_class, "edge-logistic", early_stopping_rounds=3).fit(X, graph)
    expected = bagged(ranker_class, "edge-logistic", early_stopping_rounds=3)
    expected.fit(X, y, qid, eval_metric="agreement")
    np.testing.assert_allclose(model.predict(X), expected.predict(X), rtol=1e-5, atol=1e-6)
    assert list(model.estimators_[0].evals_result_["valid_0"]) == ["agreement"]
    agreement, scores = br.get_measure("agreement"), model.oob_prediction_
    values = out_of_bag_values(scores, qid, lambda rows: agreement(graph[rows], scores[rows]))
    np.testing.assert_allclose(model.oob_scores_, values)
    assert model.score(X, graph) == agreement(graph, model.predict(X))


def test_the_file_is_read_by_the_ranker_and_by_a_bag_and_its_training_goes_on(
    ranker_class, frame, data, tmp_path
):
    model = bagged(ranker_class, early_stopping_rounds=2).fit(frame, *data[1:])
    model.save_model(tmp_path / "model.json")
    again = bagged(ranker_class).fit(frame[frame.columns[:3]], *data[1:])
    for loaded in (
        ranker_class().load_model(tmp_path / "model.json"),
        again.load_model(tmp_path / "model.json"),
    ):
        np.testing.assert_array_equal(loaded.predict(frame), model.predict(frame))
        assert list(loaded.feature_names_in_) == list(frame.columns)
        assert loaded.best_iteration_ == model.best_iteration_
        assert loaded.evals_result_ == loaded.best_score_ == {}
        assert not hasattr(loaded, "estimators_")
        assert not hasattr(loaded, "oob_score_")
    assert (
        small(ranker_class).fit(frame, *data[1:], init_model=model).best_iteration_
        == model.best_iteration_ + 3
    )


def test_metrics_of_the_out_of_bag_queries_stop_the_members(ranker_class, shuffled):
    # With the default penalty, all members of XGBoost would stop after the same round.
    settings = {
        "n_estimators": 30,
        "learning_rate": 0.5,
        "early_stopping_rounds": 2,
        "reg_lambda": 1.0,
    }
    model = bagged(ranker_class, **settings)
    model.fit(*shuffled, eval_metric=["map", "ndcg@3"], early_stopping_metric="ndcg@3")
    for i, member in enumerate(model.estimators_):
        name, metrics = f"member_{i}_valid_0", member.evals_result_["valid_0"]
        assert (model.best_score_[name], model.evals_result()[name]) == (
            member.best_score_["valid_0"],
            metrics,
        )
        assert list(metrics) == ["map", "ndcg@3"]
        assert member.best_iteration_ == np.argmax(metrics["ndcg@3"]) + 1
    assert len({member.best_iteration_ for member in model.estimators_}) > 1


def test_queries_that_all_members_saw_have_no_value(ranker_class, data):
    model = bagged(ranker_class, bagging={"max_samples": 1.0}).fit(*data)
    for values in (model.oob_scores_, model.oob_prediction_, model.oob_score_):
        assert np.isnan(values).all()
    one = br.BaggedRanker(small(ranker_class), 1, max_samples=0.97, random_state=0).fit(*data)
    assert np.isnan(one.oob_scores_).sum() == 29
    assert one.oob_score_ == np.nanmax(one.oob_scores_)


def test_a_failed_fit_changes_nothing(ranker_class, data):
    X, y, qid = data
    model = bagged(ranker_class).fit(X, y, qid)
    before = pickle.dumps(vars(model))
    # An error in the training of a member.
    with pytest.raises(ValueError, match="unheard"):
        model.set_params(ranker__early_stopping_rounds=2).fit(
            X[:, :3], y, qid, eval_metric="unheard"
        )
    assert pickle.dumps(vars(model.set_params(ranker__early_stopping_rounds=None))) == before
    for name in ("booster_", "best_iteration_", "oob_score_"):
        assert not hasattr(clone(model), name)
    with pytest.raises(NotFittedError):
        clone(model).predict(X)


@for_each(
    ("parameters", "message"),
    [
        ({"n_estimators": 0}, "n_estimators must be an integer of at least 1; got 0"),
        (
            {"max_samples": 31},
            "max_samples must be a finite number above 0 and of at most 1; got 31",
        ),
        ({"random_state": -1}, "random_state must be None, an integer"),
        ({"ranker__seed": 5}, "two names of one parameter"),
        ({"ranker__unknown": 1}, "neither the ranker nor"),
        (
            {"max_samples": 1.0, "ranker__early_stopping_rounds": 2},
            "member 0 was trained on all 30 queries",
        ),
        ({"ranker": br.LightGBMRanker}, "must be an instance of LightGBMRanker .* got <class"),
        ({"ranker": Ridge()}, "must be an instance of LightGBMRanker or XGBoostRanker; got Ridge"),
    ],
)
def test_wrong_parameters_are_errors(ranker_class, parameters, message, data):
    X, y, qid = data
    model = bagged(ranker_class).set_params(**parameters)
    with pytest.raises(TypeError if "ranker" in parameters else ValueError, match=message):
        model.fit(X, y, qid)


def test_a_metric_that_would_have_no_effect_is_an_error(ranker_class, data):
    with pytest.raises(ValueError, match="eval_metric is for queries of early stopping"):
        bagged(ranker_class).fit(*data, eval_metric="map")


@pytest.mark.slow
def test_parameters_of_the_ranker_are_searched(ranker_class, data):
    X, y, qid = data
    model, grid = bagged(ranker_class), {"ranker__n_estimators": [1, 4]}
    search = br.grid_search(model, grid, X, y, qid, cv=2)
    assert len(search.cv_results_["mean_test_score"]) == 2
    with sklearn.config_context(enable_metadata_routing=True):
        routed = GridSearchCV(
            model, grid, cv=br.QueryKFold(2), scoring=br.make_scorer("ndcg@10")
        ).fit(X, y, qid=qid)
        np.testing.assert_allclose(
            routed.cv_results_["mean_test_score"], search.cv_results_["mean_test_score"]
        )
