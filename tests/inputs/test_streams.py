"""The protocol of features that are read in blocks: rankers train and predict from any class that implements it."""

import numpy as np
import pytest

import boostrank as br
from boostrank.inputs.streams import FeatureStream


class InMemory(FeatureStream):
    def __init__(self, X):
        self.X, self.shape, self.dtype = X, X.shape, X.dtype

    def __getitem__(self, rows):
        return InMemory(self.X[rows])

    def read(self, start=0, stop=None):
        return self.X[start:stop]


@pytest.mark.parametrize("ranker", [br.LightGBMRanker(n_estimators=3), br.XGBoostRanker(n_estimators=3)])
def test_the_model_is_that_of_an_array(ranker, monkeypatch):
    X, y, qid = br.make_ranking(30, random_state=0)
    monkeypatch.setattr("boostrank.inputs.streams.BLOCK_ELEMENTS", 50 * X.shape[1])
    expected = ranker.fit(X, y, qid).predict(X)
    np.testing.assert_array_equal(ranker.fit(InMemory(X), y, qid).predict(InMemory(X)), expected)
    with pytest.raises(TypeError, match=r"InMemory is not read into memory as a whole"):
        np.asarray(InMemory(X))
