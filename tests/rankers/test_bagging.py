"""`BaggedRanker` against a loop over the drawn queries, and as an estimator of scikit-learn."""

import pickle
from types import SimpleNamespace

import joblib
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn
from cases import for_each
from loss_defaults import PLAIN_TREES
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV

import boostrank as br
from boostrank.rankers import automatic, bagging, settings

N_MEMBERS = 3


def small(ranker_class, *objective, **parameters):
    return ranker_class(*objective, **{"n_estimators": 3, "n_jobs": 1, "max_depth": 4, **parameters})


def bagged(ranker_class, *objective, bagging=None, **parameters):
    ranker = small(ranker_class, *objective, **parameters)
    return br.BaggedRanker(ranker, N_MEMBERS, **{"random_state": 0, **(bagging or {})})


@pytest.fixture(scope="session")
def shuffled(data):
    """The data with rows in another order, so that queries are not grouped, and ids that are strings."""
    order = np.random.default_rng(1).permutation(len(data[1]))
    X, y, qid = (values[order] for values in data)
    return X, y, np.array([f"query {i}" for i in qid])


def names_of_queries(qid):
    """Query ids in the sequence in which they first appear."""
    return list(dict.fromkeys(qid.tolist()))


def scores_by_hand(model, data, weights=None, **fit):
    """Members that are trained one by one, their mean, and the mean over those that did not see a query."""
    X, y, qid = data
    names = names_of_queries(qid)
    seen, out_of_bag = [], np.full((N_MEMBERS, len(y)), np.nan)
    for i, (member, drawn) in enumerate(zip(model.estimators_, model.estimators_samples_, strict=True)):
        is_drawn = np.isin(qid, [names[number] for number in drawn])
        inside, outside = np.flatnonzero(is_drawn), np.flatnonzero(~is_drawn)
        # The rows of each query together, as the bagged ranker groups them.
        inside = inside[np.argsort(pd.factorize(qid)[0][inside], kind="stable")]
        ranker = clone(model.ranker).set_params(random_state=member.random_state)
        has_others = ranker.n_estimators == "auto" or ranker.validation_fraction is not None
        if ranker.early_stopping_rounds is not None and not has_others:
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


def out_of_bag_ndcg(mean, data, **settings):
    """NDCG of each query at the out-of-bag scores, by one call for each query."""
    _, y, qid = data
    parts = [np.flatnonzero(qid == name) for name in names_of_queries(qid)]
    return np.array(
        [
            np.nan if np.isnan(mean[rows[0]]) else br.ndcg_score(y[rows], mean[rows], qid[rows], **settings)
            for rows in parts
        ]
    )


NATIVE = {br.LightGBMRanker: "lambdarank", br.XGBoostRanker: "rank:ndcg"}
BY_VALIDATION = {"early_stopping_rounds": 3, "n_estimators": 30, "validation_fraction": 0.3, "refit": True}
#: Parameters of the ranker, of bagging, and the number of queries that each member draws.
CASES = [
    ({}, {}, 21),
    ({"early_stopping_rounds": 3, "learning_rate": 0.3}, {"max_samples": 0.6}, 18),
    (BY_VALIDATION, {"max_samples": 0.67}, 20),
    ({"objective": "native", "k": 5, "early_stopping_rounds": 3}, {}, 21),
    ({"n_estimators": "auto", "early_stopping_rounds": 3, "learning_rate": 0.5, "cv": 2}, {}, 21),
    ({"objective": "squared", "k": 3, "gain": "linear", "colsample_bytree": 0.5}, {}, 21),
]


@pytest.mark.slow
@pytest.mark.parametrize(("settings", "bagging", "n_drawn"), CASES)
def test_members_are_those_of_a_loop_over_the_drawn_queries(ranker_class, settings, bagging, n_drawn, shuffled):
    X, y, qid = shuffled
    settings = dict(settings)
    if settings.get("objective") == "native":
        settings["objective"] = NATIVE[ranker_class]
    model = bagged(ranker_class, bagging=bagging, **settings).fit(X, y, qid=qid)
    for part in model.estimators_samples_:
        assert len(part) == len(set(part.tolist())) == n_drawn
    assert len({member.random_state for member in model.estimators_}) == N_MEMBERS
    expected, out_of_bag = scores_by_hand(model, shuffled)
    np.testing.assert_allclose(model.predict(X), expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(model.oob_prediction_, out_of_bag, rtol=1e-12)
    values = out_of_bag_ndcg(out_of_bag, shuffled, k=settings.get("k"), gain=settings.get("gain", "exp2"))
    np.testing.assert_allclose(model.oob_scores_, values, rtol=1e-12)
    known = values[~np.isnan(values)]
    assert 0 < len(known) < 30
    assert model.oob_score_ == pytest.approx(known.mean())
    assert model.score(X, y, qid=qid) == pytest.approx(
        br.ndcg_score(y, expected, qid, k=settings.get("k"), gain=settings.get("gain", "exp2"))
    )
    assert model.best_iteration_ == sum(member.best_iteration_ for member in model.estimators_)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("given", "native"),
    [
        ({}, False),
        ({"learning_rate": 0.3, "cv": 2}, True),
        ({"n_estimators": "auto"}, True),
        ({"n_estimators": "auto", "early_stopping_rounds": 4}, False),
    ],
    ids=str,
)
def test_the_objective_is_chosen_once_for_all_members(ranker_class, shuffled, monkeypatch, given, native):
    choose, choices = bagging.choose, []

    def choose_and_count(candidates, data, *others):
        assert data.queries.n_queries == 30
        choices.append(choose(candidates, data, *others))
        return choices[-1]

    monkeypatch.setattr(bagging, "choose", choose_and_count)
    # The members are trained as the candidate was on the folds, also where the default depends on "auto".
    monkeypatch.setattr(settings, "DEFAULT_PATIENCE", 4)
    monkeypatch.setattr(automatic, "ERRORS_TO_REPLACE", -1e9)
    monkeypatch.setattr(automatic, "ERRORS_TO_DROP", 1e9)
    parameters = ranker_class._candidates[-1] if native else {"objective": "softmax", "reg_lambda": 1.0}
    monkeypatch.setattr(ranker_class, "_candidates", ({}, parameters))
    model = bagged(ranker_class, "auto", **given).fit(*shuffled)
    assert len(choices) == 1
    assert model.cv_results_ is choices[0].cv_results
    assert parameters.items() <= model.best_params_.items()
    assert {member.objective for member in model.estimators_} == {parameters["objective"]}
    rounds, chosen = int(model.cv_results_["n_rounds"][1]), dict(model.best_params_)
    if "n_estimators" in given:
        chosen |= {"n_estimators": rounds, "learning_rate": settings.LOSS_LEARNING_RATE}
        assert [member.best_iteration_ for member in model.estimators_] == [rounds] * N_MEMBERS
    rest = {name: value for name, value in given.items() if name == "learning_rate"}
    by_hand = SimpleNamespace(**vars(model) | {"ranker": small(ranker_class, **chosen, **rest)})
    expected, out_of_bag = scores_by_hand(by_hand, shuffled)
    np.testing.assert_allclose(model.predict(shuffled[0]), expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(model.oob_prediction_, out_of_bag, rtol=1e-12)


def test_weights_are_those_of_the_queries_that_were_drawn(ranker_class, shuffled):
    X, y, qid = shuffled
    model = bagged(ranker_class)
    names = names_of_queries(qid)
    by_query = np.random.default_rng(0).uniform(0.5, 3, len(names))
    weights = np.array([by_query[names.index(name)] for name in qid])
    unweighted = model.fit(X, y, qid).predict(X)
    scores = model.fit(X, y, qid, sample_weight=by_query).predict(X)
    assert not np.allclose(scores, unweighted)
    expected, out_of_bag = scores_by_hand(model, shuffled, weights)
    np.testing.assert_allclose(scores, expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(model.oob_prediction_, out_of_bag, rtol=1e-12)
    per_document = np.random.default_rng(0).uniform(0.5, 3, len(y))
    scores = model.fit(X, y, qid, sample_weight=per_document).predict(X)
    np.testing.assert_allclose(scores, scores_by_hand(model, shuffled, per_document)[0], rtol=1e-5, atol=1e-6)


@pytest.mark.slow
def test_random_state_decides_and_n_jobs_does_not(ranker_class, data):
    X, y, qid = data
    sampled = {"subsample": 0.5, **({"subsample_freq": 1} if ranker_class is br.LightGBMRanker else {})}

    def fit(**bagging):
        model = bagged(ranker_class, bagging=bagging, n_jobs=None, **sampled).fit(X, y, qid)
        return model.predict(X), model.oob_prediction_

    first = fit()
    for other in (fit(), fit(n_jobs=2), fit(random_state=np.random.RandomState(0))):
        np.testing.assert_array_equal(other, first)
    assert not np.allclose(fit(random_state=1)[0], first[0])
    assert not np.allclose(fit(random_state=None)[0], first[0])


@pytest.mark.slow
def test_processors_are_divided_among_the_members(ranker_class, data, monkeypatch):
    monkeypatch.setattr(joblib, "cpu_count", lambda: 8)
    monkeypatch.setattr("boostrank.queries.threads._n_processors", lambda: 8)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    X, y, qid = data

    def threads(workers, **parameters):
        model = bagged(ranker_class, bagging={"n_jobs": workers}, **parameters).fit(X, y, qid)
        return [member.n_jobs for member in model.estimators_]

    assert threads(None, n_jobs=None) == [None] * 3
    assert threads(2, n_jobs=None) == [4] * 3
    # Three members need three workers only.
    assert threads(20, n_jobs=None) == [2] * 3
    assert threads(2, n_jobs=5) == [5] * 3
    for n_jobs, limit, expected in ((100, "", 1), (2, "3,1", 3), (2, "5", 4), (2, "false", 4), (1, "3", None)):
        monkeypatch.setenv("OMP_NUM_THREADS", limit)
        assert bagging.threads_per_member(n_jobs, 100) == expected


def test_sparse_features_missing_values_and_categories(ranker_class, data):
    X, y, qid = data
    holes = np.where(X > 1, np.nan, np.where(np.abs(X) < 0.5, 0, X))
    expected = bagged(ranker_class, early_stopping_rounds=2).fit(holes, y, qid)
    model = bagged(ranker_class, early_stopping_rounds=2).fit(sp.csc_matrix(holes), y, qid)
    np.testing.assert_array_equal(model.predict(sp.csr_array(holes)), expected.predict(holes))
    np.testing.assert_array_equal(model.oob_prediction_, expected.oob_prediction_)
    kinds = pd.Categorical(np.array(["low", "middle", "high"])[np.clip(y.astype(int), 0, 2)])
    frame = pd.DataFrame(holes, columns=[f"x{i}" for i in range(X.shape[1])]).assign(kind=kinds)
    model = bagged(ranker_class, early_stopping_rounds=2, **PLAIN_TREES).fit(frame, y, qid)
    mean = np.mean([member.predict(frame) for member in model.estimators_], axis=0)
    np.testing.assert_allclose(model.predict(frame), mean, rtol=1e-5, atol=1e-6)
    recoded = frame.assign(kind=frame["kind"].cat.reorder_categories(["middle", "low", "high"]))
    np.testing.assert_array_equal(model.predict(recoded), model.predict(frame))
    assert model.get_feature_importances("gain").index[0] == "kind"


def test_preferences(ranker_class, shuffled):
    X, y, qid = shuffled
    graph = br.PreferenceGraph.from_grades(y, qid)
    model = bagged(ranker_class, "edge-logistic", early_stopping_rounds=3).fit(X, graph)
    expected = bagged(ranker_class, "edge-logistic", early_stopping_rounds=3)
    expected.fit(X, y, qid, eval_metric="agreement")
    np.testing.assert_allclose(model.predict(X), expected.predict(X), rtol=1e-5, atol=1e-6)
    assert list(model.estimators_[0].evals_result_["valid_0"]) == ["agreement"]
    names, scores = names_of_queries(qid), model.oob_prediction_
    is_known = ~np.isnan(scores)
    values = [
        br.get_measure("agreement")(graph[rows], scores[rows], per_query=True)[0] if is_known[rows].all() else np.nan
        for rows in (np.flatnonzero(qid == name) for name in names)
    ]
    np.testing.assert_allclose(model.oob_scores_, values)
    assert model.score(X, graph) == br.get_measure("agreement")(graph, model.predict(X))


def test_positions_are_those_of_the_documents(data):
    X, y, qid = data
    position = np.concatenate([np.arange(size) for size in np.bincount(qid)])
    model = bagged(br.LightGBMRanker, "lambdarank", n_estimators=8)
    plain = model.fit(X, y, qid).predict(X)
    scores = model.fit(X, y, qid, position=position).predict(X)
    assert not np.allclose(scores, plain)
    order = np.argsort(position, kind="stable")
    again = model.fit(X[order], y[order], qid[order], position=position[order])
    np.testing.assert_allclose(again.predict(X), scores)


def test_the_file_is_read_by_the_ranker_and_by_a_bag(ranker_class, frame, data, tmp_path):
    model = bagged(ranker_class, early_stopping_rounds=2).fit(frame, *data[1:])
    path = tmp_path / "model.json"
    model.save_model(path)
    again = bagged(ranker_class).fit(frame[frame.columns[:3]], *data[1:])
    for loaded in (ranker_class().load_model(path), again.load_model(path)):
        np.testing.assert_array_equal(loaded.predict(frame), model.predict(frame))
        assert list(loaded.feature_names_in_) == list(frame.columns)
        assert loaded.best_iteration_ == model.best_iteration_
        assert loaded.evals_result_ == loaded.best_score_ == {}
        assert loaded.score(frame, *data[1:]) == model.score(frame, *data[1:])
        assert not hasattr(loaded, "estimators_")
        assert not hasattr(loaded, "oob_score_")
    contributions = model.predict(frame, pred_contrib=True)
    np.testing.assert_allclose(contributions.sum(axis=1), model.predict(frame), atol=1e-5)
    np.testing.assert_allclose(list(model.staged_predict(frame))[-1], model.predict(frame), atol=1e-6)


def test_metrics_of_the_out_of_bag_queries_stop_the_members(ranker_class, shuffled):
    # With the default penalty, all members of XGBoost would stop after the same round.
    settings = {"n_estimators": 30, "learning_rate": 0.5, "early_stopping_rounds": 2, "reg_lambda": 1.0}
    model = bagged(ranker_class, **settings)
    model.fit(*shuffled, eval_metric=["map", "ndcg@3"], early_stopping_metric="ndcg@3")
    names = [f"member_{i}_valid_0" for i in range(N_MEMBERS)]
    assert list(model.evals_result()) == list(model.best_score_) == names
    for name, member in zip(names, model.estimators_, strict=True):
        assert model.best_score_[name] == member.best_score_["valid_0"]
        assert model.evals_result_[name] == member.evals_result_["valid_0"]
        assert list(member.evals_result_["valid_0"]) == ["map", "ndcg@3"]
        assert member.best_iteration_ == np.argmax(member.evals_result_["valid_0"]["ndcg@3"]) + 1
    assert len({member.best_iteration_ for member in model.estimators_}) > 1
    with pytest.raises(ValueError, match="no results of validation sets"):
        bagged(ranker_class).fit(*shuffled).evals_result()


def test_queries_that_all_members_saw_have_no_value(ranker_class, data):
    X, y, qid = data
    model = bagged(ranker_class, bagging={"max_samples": 1.0}).fit(X, y, qid)
    assert np.isnan(model.oob_scores_).all()
    assert np.isnan(model.oob_prediction_).all()
    assert np.isnan(model.oob_score_)
    one = br.BaggedRanker(small(ranker_class), 1, max_samples=0.97, random_state=0).fit(X, y, qid)
    assert np.isnan(one.oob_scores_).sum() == 29
    assert one.oob_score_ == np.nanmax(one.oob_scores_)


def test_a_failed_fit_changes_nothing(ranker_class, data):
    X, y, qid = data
    model = bagged(ranker_class).fit(X, y, qid)
    before = pickle.dumps(vars(model))
    # An error in the training of a member.
    model.set_params(ranker__early_stopping_rounds=2)
    with pytest.raises(ValueError, match="unheard"):
        model.fit(X[:, :3], y, qid, eval_metric="unheard")
    model.set_params(ranker__early_stopping_rounds=None)
    assert pickle.dumps(vars(model)) == before
    with pytest.raises(NotFittedError):
        clone(model).predict(X)
    for name in ("booster_", "best_iteration_", "oob_score_"):
        assert not hasattr(clone(model), name)


@for_each(
    ("parameters", "message"),
    [
        ({"n_estimators": 0}, "n_estimators must be an integer of at least 1; got 0"),
        ({"max_samples": 31}, "max_samples must be a finite number above 0 and of at most 1; got 31"),
        ({"random_state": -1}, "random_state must be None, an integer"),
        ({"ranker__seed": 5}, "two names of one parameter"),
        ({"ranker__unknown": 1}, "neither the ranker nor"),
        ({"max_samples": 1.0, "ranker__early_stopping_rounds": 2}, "member 0 was trained on all 30 queries"),
        ({"ranker": br.LightGBMRanker}, "must be an instance of LightGBMRanker .* got <class"),
        ({"ranker": Ridge()}, "must be an instance of LightGBMRanker or XGBoostRanker; got Ridge"),
    ],
)
def test_wrong_parameters_are_errors(ranker_class, parameters, message, data):
    X, y, qid = data
    model = bagged(ranker_class).set_params(**parameters)
    with pytest.raises(TypeError if "ranker" in parameters else ValueError, match=message):
        model.fit(X, y, qid)


def test_functions_may_be_objectives(ranker_class, data):
    X, y, qid = data
    model = bagged(ranker_class, lambda y, scores: (scores - y, np.ones(len(y)))).fit(X, y, qid)
    expected, _ = scores_by_hand(model, data)
    np.testing.assert_allclose(model.predict(X), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.slow
def test_parameters_of_the_ranker_are_searched(ranker_class, data):
    X, y, qid = data
    model = bagged(ranker_class)
    assert model.get_params()["ranker__n_estimators"] == 3
    assert clone(model.set_params(ranker__learning_rate=0.3)).ranker.learning_rate == 0.3
    grid = {"ranker__n_estimators": [1, 4]}
    search = br.grid_search(model, grid, X, y, qid, cv=2)
    assert search.cv_results_["mean_test_n_estimators"].tolist() == [3, 12]
    with sklearn.config_context(enable_metadata_routing=True):
        routed = GridSearchCV(model, grid, cv=br.QueryKFold(2), scoring=br.make_scorer("ndcg@10")).fit(X, y, qid=qid)
        np.testing.assert_allclose(routed.cv_results_["mean_test_score"], search.cv_results_["mean_test_score"])


def test_scores_of_queries_that_were_cut_apart_are_warned_of(ranker_class, data):
    X, y, qid = data
    rows = np.arange(len(y)) % 5 > 0
    model = bagged(ranker_class).fit(X[rows], y[rows], qid[rows])
    for score in (model.score, lambda *test: br.make_scorer("ndcg@10")(model, *test)):
        with pytest.warns(UserWarning, match="trained on other documents of 30 of the 30 scored queries"):
            score(X[~rows], y[~rows], qid[~rows])


def test_a_bag_is_the_model_whose_training_goes_on(ranker_class, data):
    X, y, qid = data
    bagged = br.BaggedRanker(ranker_class(n_estimators=2, n_jobs=1), 2, random_state=0).fit(X, y, qid)
    ranker = ranker_class(n_estimators=3, n_jobs=1).fit(X, y, qid, init_model=bagged)
    assert ranker.best_iteration_ == 7
    np.testing.assert_allclose(ranker.predict(X, num_iteration=4), bagged.predict(X), atol=1e-6)
