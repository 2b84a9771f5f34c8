"""The command `compare`: defaults of rankers, losses with equal trees, tables, files, and how an
interrupt goes on."""

import importlib
import json
import re

import lightgbm
import pandas as pd
import xgboost

import boostrank as br

LOSSES = ["--rounds", 2, "--objectives", "lambdarank,softmax,squared/none"]


def test_objectives_on_a_folder_write_tables_and_a_plot(run, folder, tmp_path):
    quick = [*LOSSES, "--measures", "ndcg@1,ndcg"]
    report = ["--html", tmp_path / "r.html"]
    out = run(
        "compare",
        folder,
        *quick,
        "--output",
        tmp_path / "t.json",
        "--plot",
        tmp_path / "p.png",
        *report,
    )
    assert "<td" in (tmp_path / "r.html").read_text("utf-8")
    assert out.startswith(
        "Equal trees, not the defaults: random, 15 leaves, rate 0.1, early stopping.\nndcg@1, "
    )
    table = pd.DataFrame(json.loads((tmp_path / "t.json").read_text()))
    assert set(table["metric"]) == {"ndcg@1", "ndcg"}
    names = {
        *(
            f"{library} {loss}"
            for library in ("lightgbm", "xgboost")
            for loss in ("softmax", "squared/none")
        )
    }
    assert set(table["ranker"]) == {"lightgbm lambdarank", *names}
    assert table["mean"].between(0.2, 1).all()
    assert (tmp_path / "p.png").read_bytes()[:4] == b"\x89PNG"
    results = ["--results", tmp_path / "results"]
    run("compare", folder, *quick, "--output", tmp_path / "t.csv", "--backend", "xgboost", *results)
    assert len(list((tmp_path / "results").iterdir())) == 2 * 2
    assert set(pd.read_csv(tmp_path / "t.csv")["ranker"]) == {
        "xgboost softmax",
        "xgboost squared/none",
    }
    run(
        "compare",
        folder / "all.txt",
        *quick,
        "--output",
        tmp_path / "t.md",
        "--folds",
        3,
        "--backend",
        "lightgbm",
    )
    assert (tmp_path / "t.md").read_text().startswith("| ranker | ndcg@1 | ndcg |\n")


def test_defaults_are_those_of_python(run, tmp_path, monkeypatch):
    monkeypatch.setattr(importlib.import_module("boostrank.cli.compare"), "SYNTHETIC_QUERIES", 20)
    ours = br.LightGBMRanker(random_state=0), br.XGBoostRanker(random_state=0)
    rankers = [lightgbm.LGBMRanker(verbose=-1), xgboost.XGBRanker(), *ours]
    rankers = {f"{type(ranker).__name__}()": ranker for ranker in rankers}
    X, y, qid = br.make_ranking(20, random_state=0)
    cv = br.QueryKFold(2, shuffle=True, random_state=0)
    expected = br.compare(rankers, X, y, qid, cv=cv, measures="ndcg@10")
    out = run("compare", "--folds", 2, "--output", tmp_path / "t.csv")
    assert out.startswith(
        f"Synthetic data: 20 queries, {len(y)} documents, 2 folds.\nRankers with their defaults; "
    )
    table = pd.read_csv(tmp_path / "t.csv")
    pd.testing.assert_frame_equal(table.assign(seconds=1.0), expected.table.assign(seconds=1.0))
    assert (table["seconds"] > 0).all()
    # The last column has the times, as the line below has.
    best = table["ranker"][table["mean"].idxmax()]
    factor = re.search(rf"^{re.escape(best)} .* (\d+\.\d)$", out, re.MULTILINE)[1]
    seconds = table.set_index("ranker")["seconds"]
    assert float(factor) == round(seconds[best] / seconds["LGBMRanker()"], 1)
    assert f" to LGBMRanker(), in {factor} times its time. " in " ".join(out.split())
    lines = " ".join(
        run(
            "compare", "--folds", 2, "--repeats", 2, "--rankers", "XGBRanker,LightGBMRanker"
        ).split()
    )
    rankers = {name: rankers[name] for name in ("XGBRanker()", "LightGBMRanker()")}
    row = br.compare(rankers, X, y, qid, cv=2, repeats=2, measures="ndcg@10").table.iloc[1]
    assert f"LightGBMRanker() {row['mean']:.4f} {row['difference']:+.4f} " in lines
    assert "p (Holm): corrected resampled t-test over folds, adjusted by Holm's method" in lines
    assert "repeats needs a file" in run("compare", tmp_path, "--repeats", 2, code=2, errors=True)
    assert "try --query-features standardize,rank too.\n" in out
    # Plain text: no escape codes, also around brackets.
    assert "\x1b" not in out


def test_a_table_is_divided_by_query_and_equal_trees_are_random(
    run, folder, data, tmp_path, monkeypatch
):
    # XGBoost takes no names with brackets.
    frame = pd.DataFrame(data.X).add_prefix("[x]").assign(query=data.qid, grade=data.y)
    frame.to_csv(tmp_path / "t.csv", index=False)
    common = [
        "--rankers",
        "XGBRanker,LightGBMRanker",
        "--folds",
        2,
        "--gain",
        "linear",
        "--query-features",
        "rank",
    ]
    out = run("compare", tmp_path / "t.csv", *common, "--qid", "query", "--label", "grade")
    rankers = {"a": xgboost.XGBRanker(ndcg_exp_gain=False)}
    for name, features in (("b", None), ("c", "rank")):
        rankers[name] = br.LightGBMRanker(gain="linear", query_features=features, random_state=0)
    cv, measure = (
        br.QueryKFold(2, shuffle=True, random_state=0),
        br.metrics.get_measure("ndcg@10", gain="linear"),
    )
    means = br.compare(rankers, *data, cv=cv, measures=measure).table["mean"]
    assert "try --query-features" not in out
    names = ["XGBRanker()", "LightGBMRanker()", "LightGBMRanker(), query features"]
    assert all(
        f"{name} {mean:.4f} " in " ".join(out.split())
        for name, mean in zip(names, means, strict=True)
    )

    compare = importlib.import_module("boostrank.cli.compare")
    samples = {
        "lambdarank": {"subsample": 0.5, "subsample_freq": 1},
        "softmax": {"subsample_queries": 0.5},
    }
    for loss, sample in samples.items():
        (ranker,) = compare.rankers_with_equal_trees(loss, "lightgbm").values()
        assert {
            "colsample_bytree": 0.65,
            "colsample_bynode": 0.6,
            **sample,
        }.items() <= ranker.get_params().items()
    monkeypatch.setattr(
        compare, "compare_rankers", lambda *_, **__: (_ for _ in ()).throw(KeyboardInterrupt)
    )
    assert run("compare", folder, code=130).startswith(
        "The same command does not repeat finished trainings, if --resu"
    )


def test_groups_are_a_column_that_is_no_feature(run, folder, tmp_path):
    X, y, qid = br.make_ranking(24, n_documents=6, random_state=0)
    users = [f"user {query // 3}" for query in qid]
    frame = pd.DataFrame(X).add_prefix("x").assign(session=qid, user=users, grade=y)
    path = tmp_path / "log.csv"
    frame.to_csv(path, index=False)
    common = ["--qid", "session", "--rankers", "XGBRanker,LightGBMRanker", "--folds", 2]
    out = run("compare", path, *common, "--group", "user", "--output", tmp_path / "t.csv")
    assert f"{path}: 24 queries in 8 groups, {len(y)} documents, 2 folds.\n" in out
    assert "paired randomization test over groups" in " ".join(out.split())
    rankers = {
        "XGBRanker()": xgboost.XGBRanker(random_state=0),
        "LightGBMRanker()": br.LightGBMRanker(random_state=0),
    }
    cv = br.QueryKFold(2, shuffle=True, random_state=0)
    expected = br.compare(rankers, X, y, qid, cv=cv, groups=users, measures="ndcg@10").table
    table = pd.read_csv(tmp_path / "t.csv")
    pd.testing.assert_frame_equal(table.assign(seconds=1.0), expected.assign(seconds=1.0))
    for arguments, message in (
        ([path, *common, "--group", "usr"], "--group: .* has no column 'usr' .did you mean 'user'"),
        ([folder / "all.txt", "--group", "user"], "--group needs a CSV, TSV or Parquet file"),
        (["--group", "user"], "--group needs a CSV, TSV or Parquet file"),
    ):
        assert re.search(message, run("compare", *arguments, code=2, errors=True))
    frame.loc[3, "user"] = None
    frame.to_csv(path, index=False)
    error = run("compare", path, *common, "--group", "user", code=2, errors=True)
    assert "the group (column 'user') is missing in row 4" in " ".join(error.split())
