"""The command `compare`: tables, files, the plot, and its default objectives."""

import importlib
import json

import pandas as pd


def test_compare_folds_writes_tables_and_a_plot(run, folder, tmp_path):
    quick = ["--rounds", 2, "--objectives", "lambdarank,softmax,squared/none", "--measures", "ndcg@1,ndcg"]
    report = ["--html", tmp_path / "r.html"]
    out = run("compare", folder, *quick, "--output", tmp_path / "t.json", "--plot", tmp_path / "p.png", *report)
    assert "<td" in (tmp_path / "r.html").read_text("utf-8")
    error = run("compare", folder, "--html", tmp_path / "r.pdf", code=2)
    assert "--html must be a file that ends in .html" in " ".join(error.split())
    for name in ("lightgbm lambdarank", "lightgbm softmax", "xgboost softmax", "xgboost squared/none"):
        assert name in out
    table = pd.DataFrame(json.loads((tmp_path / "t.json").read_text()))
    assert set(table["metric"]) == {"ndcg@1", "ndcg"}
    assert len(table) == 2 * 5
    assert table["mean"].between(0.2, 1).all()
    assert (tmp_path / "p.png").read_bytes()[:4] == b"\x89PNG"
    results = ["--results", tmp_path / "results"]
    run("compare", folder, *quick, "--output", tmp_path / "t.csv", "--backend", "xgboost", *results)
    assert len(list((tmp_path / "results").iterdir())) == 2 * 2
    assert set(pd.read_csv(tmp_path / "t.csv")["ranker"]) == {"xgboost softmax", "xgboost squared/none"}
    run("compare", folder / "all.txt", *quick, "--output", tmp_path / "t.md", "--folds", 3, "--backend", "lightgbm")
    assert (tmp_path / "t.md").read_text().startswith("| ranker | ndcg@1 | ndcg |\n")


def test_compare_on_synthetic_data(run, monkeypatch):
    monkeypatch.setattr(importlib.import_module("boostrank.cli.compare"), "SYNTHETIC_QUERIES", 30)
    quick = ["compare", "--rounds", 3, "--folds", 3, "--objectives", "lambdarank,softmax", "--backend", "lightgbm"]
    out = run(*quick)
    assert out.startswith("Synthetic data: 30 queries.\nndcg@10, compared with lightgbm lambdarank\n")
    # Plain text: no escape codes, also around brackets.
    assert "\x1b" not in out


def test_rankers_have_random_trees_and_a_table_is_divided_by_query(run, folder, data, tmp_path, monkeypatch):
    compare = importlib.import_module("boostrank.cli.compare")
    trained, trees = [], compare.random_trees
    monkeypatch.setattr(compare, "random_trees", lambda ranker: trained.append(trees(ranker)) or trained[-1])
    frame = pd.DataFrame(data.X).add_prefix("x").assign(query=data.qid, grade=data.y)
    frame.to_csv(tmp_path / "t.csv", index=False)
    quick = ["--rounds", 2, "--folds", 3, "--objectives", "lambdarank,softmax", "--backend", "lightgbm"]
    out = run("compare", tmp_path / "t.csv", *quick, "--qid", "query", "--label", "grade")
    assert "ndcg@10, compared with lightgbm lambdarank" in out
    assert out == run("compare", folder / "all.txt", *quick)
    common = {"colsample_bytree": 0.65, "colsample_bynode": 0.6}
    of_lightgbm = {**common, "subsample": 0.5, "subsample_freq": 1}
    assert trained[:2] == [of_lightgbm, {**common, "subsample_queries": 0.5}]
