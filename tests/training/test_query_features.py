"""`QueryFeatures` as a transformer: which columns it takes, kinds of data, pipelines, and
errors."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy import sparse as sp
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import _num_samples

import boostrank as br
from boostrank.inputs import streams
from boostrank.training.arguments import TrainingArguments
from boostrank.training.data import training_data

pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")

Z, R = "standardize", "rank"
SMALL_BLOCKS = "boostrank.queries.segments.Segments.blocks.__defaults__", (30,)


class OneList(br.QueryFeatures):
    """The checks of scikit-learn give no query ids: all rows are one list then."""

    def fit(self, X, y=None, qid=None):
        return super().fit(X, qid=np.zeros(_num_samples(X)))

    def transform(self, X, qid=None):
        return super().transform(X, qid=0)


@pytest.mark.filterwarnings("ignore:the median length")
@parametrize_with_checks(
    [OneList()], expected_failed_checks=lambda _: {"check_methods_subset_invariance": "by design"}
)
def test_the_transformer_passes_the_checks_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def frame():
    """Columns that say the same of a list in several ways, as unsorted rows with ids that are
    texts."""
    random = np.random.default_rng(0)
    qid = random.permutation(np.repeat([f"q{i}" for i in range(9)], random.integers(4, 9, 9)))
    price = np.where(random.random(len(qid)) < 0.15, np.nan, random.normal(size=len(qid)).round(1))
    columns = {
        "price": price,
        "age": pd.factorize(qid)[0] * 1.0,
        "double": 2 * price + 3,
        "minus": -price,
    }
    columns |= {
        "ranked": pd.Series(price).groupby(qid).rank(pct=True).to_numpy(),
        "cube": price**3,
        "qid": qid,
    }
    return pd.DataFrame(columns, index=range(7, 7 + len(qid)))


def test_columns_that_say_something_new_are_added(frame, monkeypatch):
    monkeypatch.setattr(*SMALL_BLOCKS)
    X, qid, lists = (
        frame.drop(columns="qid").to_numpy(),
        frame["qid"].to_numpy(),
        frame.groupby("qid"),
    )
    transformer = br.QueryFeatures().fit(frame)
    # Not those of age, which is constant within queries, those of double, which are those of price,
    # and ranks of price and its cube, which are the column ranked.
    assert transformer.features_ == [(Z, 0), (Z, 3), (Z, 4), (Z, 5), (R, 3)]
    expected = frame.drop(columns="qid")
    for name in ("price", "minus", "ranked", "cube"):
        values = (frame[name] - lists[name].transform("mean")) / lists[name].transform(
            "std", ddof=0
        )
        expected[f"{name} (standardized in query)"] = values
    expected["minus (rank in query)"] = lists["minus"].rank(pct=True)
    pd.testing.assert_frame_equal(
        transformer.transform(frame), expected, check_dtype=False, rtol=1e-5
    )
    assert list(transformer.get_feature_names_out()) == list(expected)
    # A second fit forgets the names of the first one.
    np.testing.assert_allclose(
        transformer.fit(X, qid=qid).transform(X, qid), expected, rtol=1e-5, atol=1e-6
    )
    assert list(transformer.get_feature_names_out())[5:7] == ["x5", "x0 (standardized in query)"]
    assert list(transformer.get_feature_names_out(list("abcdef")))[5:7] == [
        "f",
        "a (standardized in query)",
    ]
    scaled = br.QueryFeatures("minmax", columns=["price"]).fit_transform(frame)[
        "price (min-max scaled in query)"
    ]
    least, most = lists["price"].transform("min"), lists["price"].transform("max")
    np.testing.assert_allclose(scaled, (frame["price"] - least) / (most - least), rtol=1e-5)
    for kind in (Z, R, "minmax"):
        again = br.QueryFeatures(kind, columns=[0, 3]).fit_transform(X, qid=qid)[:, -2:]
        assert br.QueryFeatures(kind).fit(again, qid=qid).features_ == []


def test_columns_are_the_same_only_if_all_values_are(frame):
    price = frame["price"].to_numpy()
    for row, value in ((np.isnan(price).argmax(), 1.0), (1, np.nan), (len(price) - 1, np.inf)):
        X = np.column_stack([price, 2 * price + 3])
        X[row, 1] = value
        assert br.QueryFeatures(Z).fit(X, qid=frame["qid"]).features_ == [(Z, 0), (Z, 1)]
    huge = np.column_stack([1e200 * price, -1e300 * price])
    assert br.QueryFeatures().fit(huge, qid=frame["qid"]).features_ == [
        (Z, 0),
        (Z, 1),
        (R, 0),
        (R, 1),
    ]


def test_columns_that_are_named_are_all_taken(frame):
    several = (
        (["double", 1], [2, 1]),
        ([2, 1, 2], [2, 1]),
        (range(1, 3), [1, 2]),
        (frame.columns[[2, 0]], [2, 0]),
        ("price", [0]),
        ([], []),
    )
    for columns, numbers in several:
        assert br.QueryFeatures(columns=columns).fit(frame).features_ == [
            (kind, i) for kind in (Z, R) for i in numbers
        ]


def test_every_kind_of_data_stays_what_it_is(frame, tmp_path, monkeypatch):
    expected = br.QueryFeatures().fit_transform(frame)
    kinds, by_index = pd.Categorical(np.resize(["b", "a"], len(frame))), frame.set_index("qid")
    pd.testing.assert_index_equal(br.QueryFeatures().fit_transform(by_index).index, by_index.index)
    with_kinds = frame.assign(kind=kinds).rename(columns={"qid": "session"})
    transformer = br.QueryFeatures().fit(with_kinds, qid="session")
    # The categories may be in another sequence, as in other data.
    for categories in (["b", "a"], ["a", "b", "c"]):
        found = transformer.transform(
            with_kinds.assign(kind=kinds.set_categories(categories)), "session"
        )
        pd.testing.assert_series_equal(
            found.pop("kind"), pd.Series(kinds, frame.index, name="kind")
        )
        pd.testing.assert_frame_equal(found, expected)
    nullable = pd.DataFrame({"a": pd.array([1, None, 3], "Int64"), "b": [True, False, False]})
    found = br.QueryFeatures(R).fit_transform(nullable, qid=[0, 0, 0]).iloc[:, 2:]
    np.testing.assert_allclose(found, [[0.5, 1], [np.nan, 0.5], [1, 0.5]])
    found = br.QueryFeatures().fit_transform(pl.from_pandas(frame))
    assert type(found) is pl.DataFrame
    pd.testing.assert_frame_equal(found.to_pandas(), expected.reset_index(drop=True))
    np.testing.assert_array_equal(
        br.QueryFeatures().fit_transform(pa.Table.from_pandas(frame)), expected
    )
    X, qid = np.nan_to_num(frame.drop(columns="qid")), frame["qid"]
    found = br.QueryFeatures(columns=[3, 0]).fit_transform(sp.csc_matrix(X), qid=qid)
    assert sp.issparse(found)
    np.testing.assert_array_equal(
        found.toarray(), br.QueryFeatures(columns=[3, 0]).fit_transform(X, qid=qid)
    )
    of_dense = br.QueryFeatures().fit(X, qid=qid)
    np.testing.assert_array_equal(
        of_dense.transform(sp.csr_array(X), qid).toarray(), of_dense.transform(X, qid)
    )
    found = br.QueryFeatures().fit_transform([[1.0], [np.inf], [3.0]], qid=[0, 0, 0])[:, 1:]
    np.testing.assert_allclose(found, [[-1, 1 / 3], [np.inf, 1], [1, 2 / 3]])
    # Files are read in blocks, with the features of whole lists.
    rows = np.argsort(qid.to_numpy(), kind="stable")
    X, qid = X[rows].astype(np.float32), qid.to_numpy()[rows]
    np.save(tmp_path / "x.npy", X)
    files, expected = (
        br.FeatureFiles(tmp_path / "x.npy"),
        br.QueryFeatures().fit_transform(X, qid=qid),
    )
    monkeypatch.setattr(*SMALL_BLOCKS)
    monkeypatch.setattr(streams, "BLOCK_ELEMENTS", 9 * expected.shape[1])
    stream = br.QueryFeatures().fit(files, qid=qid).transform(files, qid)
    np.testing.assert_array_equal(np.concatenate(list(stream.blocks())), expected)
    for rows in (np.arange(len(X)) % 7 < 2, slice(5, 30), np.array([3, 4, 40])):
        np.testing.assert_array_equal(stream[rows][1:].read(), expected[rows][1:])
        np.testing.assert_array_equal(stream[rows].read(1, 3), expected[rows][1:3])
    # A list that is longer than a block would be computed once for each block.
    whole = br.QueryFeatures(columns=[0]).fit_transform(files, qid=np.zeros(len(X)))
    assert [len(block) for block in whole.blocks()] == [len(X)]


def test_pipelines_and_searches_with_routing():
    X, y, qid = br.make_ranking(n_queries=24, random_state=0)
    ranker = br.LightGBMRanker(
        "softmax", query_features=Z, n_estimators=4, n_jobs=1, random_state=0
    ).fit(X, y, qid)
    plain = sklearn.clone(ranker).set_params(query_features=None)
    with sklearn.config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(br.QueryFeatures(Z).set_output(transform="pandas"), plain).fit(
            X, y, qid=qid
        )
        np.testing.assert_array_equal(pipeline.predict(X, qid=qid), ranker.predict(X, qid=qid))
        assert list(pipeline[1].feature_names_in_[9:11]) == ["x9", "x0 (standardized in query)"]
        grid, settings = (
            {"queryfeatures__kind": [R, Z]},
            {"scoring": br.make_scorer("ndcg@5"), "cv": br.QueryKFold(3)},
        )
        search = GridSearchCV(pipeline, grid, error_score="raise", **settings).fit(X, y, qid=qid)
    expected = br.cross_validate(ranker, X, y, qid, **settings)["test_score"].mean()
    assert search.cv_results_["mean_test_score"][1] == pytest.approx(expected, abs=1e-12)


def test_copies_of_lists_are_cut_at_random(tmp_path):
    X, y, qid = br.make_ranking(n_queries=30, random_state=0)
    transformer, random, kept = (
        br.QueryFeatures(cut_copies=2),
        np.random.RandomState(0),
        np.arange(30) % 3 > 0,
    )
    arguments = TrainingArguments(X, y, qid)
    data, _ = training_data("", arguments, takes_infinity=True, query_features=transformer)
    for mask, copied in ((None, np.arange(30)), (kept, np.flatnonzero(kept))):
        copies, all_kept = transformer.with_cut_copies(data, mask, random)
        lists, found = copies.queries, copies.X.read()
        assert lists.ids.tolist() == [*range(30), *copied, *copied]
        assert mask is None or all_kept.tolist() == [*kept, *[True] * 2 * len(copied)]
        numbers = lists.repeat(np.arange(lists.n_queries))
        np.testing.assert_array_equal(
            found, br.QueryFeatures().fit(X, qid=qid).transform(found[:, :10], numbers)
        )
        # Each document is there once in a copy, with its label.
        documents = pd.DataFrame(
            {"id": lists.repeat(lists.ids), "label": copies.labels.per_document, "x": found[:, 0]}
        )
        assert not documents.assign(number=numbers).duplicated(["number", "x"]).any()
        assert (
            documents.merge(pd.DataFrame({"id": qid, "label": y, "x": X[:, 0]})).shape
            == documents.shape
        )
        shares = lists.sizes[30:] / lists.sizes[:30][np.append(copied, copied)]
        np.testing.assert_allclose(np.quantile(shares, [0.1, 0.5, 0.9]), [0.1, 0.5, 0.9], atol=0.2)
    # Queries without weight are left out before.
    ranker = br.LightGBMRanker(
        "softmax", query_features=transformer, n_estimators=4, n_jobs=1, random_state=0
    )
    scores = [ranker.fit(X, y, qid, sample_weight=qid % 3 > 0).predict(X, qid=qid)]
    scores.append(ranker.fit(*(values[qid % 3 > 0] for values in (X, y, qid))).predict(X, qid=qid))
    np.testing.assert_array_equal(*scores)
    with pytest.raises(ValueError, match="cut_copies of query_features: rows are repeated"):
        br.LightGBMRanker(query_features=transformer).fit(X, br.PreferenceGraph.from_grades(y, qid))
    np.save(tmp_path / "x.npy", X)
    with pytest.raises(ValueError, match="cut_copies takes features in memory"):
        br.LightGBMRanker(query_features=transformer).fit(
            br.FeatureFiles(tmp_path / "x.npy"), y, qid
        )


def test_wrong_input_is_an_error(frame, tmp_path):
    frame, qid = frame.drop(columns="qid"), frame["qid"].to_numpy()
    X, kinds, taken = (
        np.nan_to_num(frame),
        frame.astype({"age": "category"}),
        {"cube (rank in query)": 1.0},
    )
    np.save(tmp_path / "x.npy", X)
    files, make, fitted = (
        br.FeatureFiles(tmp_path / "x.npy"),
        br.QueryFeatures,
        br.QueryFeatures().fit(X, qid=qid),
    )
    for call, message in (
        (
            lambda: make("gap").fit(X, qid=qid),
            "each kind of query features must be one of .* got 'gap'",
        ),
        (
            lambda: make(columns=["weight"]).fit(frame, qid=qid),
            "columns has the name 'weight', which is no feature",
        ),
        (lambda: make(columns=[0, "age"]).fit(kinds, qid=qid), "the column 1 of X has categories"),
        (
            lambda: make(R, ["cube"]).fit(frame.assign(**taken), qid=qid),
            r"X has the column 'cube \(rank in query\)'",
        ),
        (
            lambda: make().fit(sp.csr_array(X), qid=qid),
            "query features of a sparse matrix are dense: give columns",
        ),
        (
            lambda: make(cut_copies=1).fit(X, qid=qid),
            "a transformer makes no rows: give cut_copies in query_features=",
        ),
        (lambda: make().fit(X), r"QueryFeatures\.fit got no qid"),
        (lambda: fitted.transform(X), r"QueryFeatures\.transform got no qid"),
        (make().get_feature_names_out, "not fitted yet"),
        (lambda: fitted.get_feature_names_out(["a"]), "input_features should have length equal"),
        (lambda: fitted.transform(X, qid[1:]), r"qid has \d+ values for the \d+ rows of X"),
        (
            lambda: fitted.transform(files, qid),
            "the rows of a query must be adjacent in FeatureFiles",
        ),
    ):
        with pytest.raises(ValueError, match=message):
            call()
