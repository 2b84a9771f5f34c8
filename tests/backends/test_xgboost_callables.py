"""`xgboost_objective` and `xgboost_metric` with XGBoost's own interfaces: history, base score, external memory."""

import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
import xgboost as xgb
import xgboost_blocks
from xgboost_blocks import Blocks, write_block

import boostrank as br

PARAMETERS = {"base_score": 0.0, "disable_default_eval_metric": True, "nthread": 1, "max_bin": 256, "eta": 0.1}


def test_a_metric_is_recorded_in_every_round(data):
    X, y, sizes = data
    dtrain = xgb.DMatrix(X, y, group=sizes)
    history = {}
    xgb.train(
        PARAMETERS,
        dtrain,
        5,
        obj=br.xgboost_objective(),
        custom_metric=br.xgboost_metric("ndcg@5"),
        evals=[(dtrain, "train")],
        evals_result=history,
        verbose_eval=False,
    )
    assert history["train"]["ndcg@5"][-1] > history["train"]["ndcg@5"][0]


def test_a_base_score_other_than_zero_is_a_warning(data):
    X, y, sizes = data
    dtrain = xgb.DMatrix(X, y, group=sizes)
    with pytest.warns(UserWarning, match="base_score=0"):
        xgb.train({"nthread": 1}, dtrain, 1, obj=br.xgboost_objective("cosine"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        xgb.train({"nthread": 1, "base_score": 0}, dtrain, 1, obj=br.xgboost_objective("cosine"))


def write_blocks(folder, n_blocks=3, n_queries=60):
    """Files of whole queries with ids that ascend over all files; and the same data in memory."""
    parts = []
    for i in range(n_blocks):
        X, y, qid = br.make_ranking(n_queries, random_state=i)
        parts.append((X.astype(np.float32), y, qid + i * n_queries))
        write_block(folder, i, *parts[-1])
    return [np.concatenate(column) for column in zip(*parts, strict=True)]


def test_the_model_from_external_memory_is_that_of_memory(tmp_path):
    X, y, qid = write_blocks(tmp_path)
    blocks = Blocks(tmp_path)
    on_disk, in_memory = xgb.ExtMemQuantileDMatrix(blocks, nthread=1), xgb.QuantileDMatrix(X, label=y, qid=qid)
    histories = [{}, {}]
    scores = []
    for data, history in zip((on_disk, in_memory), histories, strict=True):
        booster = xgb.train(
            {**PARAMETERS, "eta": 0.3},
            data,
            20,
            obj=br.xgboost_objective("softmax", k=10),
            custom_metric=br.xgboost_metric("ndcg@10"),
            evals=[(data, "train")],
            evals_result=history,
            verbose_eval=False,
        )
        scores.append(booster.inplace_predict(X))
    del on_disk, blocks, data
    np.testing.assert_allclose(scores[0], scores[1], rtol=1e-5, atol=1e-6)
    assert histories[0] == histories[1]
    assert br.ndcg_score(y, scores[0], qid, k=10) > 0.8


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="limits memory as Linux does")
def test_external_memory_trains_where_memory_does_not_suffice(tmp_path):
    n_blocks, megabytes, shape = 10, 140, (30_000, 50)
    random = np.random.default_rng(0)
    for i in range(n_blocks):
        X = random.standard_normal(shape, dtype=np.float32)
        write_block(tmp_path, i, X, np.clip(X[:, 0].round(), 0, 4), np.arange(shape[0]) // 25 + i * shape[0])
    assert n_blocks * X.nbytes == 60e6
    command = [sys.executable, xgboost_blocks.__file__, str(tmp_path), str(megabytes)]
    environment = {**os.environ, "PYTHONPATH": str(Path(br.__file__).parents[1])}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.stdout.splitlines() == ["in memory: out of memory", "external memory: 2"], done.stderr
