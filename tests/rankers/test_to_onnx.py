"""`to_onnx`: an ONNX model gives the scores of the ranker."""

import sys

import numpy as np
import onnxruntime
import pytest
from sklearn.exceptions import NotFittedError

import boostrank as br

OBJECTIVES = {
    br.LightGBMRanker: ["softmax", "logistic", "lambdarank"],
    br.XGBoostRanker: ["softmax", "logistic", "rank:ndcg"],
}


@pytest.mark.parametrize(
    ("ranker_class", "objective", "named"),
    [(ranker_class, name, False) for ranker_class, names in OBJECTIVES.items() for name in names]
    + [(ranker_class, "softmax", True) for ranker_class in OBJECTIVES],
)
def test_scores_are_those_of_the_ranker(ranker_class, objective, named, fitted, data, frame):
    ranker, X = fitted(ranker_class, objective, named), frame if named else data[0]
    before = ranker.predict(X)
    session = onnxruntime.InferenceSession(ranker.to_onnx().SerializeToString())
    (scores,) = session.run(None, {"X": data[0].astype(np.float32)})
    np.testing.assert_allclose(scores.ravel(), before, atol=1e-5)
    # The conversion does not change the ranker.
    np.testing.assert_array_equal(ranker.predict(X), before)


def test_a_bag_is_one_model(ranker_class, data):
    bag = br.BaggedRanker(ranker_class(n_estimators=3, n_jobs=1), n_estimators=2, random_state=0).fit(*data)
    session = onnxruntime.InferenceSession(bag.to_onnx().SerializeToString())
    (scores,) = session.run(None, {"X": data[0].astype(np.float32)})
    np.testing.assert_allclose(scores.ravel(), bag.predict(data[0]), atol=1e-5)


def test_a_ranker_that_is_not_fitted_is_an_error(ranker_class):
    with pytest.raises(NotFittedError):
        ranker_class().to_onnx()


def test_a_missing_converter_is_an_error_that_says_what_to_install(ranker_class, fitted, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxmltools", None)
    with pytest.raises(ImportError, match="pip install onnxmltools"):
        fitted(ranker_class).to_onnx()


NOT_CONVERTED = [
    (br.LightGBMRanker, {"linear_tree": True}, "linear_tree"),
    (br.XGBoostRanker, {"booster": "dart"}, "booster='gbtree'.*booster='dart'"),
    (br.XGBoostRanker, {"missing": -1}, "takes -1 as a missing value"),
]


@pytest.mark.parametrize(("ranker_class", "native", "message"), NOT_CONVERTED)
def test_models_of_which_a_part_would_be_lost_are_errors(ranker_class, native, message, data):
    ranker = ranker_class("softmax", n_estimators=2, n_jobs=1, **native).fit(*data)
    with pytest.raises(ValueError, match=message):
        ranker.to_onnx()
