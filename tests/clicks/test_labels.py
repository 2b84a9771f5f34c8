"""Clicks as labels: targets, weights of queries, indexing by rows, rows without support, bad
input."""

import pickle

import numpy as np
import pytest
from clicks.enumeration import independent_clicks, normalized, subsets

import boostrank as br
from boostrank.clicks import (
    Cascade,
    ClickLog,
    TrustBias,
    diagnose,
    estimate_relevance,
    harvest_propensities,
)
from boostrank.clicks.targets import expect_without_each, targets_of_relevance
from boostrank.ndcg.dcg import DCG
from boostrank.ndcg.targets import make_targets
from boostrank.queries.segments import Segments

TRUST = TrustBias([1.0, 0.8, 0.6, 0.5], click_relevant=0.9, click_irrelevant=0.3)
QID = np.array(["b", "a", "a", "b", "a", "c", "c", "d"])


def simulated(n_sessions=(40, 80, 20, 0), model=(1.0, 0.8, 0.6, 0.5), seed=0):
    """A log of shuffled rows, in which the query "d" has no session; queries appear in the sequence
    b, a, c, d."""
    relevance = np.array([0.9, 0.1, 0.6, 0.2, 0.3, 0.0, 0.5, 0.4])
    return br.simulate_clicks(
        relevance, -np.arange(8.0), QID, model=model, n_sessions=list(n_sessions),
        policy=("swap", 0.7), depth=None, relevance=lambda y: y, random_state=seed,
    ).log  # fmt: skip


@pytest.mark.parametrize("k", [None, 1])
@pytest.mark.parametrize("normalize", ["independent", "none"])
@pytest.mark.parametrize(
    "model", [(1.0, 0.8, 0.6, 0.5), TRUST, Cascade(0.5)], ids=["positions", "trust", "cascade"]
)
def test_targets_are_those_of_estimates_within_bounds(model, normalize, k):
    log, dcg = simulated(model=model), DCG(k)
    labels = br.ClickLabels(log, model, normalize=normalize, clip=0.55)
    estimates = estimate_relevance(log, model, clip=0.55).relevance
    expected = targets_of_relevance(log.queries, np.clip(estimates, 0, 1), normalize, dcg)
    np.testing.assert_array_equal(labels.targets(dcg=dcg), expected)
    if model is TRUST:
        assert estimates.min() < 0  # Otherwise nothing is tested.


def test_weights_of_queries_are_numbers_of_sessions():
    log = simulated()
    assert br.ClickLabels(log, 1.0).query_weights.tolist() == pytest.approx(
        [40 / 140, 80 / 140, 20 / 140, 0]
    )
    counts = br.ClickLabels(log.aggregate(), 1.0).query_weights
    np.testing.assert_allclose(counts, br.ClickLabels(log, 1.0).query_weights)
    assert br.ClickLabels(log, 1.0, average="queries").query_weights.tolist() == pytest.approx(
        [1 / 3, 1 / 3, 1 / 3, 0]
    )


def test_rows_of_whole_queries_keep_their_targets():
    labels = br.ClickLabels(simulated(), (1.0, 0.8, 0.6, 0.5), average="queries")
    rows = np.array([6, 2, 4, 5, 1])
    part = labels[rows]
    assert (part.average, part.model, part.qid.tolist()) == (
        labels.average,
        labels.model,
        QID[rows].tolist(),
    )
    np.testing.assert_allclose(part.targets(), labels.targets()[rows])


def test_queries_without_sessions_need_no_support_and_other_rows_do():
    labels = br.ClickLabels(simulated(), (1.0, 0.8, 0.6, 0.5))
    assert labels.targets()[7] == 0  # Query "d" was never shown, and has the weight 0.
    log = ClickLog(["a", "a", "b"], row=[0], position=[1], clicks=[1], session=[0])
    with pytest.raises(ValueError, match=r"no support.*row 1 of query 'a'"):
        br.ClickLabels(log, 1.0).targets()
    shown = br.ClickLabels(log, 1.0, not_shown="irrelevant").targets()
    assert shown.tolist() == [1, 0, 0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"model": [1.0, 0.5]}, "propensities has 2 positions, but position 3 is used"),
        ({"model": "random"}, "model must be"),
        ({"model": Cascade(), "log": simulated().aggregate()}, "needs a log of sessions"),
        ({"normalize": "dcg"}, "normalize must be"),
        ({"clip": 1.0}, "clip must be"),
        ({"not_shown": "zero"}, "not_shown must be"),
        ({"average": "documents"}, "average must be"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        br.ClickLabels(**{"log": simulated(), "model": ("power", 1.0), **arguments})


@pytest.mark.parametrize(
    "function", [br.ClickLabels, estimate_relevance, harvest_propensities, diagnose]
)
def test_other_objects_are_no_log(function):
    with pytest.raises(TypeError, match="log must be a ClickLog; got list"):
        function([0, 1], *([1.0] if function in (br.ClickLabels, estimate_relevance) else []))


def test_they_are_no_array_of_numbers():
    labels = br.ClickLabels(simulated(), 1.0)
    with pytest.raises(
        ValueError, match="got ClickLabels: clicks are evaluated by the measure 'click-dcg@10'"
    ):
        np.asarray(labels)
    for use in (
        lambda y: br.ndcg_score(y, np.arange(8.0), QID),
        lambda y: br.evaluate(y, np.arange(8.0)),
    ):
        with pytest.raises(
            ValueError,
            match=r"^ndcg(@10)? needs relevance labels.*got ClickLabels.*'click-dcg(@10)?'",
        ):
            use(labels)
    with pytest.raises(ValueError, match="qid differs from the query ids of ClickLabels"):
        labels.check_qid(QID[::-1])
    labels.check_qid(QID.astype(object))


def test_pickle_and_text():
    labels = br.ClickLabels(simulated(), [1.0, 0.5, 0.2], clip=0.1)
    again = pickle.loads(pickle.dumps(labels))
    np.testing.assert_array_equal(again.targets(), labels.targets())
    assert repr(again) == repr(labels)
    assert repr(labels).endswith(
        "n_clicks=101), PositionBased(propensities=(1.0, 0.5, 0.2)), clip=0.1)"
    )
    assert len(labels) == 8
    assert labels.shape == (8,)


@pytest.mark.parametrize("k", [None, 1, 2, 0.4])
def test_independent_targets_are_the_expectation_over_independent_relevances(k):
    random = np.random.default_rng(1)
    qid = np.array([1, 2, 2, 1, 2, 1, 2, 2])
    clicks, impressions = random.integers(0, 5, size=8), np.full(8, 9)
    log = ClickLog(qid, np.arange(8), np.ones(8), clicks, impressions)
    found = br.ClickLabels(log, "position-based").targets(dcg=DCG(k))
    gamma = estimate_relevance(log, "position-based").relevance
    for query in (1, 2):
        rows = np.flatnonzero(qid == query)
        cutoff = int(np.ceil(0.4 * len(rows))) if k == 0.4 else k
        expected = sum(w * normalized(r, cutoff) for r, w in independent_clicks(gamma[rows]))
        np.testing.assert_allclose(found[rows], expected, atol=1e-12)
    np.testing.assert_array_equal(
        br.ClickLabels(log, "position-based", normalize="none").targets(), gamma
    )
    # The oracle of u agrees with the targets of labels.
    relevant = np.array([1, 0, 1, 1])
    labels = make_targets(relevant, Segments.from_sizes([4]), DCG(k))
    np.testing.assert_allclose(normalized(relevant, 2 if k == 0.4 else k), labels)


def by_subsets(values, table, i):
    others = [j for j in range(len(values)) if j != i]
    return sum(
        np.prod([values[j] if j in chosen else 1 - values[j] for j in others]) * table[len(chosen)]
        for chosen in subsets(others)
    )


@pytest.mark.parametrize("max_weights", [1, 2_000_000])
def test_relevant_counts_of_lists_of_all_sizes(max_weights, monkeypatch):
    monkeypatch.setattr("boostrank.clicks.targets.MAX_WEIGHTS", max_weights)
    random = np.random.default_rng(0)
    lists = Segments.from_sizes([1, 7, 2, 3, 7, 5, 1, 9])
    values, h, cutoffs = (
        random.random(lists.n_rows),
        random.random(9),
        random.integers(1, 12, lists.n_segments),
    )
    found = expect_without_each(values, h, cutoffs, lists)
    for i, cutoff in enumerate(cutoffs):
        part = values[lists.starts[i] : lists.ends[i]]
        table = np.append(h[:cutoff], np.repeat(h[min(cutoff, 9) - 1], 9))
        expected = [by_subsets(part, table, j) for j in range(len(part))]
        np.testing.assert_allclose(found[lists.starts[i] : lists.ends[i]], expected, rtol=1e-9)
