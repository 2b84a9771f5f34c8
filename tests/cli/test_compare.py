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


def labelled(path, data, labels):
    frame = pd.DataFrame(data.X[:, :3]).add_prefix("x").assign(qid=data.qid, label=labels)
    frame.to_csv(path, index=False)
    return path


def test_the_rankers_of_the_libraries_have_the_gain_of_the_comparison(run, data, tmp_path):
    grades = data.y.clip(0, 4).astype(int)
    quick = ["--folds", 2, "--output", tmp_path / "t.csv", "--rankers", "LGBMRanker,XGBRanker"]
    path = labelled(tmp_path / "d.csv", data, grades * 20)
    run("compare", path, *quick, "--gain", "linear")
    seen = pd.read_csv(tmp_path / "t.csv")["mean"]
    X = pd.read_csv(path)[["x0", "x1", "x2"]].to_numpy()
    rankers = {
        "a": lightgbm.LGBMRanker(verbose=-1, label_gain=[*range(81)]),
        "b": xgboost.XGBRanker(ndcg_exp_gain=False),
    }
    cv = br.QueryKFold(2, shuffle=True, random_state=0)
    measure = br.metrics.get_measure("ndcg@10", gain="linear")
    expected = br.compare(rankers, X, grades * 20, data.qid, cv=cv, measures=measure)
    pd.testing.assert_series_equal(seen, expected.table["mean"])
    # Without an option, LightGBM gets the gain 2^y - 1 of labels above 30.
    run("compare", path, *quick[:-1], "LGBMRanker,LightGBMRanker")
    one_line = run("compare", path, *quick, code=2)
    assert one_line.startswith(
        "error: of the labels, the largest one is 80, and XGBRanker takes only whole labels up to "
        "31 with the gain 2^y - 1 (--gain linear takes all). Or use --rankers LGBMRanker\n"
    )
    path = labelled(tmp_path / "d.csv", data, grades / 2)
    assert "one is 0.5, and LGBMRanker takes only whole labels up to 10,000; XGBRanker takes" in (
        run("compare", path, *quick, code=2)
    )
    run("compare", path, *quick[:-1], "XGBRanker,XGBoostRanker", "--gain", "linear")
    path = labelled(tmp_path / "d.csv", data, grades * 1000)
    for option in ([], ["--gain", "exp2"]):
        error = run("compare", path, *quick, *option, code=2)
        assert "takes labels up to 1,000, and the largest one is 4000: use --gain linear" in error


def test_labels_that_are_equal_within_queries_are_not_compared(run, data, tmp_path, folder):
    path = labelled(tmp_path / "d.csv", data, data.qid % 3)
    error = run("compare", path, code=2)
    assert "in every query, all documents have the same label" in error
    assert "there is nothing to compare. Give labels that differ within queries" in error
    for part in ("train", "vali", "test"):
        (tmp_path / "Fold1").mkdir(exist_ok=True)
        (tmp_path / "Fold1" / f"{part}.txt").write_text("1 qid:1 1:0.5\n1 qid:1 1:2\n0 qid:2 1:1\n")
    assert "there is nothing to compare" in run("compare", tmp_path, code=2)


def test_an_error_of_a_library_is_its_message_without_a_stack(run, folder, monkeypatch):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr(importlib.import_module("boostrank.cli.compare"), "compare_rankers", fail)
    for error in (
        lightgbm.basic.LightGBMError("label is wrong"),
        xgboost.core.XGBoostError("label is wrong\nStack trace:\n  [bt] (0) libxgboost.so"),
    ):
        error.add_note("while a was trained")
        assert run("compare", folder, code=2) == "error: label is wrong (while a was trained)\n"


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
