"""Cross-validation and searches: every way through scikit-learn gives the scores of a loop over
folds, or an error."""

import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.ensemble import RandomForestRegressor
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    TimeSeriesSplit,
    cross_validate,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import boostrank as br
from boostrank.model_selection.estimators import accept_qid

pl = pytest.importorskip("polars")

NDCG = br.make_scorer("ndcg@10")
# Its `fit` takes sample_weight, which it must not get.
IDENTITY = StandardScaler(with_mean=False, with_std=False)
RATES = {"learning_rate": [0.1, 0.5]}
of_both = pytest.mark.parametrize("ranker", ["lightgbm", "xgboost"], indirect=True)


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def frames(X, qid):
    """The same features with the query ids in a column or an index."""
    frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(X.shape[1])])
    columns = frame.assign(qid=qid)
    return {
        "column": columns,
        "index": frame.set_index(pd.Index(qid, name="qid")),
        "polars": pl.from_pandas(columns),
    }


def by_hand(X, y, qid, fit):
    """NDCG@10 of three folds, where ``fit(rows)`` returns a ranker that is trained on these
    rows."""
    scores = []
    for train, test in GroupKFold(3).split(X, groups=qid):
        scores.append(br.ndcg_score(y[test], fit(train).predict(X[test]), qid[test], k=10))
    return np.array(scores)


def loop(ranker, X, y, qid, **parameters):
    """The same for a ranker with other parameters."""
    ranker = clone(ranker).set_params(**parameters)
    return by_hand(X, y, qid, lambda rows: ranker.fit(X[rows], y[rows], qid[rows]))


def equal(seen, expected):
    np.testing.assert_allclose(seen, expected, rtol=0, atol=1e-12)


def equal_means(search, ranker, data):
    for parameters, score in zip(
        search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True
    ):
        equal(score, loop(ranker, *data, **parameters).mean())


# With scikit-learn's functions and metadata routing


@of_both
def test_grid_with_baselines(ranker, data, routing):
    X, y, qid = data
    baseline = "lambdarank" if isinstance(ranker, br.LightGBMRanker) else "rank:ndcg"
    grid = {"objective": [br.surrogates.Cosine(), baseline], "k": [None, 10]}
    search = GridSearchCV(ranker, grid, cv=br.QueryKFold(3), scoring=NDCG).fit(X, y, qid=qid)
    equal_means(search, ranker, data)
    best = clone(ranker).set_params(**search.best_params_).fit(X, y, qid)
    np.testing.assert_array_equal(search.predict(X), best.predict(X))
    equal(search.score(X, y, qid=qid), br.ndcg_score(y, best.predict(X), qid, k=10))


# With scikit-learn's functions and query ids in DataFrames


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ranker", "kind", "cv"),
    [("lightgbm", "column", GroupKFold(3)), ("xgboost", "index", br.QueryKFold(3))],
    indirect=["ranker"],
    ids=["groups", "queries"],
)
def test_frames_carry_the_queries(ranker, data, kind, cv):
    X, y, qid = data
    groups, frame = qid if type(cv) is GroupKFold else None, frames(X, qid)[kind]
    seen = cross_validate(ranker, frame, y, cv=cv, groups=groups, scoring=NDCG)
    equal(seen["test_score"], loop(ranker, X, y, qid))
    search = GridSearchCV(ranker, {"k": [5, 10]}, cv=cv, scoring=NDCG).fit(frame, y, groups=groups)
    assert search.best_estimator_.n_features_in_ == X.shape[1]
    equal_means(search, ranker, data)


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
        lambda: make_pipeline(StandardScaler(), ranker).fit(frames(X, qid)["index"], y),
    ]
    for way in ways:
        with pytest.raises(ValueError, match="got no qid"):
            way()
    numbers = pd.DataFrame(X, columns=list("abcdefghij")).assign(
        qid=np.unique(qid, return_inverse=True)[1]
    )
    with pytest.raises(ValueError, match="not whole"):
        make_pipeline(StandardScaler().set_output(transform="pandas"), ranker).fit(numbers, y)


@pytest.mark.filterwarnings("ignore:The groups parameter is ignored by")
def test_folds_that_cut_queries_are_a_warning_or_an_error(ranker, data, routing):
    X, y, qid = data
    with pytest.warns(UserWarning, match=r"of \d+ of the \d+ scored queries, such as 'q\d+'"):
        cross_validate(ranker, X, y, cv=KFold(3), scoring=NDCG, params={"qid": qid})
    fault = r"fold 1 of KFold\(.*\) cuts \d+ queries apart, such as 'q\d+'.*: use QueryKFold"
    with pytest.raises(ValueError, match=fault):
        br.cross_validate(ranker, X, y, qid, cv=KFold(3))
    ids = np.sort(qid)
    by_time = (
        r"cuts 1 query apart, 'q\d+'.*: .*in sequence of time, give cv=\[\(train, test\), \.\.\.\]"
    )
    with pytest.raises(ValueError, match=by_time):
        br.cross_validate(ranker, X, y, ids, cv=TimeSeriesSplit(3))
    pairs = [(np.arange(len(y) - 5), np.arange(len(y) - 5, len(y)))]
    with pytest.raises(ValueError, match="fold 1 of cv cuts 1 query apart"):
        br.cross_validate(ranker, X, y, ids, cv=pairs)


@pytest.mark.parametrize("ranker", ["lightgbm", "xgboost"], indirect=True)
def test_searches_of_sklearn_without_routing_are_errors_and_not_nan(ranker, data):
    X, y, qid = data
    cv = list(br.QueryKFold(3).split(X, groups=qid))
    bag = br.BaggedRanker(ranker, n_estimators=2, n_jobs=1)
    with pytest.raises(
        ValueError, match=r"passes qid to .*Ranker.fit, but not to its score"
    ) as one:
        GridSearchCV(ranker, {"k": [5, 10]}, cv=cv).fit(X, y, qid=qid)
    assert "use br.grid_search or br.cross_validate" in str(one.value)
    for way in (
        lambda: GridSearchCV(ranker, {"k": [5]}, cv=cv, scoring=NDCG).fit(X, y, qid=qid),
        lambda: GridSearchCV(
            ranker, {"k": [5]}, cv=cv, scoring={"a": NDCG, "b": NDCG}, refit="a"
        ).fit(X, y, qid=qid),
        lambda: cross_validate(ranker, X, y, cv=cv, params={"qid": qid}),
        lambda: cross_validate(bag, X, y, cv=cv, params={"qid": qid}),
        lambda: cross_validate(
            make_pipeline(StandardScaler(), ranker),
            X,
            y,
            cv=cv,
            params={f"{type(ranker).__name__.lower()}__qid": qid},
        ),
    ):
        with pytest.raises(ValueError, match=r"passes qid to .*Ranker.fit, but not to its score"):
            way()
    # The scores do not need the ids, or find them.
    expected = loop(ranker, X, y, qid)
    column = frames(X, qid)["column"]
    seen = cross_validate(ranker, column, y, cv=cv, scoring=NDCG, params={"qid": qid})
    equal(seen["test_score"], expected)
    constant = cross_validate(ranker, X, y, cv=cv, scoring=lambda *_: 1.0, params={"qid": qid})
    assert constant["test_score"].tolist() == [1.0, 1.0, 1.0]


def test_record_batches_of_pyarrow_are_tables(ranker, data):
    pa = pytest.importorskip("pyarrow")
    X, y, qid = data
    frame = frames(X, qid)["column"]
    batch = pa.RecordBatch.from_pandas(frame, preserve_index=False)
    expected = loop(ranker, X, y, qid)
    equal(br.cross_validate(ranker, batch, y, cv=3)["test_score"], expected)
    without = batch.drop_columns("qid")
    equal(br.cross_validate(ranker, without, y, qid, cv=3)["test_score"], expected)
    search = br.grid_search(ranker, {"learning_rate": [0.1]}, without, y, qid, cv=3)
    equal(search.best_score_, expected.mean())
    equal(search.predict(without), ranker.fit(X, y, qid).predict(X))
    folds = br.query_folds(br.Dataset(without, y, qid), 3)
    assert sum(fold.test.X.num_rows for fold in folds) == len(y)
    compared = br.compare({"a": ranker}, without, y, qid, cv=3)
    assert compared.per_query["query"].nunique() == len(set(qid))


# The functions of the package


def test_all_kinds_of_folds(ranker, data):
    X, y, qid = data
    expected = loop(ranker, X, y, qid)
    for cv in (3, br.QueryKFold(3), GroupKFold(3), list(br.QueryKFold(3).split(X, groups=qid))):
        seen = br.cross_validate(ranker, X, y, qid, cv=cv)
        equal(seen["test_score"], expected)
    equal(br.cross_validate(ranker, frames(X, qid)["polars"], y, cv=3)["test_score"], expected)
    assert not sklearn.get_config()["enable_metadata_routing"]
    for cv in ("a", 0, 1, 2.5, True):
        with pytest.raises(ValueError, match=r"Expected `?cv`? as an integer|n_splits=2 or more"):
            br.grid_search(ranker, RATES, X, y, qid, cv=cv)


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


def test_a_search_scores_by_the_measure_of_refit(ranker, data):
    X, y, qid = data
    scoring = {"top": "ndcg@1", "map": br.make_scorer("map", threshold=2)}
    search = br.grid_search(ranker, RATES, X, y, qid, cv=3, scoring=scoring, refit="map")
    expected = br.evaluate(y, search.predict(X), qid, {"map": br.get_measure("map", threshold=2)})[
        "map"
    ]
    assert search.score(X, y, qid=qid) == expected
    assert (
        br.grid_search(ranker, RATES, X, y, qid, cv=3, scoring=scoring, refit=True).refit == "top"
    )
    with pytest.raises(AttributeError, match="predict"):
        br.grid_search(ranker, RATES, X, y, qid, cv=3, refit=False).predict(X)


def test_a_search_shows_what_it_found(ranker, data):
    search = br.grid_search(ranker, {"k": [5, 10], "num_leaves": [3]}, *data, cv=3)
    text = repr(search)
    assert text == (
        f"QueryGridSearchCV(best_params_={search.best_params_}, "
        f"best_score_={search.best_score_:.4f}, of 2 settings on 3 folds)"
    )
    assert repr(clone(search)).startswith("QueryGridSearchCV(cv=<3 folds of queries>")
    several = {"scoring": ["ndcg@1", "map"], "refit": False}
    assert "best_params_" not in repr(br.grid_search(ranker, {"k": [5]}, *data, cv=3, **several))


def test_a_search_takes_frames_with_query_ids(ranker, data):
    X, y, qid = data
    column, index = (frames(X, qid)[kind] for kind in ("column", "index"))
    pipeline, frame = make_pipeline(StandardScaler(), ranker), column.drop(columns="qid")
    search = br.grid_search(pipeline, {"lightgbmranker__k": [5, 10]}, column, y, cv=3)
    expected = br.ndcg_score(y, search.predict(frame), qid, k=10)
    np.testing.assert_array_equal(search.predict(column), search.predict(frame))
    assert (
        search.score(column, y)
        == search.score(index, y)
        == search.score(frame, y, qid=qid)
        == expected
    )
    assert search.best_estimator_.n_features_in_ == X.shape[1]


@of_both
@pytest.mark.parametrize("in_pipeline", [False, True])
def test_weights_are_those_of_the_rows_of_a_fold(ranker, data, in_pipeline):
    X, y, qid = data
    first = list(dict.fromkeys(qid.tolist()))
    per_query = np.random.default_rng(0).integers(1, 9, 24)
    per_row = per_query[[first.index(query) for query in qid]]
    expected = by_hand(
        X,
        y,
        qid,
        lambda rows: clone(ranker).fit(X[rows], y[rows], qid[rows], sample_weight=per_row[rows]),
    )
    estimator = make_pipeline(IDENTITY, ranker) if in_pipeline else ranker
    for weights in (per_query, per_row):
        seen = br.cross_validate(estimator, X, y, qid, cv=3, params={"sample_weight": weights})[
            "test_score"
        ]
        np.testing.assert_array_equal(seen, expected)
    assert not np.allclose(
        expected, br.cross_validate(ranker, X, y, qid, cv=3)["test_score"], atol=1e-3
    )
    if not in_pipeline:
        search = br.grid_search(ranker, RATES, X, y, qid, cv=3, params={"sample_weight": per_query})
        np.testing.assert_allclose(search.cv_results_["mean_test_score"][0], expected.mean())
        best = clone(ranker).set_params(**search.best_params_).fit(X, y, qid, sample_weight=per_row)
        np.testing.assert_array_equal(search.predict(X), best.predict(X))


@of_both
def test_params_may_have_validation_data(ranker, data):
    X, y, qid = data
    stopping = clone(ranker).set_params(n_estimators=60, early_stopping_rounds=2)
    validation = {"eval_set": [br.make_ranking(n_queries=10, random_state=2)], "eval_metric": "map"}
    result = br.cross_validate(stopping, X, y, qid, cv=3, params=validation, return_estimator=True)
    assert all(fitted.best_iteration_ < 60 for fitted in result["estimator"])
    assert list(result["estimator"][0].evals_result_["valid_0"]) == ["map"]


def test_preferences_are_scored_by_agreement(data):
    X, y, qid = data
    ranker = br.LightGBMRanker("edge-logistic", n_estimators=4, learning_rate=0.1, n_jobs=1)
    graph = br.PreferenceGraph.from_grades(y, qid)
    folds = list(br.QueryKFold(3).split(X, groups=qid))
    expected = [
        clone(ranker).fit(X[train], graph[train]).score(X[test], graph[test])
        for train, test in folds
    ]
    np.testing.assert_array_equal(br.cross_validate(ranker, X, graph, cv=3)["test_score"], expected)
    search = br.grid_search(ranker, {"learning_rate": [0.1]}, X, graph, cv=3)
    np.testing.assert_allclose(search.best_score_, np.mean(expected))
    assert search.score(X, graph) == search.best_estimator_.score(X, graph)
    with pytest.raises(
        ValueError, match=r"^ndcg@10 needs relevance labels.*PreferenceGraph, whose measure is"
    ):
        br.grid_search(
            ranker, {"k": [5]}, X, graph, cv=3, scoring={"first": br.make_scorer("ndcg@10")}
        )


def test_wrong_arguments_of_fit_and_measures_that_are_not_defined_in_a_fold_are_errors(
    ranker, data
):
    X, y, qid = data
    _, test = list(br.QueryKFold(3).split(X, groups=qid))[1]
    y = np.where(np.isin(np.arange(len(y)), test), 0, y)
    with pytest.raises(ValueError, match=r"^no query is left"):
        br.cross_validate(ranker, X, y, qid, cv=3, scoring=br.get_measure("ndcg@10", empty="skip"))
    with pytest.raises(ValueError, match=r"one weight per query \(24\) or per document"):
        br.cross_validate(ranker, *data, cv=3, params={"sample_weight": np.ones(23)})
    with pytest.raises(TypeError, match=r"unexpected argument.*typo"):
        br.cross_validate(ranker, *data, cv=3, params={"typo": 1})
    # Requests of the user are kept.
    with sklearn.config_context(enable_metadata_routing=True):
        ranker.set_fit_request(sample_weight="other")
    with pytest.raises(TypeError, match=r"unexpected argument.*sample_weight"):
        br.cross_validate(ranker, *data, cv=3, params={"sample_weight": np.ones(24)})


# Rankers of other libraries


def test_rankers_of_libraries(of_library, data):
    X, y, qid = data
    result = br.cross_validate(of_library, X, y, qid, cv=3, return_estimator=True)
    expected = by_hand(
        X, y, qid, lambda rows: accept_qid(of_library).fit(X[rows], y[rows], qid[rows])
    )
    np.testing.assert_array_equal(result["test_score"], expected)
    assert {type(fitted) for fitted in result["estimator"]} == {type(of_library)}
    pipeline = br.cross_validate(make_pipeline(IDENTITY, of_library), X, y, qid, cv=3)
    np.testing.assert_array_equal(pipeline["test_score"], expected)
    weights = np.random.default_rng(0).integers(1, 9, 24)
    search = br.grid_search(of_library, RATES, X, y, qid, cv=3, params={"sample_weight": weights})
    assert type(search.best_estimator_) is type(of_library)
    assert (
        search.best_estimator_.get_params()["learning_rate"] == search.best_params_["learning_rate"]
    )
    best = (
        accept_qid(clone(of_library))
        .set_params(**search.best_params_)
        .fit(X, y, qid, sample_weight=weights)
    )
    np.testing.assert_array_equal(search.predict(X), best.predict(X))
    assert search.score(X, y, qid=qid) == br.ndcg_score(y, best.predict(X), qid, k=10)


def test_other_estimators(data):
    X, y, qid = data
    forest = RandomForestRegressor(n_estimators=3, random_state=0)
    result = br.cross_validate(forest, X, y, qid, cv=3)
    np.testing.assert_array_equal(
        result["test_score"], by_hand(X, y, qid, lambda rows: forest.fit(X[rows], y[rows]))
    )


# Early stopping inside the folds


@of_both
def test_early_stopping_inside_the_folds(ranker, data):
    X, y, qid = data
    ranker.set_params(n_estimators=60, early_stopping_rounds=2, validation_fraction=0.3, k=10)
    search = br.grid_search(ranker, RATES, X, y, qid, cv=3)
    equal_means(search, ranker, data)
    best = clone(ranker).set_params(**search.best_params_).fit(X, y, qid)
    np.testing.assert_array_equal(search.predict(X), best.predict(X))
    assert best.best_iteration_ < 60


@of_both
def test_folds_have_the_features_of_their_lists(ranker, data):
    X, y, qid = data
    search = br.grid_search(ranker, {"query_features": ["standardize", "rank"]}, X, y, qid, cv=3)
    rankers = [
        clone(ranker).set_params(**parameters) for parameters in search.cv_results_["params"]
    ]
    means = [br.cross_validate(ranker, X, y, qid, cv=3)["test_score"].mean() for ranker in rankers]
    equal(search.cv_results_["mean_test_score"], means)
    best = rankers[np.argmax(means)].fit(X, y, qid)
    np.testing.assert_array_equal(search.predict(X, qid=qid), best.predict(X, qid=qid))


def test_splits_keep_queries_whole(data):
    X, _, qid = data
    for shuffle in (False, True):
        folds = list(
            br.QueryKFold(4, shuffle=shuffle, random_state=0 if shuffle else None).split(
                X, groups=qid
            )
        )
        assert sorted(np.concatenate([test for _, test in folds])) == list(range(len(qid)))
        assert all(not set(qid[train]) & set(qid[test]) for train, test in folds)
    keep, hold_out = br.split_queries(qid, 0.25, random_state=0)
    assert len(set(qid[hold_out])) == 6
    assert not set(qid[keep]) & set(qid[hold_out])
    with pytest.raises(ValueError, match="at least two"):
        br.split_queries([1, 1], 0.5)
    with pytest.raises(ValueError, match=r"QueryKFold\.split got no qid"):
        next(br.QueryKFold(2).split(X))


def test_folds_partition_the_queries():
    data = br.Dataset(*br.make_ranking(n_queries=31, random_state=0))
    folds = br.query_folds(data, 5)
    tested = np.concatenate([np.unique(fold.test.qid) for fold in folds])
    assert sorted(tested) == list(range(31))
    for fold in folds:
        parts = [set(part.qid) for part in (fold.train, fold.validation, fold.test)]
        assert len(set.union(*parts)) == sum(map(len, parts)) == 31
