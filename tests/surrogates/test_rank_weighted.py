"""Pairs weighted by the current ranks: held to a double loop over all rankings of ties, and their consistency."""

import itertools
import math

import numpy as np
import pytest
from bound_losses import make_objective
from cases import for_each
from hypothesis import given
from hypothesis import strategies as st
from oracles import orders_by, slices

from boostrank.queries.queries import Queries
from boostrank.surrogates import ConsistentLambdaRank, PairwiseLogistic, check

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


def mean_weights(surrogate, scores):
    """The weight of each pair of documents of one query: the mean over all rankings that agree with the scores."""
    m, rankings = len(scores), list(orders_by(scores))
    truncation = m if surrogate.truncation is None else surrogate.truncation
    weights = np.zeros((m, m))
    for order in rankings:
        for (above, i), (below, j) in itertools.combinations(enumerate(order, start=1), 2):
            if above <= truncation:
                weights[i, j] += 1 / math.log2(1 + above) - 1 / math.log2(1 + below)
    weights = (weights + weights.T) / len(rankings)
    if surrogate.divide_by_distance and max(scores) > min(scores):
        weights /= 0.01 + np.abs(np.subtract.outer(scores, scores))
    return weights


def by_definition(surrogate, scores, targets):
    """Loss, gradient and Hessian of one query, pair by pair."""
    weights, m, loss = mean_weights(surrogate, scores), len(scores), 0.0
    gradient, diagonal = np.zeros(m), np.zeros(m)
    for i, j in itertools.permutations(range(m), 2):
        w, d = weights[i, j], scores[i] - scores[j]
        loss += w * targets[i] * softplus(-d)
        gradient[i] += w * (targets[j] * sigma(d) - targets[i] * sigma(-d))
        diagonal[i] += w * (targets[i] + targets[j]) * sigma(d) * sigma(-d)
    return loss, gradient, 2.0 * diagonal


def assert_by_definition(surrogate, scores, targets, sizes):
    queries = Queries.from_sizes(sizes)
    expected = [by_definition(surrogate, scores[part].tolist(), targets[part]) for part in slices(sizes)]
    losses, gradients, hessians = zip(*expected, strict=True)
    for one in (surrogate, surrogate.at(scores, queries)):
        gradient, hessian = one.gradient_hessian(scores, targets, queries)
        np.testing.assert_allclose(one.loss(scores, targets, queries), losses, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(gradient, np.concatenate(gradients), rtol=1e-9, atol=1e-11)
        np.testing.assert_allclose(hessian, np.concatenate(hessians), rtol=1e-9, atol=1e-11)
        assert (hessian >= 0.0).all()


@pytest.mark.slow
@with_and_without_the_library
@every
@given(
    sizes=st.lists(st.integers(1, 6), min_size=1, max_size=6) | st.lists(st.integers(7, 12), min_size=1, max_size=3),
    n_levels=st.integers(1, 5),
    seed=st.integers(0, 10**6),
    scale=st.sampled_from([1e-3, 1.0, 30.0, 1000.0]),
)
def test_results_are_those_of_the_double_loop_over_all_rankings(surrogate, sizes, n_levels, seed, scale):
    random, n = np.random.default_rng(seed), sum(sizes)
    # There are too many rankings of long queries with ties.
    scores = random.integers(-1, n_levels - 1, n) if max(sizes) < 7 else random.normal(size=n)
    targets = random.random(n) * random.integers(0, 2, n)
    assert_by_definition(surrogate, scale * scores * random.choice([1.0, -1.0]), targets, sizes)


@with_and_without_the_library
@pytest.mark.parametrize("n_pairs", [1, 7, 40])
@every
def test_the_size_of_blocks_does_not_matter(surrogate, n_pairs, monkeypatch):
    monkeypatch.setattr("boostrank.surrogates.rank_weighted.BLOCK_PAIRS", n_pairs)
    # Queries with and without ties, of the same sizes.
    random, sizes = np.random.default_rng(0), [5, 4, 5, 1, 33, 9, 2, 5, 9]
    scores = random.normal(size=sum(sizes))
    scores[5:15] = random.integers(0, 2, 10)
    assert_by_definition(surrogate, scores, random.random(len(scores)), sizes)


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
@every
def test_the_field_points_away_from_the_minimizer_everywhere(surrogate):
    random = np.random.default_rng(0)
    for m in (2, 3, 12):
        # The loss is linear in the targets, so that the gradient at expected targets is the expected gradient.
        expected, one = random.uniform(0.01, 1.0, m), Queries.from_sizes([m])
        best = np.log(expected)
        for scale, start in itertools.product((1e-6, 0.1, 1.0, 10.0), (best, np.zeros(m), -best)):
            scores = start + scale * random.normal(size=m)
            away = (scores - scores.mean()) - (best - best.mean())
            assert surrogate.gradient_hessian(scores, expected, one)[0] @ away > 0.0
        np.testing.assert_allclose(surrogate.gradient_hessian(best + 3.0, expected, one)[0], 0.0, atol=1e-12)


@every
def test_the_span_of_the_distance_to_the_minimizer_never_increases(surrogate):
    """The theorem on Newton steps: for any positive scaling of the documents, and for steps within their limit."""
    random, queries = np.random.default_rng(5), Queries.from_sizes([6])
    distance_increased = 0
    for _ in range(300):
        expected = random.uniform(0.01, 1.0, 6)
        best, scores = np.log(expected), random.choice([0.3, 2.0]) * random.normal(size=6)
        away = scores - best
        gradient, _ = surrogate.gradient_hessian(scores, expected, queries)
        at_top, at_bottom = away.argmax(), away.argmin()
        assert gradient[at_top] >= 0.0 >= gradient[at_bottom]
        assert gradient[at_top] - gradient[at_bottom] > 0.0
        pairs = surrogate.at(scores, queries)
        slope = pairs.weight * (expected[pairs.first] + expected[pairs.second]) / 4.0
        limit = np.bincount(pairs.first, slope, 6) + np.bincount(pairs.second, slope, 6)
        step = random.uniform(0.01, 0.99, 6) / limit * gradient
        assert np.ptp(away - step) < np.ptp(away)
        # The Euclidean distance has no such property.
        small = 1e-4 * random.exponential(size=6) ** 4 / limit * gradient
        distance_increased += np.std(away - small) > np.std(away)
    assert distance_increased > 0


def test_documents_that_are_never_relevant_fall_and_the_others_sort_like_their_targets():
    expected, queries = np.array([0.0, 0.3, 0.0, 0.9, 0.5]), Queries.from_sizes([5])
    scores, surrogate = np.array([3.0, 0.0, 1.0, -2.0, 0.5]), ConsistentLambdaRank(truncation=None)
    positive, lowest = expected > 0, -np.inf
    for _ in range(3000):
        gradient, hessian = surrogate.gradient_hessian(scores, expected, queries)
        assert (gradient[~positive] > 0.0).all()
        away = scores[positive] - np.log(expected[positive])
        assert away.min() >= lowest - 1e-12
        lowest = away.min()
        scores = scores - 0.05 * gradient / (hessian / 2.0 + 1e-3)
    assert np.ptp(away) < 1e-3
    assert scores[~positive].max() < scores[positive].min() - 5.0


def test_regret_is_bounded_by_the_norm_of_the_field():
    random = np.random.default_rng(6)
    for _ in range(300):
        m = int(random.integers(2, 7))
        expected, scores, queries = random.uniform(0.01, 0.3, m), random.normal(size=m), Queries.from_sizes([m])
        discounts = 1.0 / np.log2(2.0 + np.arange(m))
        ranks = np.argsort(np.argsort(-scores))
        regret = np.sort(expected)[::-1] @ discounts - expected @ discounts[ranks]
        better = np.log(expected)[:, None] - np.log(expected)
        wrong = (better > 0) & (scores[:, None] <= scores)
        distance = np.abs(discounts[ranks][:, None] - discounts[ranks])
        assert regret <= ((expected[:, None] - expected) * distance)[wrong].sum() + 1e-12
        divided = ConsistentLambdaRank(truncation=None).gradient_hessian(scores, expected, queries)[0]
        away, smallest = scores - np.log(expected), better[better > 0].min()
        product = 2.0 * max(1.0, 0.01 / smallest) * divided @ away
        assert regret <= product + 1e-12
        assert product <= max(1.0, 0.01 / smallest) * np.ptp(away) * np.abs(divided).sum() + 1e-12
        undivided = ConsistentLambdaRank(None, divide_by_distance=False).gradient_hessian(scores, expected, queries)[0]
        assert regret**2 <= 2.0 * undivided @ away * distance[wrong].sum() + 1e-12


@every
def test_newton_steps_of_at_most_a_half_do_not_increase_the_loss_of_the_step(surrogate):
    random, queries = np.random.default_rng(2), Queries.from_sizes([8, 3, 40])
    targets, largest = random.random(51) * random.integers(0, 2, 51), []
    scores = random.normal(size=51)
    for _ in range(30):
        fixed = surrogate.at(scores, queries)
        gradient, hessian = surrogate.gradient_hessian(scores, targets, queries)
        before, step = fixed.loss(scores, targets, queries), -gradient / np.maximum(hessian, 1e-12)
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
    ],
)
def test_wrong_settings_are_errors(settings, message):
    with pytest.raises(ValueError, match=message):
        ConsistentLambdaRank(**settings)


class OtherAt(ConsistentLambdaRank):
    """Its gradient has other weights than the loss that it says it is the gradient of."""

    def at(self, scores, queries):
        return ConsistentLambdaRank(truncation=None, divide_by_distance=False).at(scores, queries)


class NotReweighted(ConsistentLambdaRank):
    """Its gradient is that for fixed weights, but it does not say so."""

    def at(self, scores, queries):
        return self

    def loss(self, scores, targets, queries):
        return ConsistentLambdaRank().loss(scores, targets, queries)


def test_the_laws_hold_at_to_the_gradient():
    with pytest.raises(ValueError, match=r"at the scores that at\(\) is given, its loss, gradient or Hessian differs"):
        check(OtherAt())
    with pytest.raises(ValueError, match="the gradient is not the derivative of the loss"):
        check(NotReweighted())


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


@with_and_without_the_library
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


@with_and_without_the_library
def test_the_scale_of_an_objective_does_not_depend_on_the_sequence_of_rows():
    random, queries = np.random.default_rng(2), Queries.from_sizes([40] * 30 + [7, 100])
    labels = random.choice(5, queries.n_documents, p=[0.7, 0.2, 0.06, 0.03, 0.01])
    by_label, shuffled = labels[queries.sort(-labels * 1.0)], labels[queries.sort(labels * 1.0)]
    scales = {make_objective("consistent-lambdarank", given, queries).scale for given in (labels, by_label, shuffled)}
    assert max(scales) == pytest.approx(min(scales), rel=1e-12)


@pytest.mark.slow
@with_and_without_the_library
@pytest.mark.parametrize("truncation", [30, None])
def test_a_query_of_equal_scores_has_one_weight_and_takes_little_time(truncation):
    # Its pairs, or those of a document of the first 30 ranks, would not fit into memory one by one.
    m = 300_000
    random, queries = np.random.default_rng(3), Queries.from_sizes([m])
    targets = random.random(m) * (random.random(m) < 0.01)
    gradient, hessian = ConsistentLambdaRank(truncation).gradient_hessian(np.full(m, 0.3), targets, queries)
    discounts = 1 / np.log2(np.arange(2, m + 2))
    top, rest = truncation or m, np.cumsum(discounts[::-1])[::-1]
    ranks = np.arange(1, min(top, m - 1) + 1)
    weight = ((m - ranks) * discounts[ranks - 1] - rest[ranks]).sum() / (m * (m - 1) / 2)
    np.testing.assert_allclose(gradient, weight / 2 * (targets.sum() - m * targets), rtol=1e-8, atol=1e-8 * weight)
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
