"""`evaluate` with runs and groups: one run, several runs, files, names, and what a user may get wrong."""

import io
import itertools
import re

import numpy as np
import pandas as pd
import pytest

import boostrank as br
from boostrank.cli.documents import read_groups
from boostrank.cli.options import parse_measures

MEASURES = "nDCG@10,P(rel=2)@5,AP"


@pytest.fixture(scope="module")
def trec(tmp_path_factory):
    """A folder with judgments of 40 queries, three runs, of which two have the same tag, and a file of groups."""
    path, random = tmp_path_factory.mktemp("trec"), np.random.default_rng(0)
    queries, documents = [str(i) for i in range(301, 341)], [f"d{i}" for i in range(20)]
    labels = {query: {name: int(random.integers(0, 3)) for name in documents} for query in queries}
    lines = [f"{query} 0 {name} {label}" for query in queries for name, label in labels[query].items()]
    (path / "qrels.txt").write_text("\n".join(lines) + "\n")
    for name, tag, signal, n in (
        ("bm25.run", "BM25", 0.2, 40),
        ("dense.run.gz", "Dense", 1.0, 40),
        ("few", "BM25", 1, 15),
    ):
        run = {
            query: {each: labels[query][each] * signal + random.normal() for each in random.permutation(documents)[:14]}
            for query in queries[:n]
        }
        br.write_run(path / name, run, tag=tag)
    (path / "groups.csv").write_text("query_id,length\n" + "".join(f"{q},{int(q) % 4 * 5}\n" for q in queries))
    return path


def table_rows(out):
    """The rows of the first table: name, value and settings of each measure."""
    lines = iter(out.splitlines())
    for line in lines:
        if set(line) == {"─"}:
            break
    return [line.split(maxsplit=2) for line in itertools.takewhile(lambda line: ":" not in line, lines)]


def test_one_run_has_the_values_of_evaluate_run(run, trec, tmp_path):
    qrels, bm25 = br.read_qrels(trec / "qrels.txt"), br.read_run(trec / "bm25.run")
    common = ["evaluate", "--qrels", trec / "qrels.txt", "--run", trec / "bm25.run"]
    expected = br.evaluate_run(qrels, bm25, ["nDCG@10", "P(rel=2)@5", "AP"])
    files = ["--output", tmp_path / "t.csv", "--per-query", tmp_path / "q.csv"]
    out = run(*common, "--measures", MEASURES, *files, width=120)
    assert out.splitlines()[0] == "40 queries, 560 documents retrieved"
    assert out.splitlines()[3].startswith(f"nDCG@10 (linear gain)  {expected['nDCG@10']:.6f}")
    assert [row[:2] for row in table_rows(out)[1:]] == [
        [name, f"{expected[name]:.6f}"] for name in ("P(rel=2)@5", "AP")
    ]
    table = pd.read_csv(tmp_path / "t.csv")
    assert dict(zip(table["metric"], table["value"], strict=True)) == pytest.approx(expected, abs=1e-15)
    values = br.evaluate_run(qrels, bm25, ["nDCG@10", "P(rel=2)@5", "AP"], per_query=True)
    written = pd.read_csv(tmp_path / "q.csv", index_col="query_id", dtype={"query_id": str})
    pd.testing.assert_frame_equal(written, values, check_index_type=False, check_column_type=False)
    assert [row[0] for row in table_rows(run(*common, width=120))] == ["nDCG@10", "AP", "RR"]
    options = {"ties": "worst", "unjudged": "remove", "queries": "common"}
    flags = [text for name, value in options.items() for text in (f"--{name}", value)]
    out = run(*common, "--measures", "ndcg@5", "--gain", "linear", "--empty", "one", *flags)
    measure = br.get_measure("ndcg@5", gain="linear", empty="one")
    assert table_rows(out)[0][1] == f"{br.evaluate_run(qrels, bm25, measure, **options)['ndcg(gain=linear)@5']:.6f}"
    assert table_rows(out)[0][2] == "empty one, gain linear, discount log2, ties worst"


def test_groups_of_one_run(run, trec, tmp_path):
    common = ["evaluate", "--qrels", trec / "qrels.txt", "--run", trec / "bm25.run", "--by", trec / "groups.csv"]
    out = run(*common, "--measures", "RR,AP", "--output", tmp_path / "t.json", "--per-query", tmp_path / "q.csv")
    by = {query: int(query) % 4 * 5 for query in map(str, range(301, 341))}
    expected = br.evaluate_run(br.read_qrels(trec / "qrels.txt"), br.read_run(trec / "bm25.run"), ["RR", "AP"], by=by)
    pd.testing.assert_frame_equal(pd.read_json(tmp_path / "t.json").fillna(np.nan), expected)
    lines = out.splitlines()
    first = lines.index("RR by group")
    groups = [line.split()[0] for line in [lines[first + 1], *lines[first + 3 : first + 8]]]
    assert groups == ["group", "0", "5", "10", "15", "all"]
    row = expected[(expected["group"] == 5) & (expected["metric"] == "RR")].iloc[0]
    interval = f"{row['low']:.4f} to {row['high']:.4f}"
    assert " ".join(lines[first + 4].split()) == f"5 10 {row['mean']:.4f} {interval}"
    assert pd.read_csv(tmp_path / "q.csv")["group"].tolist() == list(by.values())


def test_groups_of_trec_eval_and_the_picture_of_one_run(run, trec, tmp_path):
    pytest.importorskip("matplotlib")
    given = ["evaluate", "--qrels", trec / "qrels.txt", "--run", trec / "bm25.run"]
    lines = run(*given, "--measures", "official,nDCG@3", "--plot", tmp_path / "p.svg").splitlines()
    tables = br.read_qrels(trec / "qrels.txt"), br.read_run(trec / "bm25.run")
    expected = br.evaluate_run(*tables, ["official", "nDCG@3"])
    found = {line.split()[0]: line for line in lines}
    assert len(expected) == 30
    for name, value in expected.items():
        assert f"  {value:.6f}" in found[name]
    picture = (tmp_path / "p.svg").read_text()
    assert "interpolated precision" in picture
    assert "BM25" in picture


def test_several_runs_are_compared(run, trec, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    paths = [trec / "bm25.run", trec / "dense.run.gz"]
    common = ["evaluate", "--qrels", trec / "qrels.txt", "--run", paths[0], "--run", paths[1], "--measures", MEASURES]
    files = ["--output", tmp_path / "t.csv", "--per-query", tmp_path / "q.tsv", "--plot", tmp_path / "p.png"]
    files += ["--plot-queries", tmp_path / "d.svg"]
    out = run(*common, "--baseline", "Dense", "--seed", 3, *files)
    runs = {"BM25": br.read_run(paths[0]), "Dense": br.read_run(paths[1])}
    settings = {"baseline": "Dense", "random_state": 3}
    names = MEASURES.split(",")
    expected = br.compare_runs(br.read_qrels(trec / "qrels.txt"), runs, names, **settings)
    assert out.startswith(f"40 queries, 2 runs\n\n{expected!r}\n\ndiff: ")
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "t.csv"), expected.table)
    written = pd.read_csv(tmp_path / "q.tsv", sep="\t", dtype={"query": str})
    pd.testing.assert_frame_equal(written, expected.per_query, check_dtype=False)
    assert "BM25, compared with Dense" in (tmp_path / "d.svg").read_text()
    # Further runs may follow, and one may come from a pipe.
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(paths[0].read_bytes())))
    with_pipe = [*common[:4], "-", paths[1], *common[-2:], "--baseline", "Dense", "--seed", 3]
    assert run(*with_pipe) == out.partition("table: ")[0]
    run(*common, "--output", tmp_path / "t.md", "--layout", "pairs", "--seed", 3)
    expected = br.compare_runs(br.read_qrels(trec / "qrels.txt"), runs, names, random_state=3)
    assert (tmp_path / "t.md").read_text() == expected.to_markdown("pairs")
    assert (tmp_path / "p.png").read_bytes()[:4] == b"\x89PNG"
    out = run(*common, "--baseline", paths[1], "--by", trec / "groups.csv", "--output", tmp_path / "t.tex")
    assert "AP by group, compared with Dense" in out
    assert "\nmeasure & group & queries & run & mean" in (tmp_path / "t.tex").read_text()


@pytest.mark.filterwarnings("always")
def test_runs_that_miss_queries(run, trec):
    common = ["evaluate", "--qrels", trec / "qrels.txt", "--run", trec / "few", "--measures", "RR"]
    error = run(*common, errors=True)
    assert "25 of 40 queries of qrels are not in the run" in error
    assert "(--queries judged)" in error
    assert run(*common, "--queries", "judged", errors=True) == ""
    several = [*common, "--run", trec / "dense.run.gz"]
    assert "25 of 40 queries of qrels are not in the run BM25" in " ".join(run(*several, errors=True).split())
    assert run(*several, "--queries", "common", "--by", trec / "groups.csv").startswith("15 queries, 2 runs")


def test_runs_of_one_tag_have_the_names_of_their_files(run, trec, tmp_path):
    other = tmp_path / "bm25.run"
    other.write_bytes((trec / "bm25.run").read_bytes())
    common = ["evaluate", "--qrels", trec / "qrels.txt", "--measures", "RR", "--queries", "judged"]
    out = run(*common, "--run", trec / "few", "--run", trec / "bm25.run")
    assert "RR, compared with few\n" in out
    out = run(*common, "--run", other, "--run", trec / "bm25.run", "--run", trec / "few", width=300)
    assert f"RR, compared with {other}\n" in out


def test_groups_of_scores(run, folder, tmp_path, data):
    _, y, qid = data
    scores = np.random.default_rng(0).normal(size=len(y))
    np.savetxt(tmp_path / "scores", scores)
    ids = sorted(set(qid.tolist()))
    (tmp_path / "g.tsv").write_text("qid\tkind\n\n" + "".join(f"{query}\t{'ab'[query % 2]}\n" for query in ids))
    common = ["evaluate", folder / "all.txt", tmp_path / "scores", "--measures", "ndcg@3,map"]
    run(*common, "--by", tmp_path / "g.tsv", "--output", tmp_path / "t.csv", "--per-query", tmp_path / "q.csv")
    expected = br.evaluate(y, scores, qid, ["ndcg@3", "map"], by={query: "ab"[query % 2] for query in ids})
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "t.csv"), expected)
    values = pd.read_csv(tmp_path / "q.csv")
    assert list(values) == ["query_id", "group", "ndcg@3", "map"]
    np.testing.assert_allclose(values["map"], br.evaluate(y, scores, qid, "map", per_query=True)["map"], atol=1e-15)


def test_names_of_ir_measures_keep_their_conventions():
    measures = parse_measures("nDCG@10,ERR@5,RBP(p=0.5,rel=2),map@03", {"empty": "one", "ties": "worst"}, "runs")
    assert list(measures) == ["nDCG@10", "ERR@5", "RBP(p=0.5,rel=2)", "map@3"]
    settings = {"empty": "one", "ties": "worst"}
    assert measures["nDCG@10"] == br.get_measure("ndcg", k=10, gain="linear", **settings)
    assert measures["RBP(p=0.5,rel=2)"] == br.get_measure("RBP(p=0.5,rel=2)", **settings)
    assert list(parse_measures("ndcg@10", {"gain": "linear"})) == ["ndcg(gain=linear)@10"]
    with pytest.raises(ValueError, match=r"--measures nDCG@10: .* is a name of ir_measures for runs"):
        parse_measures("nDCG@10", {})
    with pytest.raises(ValueError, match=r"--measures has RR twice"):
        parse_measures("RR,mrr", {})


def test_files_of_groups(tmp_path):
    path = tmp_path / "g.csv"
    path.write_bytes('\ufeffquery,group\r\n007,"short, new"\r\n\r\n 8,long \r\n8,long\r\n'.encode())
    assert read_groups(path).to_dict() == {"007": "short, new", "8": "long"}
    path.write_text("qid,n\n1,10\n2,9\n")
    assert read_groups(path).to_dict() == {"1": 10, "2": 9}
    path.write_text("qid,n\n1,10\n2,09\n3,NA\n")
    assert read_groups(path).to_dict() == {"1": "10", "2": "09", "3": "NA"}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", r"g\.csv: the file is empty"),
        ("query,qid\n1,2\n", "got 'query,qid'"),
        ("query_id,group\n1,x\n\n2\n", r"g\.csv, line 4: expected 2 fields as in the first line; got 1"),
        ("query_id,group\n1,x\n2,\n", r"--by .*g\.csv must have a value for each query; that of '2' is missing"),
        ("query_id,group\n1,x\n1,y\n", r"--by .*g\.csv has different values for the query '1'"),
    ],
)
def test_bad_files_of_groups_are_named(tmp_path, content, message):
    (tmp_path / "g.csv").write_bytes(content.encode(errors="surrogateescape"))
    with pytest.raises(ValueError, match=message):
        read_groups(tmp_path / "g.csv")


RUN = "--qrels TREC/qrels.txt --run TREC/bm25.run"


@pytest.mark.parametrize(
    "settings",
    [{"queries": "judged"}, {"ties": "average", "unjudged": "remove", "queries": "common", "subtopics": "max"}],
)
def test_other_libraries_are_explained_for_a_run(run, trec, settings):
    options = [f"--{name}={value}" for name, value in settings.items()]
    paths = ["--qrels", trec / "qrels.txt", "--run", trec / "few"]
    lines = run("evaluate", *paths, "--measures", "AP,nDCG@3,Judged@5", "--explain", *options).splitlines()
    found = br.reconcile_run(br.read_qrels(trec / "qrels.txt"), br.read_run(trec / "few"), "nDCG@3", **settings)
    assert any(line.startswith(f"nDCG@3 (linear gain)  {found.value:.6f}") for line in lines)
    assert found.head in " ".join(" ".join(lines).split())
    for library, metric, value, difference, because in found.rows:
        start = [*library.split(), *metric.split(), value, difference]
        (line,) = (line for line in lines if line.split()[: len(start)] == start)
        assert line.endswith(because)
    assert found.table["from_documents"].abs().max() > 0.001
    assert "Libraries that take arrays get only the retrieved documents" in " ".join(" ".join(lines).split())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("", "give either DATA and SCORES, or --qrels and one --run or several"),
        ("DATA", "give either DATA and SCORES"),
        (f"DATA {RUN}", "all.txt, line 1: it has 12 fields"),
        ("--qrels TREC/bm25.run --run TREC/qrels.txt", "bm25.run, line 1: it has 6 fields"),
        ("--qrels TREC/qrels.txt --run TMP/broken", "broken, line 1: the score '1_0' is not a finite number"),
        (f"{RUN} --by TMP/one.csv", "one.csv must have a value for each query; it has none for '302'"),
        (f"{RUN} --measures AP,RBP(p=0.8", "--measures RBP(p=0.8: the name of a measure must be like"),
        (f"{RUN} --measures AP,foo", "--measures: unknown measure 'foo'; use a name such as ndcg@10,"),
        (f"{RUN} --baseline BM25", "--baseline needs several runs"),
        ("DATA TMP/scores --plot TMP/p.png", "--plot needs --qrels and --run"),
        (f"{RUN} --run TREC/few --explain", "--explain needs DATA and SCORES, or one --run"),
        (f"{RUN} --measures Judged@5 --explain", "--explain needs one of ndcg, map, mrr, err, precision, such as"),
        (f"{RUN} --run TREC/bm25.run", "bm25.run is given twice"),
        (f"{RUN} --per-query TMP/q.txt", "--per-query must be a file that ends in .csv"),
        ("DATA TMP/scores --queries common", "--queries needs --qrels and --run"),
        ("DATA TMP/scores --ties trec_eval", "--ties trec_eval needs ids of documents"),
        ("DATA TMP/scores", "scores, line 3: '1_0' is not a finite score"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(run, trec, folder, tmp_path, arguments, message):
    (tmp_path / "broken").write_text("301 Q0 d1 1 1_0 tag\n")
    (tmp_path / "one.csv").write_text("query_id,group\n301,x\n")
    (tmp_path / "scores").write_text("0.5\n\n1_0\n")
    filled = arguments.replace("TREC", str(trec)).replace("TMP", str(tmp_path)).replace("DATA", str(folder / "all.txt"))
    error = run("evaluate", *filled.split(), code=2)
    assert message in " ".join(error.split())
    assert re.match("error: ", error)
