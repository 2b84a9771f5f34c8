"""Query ids by the names of columns and index levels, one or several."""

import numpy as np
import pandas as pd
import pyarrow
import pytest
from cases import for_each
from sklearn.model_selection import GridSearchCV

import boostrank as br

RANKER = br.LightGBMRanker(n_estimators=3, learning_rate=0.1, n_jobs=1, random_state=0)


@pytest.fixture(scope="module")
def visits():
    """Features with columns of weeks and customers, labels, and the ids that these make."""
    random = np.random.default_rng(0)
    frame = pd.DataFrame(random.normal(size=(240, 2)), columns=["price", "size"])
    frame["week"] = random.integers(0, 6, 240)
    frame["customer"] = random.choice(["anna", "ben", "cleo"], 240)
    y = (frame["price"] > 0) * 1 + random.integers(0, 2, 240)
    return (
        frame,
        y.to_numpy(),
        frame["week"] * 3 + frame["customer"].map({"anna": 0, "ben": 1, "cleo": 2}),
    )


def forms(frame):
    return {
        "columns": frame,
        "index": frame.set_index(["week", "customer"]),
        "both": frame.set_index("week"),
        "pyarrow": pyarrow.Table.from_pandas(frame),
    }


@for_each("form", ["columns", "index", "both", "pyarrow"])
@for_each("features_of_lists", [None, "rank"])
def test_two_columns_make_one_id(visits, form, features_of_lists):
    frame, y, ids = visits
    X = forms(frame)[form]
    plain = frame[["price", "size"]]
    ranker = br.LightGBMRanker(**{**RANKER.get_params(), "query_features": features_of_lists})
    expected = ranker.fit(plain, y, ids).predict(plain, qid=ids)
    score = ranker.score(plain, y, ids)
    ranker.fit(X, y, qid=["week", "customer"], eval_set=[(X, y)])
    assert ranker.feature_names_in_.tolist() == ["price", "size"]
    np.testing.assert_array_equal(ranker.predict(X), expected)
    assert ranker.score(X, y) == ranker.score(X, y, qid=("week", "customer")) == score
    if features_of_lists is None:
        np.testing.assert_array_equal(ranker.predict(plain), expected)


@for_each("name", ["week", "customer"])
def test_an_index_level_has_the_ids(visits, name):
    frame, y, _ = visits
    X = frame.set_index(["week", "customer"])
    plain = frame[["price", "size"]]
    expected = br.XGBoostRanker(n_estimators=3).fit(plain, y, frame[name])
    ranker = br.XGBoostRanker(n_estimators=3).fit(X, y, qid=name)
    np.testing.assert_array_equal(ranker.predict(X), expected.predict(plain))
    assert ranker.score(X, y) == expected.score(plain, y, frame[name])


def test_functions_take_names_too(visits):
    frame, y, ids = visits
    names = ["week", "customer"]
    plain = frame[["price", "size"]]
    expected = br.cross_validate(RANKER, plain, y, ids, cv=br.QueryKFold(3))["test_score"]
    found = br.cross_validate(RANKER, frame, y, names, cv=br.QueryKFold(3))["test_score"]
    # The folds of equal sizes are made in the sequence of the ids.
    assert sorted(found.round(1)) == sorted(expected.round(1))
    splits = list(br.QueryKFold(3).split(frame, groups=names))
    of_ids = frame.groupby(names).ngroup().to_numpy()
    for (train, test), (_, other) in zip(
        splits, br.QueryKFold(3).split(plain, groups=of_ids), strict=True
    ):
        assert test.tolist() == other.tolist()
        assert not set(of_ids[train]) & set(of_ids[test])
    search = br.grid_search(RANKER, {"num_leaves": [4]}, frame, y, names, cv=3)
    assert search.best_estimator_.n_features_in_ == 2
    rankers = {"a": RANKER, "b": br.LightGBMRanker(n_estimators=2)}
    comparison = br.compare(rankers, frame, y, names, cv=3, measures=["ndcg@5"])
    assert comparison.per_query["query"].nunique() == len(set(ids))


def test_searches_of_scikit_learn_take_names(visits):
    import sklearn

    frame, y, _ = visits
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(
            RANKER, {"num_leaves": [4, 8]}, cv=br.QueryKFold(3), scoring=br.make_scorer("ndcg@5")
        ).fit(frame, y, qid=["week", "customer"])
    assert search.best_estimator_.n_features_in_ == 2


@for_each(
    ("qid", "change", "message"),
    [
        (["week", "shop"], None, r"qid must be the name of a column of X.*'shop'"),
        ("shop", None, r"qid must be the name of a column of X.*'shop'"),
        (
            ["week", "customer"],
            {"customer": None},
            r"column 'customer' of X.*must not be missing.*\[3\]",
        ),
        (["week", "customer"], {"week": np.nan}, r"column 'week' of X.*must not be missing.*\[3\]"),
        (["week", "customer"], {"week": 0.5}, "the column 'week' of X.*not whole"),
        (["a"] * 7, None, r"qid must be the name of a column of X"),
    ],
)
def test_names_and_values_that_are_none_are_errors(visits, qid, change, message):
    frame, y, _ = visits
    frame = frame.astype({"week": float})
    for name, value in (change or {}).items():
        frame.loc[3, name] = value
    with pytest.raises(ValueError, match=message):
        RANKER.fit(frame, y, qid=qid)


def test_as_many_texts_as_rows_are_ids():
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]})
    assert br.queries.queries.find_qid(frame, ["a", "b"])[1].tolist() == ["a", "b"]


def test_a_contradicting_column_of_ids_is_an_error(visits):
    frame, y, ids = visits
    X = frame.assign(qid=frame["week"])
    with pytest.raises(ValueError, match=r"columns 'week', 'customer' of X.*contradict"):
        RANKER.fit(X, y, qid=["week", "customer"])
    same = RANKER.fit(frame.assign(qid=ids), y, qid=["week", "customer"])
    assert same.feature_names_in_.tolist() == ["price", "size"]
