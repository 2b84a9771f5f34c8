"""Data, fitted rankers and a comparison for all displays; figures are closed after each test."""

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest

import boostrank as br

matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="session")
def ragged():
    """Labels, tied scores and shuffled ids of queries of 1 to 12 documents, some without relevant
    ones."""
    random = np.random.default_rng(0)
    qid = np.repeat(np.arange(40), random.integers(1, 13, 40))
    permutation = random.permutation(len(qid))
    labels = random.integers(0, 4, len(qid)) * (qid % 7 > 0)
    return labels, random.integers(0, 5, len(qid)).astype(float), qid[permutation]


@pytest.fixture(scope="session")
def data():
    return br.make_ranking(n_queries=30, random_state=0)


@pytest.fixture(scope="session")
def rankers(data):
    """A fitted ranker of each backend, with the training data as two validation sets."""
    settings = {"n_estimators": 8, "k": 5, "n_jobs": 1, "random_state": 0}
    models = {
        "a": br.LightGBMRanker("softmax", **settings),
        "b": br.XGBoostRanker("squared", **settings),
    }
    return {
        name: model.fit(*data, eval_set={"train": data, "test": data})
        for name, model in models.items()
    }


@pytest.fixture(scope="session")
def comparison():
    folds = br.query_folds(br.Dataset(*br.make_ranking(n_queries=40, random_state=0)), 3)
    rankers = {
        name: br.LightGBMRanker(name, n_estimators=5, n_jobs=1)
        for name in ("softmax", "squared", "logistic")
    }
    return br.compare(rankers, folds, measures=["ndcg@1", "ndcg@10"])
