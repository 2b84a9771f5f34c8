"""Columns of categories that are not those of the training, and models that know their
categories."""

import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from cases import for_each
from rankers.small_rankers import small

import boostrank as br

COLOURS = ["red", "grün", "blue"]


@pytest.fixture(scope="module")
def queries():
    """Features with a column of categories, which matters most, relevance and query ids."""
    X, _, qid = br.make_ranking(n_queries=20, random_state=0)
    codes = np.resize([0, 1, 2], len(qid))
    frame = pd.DataFrame(X[:, :2], columns=["price", "age"])
    return frame.assign(colour=pd.Categorical.from_codes(codes, COLOURS)), codes, qid


@pytest.fixture(scope="module")
def fitted(queries):
    return {one: small(one).fit(*queries) for one in (br.LightGBMRanker, br.XGBoostRanker)}


def results(ranker, X, queries):
    """What calls that read `X` return, beside the training data."""
    y, qid = queries[1:]
    yield lambda: ranker.predict(X)
    yield lambda: ranker.predict(X, pred_leaf=True)
    yield lambda: ranker.predict(X, pred_contrib=True)
    yield lambda: next(ranker.staged_predict(X))
    yield lambda: list(
        small(type(ranker)).fit(*queries, eval_set=[(X, y, qid)]).best_score_["valid_0"].values()
    )


@pytest.mark.parametrize(("new", "from_file"), [("c", True), ("zz", False)])
def test_new_categories_are_missing_values(ranker_class, queries, fitted, tmp_path, new, from_file):
    # XGBoost itself takes "c" for "grün", and raises errors for the others.
    X = queries[0]
    ranker = fitted[ranker_class]
    if from_file:
        ranker.save_model(tmp_path / "model.json")
        ranker = ranker_class().load_model(tmp_path / "model.json")
    renamed = X.assign(colour=X["colour"].cat.rename_categories({"red": new}))
    missing = X.assign(colour=X["colour"].where(X["colour"] != "red"))
    for found, expected in zip(
        results(ranker, renamed, queries), results(ranker, missing, queries), strict=True
    ):
        np.testing.assert_array_equal(found(), expected())
    alone = renamed[renamed["colour"] == new].assign(
        colour=pd.Categorical([new] * (X["colour"] == "red").sum())
    )
    np.testing.assert_array_equal(
        ranker.predict(alone), ranker.predict(missing)[X["colour"] == "red"]
    )
    row = missing[X["colour"] == "red"].iloc[:1]
    np.testing.assert_array_equal(
        ranker.predict(row.assign(colour=pd.Categorical([None]))), ranker.predict(row)
    )


def test_integers_as_categories(ranker_class, queries, fitted):
    X, y, qid = queries
    numbered = X.assign(colour=X["colour"].cat.rename_categories([30, -10, 20]))
    ranker = small(ranker_class).fit(numbered, y, qid)
    short = numbered.assign(colour=pd.Categorical(numbered["colour"].astype("int8")))
    np.testing.assert_array_equal(ranker.predict(short), ranker.predict(numbered))
    new = numbered.assign(colour=numbered["colour"].cat.rename_categories({30: 15}))
    missing = numbered.assign(colour=numbered["colour"].where(numbered["colour"] != 30))
    np.testing.assert_array_equal(ranker.predict(new), ranker.predict(missing))
    for given, other in ((X, ranker), (numbered, fitted[ranker_class])):
        with pytest.raises(ValueError, match="the column 'colour' of X has categories such as"):
            other.predict(given)


def test_a_column_keeps_its_kind(ranker_class, queries, fitted):
    # XGBoost itself would take codes in some of these calls for those of the training.
    X, y, qid = queries
    codes = X.assign(colour=X["colour"].cat.codes)
    for call in results(fitted[ranker_class], codes, queries):
        with pytest.raises(
            ValueError, match="the column 'colour' of X has the type int8, but had categories"
        ):
            call()
    ranker = small(ranker_class).fit(codes, y, qid)
    with pytest.raises(
        ValueError, match="the column 'colour' of X has categories, but had numbers"
    ):
        ranker.predict(X)


@pytest.mark.filterwarnings("ignore:X. 'colour' .a category of its own")
@for_each(
    ("values", "message"),
    [
        (np.arange(200) / 4, "'colour' of X has categories of the kind 'floating'"),
        (np.arange(200) > 5, "'colour' of X has categories of the kind 'boolean'"),
        ([None] * 200, "'colour' of X has only missing values"),
    ],
)
def test_xgboost_takes_integers_and_strings_as_categories(queries, values, message):
    X, y, qid = (part[:200] for part in queries)
    with pytest.raises(ValueError, match=message):
        small(br.XGBoostRanker).fit(X.assign(colour=pd.Categorical(values)), y, qid)


@for_each("days", ["datetime64[ns]", "timedelta64[ns]"])
def test_categories_that_no_model_file_can_hold_are_refused(ranker_class, queries, days):
    X, y, qid = (part[:200] for part in queries)
    dates = pd.Categorical((np.arange(200) % 9).astype(days))
    kind = days.partition("[")[0]
    with pytest.raises(ValueError, match=f"'colour' of X has categories of the kind '{kind}': "):
        small(ranker_class).fit(X.assign(colour=dates), y, qid)


def numbers_and_codes():
    """A number and a code of each row, which decides on relevance, relevance, and query ids."""
    random = np.random.default_rng(0)
    codes = random.integers(0, 4, size=160)
    return (
        np.c_[random.normal(size=160), codes],
        np.array([0, 3, 1, 2])[codes],
        np.repeat(np.arange(20), 8),
    )


def test_models_in_which_xgboost_stored_names_incompletely_are_refused(tmp_path):
    codes = np.arange(40) % 2
    frame = pd.DataFrame({"kind": pd.Categorical.from_codes(codes, ["é", "è"])})
    booster = xgb.train({}, xgb.DMatrix(frame, codes, enable_categorical=True), 2)
    booster.save_model(tmp_path / "model.json")
    with pytest.raises(
        ValueError,
        match="names of categories with other characters than ASCII, which XGBoost stores",
    ):
        br.XGBoostRanker().load_model(tmp_path / "model.json")


def test_codes_that_occur_only_in_validation_data_are_no_other_category():
    X, y, qid = numbers_and_codes()
    test = (np.where(X == 1, 7, X), y, qid)
    ranker = br.XGBoostRanker(
        "softmax", n_estimators=4, n_jobs=1, min_child_weight=1, feature_types={1: "c"}
    )
    ranker.fit(X, y, qid, eval_set={"test": test})
    expected = br.ndcg_score(y, ranker.predict(test[0]), qid)
    assert ranker.evals_result_["test"]["ndcg"][-1] == pytest.approx(expected, abs=1e-6)
