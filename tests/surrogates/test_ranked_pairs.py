"""Weights of tied documents: held to the mean over all rankings that agree with the scores."""

import itertools
import math

import numpy as np
import pytest
from bound_losses import make_objective
from hypothesis import given
from hypothesis import strategies as st

from boostrank.core.queries import Queries
from boostrank.surrogates import ConsistentLambdaRank

TRUNCATIONS = [1, 2, 3, 5, 30, None]
SETTINGS = [
    *(ConsistentLambdaRank(truncation) for truncation in TRUNCATIONS),
    ConsistentLambdaRank(2, divide_by_distance=False, hessian="exact"),
]
every = pytest.mark.parametrize("surrogate", SETTINGS, ids=repr)
pytestmark = pytest.mark.usefixtures("implementation")


def rankings(scores):
    """The ranks of the documents of one query in all rankings that agree with the scores."""
    for order in itertools.permutations(range(len(scores))):
        if all(scores[better] >= scores[worse] for better, worse in itertools.pairwise(order)):
            yield {document: rank for rank, document in enumerate(order, start=1)}


def mean_weights(surrogate, scores):
    """The weight of each pair of documents of one query, by enumeration."""
    m, count = len(scores), 0
    truncation = m if surrogate.truncation is None else surrogate.truncation
    weights = np.zeros((m, m))
    for ranks in rankings(scores):
        count += 1
        for i, j in itertools.permutations(range(m), 2):
            if min(ranks[i], ranks[j]) <= truncation:
                weights[i, j] += abs(1 / math.log2(1 + ranks[i]) - 1 / math.log2(1 + ranks[j]))
    weights /= count
    if surrogate.divide_by_distance and max(scores) > min(scores):
        weights /= 0.01 + np.abs(np.subtract.outer(scores, scores))
    return weights


def by_enumeration(surrogate, scores, targets):
    """Loss, gradient and Hessian of one query."""
    weights, m, loss = mean_weights(surrogate, scores), len(scores), 0.0
    gradient, hessian = np.zeros(m), np.zeros(m)
    for i, j in itertools.permutations(range(m), 2):
        wins = 1 / (1 + math.exp(scores[j] - scores[i]))
        loss -= weights[i, j] * targets[i] * math.log(wins)
        gradient[i] += weights[i, j] * (targets[j] * wins - targets[i] * (1 - wins))
        hessian[i] += weights[i, j] * (targets[i] + targets[j]) * wins * (1 - wins)
    return loss, gradient, hessian * (2.0 if surrogate.hessian == "majorant" else 1.0)


def split(values, sizes):
    return np.split(values, np.cumsum(sizes)[:-1])


def assert_by_enumeration(surrogate, scores, targets, sizes):
    queries = Queries.from_sizes(sizes)
    parts = zip(split(scores, sizes), split(targets, sizes), strict=True)
    losses, *derivatives = zip(*(by_enumeration(surrogate, *part) for part in parts), strict=True)
    gradient, hessian = map(np.concatenate, derivatives)
    for one in (surrogate, surrogate.at(scores, queries)):
        np.testing.assert_allclose(one.loss(scores, targets, queries), losses, rtol=1e-10, atol=1e-12)
        for ours, expected in zip(one.gradient_hessian(scores, targets, queries), (gradient, hessian), strict=True):
            np.testing.assert_allclose(ours, expected, rtol=1e-9, atol=1e-11)


@every
@given(
    sizes=st.lists(st.integers(1, 5), min_size=1, max_size=6),
    n_levels=st.integers(1, 5),
    seed=st.integers(0, 10**6),
    scale=st.sampled_from([1e-3, 1.0, 30.0]),
)
@pytest.mark.slow
def test_weights_are_means_over_the_rankings(surrogate, sizes, n_levels, seed, scale):
    random, n = np.random.default_rng(seed), sum(sizes)
    scores = scale * random.integers(-1, n_levels - 1, n) * random.choice([1.0, -1.0])
    assert_by_enumeration(surrogate, scores, random.random(n) * random.integers(0, 2, n), sizes)


@pytest.mark.parametrize("n_pairs", [1, 5, 20, 60])
@every
def test_the_size_of_blocks_does_not_matter_to_ties(surrogate, n_pairs, monkeypatch):
    monkeypatch.setattr("boostrank.surrogates.ranked_pairs.BLOCK_PAIRS", n_pairs)
    random, sizes = np.random.default_rng(0), [6, 4, 6, 1, 6, 5, 2, 6, 3]
    n = sum(sizes)
    scores = random.integers(0, 3, n) * 1.0
    # Queries with and without ties, of the same sizes.
    scores[:6], scores[16:22] = random.permutation(6), random.permutation(6)
    assert_by_enumeration(surrogate, scores, random.random(n), sizes)


def test_weights_of_groups_across_the_truncation():
    # The ranks of the first three documents are 1 to 3, those of the others are 4 and 5.
    queries, scores = Queries.from_sizes([5]), np.array([1.0, 1, 1, 0, 0])
    d = [1 / math.log2(1 + rank) for rank in range(1, 6)]
    pairs = ConsistentLambdaRank(truncation=2, divide_by_distance=False).at(scores, queries)
    found = {frozenset(pair): w for *pair, w in zip(pairs.first, pairs.second, pairs.weight, strict=True)}
    within, across = ((d[0] - d[1]) + (d[0] - d[2]) + (d[1] - d[2])) / 3, (d[0] + d[1] - (d[3] + d[4])) / 3
    assert len(found) == 9
    for pair, weight in found.items():
        assert weight == pytest.approx(within if max(pair) < 3 else across, rel=1e-14)


def tied_sample(seed=0):
    """Queries of different sizes and numbers of ties; the rows of each are sorted by target."""
    random = np.random.default_rng(seed)
    sizes = np.array([40, 1, 40, 7, 36, 120, 2, 40, 33])
    queries = Queries.from_sizes(sizes)
    targets = random.random(sizes.sum()) * random.integers(0, 2, sizes.sum())
    targets = targets[queries.sort(targets)]
    scores = [
        random.integers(0, levels, size) / 4
        for levels, size in zip([1, 1, 9, 3, 80, 50, 1, 999, 2], sizes, strict=True)
    ]
    return np.concatenate(scores), targets, queries


@every
def test_permuting_documents_permutes_their_gradients(surrogate):
    random, (scores, targets, queries) = np.random.default_rng(1), tied_sample()
    permutation = queries.sort(random.random(len(scores)))
    assert (permutation != np.arange(len(scores))).mean() > 0.9
    one = surrogate.gradient_hessian(scores, targets, queries)
    other = surrogate.gradient_hessian(scores[permutation], targets[permutation], queries)
    for ours, permuted in zip(one, other, strict=True):
        np.testing.assert_allclose(permuted, ours[permutation], rtol=1e-12, atol=1e-12 * np.abs(ours).max())
    losses = surrogate.loss(scores.astype(np.float64), targets, queries)
    permuted = surrogate.loss(scores[permutation].astype(np.float64), targets[permutation], queries)
    np.testing.assert_allclose(permuted, losses, rtol=1e-12)


@every
def test_results_of_a_query_do_not_depend_on_ties_of_others(surrogate):
    scores, targets, queries = tied_sample()
    whole = surrogate.gradient_hessian(scores, targets, queries)
    for start, stop in itertools.pairwise(queries.indptr):
        rows, one = slice(start, stop), Queries.from_sizes([stop - start])
        for ours, alone in zip(whole, surrogate.gradient_hessian(scores[rows], targets[rows], one), strict=True):
            np.testing.assert_allclose(ours[rows], alone, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("normalize", ["dcg", "none"])
def test_the_scale_of_an_objective_does_not_depend_on_the_sequence_of_rows(normalize):
    random, queries = np.random.default_rng(2), Queries.from_sizes([40] * 30 + [7, 100])
    labels = random.choice(5, queries.n_documents, p=[0.7, 0.2, 0.06, 0.03, 0.01])
    by_label, shuffled = labels[queries.sort(-labels * 1.0)], labels[queries.sort(labels * 1.0)]
    scales = {
        make_objective("consistent-lambdarank", given, queries, normalize=normalize).scale
        for given in (labels, by_label, shuffled)
    }
    assert max(scales) == pytest.approx(min(scales), rel=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("truncation", [1, 30, None])
def test_a_query_of_equal_scores_has_one_weight_and_takes_little_time(truncation):
    # Its pairs, or those of a document of the first 30 ranks, would not fit into memory one by one.
    m = 1_000_000
    random, queries = np.random.default_rng(3), Queries.from_sizes([m])
    targets = random.random(m) * (random.random(m) < 0.01)
    gradient, hessian = ConsistentLambdaRank(truncation, hessian="exact").gradient_hessian(
        np.full(m, 0.3), targets, queries
    )
    discounts = 1 / np.log2(np.arange(2, m + 2))
    top, rest = truncation or m, np.cumsum(discounts[::-1])[::-1]
    ranks = np.arange(1, min(top, m - 1) + 1)
    weight = ((m - ranks) * discounts[ranks - 1] - rest[ranks]).sum() / (m * (m - 1) / 2)
    np.testing.assert_allclose(gradient, weight / 2 * (targets.sum() - m * targets), rtol=1e-8, atol=1e-8 * weight)
    np.testing.assert_allclose(hessian, weight / 4 * (targets.sum() + (m - 2) * targets), rtol=1e-8)


def test_weights_of_tied_documents_far_down_keep_their_digits():
    # All pairs count, and only the documents on the ranks 1001 and 1002 are tied.
    m, queries = 2000, Queries.from_sizes([2000])
    scores, targets = -np.arange(float(m)), np.zeros(m)
    scores[1001] = scores[1000]
    targets[1000] = 1.0
    gradient = ConsistentLambdaRank(truncation=None).gradient_hessian(scores, targets, queries)[0]
    gap = 1 / math.log2(1002) - 1 / math.log2(1003)
    assert gradient[1001] == pytest.approx(gap / 0.01 / 2, rel=1e-11)
