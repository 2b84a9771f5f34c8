"""Preference graphs: construction, slicing, disagreement, conflicts, tables and files, aggregation."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.stats import kendalltau
from sklearn.utils import _safe_indexing

import boostrank as br
from boostrank.metrics import agreement_score, auc_score
from boostrank.preferences import PreferenceGraph, aggregate, from_judgments, from_pairs

QID = ["b", "a", "b", "a", "b", "c"]


def random_graph(seed=0, n_queries=6, n_edges=60, weighted=True, shuffled=True):
    random = np.random.default_rng(seed)
    qid = np.repeat(np.arange(n_queries), random.integers(2, 7, n_queries))
    if shuffled:
        qid = random.permutation(qid)
    winner = random.integers(0, len(qid), n_edges)
    loser = np.array([random.choice([row for row in np.flatnonzero(qid == qid[w]) if row != w]) for w in winner])
    return PreferenceGraph(qid, winner, loser, random.random(n_edges) if weighted else None)


def edges(graph):
    return sorted(zip(graph.winner.tolist(), graph.loser.tolist(), graph.weights.tolist(), strict=True))


def disagreement_by_definition(graph, scores, tie):
    """Sum over edges, with what an edge between equal scores counts (a number, or a function of the edge)."""
    total = dict.fromkeys(graph.queries.ids.tolist(), 0.0)
    for winner, loser, weight in edges(graph):
        if scores[winner] < scores[loser]:
            total[graph.qid[winner]] += weight
        elif scores[winner] == scores[loser]:
            total[graph.qid[winner]] += weight * (tie(winner, loser) if callable(tie) else tie)
    return list(total.values())


@given(
    labels=st.lists(st.integers(0, 3), min_size=1, max_size=12),
    weight=st.sampled_from(["one", "labels", "gains"]),
    threshold=st.sampled_from([None, 1, 2.5]),
    seed=st.integers(0, 100),
)
def test_grades_give_all_ordered_pairs(labels, weight, threshold, seed):
    qid = np.random.default_rng(seed).integers(0, 3, len(labels))
    levels = labels if threshold is None else [float(label >= threshold) for label in labels]
    worth = {"one": None, "labels": levels, "gains": [2.0**level - 1 for level in levels]}[weight]
    expected = sorted(
        (i, j, 1.0 if worth is None else worth[i] - worth[j])
        for i in range(len(labels))
        for j in range(len(labels))
        if qid[i] == qid[j] and levels[i] > levels[j]
    )
    assert edges(PreferenceGraph.from_grades(labels, qid, weight=weight, threshold=threshold)) == expected


@pytest.mark.parametrize(
    ("ties", "tie"), [("average", 0.5), ("best", 0.0), ("worst", 1.0), ("stable", lambda winner, loser: winner > loser)]
)
@pytest.mark.parametrize("seed", range(5))
def test_disagreement_is_the_weight_of_the_edges_turned_round(ties, tie, seed):
    graph = random_graph(seed, weighted=seed % 2 == 0)
    scores = np.random.default_rng(seed).integers(0, 3, len(graph)) / 2
    expected = disagreement_by_definition(graph, scores, tie)
    np.testing.assert_allclose(graph.disagreement(scores, ties), expected, atol=1e-12)
    total = graph.total()
    np.testing.assert_allclose(total, disagreement_by_definition(graph, np.zeros(len(graph)), 1.0), atol=1e-12)
    agreement = agreement_score(graph, scores, ties=ties, per_query=True)
    np.testing.assert_allclose(agreement, 1 - np.array(expected) / np.where(total > 0, total, np.nan), atol=1e-12)
    assert agreement_score(graph, scores, ties=ties) == pytest.approx(np.nanmean(agreement))


def test_agreement_of_labels_is_auc_and_goes_with_kendall():
    random = np.random.default_rng(0)
    scores, binary = random.normal(size=30), random.integers(0, 2, 30)
    assert agreement_score(binary, scores) == pytest.approx(auc_score(binary, scores))
    labels = random.permutation(30)
    assert agreement_score(labels, scores) == pytest.approx((kendalltau(labels, scores)[0] + 1) / 2)


@pytest.mark.parametrize("ties", ["average", "stable", "best", "worst"])
def test_agreement_of_labels_is_that_of_their_graph(ties):
    random = np.random.default_rng(1)
    qid, labels, scores = random.integers(0, 20, 200), random.integers(0, 4, 200), random.integers(0, 5, 200)
    graph = PreferenceGraph.from_grades(labels, qid)
    ours = agreement_score(labels, scores, qid, ties=ties, per_query=True)
    np.testing.assert_allclose(ours, agreement_score(graph, scores, ties=ties, per_query=True))
    weights = random.random(200)[qid]
    ours = agreement_score(labels, scores, qid, ties=ties, sample_weight=weights)
    assert ours == pytest.approx(agreement_score(graph, scores, ties=ties, sample_weight=weights))


def test_weights_of_queries_and_empty_queries():
    graph = PreferenceGraph([1, 1, 2, 2, 3], winner=[0, 3], loser=[1, 2])
    scores = [2.0, 1.0, 2.0, 1.0, 0.0]
    assert agreement_score(graph, scores) == 0.5
    assert agreement_score(graph, scores, sample_weight=[3, 1, 5]) == 0.75
    assert agreement_score(graph, scores, sample_weight=[3, 3, 1, 1, 5], empty="zero") == pytest.approx(3 / 9)
    assert agreement_score(graph, scores, empty="one") == pytest.approx(2 / 3)
    assert np.isnan(agreement_score(graph, scores, per_query=True)[2])
    with pytest.raises(ValueError, match="query '3' has no preferences"):
        agreement_score(graph, scores, empty="raise")


@given(seed=st.integers(0, 1000))
def test_slicing_rows_keeps_the_edges_between_them(seed):
    graph = random_graph(seed)
    rows = np.random.default_rng(seed).permutation(len(graph))[: len(graph) // 2]
    place = {row: i for i, row in enumerate(rows.tolist())}
    expected = sorted((place[w], place[k], x) for w, k, x in edges(graph) if w in place and k in place)
    for part in (graph[rows], _safe_indexing(graph, rows), pickle.loads(pickle.dumps(graph))[rows]):
        assert edges(part) == expected
        assert part.qid.tolist() == graph.qid[rows].tolist()


def test_slices_and_masks():
    graph = PreferenceGraph(QID, winner=[0, 1, 2], loser=[2, 3, 4])
    mask = np.array([True, False, True, False, True, False])
    assert edges(graph[mask]) == edges(graph[::2]) == [(0, 1, 1.0), (1, 2, 1.0)]
    assert len(graph) == 6
    assert graph.shape == (6,)
    with pytest.raises(ValueError, match="repeated"):
        graph[[0, 0]]
    with pytest.raises(TypeError, match="slice"):
        graph[0]


def test_grouping_changes_nothing_but_the_order():
    graph = random_graph(3)
    grouped, order = graph.grouped, graph.queries.permutation
    assert (np.diff(grouped.winner) >= 0).all()
    assert sorted((order[w], order[k], x) for w, k, x in edges(grouped)) == edges(graph)
    assert grouped.grouped is grouped


def test_scipy_matrices_both_ways():
    matrix = sp.csr_array(np.array([[0, 2.0, 0], [0, 0, 0], [1, 0, 0]]))
    graph = PreferenceGraph.from_scipy(matrix, qid=[1, 1, 1])
    assert edges(graph) == [(0, 1, 2.0), (2, 0, 1.0)]
    assert (graph.to_scipy() != matrix).nnz == 0
    twice = PreferenceGraph([1, 1, 1], [0, 0], [1, 1], [1, 2]).to_scipy()
    assert twice.toarray()[0, 1] == 3
    with pytest.raises(ValueError, match=r"shape \(3, 3\)"):
        PreferenceGraph.from_scipy(matrix[:2], qid=[1, 1, 1])
    with pytest.raises(ValueError, match="ndarray"):
        PreferenceGraph.from_scipy(matrix.toarray(), qid=[1, 1, 1])


def test_conflicts_are_reported():
    graph = PreferenceGraph(
        ["x", "x", "x", "y", "y", "z", "z"], winner=[0, 1, 2, 3, 4, 3, 5], loser=[1, 2, 0, 4, 3, 4, 6]
    )
    contradictions, cyclic = graph.conflicts()
    assert contradictions.tolist() == [[3, 4]]
    assert cyclic.tolist() == ["x", "y"]
    calm = PreferenceGraph.from_grades([0, 1, 2, 2], [1, 1, 1, 1]).conflicts()
    assert len(calm.contradictions) == len(calm.cyclic_queries) == 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"winner": [0, 1]}, r"same length; got 2 and 1"),
        ({"winner": [1]}, r"edge 0, row 1 -> row 2, goes across queries 'a' and 'b'"),
        ({"winner": [2]}, r"edge 0, row 2 -> row 2, prefers a document to itself"),
        ({"winner": [-1]}, r"winner\[0\] is -1, but rows are numbered from 0 to 5"),
        ({"loser": [6]}, r"loser\[0\] is 6"),
        ({"loser": [2.0]}, r"row numbers; got shape \(1,\), dtype float64"),
        ({"loser": ["c"]}, r"from_pairs"),
        ({"weight": [-1]}, r"weight\[0\] is -1"),
        ({"weight": [np.nan]}, r"weight\[0\] is nan"),
        ({"weight": [np.inf]}, r"weight\[0\] is inf"),
        ({"weight": [1, 2]}, r"one number per edge, shape \(1,\); got \(2,\)"),
        ({"qid": [1, None, 1]}, r"qid\[1\] is None"),
        ({"qid": []}, r"qid must have one query id per row"),
    ],
)
def test_bad_edges_are_named(change, message):
    arguments = {"qid": QID, "winner": [0], "loser": [2]} | change
    with pytest.raises(ValueError, match=message):
        PreferenceGraph(**arguments)


@pytest.mark.parametrize("name", ["scores", "length", "ties", "qid", "infinite"])
def test_bad_scores_are_errors(name):
    graph = PreferenceGraph(QID, winner=[0], loser=[2])
    calls = {
        "scores": lambda: graph.disagreement([np.nan, 0, 0, 0, 0, 0]),
        "length": lambda: agreement_score(graph, [0.0, 1.0]),
        "ties": lambda: graph.disagreement(np.zeros(6), ties="half"),
        "qid": lambda: agreement_score(graph, np.zeros(6), qid=[1, 1, 1, 1, 1, 1]),
        "infinite": lambda: agreement_score(graph, [np.inf, 0, 0, 0, 0, 0]),
    }
    with pytest.raises(ValueError, match=r"score|ties|qid"):
        calls[name]()


def test_graphs_without_edges():
    graph = PreferenceGraph([1, 1, 2], [], [])
    assert graph.n_edges == 0
    assert graph.disagreement([1.0, 2.0, 3.0]).tolist() == [0.0, 0.0]
    assert aggregate(graph).scores.tolist() == [0.0, 0.0, 0.0]
    assert PreferenceGraph.from_grades([1, 1, 1], [1, 1, 2]).n_edges == 0
    with pytest.raises(ValueError, match="no query is left"):
        agreement_score(graph, [1.0, 2.0, 3.0])


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


@pytest.mark.parametrize("seed", range(4))
def test_aggregation_is_least_squares_on_the_edges(seed):
    graph = random_graph(seed)
    scores, disagreement = aggregate(graph)

    def squares(s):
        return graph.weights @ (1 - (s[graph.winner] - s[graph.loser])) ** 2

    assert squares(scores) <= minimize(squares, np.zeros(len(graph)), tol=1e-12).fun + 1e-9
    _, component = sp.csgraph.connected_components(graph.to_scipy(), directed=False)
    np.testing.assert_allclose(np.bincount(component, scores), 0, atol=1e-7)
    np.testing.assert_allclose(disagreement, 1 - agreement_score(graph, scores, per_query=True))


def test_aggregation_of_a_total_order_recovers_it():
    graph = PreferenceGraph.from_grades([2, 0, 3, 1], [1, 1, 1, 1])
    scores, disagreement = aggregate(graph)
    assert np.argsort(scores).tolist() == [1, 3, 0, 2]
    assert disagreement.tolist() == [0.0]
