"""TREC files of judgments and runs: values, faulty lines, forms of tables, and files written and
read again."""

import gzip
from collections import namedtuple

import numpy as np
import pandas as pd
import pytest
from cases import for_each
from interpreted_ranx import interpreted_ranx

from boostrank.runs import read_qrels, read_run, write_run
from boostrank.runs.trec_tables import as_qrels, as_run

pl = pytest.importorskip("polars")

LINE = b"q1 Q0 d1 1 2.5 tag\n"


@pytest.fixture(autouse=True, params=["compiled", "python"])
def parser(request, monkeypatch):
    """Files are read by the compiled library, if it is there, and without it."""
    if request.param == "python":
        monkeypatch.setenv("BOOSTRANK_COMPILED", "0")


@pytest.fixture
def file(tmp_path):
    def write(content, name="file.txt"):
        path = tmp_path / name
        path.write_bytes(content)
        return path

    return write


def rows(table):
    return table.to_numpy(dtype=object).tolist()


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (LINE, [["q1", "d1", 2.5]]),
        (b"007 Q0 00123 1 -1e-5 3\r\n\r\n", [["007", "00123", -1e-5]]),
        (b"  1\tQ0   NA 1 2 t\n \t\n2 Q0 null 1 3 t", [["1", "NA", 2.0], ["2", "null", 3.0]]),
        (b'True Q0 "d 1 .5 t\nq Q0 d#1 1 2 t\n', [["True", '"d', 0.5], ["q", "d#1", 2.0]]),
        ("q\u00e4 Q0 d\u00a0e 1 2 t\n".encode(), [["q\u00e4", "d\u00a0e", 2.0]]),
    ],
    ids=["plain", "numbers as ids", "blanks", "words and quotes", "unicode"],
)
def test_run_is_read(file, content, expected):
    table = read_run(file(content))
    assert rows(table) == expected
    assert list(table.columns) == ["query_id", "doc_id", "score"]
    assert read_run(file(b"q Q0 d 1 2 007\nq Q0 e 2 1 b\n")).attrs["tag"] == "007"


def test_scores_are_rounded_exactly(file):
    random = np.random.default_rng(0)
    scores = random.normal(size=2000) * 10.0 ** random.integers(-300, 300, 2000)
    content = "".join(f"q Q0 d{i} 1 {score!r} t\n" for i, score in enumerate(scores.tolist()))
    np.testing.assert_array_equal(read_run(file(content.encode()))["score"], scores)


@pytest.mark.parametrize("name", ["run.gz", "run.txt"])
def test_compressed_files_are_known_by_their_content(file, name):
    assert rows(read_run(file(gzip.compress(LINE), name))) == [["q1", "d1", 2.5]]
    assert rows(read_run(file(LINE, name))) == [["q1", "d1", 2.5]]


def test_incomplete_and_empty_files_are_refused(file):
    for read in (read_run, read_qrels):
        with pytest.raises(ValueError, match=r"has no lines"):
            read(file(b"\n \n"))
    with pytest.raises(ValueError, match="the gzip data is damaged or cut off"):
        read_run(
            file(gzip.compress(b"".join(b"q1 Q0 d%d 1 2.5 tag\n" % i for i in range(1000)))[:-6])
        )


@for_each(
    ("line", "fault"),
    [
        (b"q1 Q0 d2 2 1\n", "it has 5 fields"),
        (b"q1 Q0 d 2 2 1.5 tag\n", "it has 7 fields"),
        (b"q1 Q0 d 2 2 2 1.5 tag\n", "it has 8 fields"),
        (b"q1 Q0 d2 2 nan tag\n", "the score 'nan' is not a finite number"),
        (b"q1 Q0 d2 2 1e999 tag\n", "the score '1e999' is not a finite number"),
        (b"q1 Q0 d2 2 1_0 tag\n", "the score '1_0' is not a finite number"),
        (b"q1 Q0 d1 2 1 tag\n", "the document 'd1' occurs a second time for the query 'q1'"),
        (b"q1 Q0 \xff 2 1 tag\n", "it is not text in UTF-8"),
        # Lines of judgments.
        (b"q 0 d2 1.0\n", "the relevance '1.0' is not an integer"),
        (b"q 0 d2 1_0\n", "the relevance '1_0' is not an integer"),
        (b"q 0 d2 99999999999999999999\n", "the relevance '9+' is not an integer"),
        (b"q 0 d1 2\n", "the document 'd1' occurs a second time"),
        (b"q 0 d2\n", "it has 3 fields"),
        (b"q 0 d2 1 5\n", "it has 5 fields"),
    ],
)
def test_faulty_lines_are_named(file, line, fault):
    read, head, form = read_run, LINE, "QUERY Q0 DOCUMENT RANK SCORE TAG"
    if line.startswith(b"q 0"):
        read, head, form = read_qrels, b"q 0 d1 1\n", "QUERY ITERATION DOCUMENT RELEVANCE"
    with pytest.raises(ValueError, match=rf"file.txt, line 3: {fault}.* expected {form}"):
        read(file(head + b"\n" + line))


def test_comments_missing_tags_and_tags_with_blanks(file):
    content = b"# tag: mine\n# run: x\nq1 Q0 d1 1 2.5\n#\nq1 Q0 d#2 2 1\n"
    table = read_run(file(content))
    assert (rows(table), table.attrs["tag"]) == ([["q1", "d1", 2.5], ["q1", "d#2", 1.0]], "")
    table = read_run(file(b"q1 Q0 d1 1 2.5 my run 1\nq1 Q0 d2 2 1 my run 1\n"))
    assert (len(table), table.attrs["tag"]) == (2, "my run 1")
    table = read_run(file(b"q1 Q0 d1 1 2.5 run x 1\nq1 Q0 d2 2 1 run\nq1 Q0 d3 3 0.5 run # 2\n"))
    assert rows(table) == [["q1", "d1", 2.5], ["q1", "d2", 1.0], ["q1", "d3", 0.5]]
    # The id of a document has a blank.
    with pytest.raises(
        ValueError, match="line 2: it has 7 fields, and not the tag of the lines before it"
    ):
        read_run(file(b"q1 Q0 d 1 9 8.5 tag\nq1 Q0 e 2 8 7.5 tag\n"))
    with pytest.raises(ValueError, match="line 3: the score 'x' is"):
        read_run(file(b"#\nq1 Q0 d 1 9 tag\nq1 Q0 e 2 x tag\n"))


def test_qrels_are_read(file):
    table = read_qrels(file(b"301 0 d1 2\n301 1 d1 -1\n302 0 7 +1\n"))
    assert rows(table) == [["301", "d1", "0", 2], ["301", "d1", "1", -1], ["302", "7", "0", 1]]
    assert table["relevance"].dtype == np.int64


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_lines_may_end_in_each_way(file, end):
    content = b"q Q0 d 1 2 t" + end + end + b"q Q0 e 2 1 t"
    assert (
        rows(read_run(file(content)))
        == rows(read_run(file(content + end)))
        == [["q", "d", 2.0], ["q", "e", 1.0]]
    )
    with pytest.raises(ValueError, match=r"line 4: the score 'x' is .* \(in 'q Q0 f 3 x t'\)"):
        read_run(file(content + end + b"q Q0 f 3 x t" + end))


def test_byte_order_mark_is_no_part_of_the_first_id(file):
    content = "\ufeffq Q0 d 1 2 t\n".encode()
    assert rows(read_run(file(content))) == [["q", "d", 2.0]]
    with pytest.raises(
        ValueError, match="line 2: the document 'd' occurs a second time for the query 'q'"
    ):
        read_run(file(content + b"q Q0 d 1 2 t\n"))
    assert rows(read_qrels(file(gzip.compress("\ufeffq 0 d 2\n".encode())))) == [["q", "d", "0", 2]]


@pytest.mark.parametrize("name", ["run.txt", "run.txt.gz"])
def test_written_run_is_read_again(tmp_path, name):
    random = np.random.default_rng(0)
    run = {
        f"q{q}": {f"d{d}": score for d, score in enumerate(random.normal(size=20))}
        for q in (2, 1, 10)
    }
    write_run(tmp_path / name, run, tag="mine")
    table = read_run(tmp_path / name)
    assert table.attrs["tag"] == "mine"
    assert {
        q: dict(zip(t["doc_id"], t["score"], strict=True)) for q, t in table.groupby("query_id")
    } == run
    assert list(dict.fromkeys(table["query_id"])) == ["q2", "q1", "q10"]
    assert all((np.diff(t["score"]) <= 0).all() for _, t in table.groupby("query_id"))


@for_each(
    ("run", "tag", "fault"),
    [
        ({"q": {"a b": 1.0}}, "t", "doc_id, .*no blanks; got 'a b'"),
        ({"": {"a": 1.0}}, "t", "query_id, .* got ''"),
        ({"q": {"a": 1.0}}, "two words", "tag, .* got 'two words'"),
        ({"q": {"a": 1.0}}, None, "tag must be a text; got None"),
        ({"q": {"a": np.inf}}, "t", "score of run must be finite"),
    ],
)
def test_run_that_cannot_be_written_leaves_the_old_file(file, run, tag, fault):
    path = file(LINE)
    with pytest.raises(ValueError, match=fault):
        write_run(path, run, tag)
    assert path.read_bytes() == LINE


# Records as those of ir_measures.
ScoredDoc = namedtuple("ScoredDoc", "query_id doc_id score")
FRAME = pd.DataFrame(
    {"query_id": [301, 301, 302], "doc_id": ["a", "b", "a"], "score": [2.0, 1.0, 3.0]}
)


@for_each(
    "run",
    [
        FRAME,
        FRAME.rename(columns={"query_id": "q_id"}),
        FRAME.astype({"query_id": str}),
        FRAME.astype({"query_id": "category"}),
        pl.from_pandas(FRAME),
        {"301": {"a": 2, "b": 1}, "302": {"a": 3}},
        {301: {"a": 2, "b": 1}, 302: {"a": 3}},
        [ScoredDoc(*row) for row in FRAME.to_numpy(dtype=object).tolist()],
    ],
    ids=[
        "pandas",
        "columns of ranx",
        "str",
        "categories",
        "polars",
        "dicts",
        "dicts with int",
        "tuples",
    ],
)
def test_forms_of_runs_are_equal(run):
    table = as_run(run)
    assert rows(table) == [["301", "a", 2.0], ["301", "b", 1.0], ["302", "a", 3.0]]
    assert rows(as_qrels(run)) == rows(table)


@pytest.mark.slow
def test_objects_of_ranx_are_taken():
    dicts = {"q1": {"a": 2.0, "b": 1.0}, "q2": {"a": 3.0}}
    with interpreted_ranx() as ranx:
        assert rows(as_run(ranx.Run(dicts))) == rows(as_run(dicts))
        assert rows(as_qrels(ranx.Qrels(dicts))) == rows(as_qrels(dicts))


@for_each(
    ("table", "error", "fault"),
    [
        (FRAME.drop(columns="doc_id"), ValueError, "doc_id is missing"),
        (FRAME.iloc[:0], ValueError, "it has no documents"),
        ({}, ValueError, "it has no documents"),
        (FRAME.assign(query_id=[1.5, 2, 3]), ValueError, "query_id of row 0 is 1.5"),
        (
            FRAME.assign(doc_id=["a", None, "b"]),
            ValueError,
            "each str or int; doc_id of row 1 is (None|nan)",
        ),
        (FRAME.assign(score=["1", "x", "2"]), ValueError, "score of run must be numbers"),
        (
            FRAME.assign(score=[1, np.nan, 2]),
            ValueError,
            "it is nan for the document 'b' of the query '301'",
        ),
        (pd.concat([FRAME, FRAME]), ValueError, "the document 'a' of the query '301' twice"),
        ({"q": [1, 2]}, TypeError, "a dict of dicts, score by document by query, .* got dict"),
        ([], ValueError, "it has no documents"),
        ("run.txt", TypeError, "got str. Read a file with boostrank.read_run"),
        (
            FRAME.astype({"doc_id": "category"}).iloc[[0, 1, 0]],
            ValueError,
            "the document 'a' of the query '301' twice",
        ),
        (
            FRAME.assign(doc_id=pd.Categorical([1.5, 2.5, 1.5])),
            ValueError,
            "doc_id of row 0 is 1.5",
        ),
        (None, TypeError, "got NoneType"),
    ],
)
def test_table_that_is_no_run_is_refused(table, error, fault, tmp_path):
    with pytest.raises(error, match=fault):
        write_run(tmp_path / "run.txt", table)
