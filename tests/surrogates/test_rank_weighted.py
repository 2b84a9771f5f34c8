"""Pairs weighted by the current ranks: held to a double loop, and the field that their consistency rests on."""

import math

import numpy as np
import pytest
from cases import for_each
from hypothesis import given
from hypothesis import strategies as st

from boostrank.core.queries import Queries
from boostrank.surrogates import ConsistentLambdaRank, PairwiseLogistic, check

SETTINGS = [
    ConsistentLambdaRank(),
    ConsistentLambdaRank(truncation=None),
    ConsistentLambdaRank(truncation=1),
    ConsistentLambdaRank(truncation=3, divide_by_distance=False),
    ConsistentLambdaRank(truncation=4, hessian="exact"),
]
every = pytest.mark.parametrize("surrogate", SETTINGS, ids=repr)
with_and_without_the_library = pytest.mark.usefixtures("implementation")


def sigma(x):
    return 1.0 / (1.0 + math.exp(-x)) if x > -700 else 0.0


def softplus(x):
    return math.log1p(math.exp(-abs(x))) + max(x, 0.0)


def weight_of_pair(surrogate, scores, ranks, i, j):
    """The weight of documents i and j of one query."""
    if surrogate.truncation is not None and min(ranks[i], ranks[j]) > surrogate.truncation:
        return 0.0
    gap = abs(1 / math.log2(1 + ranks[i]) - 1 / math.log2(1 + ranks[j]))
    divided = surrogate.divide_by_distance and max(scores) > min(scores)
    return gap / (0.01 + abs(scores[i] - scores[j])) if divided else gap


def by_definition(surrogate, scores, targets):
    """Loss, gradient and diagonal of the Hessian of one query without ties, pair by pair."""
    m, loss = len(scores), 0.0
    ranks = [1 + sum(other > score for other in scores) for score in scores]
    gradient, diagonal = np.zeros(m), np.zeros(m)
    for i in range(m):
        for j in range(i):
            w, d = weight_of_pair(surrogate, scores, ranks, i, j), scores[i] - scores[j]
            loss += w * (targets[i] * softplus(-d) + targets[j] * softplus(d))
            slope = w * (targets[j] * sigma(d) - targets[i] * sigma(-d))
            gradient[i] += slope
            gradient[j] -= slope
            diagonal[[i, j]] += w * (targets[i] + targets[j]) * sigma(d) * sigma(-d)
    return loss, gradient, diagonal


def split(values, sizes):
    return np.split(values, np.cumsum(sizes)[:-1])


def assert_by_definition(surrogate, scores, targets, sizes):
    queries = Queries.from_sizes(sizes)
    expected = [by_definition(surrogate, *one) for one in zip(split(scores, sizes), split(targets, sizes), strict=True)]
    losses, gradients, diagonals = zip(*expected, strict=True)
    factor = 2.0 if surrogate.hessian == "majorant" else 1.0
    gradient, hessian = surrogate.gradient_hessian(scores, targets, queries)
    np.testing.assert_allclose(surrogate.loss(scores, targets, queries), losses, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(gradient, np.concatenate(gradients), rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(hessian, factor * np.concatenate(diagonals), rtol=1e-9, atol=1e-11)
    assert (hessian >= 0.0).all()


@with_and_without_the_library
@every
@given(
    sizes=st.lists(st.integers(1, 12), min_size=1, max_size=6),
    seed=st.integers(0, 10**6),
    scale=st.sampled_from([1e-3, 1.0, 30.0, 1000.0]),
)
def test_results_are_those_of_the_double_loop(surrogate, sizes, seed, scale):
    random, n = np.random.default_rng(seed), sum(sizes)
    targets = random.random(n) * random.integers(0, 2, n)
    assert_by_definition(surrogate, random.normal(size=n) * scale, targets, sizes)


@pytest.mark.parametrize("n_pairs", [1, 7, 40, 300])
@every
def test_the_size_of_blocks_does_not_matter(surrogate, n_pairs, monkeypatch):
    monkeypatch.setattr("boostrank.surrogates.ranked_pairs.BLOCK_PAIRS", n_pairs)
    random, sizes = np.random.default_rng(0), [9, 40, 1, 2, 9, 33, 10]
    n = sum(sizes)
    assert_by_definition(surrogate, random.normal(size=n), random.random(n), sizes)


@with_and_without_the_library
@every
def test_weights_at_scores_stay_those_of_these_scores(surrogate):
    random, sizes = np.random.default_rng(1), [5, 1, 11, 3]
    queries, n = Queries.from_sizes(sizes), sum(sizes)
    scores, others, targets = random.normal(size=n), 3.0 * random.normal(size=n), random.random(n)
    # Ties have the same weights.
    scores[:4] = scores[-3:] = 0.5
    fixed = surrogate.at(scores, queries)
    np.testing.assert_allclose(fixed.loss(scores, targets, queries), surrogate.loss(scores, targets, queries))
    for ours, theirs in zip(
        fixed.gradient_hessian(scores, targets, queries),
        surrogate.gradient_hessian(scores, targets, queries),
        strict=True,
    ):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)
    assert (fixed.weight > 0.0).all()
    assert not np.allclose(fixed.loss(others, targets, queries), surrogate.loss(others, targets, queries))
    # The derivative of the loss with these weights, and of no other, is the gradient.
    step = 1e-6 * random.normal(size=n)
    rise = fixed.loss(others + step, targets, queries) - fixed.loss(others - step, targets, queries)
    slope = queries.sum(2.0 * step * fixed.gradient_hessian(others, targets, queries)[0])
    np.testing.assert_allclose(rise, slope, rtol=1e-5, atol=1e-12)
    assert fixed.at(others, queries) is fixed
    assert PairwiseLogistic().at(others, queries) == PairwiseLogistic()


def test_the_weights_of_lambdarank():
    # The ranks of the three documents are 2, 1 and 3.
    scores, queries = np.array([1.0, 3.0, 0.5]), Queries.from_sizes([3])
    gaps = {(0, 1): 1 - 1 / math.log2(3), (0, 2): 1 / math.log2(3) - 0.5, (1, 2): 0.5}
    for truncation, divide in ((30, True), (30, False), (1, False)):
        pairs = ConsistentLambdaRank(truncation, divide).at(scores, queries)
        found = {tuple(sorted(pair)): w for *pair, w in zip(pairs.first, pairs.second, pairs.weight, strict=True)}
        assert set(found) == set(gaps) - ({(0, 2)} if truncation == 1 else set())
        for (i, j), weight in found.items():
            assert weight == pytest.approx(gaps[i, j] / (0.01 + abs(scores[i] - scores[j]) if divide else 1.0))


@every
@for_each("m", [2, 3, 7, 40])
def test_weights_connect_the_documents(surrogate, m):
    random = np.random.default_rng(m)
    for scores in (random.normal(size=m), np.zeros(m), 1e4 * random.normal(size=m), random.integers(0, 2, m) * 1.0):
        pairs = surrogate.at(scores, Queries.from_sizes([m]))
        assert (pairs.weight > 0.0).all()
        connected = {0}
        for _ in range(m):
            both = zip(pairs.first.tolist(), pairs.second.tolist(), strict=True)
            connected |= {document for pair in both if connected & set(pair) for document in pair}
        assert connected == set(range(m))


@with_and_without_the_library
def test_a_query_of_equal_scores_is_not_divided_by_the_distance():
    queries, targets = Queries.from_sizes([4, 4]), np.array([1.0, 0, 0, 0] * 2)
    scores = np.array([2.0, 2, 2, 2, 2, 2, 2, 1])
    undivided = ConsistentLambdaRank(divide_by_distance=False).gradient_hessian(scores, targets, queries)
    for ours, theirs in zip(ConsistentLambdaRank().gradient_hessian(scores, targets, queries), undivided, strict=True):
        np.testing.assert_array_equal(ours[:4], theirs[:4])
        assert (np.abs(ours[4:7]) > 10 * np.abs(theirs[4:7])).all()


def field(surrogate, expected):
    """The expected gradient of one query, a function of its scores; the loss is linear in the targets."""
    one = Queries.from_sizes([len(expected)])
    return lambda scores: surrogate.gradient_hessian(scores, expected, one)[0]


@with_and_without_the_library
@every
def test_the_field_points_away_from_the_minimizer_everywhere(surrogate):
    random = np.random.default_rng(0)
    for m in (2, 3, 5, 12):
        for scale in (1e-6, 0.1, 1.0, 10.0):
            expected = random.uniform(0.01, 1.0, m)
            best, scores = np.log(expected), None
            for start in (best, np.zeros(m), -best):
                scores = start + scale * random.normal(size=m)
                gradient = field(surrogate, expected)(scores)
                away = (scores - scores.mean()) - (best - best.mean())
                assert gradient @ away > 0.0
            np.testing.assert_allclose(field(surrogate, expected)(best + 3.0), 0.0, atol=1e-12)


@every
def test_newton_steps_of_at_most_a_half_do_not_increase_the_loss_of_the_step(surrogate):
    random, queries = np.random.default_rng(2), Queries.from_sizes([8, 3, 40])
    targets, largest = random.random(51) * random.integers(0, 2, 51), []
    scores = random.normal(size=51)
    for _ in range(30):
        fixed = surrogate.at(scores, queries)
        gradient, hessian = surrogate.gradient_hessian(scores, targets, queries)
        majorant = hessian * (2.0 if surrogate.hessian == "exact" else 1.0)
        before, step = fixed.loss(scores, targets, queries), -gradient / np.maximum(majorant, 1e-12)
        scores = scores + np.clip(step, -0.5, 0.5)
        largest.append(np.abs(step).max())
        assert (fixed.loss(scores, targets, queries) <= before + 1e-12).all()
    assert max(largest) > 1.0


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"truncation": 0}, "truncation must be None or an integer of at least 1; got 0"),
        ({"truncation": 2.0}, "truncation must be None or an integer"),
        ({"truncation": True}, "truncation must be None or an integer"),
        ({"divide_by_distance": 1}, "divide_by_distance must be True or False; got 1"),
        ({"hessian": "diagonal"}, "hessian must be"),
    ],
)
def test_wrong_settings_are_errors(settings, message):
    with pytest.raises(ValueError, match=message):
        ConsistentLambdaRank(**settings)


@with_and_without_the_library
def test_long_queries_need_little_memory():
    random = np.random.default_rng(0)
    n = 5_000
    targets, queries = random.random(n) * (random.random(n) < 0.01), Queries.from_sizes([n])
    for surrogate in (ConsistentLambdaRank(), ConsistentLambdaRank(truncation=None)):
        gradient, hessian = surrogate.gradient_hessian(random.normal(size=n), targets, queries)
        assert gradient.sum() == pytest.approx(0.0, abs=1e-9 * np.abs(gradient).sum())
        assert (hessian > 0).all()


@with_and_without_the_library
def test_scores_that_are_very_low_are_ranked_before_entries_that_are_no_documents():
    # The matrix of a query of 9 documents has 10 columns.
    random, queries = np.random.default_rng(4), Queries.from_sizes([9])
    scores, targets = random.permutation(9) * -1e37, random.random(9)
    surrogate = ConsistentLambdaRank(truncation=3)
    expected = by_definition(surrogate, scores.astype(float).tolist(), targets)[1] * 1e37
    gradient = surrogate.gradient_hessian(scores, targets, queries)[0].astype(float) * 1e37
    assert np.abs(expected).max() > 0.1
    np.testing.assert_allclose(gradient, expected, rtol=1e-5, atol=1e-5)


class OtherAt(ConsistentLambdaRank):
    """Its gradient has other weights than the loss that it says it is the gradient of."""

    def at(self, scores, queries):
        return ConsistentLambdaRank(truncation=None, divide_by_distance=False).at(scores, queries)


class NotReweighted(ConsistentLambdaRank):
    """Its gradient is that for fixed weights, but it does not say so."""

    def at(self, scores, queries):
        return self


def test_the_laws_hold_at_to_the_gradient():
    with pytest.raises(ValueError, match=r"at the scores that at\(\) is given, its loss, gradient or Hessian differs"):
        check(OtherAt())
    with pytest.raises(ValueError, match="the gradient is not the derivative of the loss"):
        check(NotReweighted())
