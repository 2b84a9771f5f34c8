"""XGBoost's parameter `missing`: a number that means a missing value in training, validation, prediction and files."""

import pickle

import numpy as np
import pandas as pd
import pytest
import xgboost
from scipy.sparse import csr_array

import boostrank as br

X, Y, QID = br.make_ranking(n_queries=25, random_state=3)
NAMES = [f"x{i}" for i in range(X.shape[1])]
SMALL = {"n_estimators": 5, "n_jobs": 1, "random_state": 0}


def train(features, **parameters):
    return br.XGBoostRanker("softmax", **{**SMALL, **parameters}).fit(features, Y, QID)


def scores(features, **parameters):
    return train(features, **parameters).predict(features)


def holes(features, number):
    return np.where(X > 1, number, features)


@pytest.mark.parametrize(
    ("kind", "tree_method"), [("array", "hist"), ("float32", "approx"), ("frame", "hist"), ("sparse", "exact")]
)
def test_a_number_that_means_missing_equals_nan(kind, tree_method):
    convert = {
        "array": np.asarray,
        "float32": lambda features: features.astype(np.float32),
        "frame": lambda features: pd.DataFrame(features, columns=NAMES),
        "sparse": csr_array,
    }[kind]
    given, expected = (convert(holes(X, number)) for number in (-999.25, np.nan))
    ranker = train(given, missing=-999.25, tree_method=tree_method)
    nan = train(expected, tree_method=tree_method)
    np.testing.assert_array_equal(ranker.predict(given), nan.predict(expected))
    np.testing.assert_array_equal(ranker.predict(expected), nan.predict(expected))
    assert not np.array_equal(ranker.predict(given), scores(given, tree_method=tree_method))


def test_missing_0_means_missing_also_where_a_sparse_matrix_stores_nothing():
    zeros = np.where(X > 1, 0, X)
    expected = scores(np.where(X > 1, np.nan, X))
    for features in (zeros, csr_array(zeros)):
        np.testing.assert_array_equal(scores(features, missing=0), expected)


def test_missing_is_a_property_of_the_model(tmp_path):
    held_out = br.make_ranking(n_queries=20, random_state=1)
    given, nan = (np.where(held_out.X > 1, number, held_out.X) for number in (-1.0, np.nan))
    stopping = {"early_stopping_rounds": 3, "n_estimators": 30, "learning_rate": 0.5}
    models = [
        br.XGBoostRanker("softmax", **{**SMALL, **stopping}, missing=number).fit(
            holes(X, number), Y, QID, eval_set=[(features, held_out.y, held_out.qid)]
        )
        for number, features in ((-1.0, given), (np.nan, nan))
    ]
    assert models[0].evals_result_ == models[1].evals_result_
    expected = models[1].predict(nan)
    models[0].save_model(tmp_path / "model.ubj")
    copies = [models[0], br.XGBoostRanker().load_model(tmp_path / "model.ubj"), pickle.loads(pickle.dumps(models[0]))]
    for ranker in copies:
        np.testing.assert_array_equal(ranker.set_params(missing=-5).predict(given), expected)


def test_missing_of_a_model_of_xgboost_itself(tmp_path):
    features = holes(X, -1.0)
    native = xgboost.XGBRanker(n_estimators=3, missing=-1.0, n_jobs=1).fit(features, Y, qid=QID)
    native.save_model(tmp_path / "model.json")
    ranker = br.XGBoostRanker(missing=-1.0).load_model(tmp_path / "model.json")
    np.testing.assert_allclose(ranker.predict(features), native.predict(features), rtol=1e-6)
    with pytest.raises(ValueError, match="missing must be a number"):
        ranker.set_params(missing="x").load_model(tmp_path / "model.json")


@pytest.mark.parametrize(("option", "convert"), [("pred_leaf", np.asarray), ("pred_contrib", csr_array)])
def test_missing_counts_in_every_kind_of_prediction(option, convert):
    ranker, nan = train(holes(X, -999.25), missing=-999.25), train(holes(X, np.nan))
    ours, expected = (
        one.predict(convert(holes(X, number)), **{option: True}) for one, number in ((ranker, -999.25), (nan, np.nan))
    )
    ours, expected = (part.toarray() if hasattr(part, "toarray") else part for part in (ours, expected))
    np.testing.assert_array_equal(ours, expected)
