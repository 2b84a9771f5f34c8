"""Pairs weighted by the current ranks: held to loops over pairs and exchanges of groups, and their
consistency."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import orders_by, slices

from boostrank.queries.queries import Queries
from boostrank.surrogates import ConsistentLambdaRank, LambdaMART

SETTINGS = [
    ConsistentLambdaRank(),
    ConsistentLambdaRank(truncation=None),
    ConsistentLambdaRank(truncation=1),
    ConsistentLambdaRank(truncation=3, divide_by_distance=False),
]
every = pytest.mark.parametrize("surrogate", SETTINGS, ids=repr)
with_and_without_the_library = pytest.mark.usefixtures("implementation")


def sigma(x):
    return 1.0 / (1.0 + math.exp(-x)) if x > -700 else 0.0


def softplus(x):
    return math.log1p(math.exp(-abs(x))) + max(x, 0.0)


def discount(rank):
    return 1 / math.log2(1 + rank)


def mean_weights(scores, truncation):
    """The mean difference of discounts of each pair of documents, over all rankings that agree with
    the scores."""
    weights = np.zeros((len(scores), len(scores)))
    rankings = list(orders_by(scores))
    for order in rankings:
        for (above, i), (below, j) in itertools.combinations(enumerate(order, start=1), 2):
            if above <= truncation:
                weights[i, j] += discount(above) - discount(below)
    return (weights + weights.T) / len(rankings)


def exchanged(upper, lower, truncation):
    """The change of discounts if the groups of these ranks exchange their places."""
    ranks = upper + lower
    if truncation >= ranks[-1]:
        after = ranks[len(lower) :]
        return sum(map(discount, upper)) - sum(map(discount, after))
    n_moved = min(len(upper), len(lower))
    moves = zip(upper[:n_moved], lower[len(lower) - n_moved :], strict=True)
    return sum(discount(old) - discount(new) for old, new in moves if old <= truncation)


def pair_weights(surrogate, scores):
    """The weight of each pair of documents of one query: in a group of equal scores the mean over
    all rankings, between groups the change of discounts by an exchange, for each pair."""
    m = len(scores)
    truncation = m if surrogate.truncation is None else surrogate.truncation
    weights = np.zeros((m, m))
    groups, ranks = [], itertools.count(1)
    for score in sorted(set(scores), reverse=True):
        members = [i for i in range(m) if scores[i] == score]
        groups.append((members, [next(ranks) for _ in members]))
    for (first, upper), (second, lower) in itertools.combinations(groups, 2):
        change = exchanged(upper, lower, truncation) / (len(first) * len(second))
        weights[np.ix_(first, second)] = weights[np.ix_(second, first)] = change
    for members, of_group in groups:
        differences = [
            discount(i) - discount(j)
            for i, j in itertools.combinations(of_group, 2)
            if i <= truncation
        ]
        if len(members) > 1:
            n_pairs = len(members) * (len(members) - 1) / 2
            weights[np.ix_(members, members)] = sum(differences) / n_pairs
    np.fill_diagonal(weights, 0.0)
    if surrogate.divide_by_distance and max(scores) > min(scores):
        weights /= 0.01 + np.abs(np.subtract.outer(scores, scores))
    return weights


def by_definition(surrogate, scores, targets):
    """Loss, gradient and Hessian of one query, pair by pair."""
    weights, m, loss = pair_weights(surrogate, scores), len(scores), 0.0
    gradient, diagonal = np.zeros(m), np.zeros(m)
    for i, j in itertools.permutations(range(m), 2):
        w, d = weights[i, j], scores[i] - scores[j]
        loss += w * targets[i] * softplus(-d)
        gradient[i] += w * (targets[j] * sigma(d) - targets[i] * sigma(-d))
        diagonal[i] += w * (targets[i] + targets[j]) * sigma(d) * sigma(-d)
    return loss, gradient, 2.0 * diagonal


def assert_by_definition(surrogate, scores, targets, sizes):
    queries = Queries.from_sizes(sizes)
    expected = [
        by_definition(surrogate, scores[part].tolist(), targets[part]) for part in slices(sizes)
    ]
    losses, gradients, hessians = zip(*expected, strict=True)
    for one in (surrogate, surrogate.at(scores, queries)):
        gradient, hessian = one.gradient_hessian(scores, targets, queries)
        np.testing.assert_allclose(
            one.loss(scores, targets, queries), losses, rtol=1e-10, atol=1e-12
        )
        np.testing.assert_allclose(gradient, np.concatenate(gradients), rtol=1e-9, atol=1e-11)
        np.testing.assert_allclose(hessian, np.concatenate(hessians), rtol=1e-9, atol=1e-11)
        assert (hessian >= 0.0).all()


@pytest.mark.slow
@with_and_without_the_library
@every
@given(
    sizes=st.lists(st.integers(1, 6), min_size=1, max_size=6)
    | st.lists(st.integers(7, 12), min_size=1, max_size=3),
    n_levels=st.integers(1, 5),
    seed=st.integers(0, 10**6),
    scale=st.sampled_from([1e-3, 1.0, 30.0, 1000.0]),
)
def test_results_are_those_of_the_loops(surrogate, sizes, n_levels, seed, scale):
    random, n = np.random.default_rng(seed), sum(sizes)
    scores = random.integers(-1, n_levels - 1, n) if max(sizes) < 9 else random.normal(size=n)
    targets = random.random(n) * random.integers(0, 2, n)
    assert_by_definition(surrogate, scale * scores * random.choice([1.0, -1.0]), targets, sizes)


@with_and_without_the_library
@pytest.mark.parametrize("n_pairs", [1, 7, 40])
@every
def test_the_size_of_blocks_does_not_matter(surrogate, n_pairs, monkeypatch):
    monkeypatch.setattr("boostrank.surrogates.rank_weighted.BLOCK_PAIRS", n_pairs)
    # Queries with and without ties, of the same sizes, and groups of several sizes.
    random, sizes = np.random.default_rng(0), [5, 4, 5, 1, 33, 9, 2, 5, 9, 33]
    scores = random.normal(size=sum(sizes))
    scores[5:15] = random.integers(0, 2, 10)
    scores[-33:] = random.integers(0, 5, 33)
    assert_by_definition(surrogate, scores, random.random(len(scores)), sizes)


@with_and_without_the_library
@every
def test_the_field_points_away_from_the_minimizer_everywhere(surrogate):
    random = np.random.default_rng(0)
    for m in (2, 3, 12):
        # The loss is linear in the targets, so that the gradient at expected targets is the
        # expected gradient.
        expected, one = random.uniform(0.01, 1.0, m), Queries.from_sizes([m])
        best = np.log(expected)
        for scale, start in itertools.product((1e-6, 0.1, 1.0, 10.0), (best, np.zeros(m), -best)):
            scores = start + scale * random.normal(size=m)
            away = (scores - scores.mean()) - (best - best.mean())
            assert surrogate.gradient_hessian(scores, expected, one)[0] @ away > 0.0
        np.testing.assert_allclose(
            surrogate.gradient_hessian(best + 3.0, expected, one)[0], 0.0, atol=1e-12
        )


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"truncation": 0}, "truncation must be None or an integer of at least 1; got 0"),
        ({"divide_by_distance": 1}, "divide_by_distance must be True or False; got 1"),
    ],
)
def test_wrong_settings_are_errors(settings, message):
    with pytest.raises(ValueError, match=message):
        ConsistentLambdaRank(**settings)


@pytest.mark.slow
@with_and_without_the_library
@pytest.mark.parametrize("truncation", [30, None])
def test_a_query_of_equal_scores_has_one_weight_and_takes_little_time(truncation):
    # Its pairs, or those of a document of the first 30 ranks, would not fit into memory one by one.
    m = 300_000
    random, queries = np.random.default_rng(3), Queries.from_sizes([m])
    targets = random.random(m) * (random.random(m) < 0.01)
    gradient, hessian = ConsistentLambdaRank(truncation).gradient_hessian(
        np.full(m, 0.3), targets, queries
    )
    discounts = 1 / np.log2(np.arange(2, m + 2))
    top, rest = truncation or m, np.cumsum(discounts[::-1])[::-1]
    ranks = np.arange(1, min(top, m - 1) + 1)
    weight = ((m - ranks) * discounts[ranks - 1] - rest[ranks]).sum() / (m * (m - 1) / 2)
    np.testing.assert_allclose(
        gradient, weight / 2 * (targets.sum() - m * targets), rtol=1e-8, atol=1e-8 * weight
    )
    np.testing.assert_allclose(hessian, weight / 2 * (targets.sum() + (m - 2) * targets), rtol=1e-8)


@with_and_without_the_library
def test_weights_of_tied_documents_far_down_keep_their_digits():
    # All pairs count, and only the documents on the ranks 1001 and 1002 are tied.
    m, queries = 2000, Queries.from_sizes([2000])
    scores, targets = -np.arange(float(m)), np.zeros(m)
    scores[1001] = scores[1000]
    targets[1000] = 1.0
    gradient = ConsistentLambdaRank(truncation=None).gradient_hessian(scores, targets, queries)[0]
    gap = 1 / math.log2(1002) - 1 / math.log2(1003)
    assert gradient[1001] == pytest.approx(gap / 0.01 / 2, rel=1e-11)


@with_and_without_the_library
@pytest.mark.parametrize(("n_first", "n_second"), [(1, 1), (1, 4), (4, 1), (2, 3), (3, 2), (8, 8)])
def test_near_a_tie_of_two_kinds_the_push_is_the_gain_of_an_exchange(n_first, n_second):
    """Theorem of the page theory/class_regret, for any numbers of documents of a kind."""
    random = np.random.default_rng(0)
    sizes = [2, n_first, n_second, 3]
    kind = np.repeat(np.arange(4), sizes)
    targets = random.random(len(kind))
    queries = Queries.from_sizes([len(kind)])
    x = 1e-5

    scores = np.array([5.0, x, 0.0, -5.0])[kind]
    gradient = ConsistentLambdaRank().gradient_hessian(scores, targets, queries)[0]
    push = -gradient[kind == 1].sum()

    def dcg(order_of_kinds):
        ranks, total = itertools.count(1), 0.0
        for one in order_of_kinds:
            discounts = [discount(next(ranks)) for _ in range(sizes[one])]
            total += np.mean(discounts) * targets[kind == one].sum()
        return total

    gain = dcg([0, 1, 2, 3]) - dcg([0, 2, 1, 3])
    assert push == pytest.approx(gain / (2 * (0.01 + x)), abs=2.0)


@pytest.mark.parametrize("truncation", [1, 3, None])
def test_weights_of_lambdamart_are_means_over_rankings(truncation):
    scores = np.array([0.5, 0.0, 0.5, 0.5, -1.0, 0.0])
    pairs = LambdaMART(truncation).at(scores, Queries.from_sizes([6]))
    found = np.zeros((6, 6))
    found[pairs.first, pairs.second] = found[pairs.second, pairs.first] = pairs.weight
    distances = 0.01 + np.abs(np.subtract.outer(scores, scores))
    np.testing.assert_allclose(found, mean_weights(scores.tolist(), truncation or 6) / distances)
