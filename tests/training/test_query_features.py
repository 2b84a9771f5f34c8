"""`QueryFeatures` as a transformer: which columns it takes, kinds of data, pipelines, and errors."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sklearn
from scipy import sparse as sp
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

import boostrank as br
from boostrank.inputs import streams

Z, R = "standardize", "rank"


@pytest.fixture(scope="module")
def frame():
    """Columns that say the same of a list in several ways, as unsorted rows with ids that are texts."""
    random = np.random.default_rng(0)
    qid = random.permutation(np.repeat([f"q{i}" for i in range(9)], random.integers(4, 9, 9)))
    price = np.where(random.random(len(qid)) < 0.15, np.nan, random.normal(size=len(qid)).round(1))
    ranked = pd.Series(price).groupby(qid).rank(pct=True).to_numpy()
    columns = {"price": price, "age": pd.factorize(qid)[0] * 1.0, "double": 2 * price + 3, "minus": -price}
    return pd.DataFrame({**columns, "ranked": ranked, "cube": price**3, "qid": qid}, index=range(7, 7 + len(qid)))


def plain(frame):
    return frame.drop(columns="qid").to_numpy(), frame["qid"].to_numpy()


def slow(frame, features):
    """The features of columns by pandas."""
    lists = frame.groupby("qid")
    found = {}
    for kind, name in features:
        column, of_list = frame[name], lists[name]
        if kind == R:
            found[f"{name} (rank in query)"] = of_list.rank(pct=True)
        else:
            values = (column - of_list.transform("mean")) / of_list.transform("std", ddof=0)
            found[f"{name} (standardized in query)"] = values
    return pd.DataFrame(found)


def test_columns_that_say_something_new_are_added(frame):
    X, qid = plain(frame)
    transformer = br.QueryFeatures().fit(X, qid=qid)
    # Not those of age, which is constant within queries, those of double, which are those of price, and ranks of price
    # and its cube, which are the column ranked.
    assert transformer.features_ == [(Z, 0), (Z, 3), (Z, 4), (Z, 5), (R, 3)]
    names = list(frame.columns[:-1])
    expected = slow(frame, [(kind, names[column]) for kind, column in transformer.features_])
    found = transformer.transform(X, qid)
    np.testing.assert_array_equal(found[:, :6], X)
    np.testing.assert_allclose(found[:, 6:], expected, rtol=1e-5, atol=1e-6)
    assert list(transformer.get_feature_names_out())[5:8] == [
        "x5",
        "x0 (standardized in query)",
        *["x3 (standardized in query)"],
    ]
    # Standardized columns and ranks are their own.
    for kind in (Z, R):
        again = br.QueryFeatures(kind, columns=[0, 3]).fit_transform(X, qid=qid)[:, -2:]
        assert br.QueryFeatures(kind).fit(again, qid=qid).features_ == []


def test_columns_differ_if_one_value_of_a_block_or_a_missing_value_does(monkeypatch):
    X, _, qid = br.make_ranking(n_queries=8, random_state=0)
    same = np.column_stack([X[:, 0], 3 * X[:, 0]])
    for block_rows in (16384, 30):
        monkeypatch.setattr("boostrank.queries.segments.Segments.blocks.__defaults__", (block_rows,))
        assert br.QueryFeatures(Z).fit(same, qid=qid).features_ == [(Z, 0)]
        for row, value in ((3, 1.0), (len(X) - 1, np.nan), (50, np.inf)):
            other = same.copy()
            other[row, 1] = value
            assert br.QueryFeatures(Z).fit(other, qid=qid).features_ == [(Z, 0), (Z, 1)]
    large = X[:, :2] * [1e200, -1e300]
    assert br.QueryFeatures().fit(large, qid=qid).features_ == [(Z, 0), (Z, 1), (R, 0), (R, 1)]


@pytest.mark.parametrize("columns", [["double", "age", "price"], [2, 1, 0, 2], ["double", 1, "price"]])
def test_columns_that_are_named_are_all_taken(frame, columns):
    transformer = br.QueryFeatures(R, columns).fit(frame)
    assert transformer.features_ == [(R, 2), (R, 1), (R, 0)]
    found, expected = transformer.transform(frame).iloc[:, 6:], slow(frame, [(R, "double"), (R, "age"), (R, "price")])
    pd.testing.assert_frame_equal(found, expected, check_dtype=False, rtol=1e-6)
    assert list(transformer.get_feature_names_out()) == [*frame.columns[:-1], *expected.columns]
    assert br.QueryFeatures(columns="price").fit(frame).features_ == [(Z, 0), (R, 0)]
    assert br.QueryFeatures(columns=[]).fit(frame).features_ == []


def test_frames_stay_what_they_are(frame):
    expected = br.QueryFeatures().fit_transform(*plain(frame)[:1], qid=frame["qid"])
    kinds = pd.Categorical(np.resize(["b", "a"], len(frame)))
    with_kinds = frame.assign(kind=kinds).rename(columns={"qid": "session"})
    transformer = br.QueryFeatures().fit(with_kinds, qid="session")
    # Another sequence of the categories, and another category, as in other data.
    for other in (kinds, kinds.set_categories(["a", "b", "c"])):
        found = transformer.transform(with_kinds.assign(kind=other), "session")
        assert list(found.columns) == list(transformer.get_feature_names_out())
        pd.testing.assert_index_equal(found.index, frame.index)
        assert found["kind"].cat.categories.tolist() == ["a", "b"]
        assert found["kind"].tolist() == list(kinds)
        np.testing.assert_array_equal(found.drop(columns="kind"), expected)
    by_index = frame.set_index("qid")
    pd.testing.assert_index_equal(br.QueryFeatures().fit_transform(by_index).index, by_index.index)
    numbers = pd.DataFrame({"a": pd.array([1, None, 3], "Int64"), "b": [True, False, False]})
    found = br.QueryFeatures(R).fit_transform(numbers, qid=[0, 0, 0])
    np.testing.assert_allclose(found.iloc[:, 2:], [[0.5, 1], [np.nan, 0.5], [1, 0.5]])


def test_polars_and_arrow(frame):
    expected = br.QueryFeatures().fit_transform(frame)
    polars = pl.from_pandas(frame)
    found = br.QueryFeatures().fit_transform(polars)
    assert type(found) is pl.DataFrame
    pd.testing.assert_frame_equal(found.to_pandas(), expected.reset_index(drop=True))
    arrow = br.QueryFeatures().fit_transform(pa.Table.from_pandas(frame, preserve_index=False))
    np.testing.assert_array_equal(arrow, expected)


def test_sparse_features_with_columns(frame):
    X, qid = plain(frame)
    X = np.where(np.arange(6) < 3, np.nan_to_num(X), X)
    expected = br.QueryFeatures(columns=[3, 0]).fit_transform(X, qid=qid)
    for matrix in (sp.csr_array(X), sp.csc_matrix(X)):
        found = br.QueryFeatures(columns=[3, 0]).fit_transform(matrix, qid=qid)
        assert sp.issparse(found)
        np.testing.assert_array_equal(found.toarray(), expected)


def test_files_are_read_with_the_features_of_whole_lists(tmp_path, monkeypatch):
    X, _, qid = br.make_ranking(n_queries=9, random_state=0)
    X = X[:, :3].astype(np.float32)
    np.save(tmp_path / "x.npy", X)
    files, expected = br.FeatureFiles(tmp_path / "x.npy"), br.QueryFeatures().fit_transform(X, qid=qid)
    monkeypatch.setattr(streams, "BLOCK_ELEMENTS", 17 * 9)
    monkeypatch.setattr("boostrank.queries.segments.Segments.blocks.__defaults__", (30,))
    stream = br.QueryFeatures().fit(files, qid=qid).transform(files, qid)
    assert (stream.shape, stream.dtype, stream.rows_per_block) == (expected.shape, np.float32, 17)
    np.testing.assert_array_equal(np.concatenate(list(stream.blocks())), expected)
    for rows in (np.arange(len(X)) % 7 < 2, slice(5, 60), np.array([3, 4, 70])):
        np.testing.assert_array_equal(stream[rows].read(), expected[rows])
        np.testing.assert_array_equal(stream[rows].read(1, 3), expected[rows][1:3])
    assert stream.read(4, 4).shape == (0, 9)


def test_pipelines_and_searches_with_routing(frame):
    X, y, qid = br.make_ranking(n_queries=24, random_state=0)
    rows = np.random.default_rng(0).permutation(len(y))
    X, y, qid = X[rows, :3], y[rows], qid[rows]
    ranker = br.LightGBMRanker("softmax", n_estimators=4, n_jobs=1, random_state=0)
    expected = clone(ranker).set_params(query_features=Z).fit(X, y, qid)
    with sklearn.config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(br.QueryFeatures(Z).set_output(transform="pandas"), ranker).fit(X, y, qid=qid)
        np.testing.assert_array_equal(pipeline.predict(X, qid=qid), expected.predict(X, qid=qid))
        assert list(pipeline[1].feature_names_in_[2:4]) == ["x2", "x0 (standardized in query)"]
        with pytest.raises(ValueError, match=r"QueryFeatures\.transform got no qid"):
            pipeline.predict(X)
        grid, cv = {"queryfeatures__kind": [R, Z]}, br.QueryKFold(3)
        search = GridSearchCV(pipeline, grid, scoring=br.make_scorer("ndcg@5"), cv=cv, error_score="raise")
        search.fit(X, y, qid=qid)
    values = []
    for train, test in cv.split(X, groups=qid):
        scores = expected.fit(X[train], y[train], qid[train]).predict(X[test], qid=qid[test])
        values.append(br.ndcg_score(y[test], scores, qid[test], k=5))
    assert search.cv_results_["mean_test_score"][1] == pytest.approx(np.mean(values), abs=1e-12)
    assert (
        repr(clone(search.best_estimator_[0])) == f"QueryFeatures(kind={search.best_params_['queryfeatures__kind']!r})"
    )


def test_a_second_fit_forgets_the_first(frame):
    X, qid = plain(frame)
    transformer = br.QueryFeatures(R).fit(frame).fit(X, qid=qid)
    np.testing.assert_array_equal(transformer.get_feature_names_out()[:2], ["x0", "x1"])
    assert transformer.transform(X, qid).shape == (len(X), 7)


def test_infinite_values(frame):
    X, qid = np.array([[1.0], [np.inf], [3.0], [-np.inf]]), [0, 0, 0, 0]
    found = br.QueryFeatures().fit_transform(X, qid=qid)
    np.testing.assert_array_equal(found[:, 1:], [[-1, 0.5], [np.inf, 1], [1, 0.75], [-np.inf, 0.25]])


WRONG = [
    ({"kind": "gap"}, {}, "each kind of query features must be one of standardize, rank; got 'gap'"),
    (
        {"columns": ["weight"]},
        {},
        "columns has the name 'weight', which is no feature: the features are 'price', 'age'",
    ),
    ({"columns": [6]}, {}, "each feature of columns must be .* an index from 0 to 5 .*got 6"),
    (
        {},
        {"X": lambda X: X.assign(**{"minus (rank in query)": 1})},
        r"X has the column 'minus \(rank in query\)' already",
    ),
    ({"columns": [0, "age"]}, {"X": lambda X: X.astype({"age": "category"})}, "the column 1 of X has categories"),
    ({}, {"X": lambda X: sp.csr_array(X)}, "query features of a sparse matrix are dense: give columns"),
    ({}, {"qid": lambda qid: None}, r"QueryFeatures\.fit got no qid"),
    ({}, {"qid": lambda qid: qid[:-1]}, r"qid has \d+ values for the \d+ rows of X"),
    ({}, {"qid": lambda qid: "session"}, "qid='session' must be the name of a column"),
]


@pytest.mark.parametrize(("settings", "changes", "message"), WRONG)
def test_wrong_input_is_an_error(frame, settings, changes, message):
    data = {"X": frame.drop(columns="qid"), "qid": frame["qid"].to_numpy()}
    data = {name: changes.get(name, lambda values: values)(values) for name, values in data.items()}
    with pytest.raises(ValueError, match=message):
        br.QueryFeatures(**settings).fit(**data)


def test_wrong_input_of_transform_is_an_error(frame, tmp_path):
    X, qid = plain(frame)
    transformer = br.QueryFeatures().fit(X, qid=qid)
    np.save(tmp_path / "x.npy", np.nan_to_num(X))
    cases = [
        (X[:, :3], qid, "X has 3 features, but QueryFeatures is expecting 6"),
        (X, None, r"QueryFeatures\.transform got no qid"),
        (X, qid[:-1], r"qid has \d+ values for the \d+ rows of X"),
        (br.FeatureFiles(tmp_path / "x.npy"), qid, "the rows of a query must be adjacent in FeatureFiles"),
    ]
    for features, ids, message in cases:
        with pytest.raises(ValueError, match=message):
            transformer.transform(features, ids)
    with pytest.raises(sklearn.exceptions.NotFittedError):
        br.QueryFeatures().transform(X, qid)
