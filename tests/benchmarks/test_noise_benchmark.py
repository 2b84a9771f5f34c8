"""The script benchmarks/noise.py on small data."""

import importlib
from pathlib import Path

import numpy as np
import pytest

import boostrank as br

with pytest.MonkeyPatch.context() as patch:
    patch.syspath_prepend(Path(__file__).parents[2] / "benchmarks")
    noise = importlib.import_module("noise")


def test_labels():
    grades = noise.make_data(300, 10, 0.0, "grades", seed=0)
    assert grades.X.shape == (len(grades.y), 24)
    for grade, share in enumerate(noise.SHARES, start=1):
        assert (grades.y >= grade).mean() == pytest.approx(share, abs=0.01)
    one = noise.make_data(300, 10, 0.0, "one", seed=0)
    assert one.X.tolist() == grades.X.tolist()
    assert np.bincount(one.qid, weights=one.y).tolist() == [1.0] * 300
    # Without noise the best document has the best grade of its query, and with noise sometimes another one.
    best = np.zeros(300)
    np.maximum.at(best, grades.qid, grades.y)
    assert (grades.y[one.y == 1] == best).all()
    noisy = noise.make_data(300, 10, 1.5, "one", seed=0)
    assert 0.2 < (grades.y[noisy.y == 1] == best).mean() < 0.9


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
    assert result["rate"] == ranker.learning_rate_ > 0.1
    row = noise.table_of([result, result]).iloc[0]
    difference = ndcg.mean() - np.mean(result["values"]["LambdaMART"])
    assert (row["difference"], row["learning_rate"]) == (pytest.approx(difference), ranker.learning_rate_)
    assert row["difference_rate_0.1"] != row["difference"]
