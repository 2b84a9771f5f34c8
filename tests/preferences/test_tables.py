"""Tables and files of preferences: pairs, side-by-side judgments, reading and writing."""

import numpy as np
import pandas as pd
import pytest
from preference_graphs import edges, random_graph

import boostrank as br
from boostrank.preferences import PreferenceGraph, from_judgments, from_pairs

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
        ({"winner": ["d1"]}, ["d1", "d2"], "no column 'loser'; got 'winner'"),
        ({"winner": ["d1"], "loser": ["d7"]}, ["d1", "d2"], "no row has the document 'd7', loser of pair 0"),
        ({"winner": ["d1"], "loser": ["d2"]}, ["d1", "d1"], "several rows have the document 'd1': add a column qid"),
        ({"winner": ["d1"], "loser": ["d2"]}, ["d1"], "documents has 1 ids for 2 rows"),
        ({"winner": ["d1"], "loser": ["d2"]}, None, "'winner' must contain row numbers"),
        ({"winner": ["d1"], "loser": ["d2"], "qid": [4]}, ["d1", "d2"], "no row has the document 'd1' in query '4'"),
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


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz"])
def test_files_are_read_as_they_were_written(tmp_path, suffix):
    path = tmp_path / f"pairs{suffix}"
    for graph in (random_graph(1), random_graph(2, weighted=False), PreferenceGraph([1, 1], [], [])):
        br.preferences.write_preferences(graph, path)
        assert edges(br.preferences.read_preferences(path, graph.qid)) == edges(graph)
        ids = np.array([f"document, {i % 3}" for i in graph.queries.ungroup(graph.queries.positions)])
        unique = np.array([f"{row:03d}" for row in range(len(graph))])
        for documents in (unique, np.arange(len(graph))[::-1] + 100, *([ids] if len(np.unique(ids)) > 9 else [])):
            br.preferences.write_preferences(graph, path, documents)
            assert edges(br.preferences.read_preferences(path, graph.qid, documents)) == edges(graph)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("winner,loser\n0,1\n0,x\n", "row numbers"),
        ("winner,loser\n0,1\n0,1,3,4\n", "line 3|length"),
        ("winner,loser,weight\n0,1,heavy\n", "weight|heavy"),
        ("winner,loser,weight\n0,1,-2\n", r"weight\[0\] is -2"),
        ("0,1\n", "no column 'winner'"),
        ("", "No columns|empty"),
        ("winner,loser\n0,9\n", r"loser\[0\] is 9"),
    ],
)
def test_broken_files_are_errors_that_name_the_file(tmp_path, text, message):
    path = tmp_path / "pairs.csv"
    path.write_text(text)
    with pytest.raises(ValueError, match=message) as caught:
        br.preferences.read_preferences(path, [1, 1])
    assert "pairs.csv" in str(caught.value)


def test_a_missing_file_is_an_error_and_a_failed_write_leaves_the_old(tmp_path, monkeypatch):
    with pytest.raises(FileNotFoundError):
        br.preferences.read_preferences(tmp_path / "none.csv", [1, 1])
    path = tmp_path / "pairs.csv"
    br.preferences.write_preferences(PreferenceGraph([1, 1], [0], [1]), path)
    before = path.read_bytes()
    monkeypatch.setattr(pd.DataFrame, "to_csv", lambda self, name, **_: (open(name, "w").close(), 1 / 0))
    with pytest.raises(ZeroDivisionError):
        br.preferences.write_preferences(PreferenceGraph([1, 1], [1], [0]), path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]
