"""The command `evaluate`: measures of scores, of one run and of several, files, and bad input."""

import itertools
import re

import numpy as np
import pandas as pd
import pytest
from run_definitions import noisy_runs

import boostrank as br
from boostrank.cli.options import parse_measures
from boostrank.runs.evaluation import measures_of_runs

MEASURES = "nDCG@10,P(rel=2)@5,AP"


@pytest.fixture(scope="module")
def trec(tmp_path_factory):
    """A folder with judgments of 40 queries, and three runs, of which two have the same tag."""
    path = tmp_path_factory.mktemp("trec")
    qrels, runs = noisy_runs({"bm25.run": 0.2, "dense.run.gz": 1.0, "few": 1.0})
    lines = [
        f"{query} 0 {name} {label}"
        for query, labels in qrels.items()
        for name, label in labels.items()
    ]
    (path / "qrels.txt").write_text("\n".join(lines) + "\n")
    runs["few"] = dict(list(runs["few"].items())[:15])
    for (name, run), tag in zip(runs.items(), ("BM25", "Dense", "BM25"), strict=True):
        br.write_run(path / name, run, tag=tag)
    return path


def table_rows(out):
    """The rows of the first table: name, value and settings of each measure."""
    lines = iter(out.splitlines())
    for line in lines:
        if set(line) == {"─"}:
            break
    return [
        line.split(maxsplit=2) for line in itertools.takewhile(lambda line: ":" not in line, lines)
    ]


def test_evaluate_applies_settings_to_the_measures_that_have_them(run, folder, tmp_path, data):
    _, y, qid = data
    values = np.random.default_rng(0).integers(0, 4, len(y)) / 4
    np.savetxt(tmp_path / "scores", values)
    options = ["--measures", "ndcg@3, map,mrr,auc", "--gain", "linear", "--ties", "stable"]
    out = run("evaluate", folder / "all.txt", tmp_path / "scores", *options)
    expected = {
        "ndcg(gain=linear)@3": br.ndcg_score(y, values, qid, k=3, gain="linear", ties="stable"),
        "map": br.get_measure("map", ties="stable")(y, values, qid),
        "mrr": br.get_measure("mrr", ties="stable")(y, values, qid),
        "auc": br.get_measure("auc")(y, values, qid),
    }
    head, rule, *lines = out.splitlines()[1:]
    assert (head.split(), set(rule)) == (["measure", "value", "settings"], {"─"})
    rows = [line.split(maxsplit=2) for line in lines]
    assert {row[0]: row[1] for row in rows} == {
        name: f"{value:.6f}" for name, value in expected.items()
    }
    assert rows[0][2] == "empty zero, gain linear, discount log2, ties stable"
    assert rows[3][2] == "empty skip, threshold 1"


def test_one_run_has_the_values_of_evaluate_run(run, trec, tmp_path):
    qrels, bm25 = br.read_qrels(trec / "qrels.txt"), br.read_run(trec / "bm25.run")
    common = ["evaluate", "--qrels", trec / "qrels.txt", "--run", trec / "bm25.run"]
    expected = br.evaluate_run(qrels, bm25, ["nDCG@10", "P(rel=2)@5", "AP"])
    files = ["--output", tmp_path / "t.csv", "--per-query", tmp_path / "q.csv"]
    out = run(*common, "--measures", MEASURES, *files, width=120)
    assert out.splitlines()[0] == "40 queries, 560 documents retrieved"
    assert out.splitlines()[3].startswith(f"nDCG@10 (linear gain)  {expected['nDCG@10']:.6f}")
    others = [[name, f"{expected[name]:.6f}"] for name in ("P(rel=2)@5", "AP")]
    assert [row[:2] for row in table_rows(out)[1:]] == others
    table = pd.read_csv(tmp_path / "t.csv")
    assert dict(zip(table["metric"], table["value"], strict=True)) == pytest.approx(
        expected, abs=1e-15
    )
    values = br.evaluate_run(qrels, bm25, ["nDCG@10", "P(rel=2)@5", "AP"], per_query=True)
    written = pd.read_csv(tmp_path / "q.csv", index_col="query_id", dtype={"query_id": str})
    pd.testing.assert_frame_equal(written, values, check_index_type=False, check_column_type=False)
    assert [row[0] for row in table_rows(run(*common, width=120))] == ["nDCG@10", "AP", "RR"]
    options = {"ties": "worst", "queries": "common"}
    flags = [text for name, value in options.items() for text in (f"--{name}", value)]
    flags += ["--plot", tmp_path / "p.svg"]
    out = run(*common, "--measures", "ndcg@5", "--gain", "linear", "--empty", "one", *flags)
    assert "BM25" in (tmp_path / "p.svg").read_text()
    measure = br.get_measure("ndcg@5", gain="linear", empty="one")
    assert (
        table_rows(out)[0][1]
        == f"{br.evaluate_run(qrels, bm25, measure, **options)['ndcg(gain=linear)@5']:.6f}"
    )
    assert table_rows(out)[0][2] == "empty one, gain linear, discount log2, ties worst"


def test_several_runs_are_compared(run, trec, tmp_path):
    pytest.importorskip("matplotlib")
    paths = [trec / "bm25.run", trec / "dense.run.gz"]
    common = [
        "evaluate",
        "--qrels",
        trec / "qrels.txt",
        "--run",
        paths[0],
        "--run",
        paths[1],
        "--measures",
        MEASURES,
    ]
    files = [
        "--output",
        tmp_path / "t.csv",
        "--per-query",
        tmp_path / "q.tsv",
        "--plot",
        tmp_path / "p.png",
    ]
    files += ["--plot-queries", tmp_path / "d.svg"]
    out = run(*common, "--baseline", "Dense", *files)
    runs = {"BM25": br.read_run(paths[0]), "Dense": br.read_run(paths[1])}
    names = MEASURES.split(",")
    expected = br.compare_runs(br.read_qrels(trec / "qrels.txt"), runs, names, baseline="Dense")
    assert out.startswith(f"40 queries, 2 runs\n\n{expected!r}\n\ndiff: ")
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "t.csv"), expected.table)
    written = pd.read_csv(tmp_path / "q.tsv", sep="\t", dtype={"query": str})
    pd.testing.assert_frame_equal(written, expected.per_query, check_dtype=False)
    assert "BM25, compared with Dense" in (tmp_path / "d.svg").read_text()
    run(*common, "--output", tmp_path / "t.md", "--layout", "pairs")
    expected = br.compare_runs(br.read_qrels(trec / "qrels.txt"), runs, names)
    assert (tmp_path / "t.md").read_text() == expected.to_markdown("pairs")
    assert (tmp_path / "p.png").read_bytes()[:4] == b"\x89PNG"
    # Runs may follow without --run.
    positional = [*common[:3], paths[0], paths[1], *common[-2:], "--baseline", paths[1]]
    assert run(*positional) == out.partition("table: ")[0]


@pytest.mark.filterwarnings("always")
def test_runs_that_miss_queries(run, trec):
    common = ["evaluate", "--qrels", trec / "qrels.txt", "--run", trec / "few", "--measures", "RR"]
    error = run(*common, errors=True)
    assert "25 of 40 queries of qrels are not in the run" in error
    assert "(--queries judged)" in error
    assert run(*common, "--queries", "judged", errors=True) == ""
    several = [*common, "--run", trec / "dense.run.gz"]
    assert "25 of 40 queries of qrels are not in the run BM25" in " ".join(
        run(*several, errors=True).split()
    )
    assert run(*several, "--queries", "common").startswith("15 queries, 2 runs")


def test_names_of_ir_measures_keep_their_conventions():
    given = {"empty": "one", "ties": "worst"}
    measures = parse_measures(
        "--measures", "nDCG@10,ERR@5,RBP(p=0.5,rel=2),map@03", given, measures_of_runs
    )
    assert list(measures) == ["nDCG@10", "ERR@5", "RBP(p=0.5,rel=2)", "map@3"]
    assert measures["nDCG@10"] == br.get_measure("ndcg", k=10, gain="linear", **given)
    assert measures["RBP(p=0.5,rel=2)"] == br.get_measure("RBP(p=0.5,rel=2)", **given)
    assert list(parse_measures("--measures", "ndcg@10", {"gain": "linear"})) == [
        "ndcg(gain=linear)@10"
    ]
    with pytest.raises(
        ValueError, match=r"--measures: 'nDCG@10' is a name of ir_measures for runs"
    ):
        parse_measures("--measures", "nDCG@10", {})


RUN = "--qrels TREC/qrels.txt --run TREC/bm25.run"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("", "give either DATA and SCORES, or --qrels and one --run or several"),
        (f"DATA {RUN}", "all.txt, line 1: it has 12 fields"),
        ("--qrels TREC/bm25.run --run TREC/qrels.txt", "bm25.run, line 1: it has 6 fields"),
        (f"{RUN} --measures AP,RBP(p=0.8", "--measures: the name of a measure must be like"),
        (f"{RUN} --baseline BM25", "--baseline needs --qrels and several runs"),
        ("DATA TMP/scores --plot TMP/p.png", "--plot needs --qrels and --run"),
        (f"{RUN} --run TREC/bm25.run", "bm25.run is given twice"),
        (f"{RUN} --per-query TMP/q.txt", "--per-query must be a file that ends in .csv"),
        ("DATA TMP/scores --ties trec_eval", "ties must be one of average,"),
        ("DATA TMP/scores", "scores, line 3: '1_0' is not a finite score"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(run, trec, folder, tmp_path, arguments, message):
    (tmp_path / "scores").write_text("0.5\n\n1_0\n")
    filled = (
        arguments.replace("TREC", str(trec))
        .replace("TMP", str(tmp_path))
        .replace("DATA", str(folder / "all.txt"))
    )
    error = run("evaluate", *filled.split(), code=2)
    assert message in " ".join(error.split())
    assert re.match("error: ", error)


def test_scores_that_are_too_few_or_too_many_are_named(run, folder, tmp_path, data):
    path, file = folder / "all.txt", tmp_path / "s.txt"
    n_rows = len(data.y)
    np.savetxt(file, np.arange(n_rows - 3))
    error = run("evaluate", path, file, code=2)
    assert f"{file} has {n_rows - 3:,} scores for the {n_rows:,} documents of {path}: the" in error
    query = data.qid[n_rows - 3]
    assert f"without a score is in row {n_rows - 2:,}, of the query '{query}'; predict" in error
    np.savetxt(file, np.arange(n_rows + 2))
    assert f"documents of {path}, 2 too many: predict" in run("evaluate", path, file, code=2)


@pytest.mark.filterwarnings("default")
def test_labels_that_are_equal_within_queries_are_named(run, tmp_path):
    (tmp_path / "t.csv").write_text("qid,label,x\n1,2,0\n1,2,1\n2,0,0\n2,0,1\n3,1,1\n")
    (tmp_path / "s.txt").write_text("1\n2\n3\n4\n5\n")
    warning = run("evaluate", tmp_path / "t.csv", tmp_path / "s.txt", errors=True)
    assert f"warning: {tmp_path / 't.csv'}: in every query, all documents have the same" in warning
    (tmp_path / "t.csv").write_text("qid,label,x\n1,2,0\n1,1,1\n2,0,0\n2,0,1\n3,1,1\n")
    assert run("evaluate", tmp_path / "t.csv", tmp_path / "s.txt", errors=True) == ""


def test_groups_of_scores_give_intervals(run, tmp_path):
    X, y, qid = br.make_ranking(20, n_documents=6, random_state=0)
    users = [f"user {query // 2}" for query in qid]
    path = tmp_path / "log.csv"
    pd.DataFrame({"session": qid, "user": users, "grade": y}).to_csv(path, index=False)
    pd.DataFrame({"score": X[:, 0]}).to_csv(tmp_path / "s.csv", index=False)
    common = ["evaluate", path, tmp_path / "s.csv", "--qid", "session", "--measures", "ndcg@3,map"]
    out = run(*common, "--group", "user", "--output", tmp_path / "t.csv", width=120)
    expected = br.evaluate(y, X[:, 0], qid, ["ndcg@3", "map"], groups=users)
    ends = expected[["mean", "low", "high"]]
    assert out.splitlines()[1].split() == ["measure", "value", "low", "high", "settings"]
    for line, numbers in zip(out.splitlines()[3:5], ends.to_numpy(), strict=True):
        assert line.split()[1:4] == [f"{number:.6f}" for number in numbers]
    table = pd.read_csv(tmp_path / "t.csv")
    assert list(table) == ["metric", "value", "low", "high"]
    np.testing.assert_allclose(table.iloc[:, 1:], ends, atol=1e-15)
    error = run(*common, "--group", "usr", code=2, errors=True)
    assert "has no column 'usr' (did you mean 'user'?)" in " ".join(error.split())


def test_groups_of_runs_are_a_table(run, trec, tmp_path):
    qrels = br.read_qrels(trec / "qrels.txt")
    runs = {
        name: br.read_run(trec / file)
        for name, file in (("BM25", "bm25.run"), ("Dense", "dense.run.gz"))
    }
    topics = {query: i // 4 for i, query in enumerate(qrels["query_id"].unique())}
    path = tmp_path / "topics.tsv"
    pd.DataFrame({"query_id": topics.keys(), "topic": topics.values()}).to_csv(
        path, sep="\t", index=False
    )
    files = [trec / "bm25.run", trec / "dense.run.gz"]
    common = ["evaluate", "--qrels", trec / "qrels.txt", "--measures", "AP", "--group", path]
    out = run(*common, "--run", files[0], "--run", files[1], "--output", tmp_path / "t.csv")
    assert out.startswith("40 queries in 10 groups, 2 runs\n")
    assert "randomization test over groups" in " ".join(out.split())
    expected = br.compare_runs(qrels, runs, "AP", groups=topics).table
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "t.csv"), expected)
    out = run(*common, "--run", files[0], width=120)
    row = br.evaluate_run(qrels, runs["BM25"], "AP", groups=topics).iloc[0]
    assert table_rows(out)[0][1] == f"{row['mean']:.6f}"
    assert table_rows(out)[0][2].startswith(f"{row['low']:.6f}  {row['high']:.6f}  ")
    error = run(*common[:-1], "topics", "--run", files[0], code=2, errors=True)
    assert "--group needs a CSV, TSV or Parquet file, and topics is none" in error
