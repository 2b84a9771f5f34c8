"""Features and labels of rankers: what is refused, types of columns, and their names."""

import functools

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from cases import for_each
from rankers.small_rankers import small

import boostrank as br
from boostrank.backends.xgboost import backend as xgboost
from boostrank.backends.xgboost import features as xgboost_features

pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")

X, Y, QID = br.make_ranking(n_queries=30, n_documents=12, n_features=6, random_state=0)
FRAME = pd.DataFrame(X, columns=list("abcdef"))
KIND = pd.Categorical(np.where(Y > 1, "high", "low"))


@functools.cache
def scores_of(ranker_class, columns, with_kind=False):
    """Scores of a ranker that was trained on these columns, and on the kind of each document."""
    features = FRAME[list(columns)].assign(kind=KIND) if with_kind else FRAME[list(columns)]
    return small(ranker_class).fit(features, Y, QID).predict(features)


def with_value(value):
    changed = X.copy()
    changed[3, 1] = value
    return changed


@for_each(
    ("wrong", "message"),
    [
        (
            FRAME.assign(c=FRAME["c"] + 0j),
            r"numbers, bool or categories; got 'c' of the type complex128\. Leave out",
        ),
        (
            FRAME.assign(c=pd.Timestamp(2020, 1, 1)),
            r"=\['c'\]\)\), or make numbers of dates, such as days since",
        ),
        (FRAME.assign(c=pd.Timedelta(1, "D")), r"=\['c'\]\)\), or make numbers of dates"),
        (
            FRAME.assign(c="x"),
            r"got 'c' of .*\. Leave.*, or make it categories \(X\['c'\].astype\('category'\)\)$",
        ),
        (
            FRAME.assign(c=FRAME.index.map(str)),
            r"\. 'c' looks like an id\. .* \(X.drop\(columns=\['c'\]\)\)$",
        ),
        (
            FRAME.assign(a="x", c=FRAME.index.map(str)),
            r"got 'a' .*, 'c' .*=\['a', 'c'\]\)\), or make .* \(X\['a'\]\.astype\('category'\)\)$",
        ),
        (
            FRAME.assign(c="1.5"),
            r"type \w+\. 'c' has numbers that are stored as texts: pandas.to_numeric makes",
        ),
        (
            FRAME.assign(a="x", c=["?", *["1.5"] * (len(FRAME) - 1)]),
            r"\(X\['a'\].*\. 'c' has numbers, and texts such as '\?': if .* errors='coerce'\)$",
        ),
        (
            FRAME.assign(c="1,5"),
            r"'c' has decimal commas: write 1.5 in place of 1,5: .*decimal=',', na_values=.* them$",
        ),
        (
            FRAME.assign(c=["-", *(f"{i},5" for i in range(1, len(FRAME)))]),
            "write 1.5 in place of 1,5, and nothing in place of - if this means a missing value:",
        ),
        (FRAME[[]], "X must be a DataFrame with columns that are features"),
        (FRAME["a"], "got a Series.*to_frame"),
    ],
)
def test_features_of_frames_that_are_refused(ranker_class, wrong, message):
    with pytest.raises(ValueError, match=message):
        small(ranker_class).fit(wrong, Y, QID)


def test_further_columns_are_named_with_the_way_to_take_the_others(ranker_class):
    ranker = small(ranker_class).fit(FRAME, Y, QID)
    for wrong in (FRAME.assign(title="x", z=1), FRAME[[*"bacdef"]]):
        with pytest.raises(
            ValueError, match=r"(- title\n- z|same order.*)\n.*: X\[ranker.feature_names_in_\]$"
        ):
            ranker.predict(wrong)
        np.testing.assert_array_equal(
            ranker.predict(wrong[ranker.feature_names_in_]), ranker.predict(FRAME)
        )
        with pytest.raises(ValueError, match=r": X\[X_train.columns\]$"):
            small(ranker_class).fit(FRAME, Y, QID, eval_set=[(wrong, Y, QID)])
    with pytest.raises(ValueError, match=r"missing:\n- f\n$"):
        ranker.predict(FRAME[[*"abcde"]].assign(title="x"))


@for_each(
    ("wrong", "message"),
    [
        (with_value(np.inf), "infinity"),
        (sp.csr_array(with_value(-np.inf)), "infinity"),
        (FRAME.where(FRAME < 1, np.inf), "the column 'a' of X contains infinity"),
        (
            FRAME.assign(b=FRAME["b"].where(FRAME["b"] < 1, -np.inf).astype("Float32")),
            "the column 'b' .* infinity",
        ),
    ],
)
def test_infinity_is_refused_by_xgboost(wrong, message):
    ranker = small(br.XGBoostRanker).fit(FRAME if isinstance(wrong, pd.DataFrame) else X, Y, QID)
    for call in (ranker.predict, lambda X: ranker.fit(X, Y, QID)):
        with pytest.raises(ValueError, match=message):
            call(wrong)


@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array, pd.DataFrame])
def test_infinity_is_larger_than_all_numbers_for_lightgbm(convert):
    infinite, finite = (convert(np.where(X > 1, value, X)) for value in (np.inf, 1e3))
    models = [small(br.LightGBMRanker).fit(one, Y, QID) for one in (infinite, finite)]
    np.testing.assert_array_equal(models[0].predict(infinite), models[1].predict(finite))


def test_types_of_columns_that_are_numbers(ranker_class):
    holes, rounded = FRAME.where(FRAME < 1), FRAME.round().assign(b=FRAME["b"] > 0)
    missing = ("Float64", "float64[pyarrow]", pd.SparseDtype(float, np.nan))
    cases = [
        (FRAME, FRAME.astype(kind)) for kind in (*missing, np.float64, pd.SparseDtype(float, 0.0))
    ]
    cases += [(holes, holes.astype(kind)) for kind in missing] + [(rounded.astype(float), rounded)]
    cases += [(holes, pl.from_pandas(holes, nan_to_null=True))]
    flags, counts, texts = (
        [None if v < -1 else f(v) for v in X[:, 0]] for f in (bool, round, "{:.0f}".format)
    )
    columns = {"flag": flags, "count": counts, "empty": [None] * len(X)}
    nulls = pd.DataFrame(columns).astype(float).assign(kind=pd.Categorical(texts))
    arrow = pa.table({**columns, "kind": pa.array(texts).dictionary_encode()})
    cases += [(nulls, arrow), (nulls, arrow.to_pandas(types_mapper=pd.ArrowDtype))]
    types = {"count": pl.Decimal(10, 2), "kind": pl.Categorical}
    cases.append((nulls, pl.DataFrame({**columns, "kind": texts}, schema_overrides=types)))
    for features, other in cases:
        expected = small(ranker_class).fit(features, Y, QID).predict(features)
        np.testing.assert_array_equal(
            small(ranker_class).fit(other, Y, QID).predict(other), expected
        )


def test_columns_are_predicted_as_by_xgboost_itself():
    # 2**60 + 2**36 + 1 is rounded up as float32, but down if it is rounded to float64 before.
    large = np.where(X[:, 0] > 0, 2**60 + 2**36 + 1, 2**60)
    frame = FRAME.assign(
        a=large, b=FRAME["b"].round().astype("Int64").where(FRAME["c"] > 0), d=FRAME["d"] > 0
    )
    frame = frame.assign(e=FRAME["e"].astype("Float32"), f=FRAME["f"].astype(np.float16), kind=KIND)
    frame.loc[::3, "kind"] = np.nan
    booster = small(br.XGBoostRanker, max_depth=8).fit(frame, Y, QID).booster_
    other = frame.assign(f=1e300)
    for each in (frame, other, frame[:1]):
        own = booster.inplace_predict(each, predict_type="margin")
        np.testing.assert_array_equal(xgboost.predict(booster, each), own)
    assert len(np.unique(xgboost.predict(booster, other))) > 10


def test_qid_of_a_frame_is_no_feature(ranker_class):
    columns, expected = FRAME.assign(qid=QID), small(ranker_class).fit(X, Y, QID)
    labels = pd.Series(Y, index=np.random.default_rng(0).permutation(len(Y)))
    index = FRAME.set_index(pd.Index(QID, name="qid"))
    for other in (
        columns,
        index,
        pl.DataFrame(columns.to_dict("list")),
        pl.from_pandas(columns).to_arrow(),
    ):
        ranker = small(ranker_class).fit(other, labels)
        assert list(ranker.feature_names_in_) == list(FRAME.columns)
        for features in (other, FRAME):
            np.testing.assert_array_equal(ranker.predict(features), expected.predict(X))
        assert ranker.score(other, Y) == pytest.approx(expected.score(X, Y, QID), abs=1e-12)


@pytest.mark.parametrize("objective", ["softmax", "native"])
def test_elements_that_a_sparse_matrix_does_not_store_are_zero(
    ranker_class, lambdamart, objective, monkeypatch
):
    sparse = np.where(X > 1.5, np.nan, np.where(np.abs(X) < 0.5, 0, X))
    rows, options = np.random.default_rng(0).permutation(len(Y)), {}
    if objective == "native":
        objective = lambdamart
        options["sample_weight"] = 1.0 + QID[rows] % 3
    monkeypatch.setattr(xgboost_features, "BLOCK_ELEMENTS", 70)
    results = []
    for convert in (np.asarray, sp.csr_array):
        ranker, sets = small(ranker_class, objective), [(convert(sparse), Y, QID)]
        ranker.fit(convert(sparse[rows]), Y[rows], QID[rows], **options, eval_set=sets)
        results.append((ranker.evals_result_, ranker.predict(convert(sparse)).tolist()))
    assert results[0] == results[1]


def test_a_query_is_predicted_without_the_slow_checks_of_scikit_learn(ranker_class, monkeypatch):
    expected = scores_of(ranker_class, "abcdef")[:12]
    rankers = [
        (small(ranker_class).fit(features, Y, QID), features[:12]) for features in (X, FRAME)
    ]
    monkeypatch.setattr("boostrank.training.features.validate_data", None)
    for ranker, query in rankers:
        np.testing.assert_array_equal(ranker.predict(query), expected)


@pytest.mark.parametrize("names", [range(6), list(pd.date_range("2020-01-01", periods=6))])
def test_columns_whose_names_are_no_strings_keep_their_sequence(ranker_class, names, tmp_path):
    frame = FRAME.set_axis(names, axis=1)
    ranker = small(ranker_class).fit(frame, Y, QID, eval_set=[(frame, Y, QID)])
    ranker.save_model(tmp_path / "model.json")
    for fitted in (ranker, ranker_class().load_model(tmp_path / "model.json")):
        np.testing.assert_array_equal(fitted.predict(frame), scores_of(ranker_class, "abcdef"))
        for wrong in (
            frame[frame.columns[::-1]],
            FRAME[["a", "b", "c"]].set_axis([0, 1, 2], axis=1),
        ):
            with pytest.raises(ValueError, match=r"feature|columns of X"):
                fitted.predict(wrong)
            with pytest.raises(ValueError, match=r"feature|columns of X"):
                small(ranker_class).fit(frame, Y, QID, eval_set=[(wrong, Y, QID)])


def test_numbered_columns_are_features_without_names(ranker_class):
    numbered = pd.DataFrame(X)
    for features, others in ((numbered, X), (X, numbered)):
        ranker = small(ranker_class).fit(features, Y, QID, eval_set=[(others, Y, QID)])
        assert not hasattr(ranker, "feature_names_in_")
        np.testing.assert_array_equal(ranker.predict(X), ranker.predict(numbered))
        with pytest.raises(ValueError, match=r"trained on features without names"):
            ranker.predict(numbered[[1, 0, 2, 3, 4, 5]])


def test_names_with_special_characters_are_in_the_model_file(ranker_class, tmp_path):
    names = ["a,b", "price [EUR]", 'x"y: {z}<', "tab\there\0", "", "a%20b = 100%"]
    frame = FRAME.set_axis(names, axis=1).assign(**{"kind, [größe]": KIND})
    ranker = small(ranker_class).fit(frame, Y, QID)
    expected = scores_of(ranker_class, "abcdef", with_kind=True)
    np.testing.assert_array_equal(ranker.predict(frame), expected)
    ranker.save_model(tmp_path / "model.json")
    loaded = ranker_class().load_model(tmp_path / "model.json")
    for model in (ranker, loaded):
        assert list(model.feature_names_in_) == list(frame.columns)
        assert set(model.get_feature_importances().index) == set(frame.columns)
    np.testing.assert_array_equal(loaded.predict(frame), expected)


def test_a_column_may_have_the_name_of_an_attribute(ranker_class):
    frame = (
        FRAME[["a", "b", "c"]]
        .rename(columns={"a": "column_names", "b": "columns", "c": "index"})
        .assign(qid=QID)
    )
    for table in (frame, pl.from_pandas(frame), pl.from_pandas(frame).to_arrow()):
        ranker = small(ranker_class).fit(table, Y)
        np.testing.assert_array_equal(ranker.predict(table), scores_of(ranker_class, "abc"))
        assert list(ranker.feature_names_in_) == ["column_names", "columns", "index"]


@pytest.mark.filterwarnings("ignore:the largest label is")
@for_each(
    ("ranker_class", "objective", "label", "message"),
    [
        (br.LightGBMRanker, "lambdarank", 0.5, "integer labels up to 10000; got the label 0.5"),
        (
            br.LightGBMRanker,
            "lambdarank",
            20_000,
            "integer labels up to 10000; got the label 20000",
        ),
        (br.LightGBMRanker, "rank_xendcg", 32, "integer labels up to 31; got the label 32"),
        (br.XGBoostRanker, "rank:ndcg", 40, "integer labels up to 31; got the label 40"),
        (br.XGBoostRanker, "rank:ndcg", 0.5, "integer labels up to 31; got the label 0.5"),
        (br.XGBoostRanker, "rank:map", 2, "only labels 0 and 1; got 2. Use fit"),
    ],
)
def test_labels_that_objectives_of_the_library_do_not_take_are_refused(
    ranker_class, objective, label, message
):
    labels = np.minimum(Y, 1)
    small(ranker_class, objective).fit(X, labels, QID)
    with pytest.raises(ValueError, match=f"{objective}.* takes {message}"):
        small(ranker_class, objective).fit(X, np.where(Y.max() == Y, label, labels), QID)


def test_a_lazy_frame_of_polars_is_refused_wherever_features_stand(ranker_class):
    lazy = pl.from_pandas(FRAME).lazy()
    plain = small(ranker_class).fit(FRAME, Y, QID)
    of_lists = small(ranker_class, query_features="rank").fit(FRAME, Y, QID)
    ways = [
        lambda: plain.predict(lazy),
        lambda: plain.predict(lazy, qid=0),
        lambda: of_lists.predict(lazy, qid=0),
        lambda: of_lists.predict(lazy, group=[len(Y)]),
        lambda: list(of_lists.staged_predict(lazy, qid=0)),
        lambda: plain.score(lazy, Y, QID),
        lambda: plain.apply(lazy, qid=0),
        lambda: small(ranker_class).fit(lazy, Y, QID),
        lambda: br.cross_validate(plain, lazy, Y, QID),
        lambda: br.compare({"a": plain}, lazy, Y, QID),
    ]
    for way in ways:
        with pytest.raises(ValueError, match=r"X must be data; got a LazyFrame\. Call \.collect"):
            way()
