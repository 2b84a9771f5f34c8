"""Tables and files of preferences: pairs, side-by-side judgments; files are read back exactly."""

import os

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from preference_graphs import edges

from boostrank.preferences import PreferenceGraph, from_judgments, from_pairs, read_preferences, write_preferences

DOCUMENTS = ["d1", "d2", "d3", "d1", "d2", "x"]


def test_pairs_by_ids_of_documents():
    pairs = pd.DataFrame({"qid": ["a", "b"], "winner": ["d2", "x"], "loser": ["d1", "d3"], "weight": [2, 0.5]})
    qid = ["a", "a", "b", "b", "b", "b"]
    assert edges(from_pairs(pairs, qid, DOCUMENTS)) == [(1, 0, 2.0), (5, 2, 0.5)]
    assert edges(from_pairs({"winner": [7], "loser": [9]}, [1, 1, 1], [9, 8, 7])) == [(2, 0, 1.0)]
    assert edges(from_pairs({"winner": [0], "loser": [2]}, [1, 1, 1])) == [(0, 2, 1.0)]


@pytest.mark.parametrize(
    ("pairs", "documents", "message"),
    [
        ({"winner": ["d1"]}, ["d1", "d2"], "no column 'loser'; its columns are 'winner'"),
        ({"winner": ["d1"], "loser": ["d7"]}, ["d1", "d2"], "no row of X has the document 'd7' of line 0"),
        (
            {"winner": ["d1"], "loser": ["d2"]},
            ["d1", "d1"],
            "several rows of X have the document 'd1': add a column qid",
        ),
        ({"winner": ["d1"], "loser": ["d2"]}, ["d1"], "documents has 1 values for the 2 rows of qid"),
        ({"winner": ["d1"], "loser": ["d2"]}, None, "winner must be a one-dimensional array of row numbers"),
        (
            {"winner": ["d1"], "loser": ["d2"], "qid": [4]},
            ["d1", "d2"],
            "no row of X has the query '4' and the document 'd1'",
        ),
    ],
)
def test_bad_pairs_are_errors(pairs, documents, message):
    with pytest.raises(ValueError, match=message):
        from_pairs(pairs, [1, 1], documents)


def test_side_by_side_judgments():
    judgments = pd.DataFrame({"left": [0, 1, 0], "right": [1, 2, 2], "preferred": ["left", "tie", "right"]})
    assert edges(from_judgments(judgments, [1, 1, 1])) == [(0, 1, 1.0), (2, 0, 1.0)]
    both = from_judgments(judgments.assign(weight=[1, 3, 1]), [1, 1, 1], ties="half")
    assert edges(both) == [(0, 1, 1.0), (1, 2, 1.5), (2, 0, 1.0), (2, 1, 1.5)]
    with pytest.raises(ValueError, match="judgment 1 has 'neither'"):
        from_judgments(judgments.assign(preferred=["left", "neither", "tie"]), [1, 1, 1])
    with pytest.raises(ValueError, match="ties must be"):
        from_judgments(judgments, [1, 1, 1], ties="drop")


@pytest.mark.parametrize(
    ("text", "documents", "message"),
    [
        ("winner,loser\n0,1\n0,x\n", None, "column 'loser': .* 'x'; without documents=, winner and loser are row numb"),
        ("winner,loser\n0,1\n0,1,3,4\n", None, "line 3"),
        ("winner,loser,weight\n0,1,heavy\n", None, "column 'weight': .* 'heavy'"),
        ("winner,loser,weight\n0,1,-2\n", None, r"weight\[0\] is -2"),
        ("0,1\n", None, "no column 'winner'"),
        ("", None, "No columns|empty"),
        ("winner,loser\n0,9\n", None, r"loser\[0\] is 9"),
        ("winner,loser\nd1,2\n", [1, 2], "column 'winner': .* 'd1'"),
        ("winner,loser\n1,2\n1\n", [1, 2], "column 'loser': .* ''"),
        ("winner,loser,qid\n1,2,x\n", [1, 2], "column 'qid': .* 'x'"),
    ],
)
def test_broken_files_are_errors_that_name_the_file(tmp_path, text, documents, message):
    path = tmp_path / "pairs.csv"
    path.write_text(text)
    with pytest.raises(ValueError, match=message) as caught:
        read_preferences(path, [7, 7], documents)
    assert "pairs.csv" in str(caught.value)


def test_a_missing_file_is_an_error_and_a_failed_write_leaves_the_old(tmp_path, monkeypatch):
    with pytest.raises(FileNotFoundError):
        read_preferences(tmp_path / "none.csv", [1, 1])
    path = tmp_path / "pairs.csv"
    write_preferences(PreferenceGraph([1, 1], [0], [1]), path)
    before = path.read_bytes()
    monkeypatch.setattr(pd.DataFrame, "to_csv", lambda self, name, **_: (open(name, "w").close(), 1 / 0))
    with pytest.raises(ZeroDivisionError):
        write_preferences(PreferenceGraph([1, 1], [1], [0]), path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


ANY_TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0\r"), min_size=1, max_size=4)
TEXT = ANY_TEXT | st.sampled_from(["1", "01", " 1", "1 ", "1.0", "nan", "NA", '"', "a,b", "a\nb", "#", " "])
INTEGER = st.integers(-(2**63), 2**63 - 1)
FLOAT = st.floats(allow_nan=False) | st.integers(-3, 3).map(float)


def ids(draw, n, unique):
    elements, dtype = draw(st.sampled_from([(TEXT, object), (INTEGER, np.int64), (FLOAT, np.float64)]))
    return np.array(draw(st.lists(elements, min_size=n, max_size=n, unique=unique)), dtype=dtype)


@st.composite
def graphs(draw):
    n_queries, n = draw(st.integers(1, 2)), draw(st.integers(2, 5))
    qid = ids(draw, n_queries, unique=True).repeat(n)
    documents = np.concatenate([ids(draw, n_queries * n, unique=True)])
    pairs = st.tuples(st.integers(0, n_queries - 1), st.integers(0, n - 1), st.integers(0, n - 1))
    drawn = [(q * n + i, q * n + j) for q, i, j in draw(st.lists(pairs, max_size=6)) if i != j]
    weight = draw(st.none() | st.lists(st.floats(0, 1e300), min_size=len(drawn), max_size=len(drawn)))
    return PreferenceGraph(qid, [i for i, _ in drawn], [j for _, j in drawn], weight), documents


def columns(graph):
    weight = None if graph.weight is None else graph.weight.tolist()
    return graph.winner.tolist(), graph.loser.tolist(), weight


@pytest.mark.slow
@given(graphs(), st.sampled_from(["pairs.csv", "pairs.csv.gz"]), st.booleans())
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_written_preferences_are_read_back_exactly(tmp_path, case, name, with_documents):
    graph, documents = case
    documents = documents if with_documents else None
    write_preferences(graph, tmp_path / name, documents)
    assert columns(read_preferences(tmp_path / name, graph.qid, documents)) == columns(graph)


def read(tmp_path, text, qid, documents=None):
    (tmp_path / "pairs.csv").write_bytes(text.encode())
    return columns(read_preferences(tmp_path / "pairs.csv", qid, documents))


def test_ids_of_a_file_have_the_types_of_the_ids_that_are_given(tmp_path):
    text = "winner,loser,qid\n01,1,07\n"
    assert read(tmp_path, text, ["07", "07"], ["1", "01"]) == ([1], [0], None)
    assert read(tmp_path, "winner, loser, qid\n01, 2, 07\n", [7, 7], [2, 1]) == ([1], [0], None)
    assert read(tmp_path, "winner,loser,qid\n1,2.50,7e0\n", [7.0, 7.0], [2.5, 1.0]) == ([1], [0], None)
    with pytest.raises(ValueError, match="no row of X has the query '07' and the document '01' of line 0"):
        read(tmp_path, text, ["07", "07"], ["1", "2"])


def test_ids_of_several_types_are_errors(tmp_path):
    graph = PreferenceGraph([1, 1], [0], [1])
    for documents in (
        [1, "1"],
        [True, False],
        ["a", None],
        np.array([1j, 2j]),
    ):
        with pytest.raises(ValueError, match="documents"):
            write_preferences(graph, tmp_path / "pairs.csv", documents)
    with pytest.raises(ValueError, match="documents has 3 values for the 2 rows of graph"):
        write_preferences(graph, tmp_path / "pairs.csv", ["a", "b", "c"])
    assert os.listdir(tmp_path) == []
