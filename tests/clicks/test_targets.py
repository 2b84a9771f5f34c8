"""Targets from clicks: their expectation over all sessions of every vector of relevances, rounding, and support."""

import math
from fractions import Fraction

import numpy as np
import pytest
from clicks.enumeration import binary_vectors, cascade_clicks, ideal, independent_clicks, normalized, subsets

from boostrank.clicks import (
    Cascade,
    ClickLabels,
    ClickLog,
    PositionBased,
    TrustBias,
    estimate_relevance,
    get_click_model,
    simulate_clicks,
)
from boostrank.clicks.targets import expect_without_each, means_of_sessions
from boostrank.queries.dcg import DCG, make_targets
from boostrank.queries.segments import Segments

P = np.array([0.9, 0.6, 0.3, 0.2])
TRUST = TrustBias(P, 0.9, [0.4, 0.3, 0.1, 0.0])


def one_session(clicks):
    m = len(clicks)
    return ClickLog(np.ones(m), np.arange(m), np.arange(1, m + 1), clicks, session=np.zeros(m))


def session_targets(log, model, dcg=None, clip=0.0):
    return means_of_sessions(log, get_click_model(model), dcg or DCG(), clip, "error")


def targets_by_clicks(model, k, m):
    """The targets of a session with each vector of clicks on m documents."""
    return {tuple(clicks): session_targets(one_session(clicks), model, dcg=DCG(k)) for clicks in binary_vectors(m)}


@pytest.mark.parametrize("k", [None, 1, 3])
@pytest.mark.parametrize("model", [PositionBased(P), TRUST])
def test_session_targets_are_unbiased_for_every_vector_of_relevances(model, k):
    a, b = model.affine(4)
    targets = targets_by_clicks(model, k, 4)
    for relevant in binary_vectors(4):
        mean = sum(weight * targets[tuple(clicks)] for clicks, weight in independent_clicks(a * relevant + b))
        np.testing.assert_allclose(mean, normalized(relevant, k), atol=1e-12)
        # The oracle of u agrees with the targets of labels.
        labels = make_targets(relevant, Segments.from_sizes([4]), DCG(k))
        np.testing.assert_allclose(normalized(relevant, k), labels)


@pytest.mark.parametrize("k", [None, 2])
@pytest.mark.parametrize("settings", [(0.6, 0.9), (0.0, 0.5), (0.3, 1.0)])
def test_cascade_targets_are_unbiased_for_every_vector_of_relevances(settings, k):
    targets = targets_by_clicks(Cascade(*settings), k, 5)
    for relevant in binary_vectors(5):
        mean = sum(weight * targets[tuple(clicks)] for clicks, weight in cascade_clicks(relevant, *settings))
        np.testing.assert_allclose(mean, normalized(relevant, k), atol=1e-12)


@pytest.mark.parametrize("k", [None, 2, 0.5])
def test_means_over_sessions_of_several_queries(k):
    random = np.random.default_rng(0)
    qid = np.array([1, 2, 2, 1, 2, 1, 1, 3])
    settings = {"n_sessions": [5, 7, 0], "policy": ("swap", 0.8), "depth": None, "random_state": 0}
    log = simulate_clicks(random.integers(0, 3, size=8), random.normal(size=8), qid, **settings).log
    sums, counts = np.zeros(8), np.zeros(8)
    for entries in map(slice, log.sessions.starts, log.sessions.ends):
        rows = log.row[entries]
        sums[rows] += session_targets(one_session(log.clicks[entries]), "position-based", dcg=DCG(k))
        counts[rows] += 1
    found = session_targets(log, "position-based", dcg=DCG(k))
    np.testing.assert_allclose(found[:7], sums[:7] / counts[:7], atol=1e-12)
    assert found[7] == 0.0


@pytest.mark.parametrize("k", [None, 1, 2, 0.4])
def test_independent_targets_are_the_expectation_over_independent_relevances(k):
    random = np.random.default_rng(1)
    qid = np.array([1, 2, 2, 1, 2, 1, 2, 2])
    clicks, impressions = random.integers(0, 5, size=8), np.full(8, 9)
    log = ClickLog(qid, np.arange(8), np.ones(8), clicks, impressions)
    found = ClickLabels(log, "position-based").targets(dcg=DCG(k))
    gamma = estimate_relevance(log, "position-based").relevance
    for query in (1, 2):
        rows = np.flatnonzero(qid == query)
        cutoff = int(np.ceil(0.4 * len(rows))) if k == 0.4 else k
        expected = sum(w * normalized(r, cutoff) for r, w in independent_clicks(gamma[rows]))
        np.testing.assert_allclose(found[rows], expected, atol=1e-12)
    np.testing.assert_array_equal(ClickLabels(log, "position-based", normalize="none").targets(), gamma)


def test_clipped_session_targets_have_the_expectation_at_thinned_relevances():
    relevant, tau = np.array([1, 1, 0, 1]), 0.5
    mean = sum(w * session_targets(one_session(c), P, clip=tau) for c, w in independent_clicks(P * relevant))
    kept = np.minimum(1.0, P / tau) * relevant
    expected = sum(w * normalized(r) for r, w in independent_clicks(kept))
    np.testing.assert_allclose(mean, expected, atol=1e-12)


@pytest.mark.parametrize(("n_clicks", "p"), [(20, 0.01), (26, 0.5), (60, 0.9), (8, 0.05)])
def test_many_clicks_have_targets_close_to_those_of_exact_arithmetic(n_clicks, p):
    found = session_targets(one_session([1] * n_clicks), [p] * n_clicks)
    t, h = 1 / Fraction(p), [Fraction(1 / ideal(n + 1)) for n in range(n_clicks)]
    m = n_clicks - 1
    exact = float(t * sum(math.comb(m, n) * t**n * (1 - t) ** (m - n) * h[n] for n in range(n_clicks)))
    np.testing.assert_allclose(found, exact, rtol=1e-3, atol=1e-3 / p)


@pytest.mark.parametrize(("n_clicks", "p"), [(50, 0.01), (400, 0.01), (40, 0.5), (50, 0.3)])
def test_clicks_whose_targets_are_lost_in_rounding_errors_are_named(n_clicks, p):
    row = np.append(0, np.arange(1, n_clicks + 1))
    position, session = np.append(1, row[1:]), np.repeat(["few", "many"], [1, n_clicks])
    log = ClickLog([0] + [1] * n_clicks, row, position, np.ones_like(row), session=session)
    with pytest.raises(ValueError, match=f"session 'many' has {n_clicks} clicks, .* lost in rounding errors"):
        session_targets(log, [p] * n_clicks)
    found = session_targets(log, [p] * n_clicks, clip=0.99)
    assert np.abs(found).max() < 2


def test_clicks_without_sessions_and_cascades_that_end_with_a_click_are_errors():
    log = one_session([1, 0])
    with pytest.raises(ValueError, match="needs a log of sessions"):
        session_targets(log.aggregate(), "position-based")
    with pytest.raises(ValueError, match="at most one click of a session"):
        session_targets(log, "cascade")


def by_subsets(values, table, i):
    others = [j for j in range(len(values)) if j != i]
    return sum(
        np.prod([values[j] if j in chosen else 1 - values[j] for j in others]) * table[len(chosen)]
        for chosen in subsets(others)
    )


@pytest.mark.parametrize("kind", ["probabilities", "signed"])
@pytest.mark.parametrize("max_weights", [1, 2_000_000])
def test_relevant_counts_of_lists_of_all_sizes(kind, max_weights, monkeypatch):
    monkeypatch.setattr("boostrank.clicks.targets.MAX_WEIGHTS", max_weights)
    random = np.random.default_rng(0)
    lists = Segments.from_sizes([1, 7, 2, 3, 7, 5, 1, 9])
    values = random.random(lists.n_rows) if kind == "probabilities" else random.normal(scale=3, size=lists.n_rows)
    h, cutoffs = random.random(9), random.integers(1, 12, lists.n_segments)
    found = expect_without_each(values, h, cutoffs, lists)
    for i, cutoff in enumerate(cutoffs):
        part = values[lists.starts[i] : lists.ends[i]]
        table = np.append(h[:cutoff], np.repeat(h[min(cutoff, 9) - 1], 9))
        expected = [by_subsets(part, table, j) for j in range(len(part))]
        np.testing.assert_allclose(found[lists.starts[i] : lists.ends[i]], expected, rtol=1e-9)
