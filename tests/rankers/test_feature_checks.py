"""Features of rankers: what is refused, names of columns, and models without splits."""

import functools

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from cases import for_each

import boostrank as br
import boostrank.training.features as rankers_features
from boostrank.backends.features import NameCode
from boostrank.backends.xgboost import backend as xgboost
from boostrank.backends.xgboost import prediction as xgboost_prediction

X, Y, QID = br.make_ranking(n_queries=30, n_documents=12, n_features=6, random_state=0)
FRAME = pd.DataFrame(X, columns=list("abcdef"))
KIND = pd.Categorical(np.where(Y > 1, "high", "low"))
both = pytest.mark.parametrize("ranker_class", [br.LightGBMRanker, br.XGBoostRanker])
places = pytest.mark.parametrize("place", ["fit", "predict", "eval_set"])


def small(ranker_class, objective="softmax", **parameters):
    return ranker_class(objective, **{"n_estimators": 3, "random_state": 0, "n_jobs": 1, **parameters})


@functools.cache
def scores_of(ranker_class, columns, with_kind=False):
    """Scores of a ranker that was trained on these columns, and on the kind of each document."""
    features = FRAME[list(columns)].assign(kind=KIND) if with_kind else FRAME[list(columns)]
    return small(ranker_class).fit(features, Y, QID).predict(features)


def use(ranker_class, place, wrong, right):
    """Use features in one place, and in the others features that are right."""
    ranker = small(ranker_class)
    if place == "fit":
        return ranker.fit(wrong, Y, QID)
    if place == "eval_set":
        return ranker.fit(right, Y, QID, eval_set=[(wrong, Y, QID)])
    return ranker.fit(right, Y, QID).predict(wrong)


def with_value(value, dtype=float):
    changed = X.astype(dtype)
    changed[3, 1] = value
    return changed


@both
@places
@for_each(
    ("wrong", "message"),
    [
        (FRAME.assign(c=FRAME["c"] + 0j), "the column 'c' of X has the type complex128"),
        (FRAME.assign(c=pd.Timestamp(2020, 1, 1)), "the column 'c' of X has the type datetime64"),
        (FRAME.assign(c="x"), r"the column 'c' of X has the type .*convert text by X\['c'\].astype\('category'\)"),
        (FRAME[[]], "X must have columns that are features"),
        (FRAME["a"], "got a Series.*to_frame"),
    ],
)
def test_features_of_frames_that_are_refused(ranker_class, place, wrong, message):
    with pytest.raises(ValueError, match=message):
        use(ranker_class, place, wrong, FRAME)


@places
@for_each(
    ("wrong", "message"),
    [
        (with_value(np.inf), "infinity"),
        (sp.csr_array(with_value(-np.inf)), "infinity"),
        (FRAME.where(FRAME < 1, np.inf), "the column 'a' of X contains infinity"),
        (FRAME.assign(b=FRAME["b"].where(FRAME["b"] < 1, -np.inf).astype("Float32")), "the column 'b' .* infinity"),
    ],
)
def test_infinity_is_refused_by_xgboost_and_a_number_for_lightgbm(place, wrong, message):
    right = FRAME if isinstance(wrong, pd.DataFrame) else X
    with pytest.raises(ValueError, match=message):
        use(br.XGBoostRanker, place, wrong, right)
    # Infinity is larger than all numbers, so that a finite number that is larger has the same effect.
    finite = (
        wrong.clip(-1e3, 1e3)
        if isinstance(wrong, pd.DataFrame)
        else np.nan_to_num(np.asarray(wrong.todense() if sp.issparse(wrong) else wrong), posinf=1e3, neginf=-1e3)
    )
    models = [small(br.LightGBMRanker).fit(one, Y, QID) for one in (wrong, finite)]
    np.testing.assert_array_equal(models[0].predict(wrong), models[1].predict(finite))


@both
def test_types_of_columns_that_are_numbers(ranker_class):
    expected = small(ranker_class).fit(FRAME, Y, QID).predict(FRAME)
    rounded = FRAME.round().assign(b=FRAME["b"] > 0)
    of_rounded = small(ranker_class).fit(rounded.astype(float), Y, QID).predict(rounded.astype(float))
    for kind in (np.float64, "Float64", "float64[pyarrow]", pd.SparseDtype(float, 0.0), pd.SparseDtype(float, np.nan)):
        other = FRAME.astype(kind)
        np.testing.assert_array_equal(small(ranker_class).fit(other, Y, QID).predict(other), expected)
    np.testing.assert_array_equal(small(ranker_class).fit(rounded, Y, QID).predict(rounded), of_rounded)
    holes = FRAME.where(FRAME < 1)
    of_holes = small(ranker_class).fit(holes, Y, QID).predict(holes)
    for kind in ("Float64", "float64[pyarrow]", pd.SparseDtype(float, np.nan)):
        other = holes.astype(kind)
        np.testing.assert_array_equal(small(ranker_class).fit(other, Y, QID).predict(other), of_holes)


def test_columns_are_predicted_as_by_xgboost_itself():
    # 2**60 + 2**36 + 1 is rounded up as float32, but down if it is rounded to float64 before.
    large = np.where(X[:, 0] > 0, 2**60 + 2**36 + 1, 2**60)
    frame = FRAME.assign(a=large, b=FRAME["b"].round().astype("Int64").where(FRAME["c"] > 0), d=FRAME["d"] > 0)
    frame = frame.assign(e=FRAME["e"].astype("Float32"), f=FRAME["f"].astype(np.float16), kind=KIND)
    frame.loc[::3, "kind"] = np.nan
    booster = small(br.XGBoostRanker, max_depth=8).fit(frame, Y, QID).booster_
    other = frame.assign(f=1e300)
    for each in (frame, other, frame[:1]):
        own = booster.inplace_predict(each, predict_type="margin")
        np.testing.assert_array_equal(xgboost.predict(booster, each), own)
    assert len(np.unique(xgboost.predict(booster, other))) > 10


@both
def test_a_query_is_predicted_without_the_slow_checks(ranker_class, monkeypatch):
    rankers = [(small(ranker_class).fit(data, Y, QID), data[:12]) for data in (X, FRAME)]
    expected = scores_of(ranker_class, "abcdef")[:12].tolist()
    assert rankers[0][0].predict(X[:12].tolist()).tolist() == expected

    def fail(*_, **__):
        pytest.fail("this takes as long as the prediction of a query")

    monkeypatch.setattr(rankers_features, "validate_data", fail)
    assert [ranker.predict(data).tolist() for ranker, data in rankers] == [expected] * 2
    monkeypatch.setattr(xgboost_prediction, "device_of", fail)
    assert [ranker.predict(data).tolist() for ranker, data in rankers] == [expected] * 2


@both
@pytest.mark.parametrize("names", [range(6), list(pd.date_range("2020-01-01", periods=6))])
def test_columns_whose_names_are_no_strings_keep_their_sequence(ranker_class, names, tmp_path):
    frame = FRAME.set_axis(names, axis=1)
    turned = frame[frame.columns[::-1]]
    ranker = small(ranker_class).fit(frame, Y, QID, eval_set=[(frame, Y, QID)])
    expected = scores_of(ranker_class, "abcdef")
    np.testing.assert_array_equal(ranker.predict(frame), expected)
    ranker.save_model(tmp_path / "model.json")
    loaded = ranker_class().load_model(tmp_path / "model.json")
    np.testing.assert_array_equal(loaded.predict(frame), expected)
    for wrong in (turned, FRAME[["a", "b", "c"]].set_axis([0, 1, 2], axis=1)):
        for fitted in (ranker, loaded):
            with pytest.raises(ValueError, match=r"feature|columns of X"):
                fitted.predict(wrong)
        with pytest.raises(ValueError, match=r"feature|columns of X"):
            small(ranker_class).fit(frame, Y, QID, eval_set=[(wrong, Y, QID)])


@both
def test_numbered_columns_are_features_without_names(ranker_class):
    numbered = pd.DataFrame(X)
    ranker = small(ranker_class).fit(numbered, Y, QID, eval_set=[(X, Y, QID)])
    assert not hasattr(ranker, "feature_names_in_")
    np.testing.assert_array_equal(ranker.predict(X), ranker.predict(numbered))
    ranker.fit(X, Y, QID, eval_set=[(numbered, Y, QID)])
    np.testing.assert_array_equal(ranker.predict(X), ranker.predict(numbered))
    with pytest.raises(ValueError, match=r"trained on features without names"):
        ranker.predict(numbered[[1, 0, 2, 3, 4, 5]])


@both
def test_names_with_special_characters_are_in_the_model_file(ranker_class, tmp_path):
    names = ["a,b", "price [EUR]", 'x"y: {z}', "x<y", "tab\there", "a%20b = 100%"]
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


def test_names_in_model_files_of_others_are_not_decoded():
    code = NameCode(r"\s\[\]")
    assert [code.decode(name) for name in ("a%20b", "100%", "a%2Cb", "%zz")] == ["a b", "100%", "a%2Cb", "%zz"]


@both
@pytest.mark.parametrize("name", ["column_names", "columns", "index", "names"])
def test_a_column_may_have_the_name_of_an_attribute(ranker_class, name):
    frame = FRAME[["a", "b", "c"]].rename(columns={"c": name})
    expected = scores_of(ranker_class, "abc")
    with_qid = frame.assign(qid=QID)
    for table in (with_qid, pl.DataFrame(with_qid.to_dict("list")), pl.DataFrame(with_qid.to_dict("list")).to_arrow()):
        ranker = small(ranker_class).fit(table, Y)
        np.testing.assert_array_equal(ranker.predict(table), expected)
        assert list(ranker.feature_names_in_) == ["a", "b", name]


WRONG_LABELS = [
    (br.LightGBMRanker, "lambdarank", 0.5, "integer labels up to 10000; got the label 0.5"),
    (br.LightGBMRanker, "lambdarank", 20_000, "integer labels up to 10000; got the label 20000"),
    (br.LightGBMRanker, "rank_xendcg", 32, "labels up to 31.*got labels up to 32"),
    (br.XGBoostRanker, "rank:ndcg", 40, "integer labels up to 31; got the label 40"),
    (br.XGBoostRanker, "rank:ndcg", 0.5, "integer labels up to 31; got the label 0.5"),
    (br.XGBoostRanker, "rank:map", 2, "labels 0 and 1 only; got labels up to"),
]


@pytest.mark.parametrize(("ranker_class", "objective", "label", "message"), WRONG_LABELS)
def test_labels_that_objectives_of_the_library_do_not_take_are_refused(ranker_class, objective, label, message):
    labels = np.minimum(Y, 1)
    small(ranker_class, objective).fit(X, labels, QID)
    with pytest.raises(ValueError, match=f"{objective}.* takes {message}"):
        small(ranker_class, objective).fit(X, np.where(Y.max() == Y, label, labels), QID)
