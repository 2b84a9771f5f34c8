"""The command `compare`: tables, files, the plot, and its default objectives."""

import importlib
import json

import pandas as pd

from boostrank.cli.options import Backend, make_rankers


def test_compare_folds_writes_tables_and_a_plot(run, folder, tmp_path):
    quick = ["--rounds", 4, "--objectives", "lambdarank,softmax,squared/none", "--measures", "ndcg@1,ndcg"]
    out = run("compare", folder, *quick, "--output", tmp_path / "t.json", "--plot", tmp_path / "p.png")
    for name in ("lightgbm lambdarank", "lightgbm softmax", "xgboost softmax", "xgboost squared/none"):
        assert name in out
    table = pd.DataFrame(json.loads((tmp_path / "t.json").read_text()))
    assert set(table["metric"]) == {"ndcg@1", "ndcg"}
    assert len(table) == 2 * 5
    assert table["mean"].between(0.3, 1).all()
    assert (tmp_path / "p.png").read_bytes()[:4] == b"\x89PNG"
    run("compare", folder, *quick, "--output", tmp_path / "t.csv", "--backend", "xgboost")
    assert set(pd.read_csv(tmp_path / "t.csv")["ranker"]) == {"xgboost softmax", "xgboost squared/none"}
    run("compare", folder / "all.txt", *quick, "--output", tmp_path / "t.md", "--folds", 3, "--backend", "lightgbm")
    assert (tmp_path / "t.md").read_text().startswith("| ranker | ndcg@1 | diff | p (Holm) | ndcg | diff | p (Holm) |")


def test_compare_on_synthetic_data_shows_the_regret(run, monkeypatch):
    monkeypatch.setattr(importlib.import_module("boostrank.cli.compare"), "SYNTHETIC_QUERIES", 30)
    out = run("compare", "--rounds", 3, "--folds", 3, "--objectives", "lambdarank,softmax", "--backend", "lightgbm")
    assert "Synthetic data: 30 queries whose optimal ranking is known." in out
    assert "-regret, compared with lightgbm lambdarank" in out
    assert "-regret: expected NDCG of the ranking, with gain exp2" in out
    assert "p (Holm): p-value" in out


def test_default_objectives_follow_the_registry(monkeypatch):
    module = importlib.import_module("boostrank.cli.compare")
    known, objectives = set(module.SURROGATES), module.default_objectives().split(",")
    assert known - set(objectives) == set(module.SLOW)
    assert objectives[0] == "lambdarank"
    rankers = make_rankers(module.default_objectives(), Backend.both, {}, 15)
    n_surrogates, n_native, n_controls = len(known) - len(module.SLOW), 3, 3
    assert len(rankers) == 2 * (n_surrogates + n_controls) + n_native
    monkeypatch.setattr(module, "SURROGATES", {**module.SURROGATES, "new": None})
    assert "new" in module.default_objectives().split(",")


OWN = """
import lightgbm
import xgboost
from sklearn.linear_model import Ridge

theirs = lightgbm.LGBMRanker(objective="lambdarank", n_estimators=4, learning_rate=0.5, verbose=-1, n_jobs=1)
number = 3


class Deep(xgboost.XGBRanker):
    def __init__(self, *, n_estimators=4, **settings):
        super().__init__(n_estimators=n_estimators, **settings)


class Unfinished(Ridge):
    def __init__(self, alpha):
        super().__init__(alpha)
"""


def test_compare_takes_estimators_of_a_file(run, folder, tmp_path):
    (tmp_path / "own.py").write_text(OWN)
    quick = ["compare", folder, "--rounds", 4, "--learning-rate", 0.5, "--objectives", "lambdarank"]
    quick += ["--leaves", 31, "--backend", "lightgbm", "--output", tmp_path / "t.csv"]
    own = tmp_path / "own.py"
    run(*quick, "--ranker", f"{own}:theirs", "--ranker", f"{own}:Deep", "--ranker", f"{own}:Ridge")
    table = pd.read_csv(tmp_path / "t.csv")
    table = table[table["metric"] == "ndcg@10"].set_index("ranker")
    assert list(table.index) == ["lightgbm lambdarank", "theirs", "Deep", "Ridge"]
    assert table["mean"].between(0.3, 1).all()
    assert table["rounds"].isna().tolist() == [False, False, False, True]
    assert table.loc["theirs", "rounds"] == 4
    faults = {
        "own.py": "must be FILE.py:NAME",
        f"{own}:": "must be FILE.py:NAME",
        f"{tmp_path / 'other.py'}:a": "no file",
        f"{own}:typo": "the estimators in it are Ridge, theirs, Deep, Unfinished",
        f"{own}:number": "number must be an estimator with fit, predict and get_params; got int",
        f"{own}:Unfinished": "Name an instance of it",
    }
    for text, message in faults.items():
        assert message in run(*quick, "--ranker", text, code=2)
    assert "two rankers called 'theirs'" in run(*quick, *["--ranker", f"{own}:theirs"] * 2, code=2)
