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
