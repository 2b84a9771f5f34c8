"""The script benchmarks/noise.py on small data."""

import importlib
from pathlib import Path

import numpy as np
import pytest

import boostrank as br

with pytest.MonkeyPatch.context() as patch:
    patch.syspath_prepend(Path(__file__).parents[2] / "benchmarks")
    noise = importlib.import_module("noise")


def test_differences(monkeypatch):
    monkeypatch.setattr(noise, "N_TEST", 30)
    result = noise.run("lightgbm", 40, 10, 0.5, "grades", 0)
    data = noise.make_data(70, 10, 0.5, "grades", 0)
    kept = data.qid < 40
    ranker = br.LightGBMRanker(random_state=0, n_jobs=1).fit(data.X[kept], data.y[kept], data.qid[kept])
    test = data.y[~kept], ranker.predict(data.X[~kept]), data.qid[~kept]
    ndcg = br.ndcg_score(*test, k=10, empty="skip", per_query=True)
    ndcg = ndcg[~np.isnan(ndcg)]
    assert result["values"]["ours"] == ndcg.tolist()
    row = noise.table_of([result, result]).iloc[0]
    difference = ndcg.mean() - np.mean(result["values"]["LambdaMART"])
    assert row["difference"] == pytest.approx(difference)
