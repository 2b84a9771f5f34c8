"""Data for rankers, and fitted rankers that several tests use."""

import functools

import numpy as np
import pandas as pd
import pytest

import boostrank as br


@pytest.fixture(scope="session")
def data():
    """Features, which float32 holds exactly, relevance and query ids."""
    X, y, qid = br.make_ranking(n_queries=30, random_state=3)
    return X.astype(np.float32).astype(np.float64), y, qid


@pytest.fixture(scope="session")
def frame(data):
    return pd.DataFrame(data[0], columns=[f"x{i}" for i in range(data[0].shape[1])])


@pytest.fixture(scope="session")
def fitted(data, frame):
    """Rankers that stopped early, by class, objective and kind of features; tests share them: do
    not change them."""

    @functools.cache
    def fit(ranker_class, objective="softmax", named=False):
        stopping = {"early_stopping_rounds": 3, "validation_fraction": 0.3, "learning_rate": 0.3}
        ranker = ranker_class(objective, n_estimators=30, random_state=0, n_jobs=1, **stopping)
        return ranker.fit(frame if named else data[0], *data[1:])

    return fit
