"""Realizable consistency: whether a loss finds a perfect scorer, where there is one (the page
theory/class_regret of the guide)."""

import itertools

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import softmax

import boostrank as br
from boostrank.queries.segments import Segments

#: Kinds 0, 1, 2 in this order are perfect. The best scores of the first two queries put 1 first.
CHAIN = br.theory.QueryDistribution(
    [[0, 2], [1, 2], [0, 1]], [[2, 1], [4, 1], [2, 1]], [0.49, 0.49, 0.02]
)
#: Losses that have no finite best scores, or not one loss for all scores.
OTHERS = {"cosine", "normalized-pnorm", "consistent-lambdarank"}


@pytest.mark.parametrize("loss", list(br.surrogates.SURROGATES))
def test_no_consistent_loss_finds_the_perfect_scorer_of_three_queries(loss):
    assert CHAIN.expected_ndcg([2, 1, 0]) == pytest.approx(1)
    scores = br.theory.minimizer(loss, CHAIN)
    assert scores[1] > scores[0] > scores[2]
    assert CHAIN.ndcg_regret(scores) > 0.004


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
        values = {}
        for ranking in itertools.permutations(range(3)):
            regret = distribution.ndcg_regret(ranking)
            values[regret] = max(
                smoothed_ndcg(distribution, scale * np.sort(random.normal(size=3))[list(ranking)])
                for scale in (0.5, 2, 20)
            )
        # The bound of the proof for three kinds: 1 / 3! of the least positive regret.
        least = min(regret for regret in values if regret > 1e-9)
        assert max(values.values()) <= largest + 1e-9
        for regret, value in values.items():
            if regret > 1e-9:
                assert value <= largest - least / 6
