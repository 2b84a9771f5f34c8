"""`PreferenceGraph`: construction, slicing, disagreement, agreement as a measure, tables of pairs
and errors."""

import pickle

import numpy as np
import pandas as pd
import pytest
from cases import for_each
from hypothesis import given
from hypothesis import strategies as st
from measure_definitions import FUNCTIONS
from sklearn.utils import _safe_indexing

from boostrank.preferences import PreferenceGraph, from_pairs

QID = ["b", "a", "b", "a", "b", "c"]


def random_graph(seed, weighted=True):
    """A graph of several queries; edges may repeat and contradict each other."""
    random = np.random.default_rng(seed)
    qid = random.permutation(np.repeat(np.arange(6), random.integers(2, 7, 6)))
    winner = random.integers(0, len(qid), 60)
    loser = np.array(
        [random.choice([row for row in np.flatnonzero(qid == qid[w]) if row != w]) for w in winner]
    )
    return PreferenceGraph(qid, winner, loser, random.random(60) if weighted else None)


def edges(graph):
    """Winner, loser and weight of each edge, sorted."""
    return sorted(
        zip(graph.winner.tolist(), graph.loser.tolist(), graph.weights.tolist(), strict=True)
    )


def disagreement_by_definition(graph, scores, tie):
    """Sum over edges, with what an edge between equal scores counts (a number, or a function of the
    edge)."""
    total = dict.fromkeys(graph.queries.ids.tolist(), 0.0)
    for winner, loser, weight in edges(graph):
        if scores[winner] < scores[loser]:
            total[graph.qid[winner]] += weight
        elif scores[winner] == scores[loser]:
            total[graph.qid[winner]] += weight * (tie(winner, loser) if callable(tie) else tie)
    return list(total.values())


@given(
    labels=st.lists(st.integers(0, 3), min_size=1, max_size=12),
    seed=st.integers(0, 100),
)
def test_grades_give_all_ordered_pairs(labels, seed):
    qid = np.random.default_rng(seed).integers(0, 3, len(labels))
    expected = sorted(
        (i, j, 1.0)
        for i in range(len(labels))
        for j in range(len(labels))
        if qid[i] == qid[j] and labels[i] > labels[j]
    )
    assert edges(PreferenceGraph.from_grades(labels, qid)) == expected


@for_each(
    ("ties", "tie"),
    [
        ("average", 0.5),
        ("best", 0.0),
        ("worst", 1.0),
        ("stable", lambda winner, loser: winner > loser),
    ],
)
@for_each("seed", range(5))
def test_disagreement_is_the_weight_of_the_edges_in_the_wrong_order(ties, tie, seed):
    graph = random_graph(seed, weighted=seed % 2 == 0)
    scores = np.random.default_rng(seed).integers(0, 3, len(graph)) / 2
    expected = disagreement_by_definition(graph, scores, tie)
    np.testing.assert_allclose(graph.disagreement(scores, ties), expected, atol=1e-12)
    total = graph.total()
    np.testing.assert_allclose(
        total, disagreement_by_definition(graph, np.zeros(len(graph)), 1.0), atol=1e-12
    )
    agreement = FUNCTIONS["agreement"](graph, scores, ties=ties, per_query=True)
    np.testing.assert_allclose(
        agreement, 1 - np.array(expected) / np.where(total > 0, total, np.nan), atol=1e-12
    )
    assert FUNCTIONS["agreement"](graph, scores, ties=ties) == pytest.approx(np.nanmean(agreement))


@given(seed=st.integers(0, 1000))
def test_slicing_rows_keeps_the_edges_between_them(seed):
    graph = random_graph(seed)
    rows = np.random.default_rng(seed).permutation(len(graph))[: len(graph) // 2]
    place = {row: i for i, row in enumerate(rows.tolist())}
    expected = sorted(
        (place[w], place[k], x) for w, k, x in edges(graph) if w in place and k in place
    )
    for part in (graph[rows], _safe_indexing(graph, rows), pickle.loads(pickle.dumps(graph))[rows]):
        assert edges(part) == expected
        assert part.qid.tolist() == graph.qid[rows].tolist()


def test_slices_and_masks():
    graph = PreferenceGraph(QID, winner=[0, 1, 2], loser=[2, 3, 4])
    assert edges(graph[np.arange(6) % 2 == 0]) == edges(graph[::2]) == [(0, 1, 1.0), (1, 2, 1.0)]
    with pytest.raises(ValueError, match="repeated"):
        graph[[0, 0]]


def test_grouping_only_permutes_the_rows():
    graph = random_graph(3)
    grouped, order = graph.grouped, graph.queries.permutation
    assert (np.diff(grouped.winner) >= 0).all()
    assert sorted((order[w], order[k], x) for w, k, x in edges(grouped)) == edges(graph)
    assert grouped.grouped is grouped


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"winner": [0, 1]}, "loser has 1 values for the 2 rows of winner"),
        ({"winner": [1]}, r"edge 0, row 1 -> row 2, goes across queries 'a' and 'b'"),
        ({"winner": [2]}, r"edge 0, row 2 -> row 2, prefers a document to itself"),
        ({"winner": [-1]}, r"winner\[0\] is -1, but rows are numbered from 0 to 5"),
        ({"loser": [6]}, r"loser\[0\] is 6"),
        ({"loser": [2.0]}, r"row numbers; got shape \(1,\), dtype float64"),
        ({"loser": ["c"]}, r"from_pairs"),
        ({"weight": [-1]}, r"weight\[0\] is -1"),
        ({"weight": [np.nan]}, r"weight\[0\] is nan"),
        ({"weight": [np.inf]}, r"weight\[0\] is inf"),
        ({"weight": [1, 2]}, "weight has 2 values for the 1 rows of winner"),
        ({"qid": [1, None, 1]}, r"qid\[1\] is None"),
        ({"qid": []}, r"qid must be one query id per row"),
    ],
)
def test_bad_edges_are_named(change, message):
    arguments = {"qid": QID, "winner": [0], "loser": [2]} | change
    with pytest.raises(ValueError, match=message):
        PreferenceGraph(**arguments)


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (lambda graph: graph.disagreement([np.nan, 0, 0, 0, 0, 0]), r"scores\[0\] is nan"),
        (lambda graph: graph.disagreement(np.zeros(6), ties="half"), "ties must be one of"),
        (lambda graph: FUNCTIONS["agreement"](graph, [0.0, 1.0]), "y_score has 2 values"),
        (
            lambda graph: FUNCTIONS["agreement"](graph, np.zeros(6), qid=[1] * 6),
            "qid differs from the query ids of",
        ),
        (
            lambda graph: FUNCTIONS["agreement"](graph, [np.inf, 0, 0, 0, 0, 0]),
            r"y_score\[0\] is inf",
        ),
    ],
)
def test_bad_scores_are_errors(use, message):
    with pytest.raises(ValueError, match=message):
        use(PreferenceGraph(QID, winner=[0], loser=[2]))


def test_graphs_without_edges():
    graph = PreferenceGraph([1, 1, 2], [], [])
    assert graph.n_edges == 0
    assert graph.disagreement([1.0, 2.0, 3.0]).tolist() == [0.0, 0.0]
    assert PreferenceGraph.from_grades([1, 1, 1], [1, 1, 2]).n_edges == 0
    with pytest.raises(ValueError, match="no query is left"):
        FUNCTIONS["agreement"](graph, [1.0, 2.0, 3.0])


@pytest.mark.parametrize("ties", ["average", "stable", "best", "worst"])
def test_agreement_of_labels_is_that_of_their_graph(ties):
    random = np.random.default_rng(1)
    qid, labels, scores = (
        random.integers(0, 20, 200),
        random.integers(0, 4, 200),
        random.integers(0, 5, 200),
    )
    graph = PreferenceGraph.from_grades(labels, qid)
    ours = FUNCTIONS["agreement"](labels, scores, qid, ties=ties, per_query=True)
    np.testing.assert_allclose(
        ours, FUNCTIONS["agreement"](graph, scores, ties=ties, per_query=True)
    )
    weights = random.random(200)[qid]
    ours = FUNCTIONS["agreement"](labels, scores, qid, ties=ties, sample_weight=weights)
    assert ours == pytest.approx(
        FUNCTIONS["agreement"](graph, scores, ties=ties, sample_weight=weights)
    )


def test_agreement_with_weights_of_queries_and_empty_queries():
    graph = PreferenceGraph([1, 1, 2, 2, 3], winner=[0, 3], loser=[1, 2])
    scores = [2.0, 1.0, 2.0, 1.0, 0.0]
    assert FUNCTIONS["agreement"](graph, scores) == 0.5
    assert FUNCTIONS["agreement"](graph, scores, sample_weight=[3, 1, 5]) == 0.75
    assert FUNCTIONS["agreement"](
        graph, scores, sample_weight=[3, 3, 1, 1, 5], empty="zero"
    ) == pytest.approx(3 / 9)
    assert FUNCTIONS["agreement"](graph, scores, empty="one") == pytest.approx(2 / 3)
    assert np.isnan(FUNCTIONS["agreement"](graph, scores, per_query=True)[2])
    with pytest.raises(ValueError, match="query '3' has no preferences"):
        FUNCTIONS["agreement"](graph, scores, empty="raise")


def test_pairs_by_ids_of_documents():
    pairs = pd.DataFrame(
        {"qid": ["a", "b"], "winner": ["d2", "x"], "loser": ["d1", "d3"], "weight": [2, 0.5]}
    )
    qid, documents = ["a", "a", "b", "b", "b", "b"], ["d1", "d2", "d3", "d1", "d2", "x"]
    assert edges(from_pairs(pairs, qid, documents)) == [(1, 0, 2.0), (5, 2, 0.5)]
    assert edges(from_pairs({"winner": [7], "loser": [9]}, [1, 1, 1], [9, 8, 7])) == [(2, 0, 1.0)]
    assert edges(from_pairs({"winner": [0], "loser": [2]}, [1, 1, 1])) == [(0, 2, 1.0)]


@pytest.mark.parametrize(
    ("pairs", "documents", "message"),
    [
        ({"winner": ["d1"]}, ["d1", "d2"], r"no column 'loser'; its columns are \['winner'\]"),
        (
            {"winner": ["d1"], "loser": ["d7"]},
            ["d1", "d2"],
            "no row of X has the document 'd7' of line 0",
        ),
        (
            {"winner": ["d1"], "loser": ["d2"]},
            ["d1", "d1"],
            "several rows of X have the document 'd1': add a column",
        ),
        (
            {"winner": ["d1"], "loser": ["d2"]},
            ["d1"],
            "documents has 1 values for the 2 rows of qid",
        ),
        (
            {"winner": ["d1"], "loser": ["d2"]},
            None,
            "winner must be a one-dimensional array of row numbers",
        ),
        (
            {"winner": ["d1"], "loser": ["d2"], "qid": [4]},
            ["d1", "d2"],
            "no row of X has the query '4' and the docum",
        ),
    ],
)
def test_bad_pairs_are_errors(pairs, documents, message):
    with pytest.raises(ValueError, match=message):
        from_pairs(pairs, [1, 1], documents)
