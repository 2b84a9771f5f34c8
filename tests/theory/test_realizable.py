"""Realizable consistency: whether a loss finds a perfect scorer, where there is one (the page
theory/class_regret of the guide)."""

import itertools

import numpy as np
import pytest
from scipy.optimize import minimize, root
from scipy.special import softmax

import boostrank as br
from boostrank.queries.segments import Segments


def chain(share):
    """Kinds 0, 1, 2 in this order are perfect, but the best scores of the first two queries put 1
    first. The third query has the probability `share`."""
    probabilities = [(1 - share) / 2, (1 - share) / 2, share]
    return br.theory.QueryDistribution(
        [[0, 2], [1, 2], [0, 1]], [[2, 1], [4, 1], [2, 1]], probabilities
    )


CHAIN = chain(0.02)
#: Losses that have no finite best scores, or not one loss for all scores.
OTHERS = {"cosine", "normalized-pnorm", "consistent-lambdarank"}


@pytest.mark.parametrize("loss", list(br.surrogates.SURROGATES))
def test_minimizers_of_consistent_losses_are_wrong_for_three_queries(loss):
    assert CHAIN.expected_ndcg([2, 1, 0]) == pytest.approx(1)
    scores = br.theory.minimizer(loss, CHAIN)
    assert scores[1] > scores[0] > scores[2]
    assert CHAIN.ndcg_regret(scores) > 0.004


def push_of_consistent_lambdarank(share, scores):
    """The expected gradient for each kind, by the formulas of the page."""
    distribution = chain(share)
    queries = Segments.from_sizes([2, 2, 2])
    kinds = np.concatenate(distribution.kinds)
    targets = br.make_targets(np.concatenate(distribution.labels), queries)
    surrogate = br.surrogates.get_surrogate("consistent-lambdarank")
    gradient = surrogate.gradient_hessian(np.array(scores)[kinds], targets, queries)[0]
    return np.bincount(kinds, gradient * queries.repeat(np.array(distribution.probabilities)))


def zeros_of_consistent_lambdarank(share):
    """Scores of the kinds 0 and 1 where the push is 0 and kind 2 has the score 0."""
    found = set()
    for first, gap in itertools.product(np.linspace(0.8, 2, 7), (-1, -0.3, 0.02, 0.2)):
        start = [first, first - gap]
        solution = root(
            lambda x: push_of_consistent_lambdarank(share, [*x, 0.0])[:2], start, tol=1e-13
        )
        size = np.abs(push_of_consistent_lambdarank(share, [*solution.x, 0.0])).max()
        if size < 1e-11 and np.abs(solution.x).max() < 2 * np.log(15):
            found.add(tuple(solution.x.round(2).tolist()))
    return found


def test_consistent_lambdarank_has_a_perfect_zero_unless_the_third_query_is_very_rare():
    assert zeros_of_consistent_lambdarank(0.02) == {(1.25, 2.08), (1.48, 1.77), (1.76, 1.62)}
    assert zeros_of_consistent_lambdarank(0.001) == {(1.1, 2.67)}
    scores = br.theory.minimizer("consistent-lambdarank", chain(0.001))
    assert scores - scores[2] == pytest.approx([1.1, 2.67, 0], abs=0.01)


@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("truncation", [1, 2, None])
@pytest.mark.parametrize("divides", [True, False])
def test_lambdamart_pushes_towards_the_perfect_scorer(normalize, truncation, divides):
    random = np.random.default_rng(0)
    loss = br.surrogates.LambdaMART(truncation, divides, normalize=normalize)
    for size in random.integers(2, 6, size=40):
        labels = random.integers(0, 4, size=size)
        labels[:2] = 0, 1
        perfect = labels + random.uniform(-0.4, 0.4, size=size)
        scores = random.normal(size=size).round(random.choice([0, 6]))
        queries = Segments.from_sizes([size])
        targets = br.make_targets(labels, queries)
        assert loss.gradient_hessian(scores, targets, queries)[0] @ perfect < 0


@pytest.mark.parametrize("normalize", [True, False])
def test_lambdamart_finds_it(normalize):
    scores = br.theory.minimizer(br.surrogates.LambdaMART(normalize=normalize), CHAIN)
    assert scores[0] > scores[1] > scores[2]


@pytest.mark.parametrize("loss", sorted(br.surrogates.SURROGATES.keys() - OTHERS))
def test_a_loss_with_finite_best_scores_is_wrong_for_two_features(loss):
    # The proof of the page with theta = p = 0.1, which is small enough for these targets.
    surrogate, query = br.surrogates.get_surrogate(loss), Segments.from_sizes([2])
    targets = br.make_targets([2.0, 1.0], query)

    def of_scale(scale):
        return surrogate.loss(scale * np.array([1.0, -1.0]), targets, query)[0]

    def expected(weights):
        first, second = weights
        return 0.45 * (of_scale(first) + of_scale(0.1 * first + second)) + 0.1 * of_scale(
            0.1 * first - second
        )

    first, second = minimize(expected, [0.5, 0.1], tol=1e-9).x
    assert first > 0.1
    assert 0.1 * first - second < -0.1
    assert expected([first, second]) < expected([first, 0.0])


def smoothed_ndcg(distribution, scores):
    """Expected NDCG of scores with independent noise that has the Gumbel distribution."""
    total = 0.0
    rows = zip(distribution.kinds, distribution.labels, distribution.probabilities, strict=True)
    for kinds, labels, probability in rows:
        for ranking in itertools.permutations(range(len(kinds))):
            left = np.array(scores, dtype=float)[list(kinds)][list(ranking)]
            chance = np.prod([softmax(left[i:])[0] for i in range(len(left))])
            value = br.ndcg_score(
                np.array(labels)[list(ranking)],
                -np.arange(len(kinds)),
                [0] * len(kinds),
                empty="zero",
            )
            total += probability * chance * value
    return total


@pytest.mark.parametrize("realizable", [True, False])
def test_smoothed_ndcg_has_its_largest_value_only_in_the_limit_of_the_best_ranking(realizable):
    random = np.random.default_rng(0)
    for seed in range(3):
        distribution = br.theory.QueryDistribution.random(
            3, 4, realizable=realizable, random_state=seed
        )
        best = distribution.best_scores()
        largest = distribution.expected_ndcg(best)
        assert smoothed_ndcg(distribution, 30 * best) == pytest.approx(largest, abs=1e-9)
        values = []
        for ranking in itertools.permutations(range(3)):
            for scale in (0.5, 2, 20):
                scores = scale * np.sort(random.normal(size=3))[list(ranking)]
                regret = distribution.ndcg_regret(ranking)
                values.append((regret, smoothed_ndcg(distribution, scores)))
        # The bound of the proof for three kinds: 1 / 3! of the least positive regret.
        least = min(regret for regret, _ in values if regret > 1e-9)
        for regret, value in values:
            assert value <= largest + 1e-9
            if regret > 1e-9:
                assert value <= largest - least / 6


def test_smoothed_ndcg_can_be_wrong_for_several_documents_of_a_kind():
    # Kind 0 first has less NDCG, but scores that put it first have the largest smoothed NDCG. With
    # two documents of a kind in place of the four of the page, there are few rankings.
    distribution = br.theory.QueryDistribution(
        [[0, 1], [0, 0, 1, 1]], [[1, 0], [0, 0, 1, 1]], [0.5368, 0.4632]
    )
    best = distribution.expected_ndcg([0, 1])
    assert distribution.expected_ndcg([1, 0]) < best - 5e-4
    values = [smoothed_ndcg(distribution, [x, 0.0]) for x in np.linspace(-12, 12, 33)]
    assert np.argmax(values) == 18
    assert max(values) > best + 5e-4
    assert max(values[:17]) < best + 1e-9
