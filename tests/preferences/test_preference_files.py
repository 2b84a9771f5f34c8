"""Preference files are read back exactly: ids of every type, spaces, leading zeros, and weights with all bits."""

import os

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from boostrank.preferences import PreferenceGraph, read_preferences, write_preferences

ANY_TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=4)
TEXT = ANY_TEXT | st.sampled_from(["1", "01", " 1", "1 ", "1.0", "nan", "NA", '"', "a,b", "a\nb", "a\rb", "#", " "])
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


def edges(graph):
    weight = None if graph.weight is None else graph.weight.tolist()
    return graph.winner.tolist(), graph.loser.tolist(), weight


@pytest.mark.slow
@given(graphs(), st.sampled_from(["pairs.csv", "pairs.csv.gz"]), st.booleans())
@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_written_preferences_are_read_back_exactly(tmp_path, case, name, with_documents):
    graph, documents = case
    documents = documents if with_documents else None
    write_preferences(graph, tmp_path / name, documents)
    assert edges(read_preferences(tmp_path / name, graph.qid, documents)) == edges(graph)


def read(tmp_path, text, qid, documents=None):
    (tmp_path / "pairs.csv").write_bytes(text.encode())
    return edges(read_preferences(tmp_path / "pairs.csv", qid, documents))


def test_ids_of_a_file_have_the_types_of_the_ids_that_are_given(tmp_path):
    text = "winner,loser,qid\n01,1,07\n"
    assert read(tmp_path, text, ["07", "07"], ["1", "01"]) == ([1], [0], None)
    assert read(tmp_path, "winner, loser, qid\n01, 2, 07\n", [7, 7], [2, 1]) == ([1], [0], None)
    assert read(tmp_path, "winner,loser,qid\n1,2.50,7e0\n", [7.0, 7.0], [2.5, 1.0]) == ([1], [0], None)
    with pytest.raises(ValueError, match="no row has the document '01' in query '07'"):
        read(tmp_path, text, ["07", "07"], ["1", "2"])


def test_leading_spaces_belong_to_an_id(tmp_path):
    assert read(tmp_path, "winner,loser\n a,a\n", [1, 1], ["a", " a"]) == ([1], [0], None)


def test_ids_of_several_types_are_errors(tmp_path):
    graph = PreferenceGraph([1, 1], [0], [1])
    for documents in (
        [1, "1"],
        [True, False],
        ["a", None],
        np.array([1j, 2j]),
        ["a", "b\0"],
        ["a", "\udce9"],
        ["a", ""],
    ):
        with pytest.raises(ValueError, match="documents"):
            write_preferences(graph, tmp_path / "pairs.csv", documents)
    with pytest.raises(ValueError, match="documents has 3 ids for 2 documents"):
        write_preferences(graph, tmp_path / "pairs.csv", ["a", "b", "c"])
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("winner,loser\nd1,2\n", "winner of pair 0 is 'd1', not an integer"),
        ("winner,loser\n1,2,3\n", "line 2"),
        ("winner,loser\n1,2\n1\n", "pair 1 has fewer values"),
        ("winner,loser,winner\n1,2,3\n", "a column twice"),
        ("winner,loser,weight\n1,2,heavy\n", "weight of pair 0 is 'heavy', not a number"),
        ("winner,loser,qid\n1,2,x\n", "qid of pair 0 is 'x', not an integer"),
    ],
)
def test_cells_that_are_no_ids_are_errors(tmp_path, text, message):
    with pytest.raises(ValueError, match=message):
        read(tmp_path, text, [7, 7], [1, 2])
