"""The LightGBM ranker and LightGBM itself, given the same gradients."""

import lightgbm as lgb
import numpy as np
import pytest
from loss_defaults import LIGHTGBM_DEFAULTS, PLAIN_TREES

import boostrank as br

PARAMETERS = {"verbosity": -1, "seed": 1, "num_threads": 1, "metric": "None", "force_col_wise": True}


@pytest.mark.parametrize("objective", ["softmax", "cosine"])
def test_lightgbm_ranker_equals_native_training_on_the_same_gradients(objective, data, by_hand):
    X, y, sizes = data
    native = lgb.train(
        PARAMETERS | LIGHTGBM_DEFAULTS | {"objective": by_hand(objective), "deterministic": True},
        lgb.Dataset(X, y, group=sizes),
        10,
    )
    qid = np.repeat(np.arange(len(sizes)), sizes)
    ranker = br.LightGBMRanker(objective, k=10, n_estimators=10, n_jobs=1, **PLAIN_TREES).fit(X, y, qid)
    np.testing.assert_array_equal(ranker.predict(X), native.predict(X))
    callable_ = lgb.train(
        PARAMETERS | LIGHTGBM_DEFAULTS | {"objective": br.lightgbm_objective(objective, k=10)},
        lgb.Dataset(X, y, group=sizes),
        10,
    )
    np.testing.assert_array_equal(callable_.predict(X), native.predict(X))
    estimator = lgb.LGBMRanker(
        objective=br.lightgbm_objective(objective, k=10),
        n_estimators=10,
        metric="None",
        verbosity=-1,
        n_jobs=1,
        **LIGHTGBM_DEFAULTS,
    )
    np.testing.assert_allclose(estimator.fit(X, y, group=sizes).predict(X), native.predict(X), rtol=1e-12)
