"""`lightgbm_objective` and `lightgbm_metric` with LightGBM's early stopping, cross-validation and threads."""

import lightgbm as lgb
import numpy as np
import pytest

import boostrank as br
from boostrank.queries.threads import n_threads, use_threads

PARAMETERS = {"verbosity": -1, "seed": 1, "num_threads": 1, "metric": "None", "force_col_wise": True}


def test_a_metric_stops_native_training(data):
    X, y, sizes = data
    train = lgb.Dataset(X, y, group=sizes)
    booster = lgb.train(
        PARAMETERS | {"objective": br.lightgbm_objective(), "learning_rate": 1.0},
        train,
        50,
        valid_sets=[lgb.Dataset(X[:300], y[:300], group=[300], reference=train)],
        feval=br.lightgbm_metric("ndcg@5"),
        callbacks=[lgb.early_stopping(3, verbose=False)],
    )
    assert booster.best_iteration < 50


def test_lightgbm_cv_keeps_queries_whole():
    X, y, qid = br.make_ranking(n_queries=40, random_state=1)
    X = np.round(X)  # few values, so that every training set has the same bins
    parameters = {"objective": br.lightgbm_objective("softmax", k=10), "metric": "None", "verbosity": -1}
    parameters |= {"deterministic": True, "force_col_wise": True, "num_threads": 1}
    folds = list(br.QueryKFold(4).split(X, groups=qid))
    results = lgb.cv(
        parameters,
        lgb.Dataset(X, y, group=np.bincount(qid)),
        num_boost_round=5,
        folds=folds,
        feval=br.lightgbm_metric("ndcg@10"),
        return_cvbooster=True,
    )
    expected = []
    for (train, test), booster in zip(folds, results["cvbooster"].boosters, strict=True):
        sizes = np.unique(qid[train], return_counts=True)[1]
        alone = lgb.train(parameters, lgb.Dataset(X[train], y[train], group=sizes), num_boost_round=5)
        np.testing.assert_allclose(booster.predict(X), alone.predict(X), atol=1e-12)
        expected.append(br.ndcg_score(y[test], alone.predict(X[test]), qid[test], k=10))
    assert results["valid ndcg@10-mean"][-1] == pytest.approx(np.mean(expected), abs=1e-12)


def test_gradients_and_metrics_use_the_threads_of_the_training(data, monkeypatch):
    X, y, sizes = data
    used = []

    class Recorded(br.surrogates.Power):
        def gradient_hessian(self, scores, targets, queries):
            used.append(n_threads())
            return super().gradient_hessian(scores, targets, queries)

    def gain(labels):
        used.append(n_threads())
        return labels

    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    for parameters, expected in (({"num_threads": 1}, 1), ({"n_jobs": "2"}, 2), ({"nthread": 0}, 3), ({}, 3)):
        used.clear()
        train = lgb.Dataset(X, y, group=sizes)
        given = {"verbosity": -1, "metric": "None", **parameters, "objective": br.lightgbm_objective(Recorded())}
        lgb.train(given, train, 2, valid_sets=[train], feval=br.lightgbm_metric("ndcg@1", gain=gain))
        assert set(used) == {expected}
        assert len(used) > 3
    used.clear()
    objective = br.lightgbm_objective(Recorded())
    with use_threads(2):
        objective(y, np.zeros(len(y)), None, sizes)
    # Without the parameters of a training, the number stays as it is.
    assert used == [2, 2]
