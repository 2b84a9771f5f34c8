"""The data of a training: each argument is read once, and arrays that need no conversion are not copied."""

import numpy as np
import pytest

import boostrank as br
from boostrank.training.data import training_data


class CountedArray:
    """An array that counts how often it is converted."""

    def __init__(self, values):
        self.values, self.n_conversions = values, 0

    def __array__(self, dtype=None, copy=None):
        self.n_conversions += 1
        return np.array(self.values, dtype=dtype)


@pytest.mark.parametrize("objective", ["ensemble", "native"])
def test_weights_are_converted_once_in_a_fit(ranker_class, objective, lambdamart):
    X, y, qid = br.make_ranking(n_queries=20, random_state=0)
    objective = lambdamart if objective == "native" else objective
    weights, positive = CountedArray(np.random.default_rng(0).uniform(1, 2, 20)), CountedArray(np.ones(len(y)))
    ranker = ranker_class(objective, n_estimators=2, n_jobs=1, random_state=0)
    expected = ranker.fit(X, y, qid, sample_weight=weights.values).predict(X)
    ranker.fit(X, y, qid, sample_weight=weights, init_score=positive)
    assert (weights.n_conversions, positive.n_conversions) == (1, 1)
    np.testing.assert_allclose(ranker.predict(X), expected, atol=1e-5)


def test_a_memory_map_is_not_copied(tmp_path):
    X, y, qid = br.make_ranking(n_queries=5, random_state=0)
    np.save(tmp_path / "x.npy", X)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    data, _ = training_data("ranker", mapped, y, qid, None, None, takes_infinity=True)
    assert np.shares_memory(data.X, mapped)
