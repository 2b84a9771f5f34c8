"""The benchmark of clicks: its logs, what the methods are trained on, the grid, and the numbers of the table."""

import importlib.util
import itertools
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

FOLDER = Path(__file__).parents[2] / "benchmarks"
with pytest.MonkeyPatch.context() as patch:
    patch.syspath_prepend(FOLDER)
    methods = importlib.import_module("clicks_methods")
    # There is a folder of tests with the name clicks.
    spec = importlib.util.spec_from_file_location("clicks_benchmark", FOLDER / "clicks.py")
    benchmark = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(benchmark)


@pytest.fixture
def _small(monkeypatch):
    """Few rounds, and as few queries as allow splits with one in a hundred."""
    monkeypatch.setattr(methods, "SYNTHETIC_QUERIES", 400)
    monkeypatch.setattr(methods, "ROUNDS", 3)
    monkeypatch.setattr(methods, "N_TREES", 2)
    caches = (methods.read_part, methods.logging_policy)
    for function in caches:
        function.cache_clear()
    yield
    for function in caches:
        function.cache_clear()


@pytest.mark.usefixtures("_small")
@pytest.mark.parametrize("policy", methods.POLICIES)
def test_log_has_the_clicks_and_lists_of_its_policy(policy):
    train, test = methods.read_part("synthetic", 0)
    assert not set(train.qid) & set(test.qid)
    log = methods.simulate("synthetic", 0, policy, "position-based", 2_000, 3)
    assert 1_800 < log.n_clicks < 2_200
    assert np.array_equal(log.qid, train.qid)
    assert log.n_positions == methods.DEPTH
    lists = {}
    for session in range(log.n_sessions):
        part = slice(*log.sessions.indptr[session : session + 2])
        lists.setdefault(log.query[part.start], set()).add(tuple(log.row[part]))
    n_lists = [len(different) for different in lists.values()]
    assert (max(n_lists) > 2) if policy == "random" else (max(n_lists) == 2)
    again = methods.simulate("synthetic", 0, policy, "position-based", 2_000, 3)
    assert np.array_equal(again.clicks, log.clicks)
    assert np.array_equal(again.row, log.row)


@pytest.mark.usefixtures("_small")
def test_a_good_policy_does_not_rank_the_queries_it_learned_from(monkeypatch):
    train, _ = methods.read_part("synthetic", 0)
    learned = []

    def remember(dataset, seed):
        learned.append(set(dataset.qid))
        return SimpleNamespace(predict=lambda X: np.full(len(X), len(learned)))

    monkeypatch.setattr(methods, "fit_on_labels", remember)
    methods.logging_policy.cache_clear()
    scores, _ = methods.logging_policy("synthetic", 0, "good", 0)
    assert learned[0] | learned[1] == set(train.qid)
    assert not learned[0] & learned[1]
    # Scores are the number of the ranker: queries that the first one learned from are ranked by the second one.
    first = np.isin(train.qid, list(learned[0]))
    assert (np.round(scores[0][first]) == 2).all()
    assert (np.round(scores[0][~first]) == 1).all()


@pytest.mark.usefixtures("_small")
def test_libraries_get_single_sessions_with_clicks():
    log = methods.simulate("synthetic", 0, "weak", "cascade", 500, 0)
    all_sessions, few = (
        methods.Experiment("synthetic", 0, "weak", "cascade", 500, 0, n).some_sessions() for n in (10_000, 50)
    )
    assert len(few[3]) == 50
    assert len(all_sessions[3]) == np.count_nonzero(log.sessions.sum(log.clicks))
    for row, position, clicks, sizes in (all_sessions, few):
        assert len(row) == sizes.sum()
        ends = np.cumsum(sizes)
        for start, end in itertools.pairwise([0, *ends]):
            assert position[start:end].tolist() == list(range(1, end - start + 1))
            # A session of this cascade ends with the first click.
            assert clicks[start:end].sum() == 1
    assert all_sessions[2].sum() == log.n_clicks


def entries_of(row, position, clicks, sizes):
    """The rows, positions and clicks of each session."""
    parts = np.split(np.stack([row, position, clicks], axis=1), np.cumsum(sizes)[:-1])
    return [tuple(map(tuple, part.tolist())) for part in parts]


@pytest.mark.usefixtures("_small")
def test_different_sessions_have_the_frequencies_of_all_sessions():
    experiment = methods.Experiment("synthetic", 0, "weak", "position-based", 3_000, 0, 10_000)
    *columns, counts = experiment.different_sessions()
    assert dict(zip(entries_of(*columns), counts.tolist(), strict=True)) == Counter(
        entries_of(*experiment.some_sessions())
    )
    assert counts.max() > 3
    experiment.max_sessions = 20
    *columns, counts = experiment.different_sessions()
    assert len(columns[3]) == len(counts) == 20


@pytest.mark.slow
@pytest.mark.usefixtures("_small")
def test_jobs_have_a_value_of_each_method():
    values = {}
    for group, ways in methods.METHODS.items():
        record = benchmark.run("synthetic", 0, "weak", "position-based", 3_000, 0, group, 1_000)
        assert list(record["ndcg@10"]) == list(ways)
        assert record["logged"] > 2_500
        values.update(record["ndcg@10"])
    assert all(0.4 < value < 1 for value in values.values())
    # Corrections, targets and libraries differ.
    assert len(set(values.values())) > 7
    labels = benchmark.run("synthetic", 0, "weak", "position-based", 0, 0, "labels", 0)
    assert list(labels["ndcg@10"]) == [benchmark.FULL, benchmark.LOGGED]


@pytest.mark.usefixtures("_small")
def test_estimated_propensities_are_near_the_truth():
    experiment = methods.Experiment("synthetic", 0, "weak", "position-based", 20_000, 0, 1_000)
    assert abs(experiment.estimated("harvested").affine(2)[0][1] - 0.5) < 0.1


def test_differences_are_to_full_labels_of_the_same_fold_and_seed():
    results = []
    differences = [0.1, 0.2, 0.4]
    for fold, difference in enumerate(differences):
        about = {"data": "d", "fold": fold, "seed": 0, "policy": "weak", "model": "position-based", "logged": 5}
        full = 0.7 + 0.05 * fold
        results.append({**about, "clicks": 0, "ndcg@10": {benchmark.FULL: full, benchmark.LOGGED: 0.3}})
        results.append({**about, "clicks": 100, "ndcg@10": {"naive clicks": full - difference}})
    table = benchmark.summarize(benchmark.tidy(results)).set_index("method")
    row = table.loc["naive clicks"]
    assert row["runs"] == 3
    assert np.isclose(row["difference"], -np.mean(differences))
    assert np.isclose(row["ndcg@10"], 0.75 - np.mean(differences))
    low, high = stats.t.interval(0.95, 2, -np.mean(differences), stats.sem(differences))
    assert np.allclose([row["low"], row["high"]], [low, high])
    assert table.loc[benchmark.FULL, "difference"] == 0
    assert list(table.index) == [benchmark.FULL, benchmark.LOGGED, "naive clicks"]
