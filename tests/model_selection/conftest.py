"""Shared by the tests of model selection: data, our rankers, and those of other libraries."""

import lightgbm
import numpy as np
import pytest
import xgboost

import boostrank as br

RANKERS = {"lightgbm": br.LightGBMRanker, "xgboost": br.XGBoostRanker}
LIBRARIES = {
    "LGBMRanker": lambda: lightgbm.LGBMRanker(n_estimators=4, verbose=-1, n_jobs=1),
    "XGBRanker": lambda: xgboost.XGBRanker(n_estimators=4, n_jobs=1),
    "CatBoostRanker": lambda: pytest.importorskip("catboost").CatBoostRanker(
        iterations=4, verbose=0, allow_writing_files=False, random_seed=0, thread_count=1
    ),
}


@pytest.fixture(scope="package")
def data():
    """Shuffled rows, string query ids, labels as they come."""
    X, y, qid = br.make_ranking(n_queries=24, random_state=1)
    order = np.random.default_rng(0).permutation(len(y))
    return X[order], y[order], np.array([f"q{i}" for i in qid[order]])


@pytest.fixture
def ranker(request):
    """A ranker of LightGBM, or of the library that a test names."""
    settings = {"n_estimators": 4, "learning_rate": 0.1, "random_state": 0, "n_jobs": 1}
    return RANKERS[getattr(request, "param", "lightgbm")]("softmax", **settings)


@pytest.fixture(params=LIBRARIES)
def of_library(request):
    return LIBRARIES[request.param]()
