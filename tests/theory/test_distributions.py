"""Label distributions: Bayes scores, optimal rankings and regret, held against sums over outcomes
and permutations."""

import itertools

import numpy as np
import oracles
import pytest

from boostrank.ndcg.dcg import DCG
from boostrank.theory import SECTION_3_2_1, LabelDistribution
from boostrank.theory.distributions import DistributionBatch

SETTINGS = [
    ("log2", None, "exp2"),
    ("log2", 2, "exp2"),
    ("zipf", 1, "linear"),
    (("power", 0.5), None, "linear"),
]
RANDOM = [
    LabelDistribution.random(2 + seed % 3, 1 + seed % 4, max_label=3, random_state=seed)
    for seed in range(12)
]
every = pytest.mark.parametrize(("discount", "k", "gain"), SETTINGS)


def ndcg_of_order(labels, order, discount, k, gain):
    gains = [oracles.GAINS[gain](label) for label in labels]
    best = oracles.ideal_dcg(gains, discount, k)
    return oracles.dcg_of_order(gains, order, discount, k) / best if best > 0 else 0.0


def expectation(distribution, order, *settings):
    pairs = zip(distribution.labels, distribution.probabilities, strict=True)
    return sum(p * ndcg_of_order(labels, order, *settings) for labels, p in pairs)


@every
def test_bayes_scores_are_the_mean_of_normalized_gains(discount, k, gain):
    for distribution in RANDOM:
        vectors = [
            oracles.normalized_gains(labels, discount, k, gain) for labels in distribution.labels
        ]
        expected = distribution.probabilities @ np.array(vectors)
        np.testing.assert_allclose(
            distribution.bayes_scores(DCG(k, gain, discount)), expected, rtol=1e-12
        )


@every
def test_expected_ndcg_is_the_mean_over_outcomes_and_over_the_orders_of_ties(discount, k, gain):
    random = np.random.default_rng(0)
    for distribution in RANDOM:
        scores = random.integers(0, 3, size=distribution.n_documents).astype(float)
        orders = list(oracles.orders_by(scores.tolist()))
        expected = np.mean(
            [expectation(distribution, order, discount, k, gain) for order in orders]
        )
        assert distribution.expected_ndcg(scores, DCG(k, gain, discount)) == pytest.approx(
            expected, abs=1e-12
        )


@every
def test_no_order_beats_the_optimal_ranking(discount, k, gain):
    dcg = DCG(k, gain, discount)
    for distribution in RANDOM:
        m = distribution.n_documents
        values = [
            expectation(distribution, order, discount, k, gain)
            for order in itertools.permutations(range(m))
        ]
        best = expectation(
            distribution, np.argsort(-distribution.bayes_scores(dcg)).tolist(), discount, k, gain
        )
        assert best == pytest.approx(max(values), abs=1e-12)
        for order, value in zip(itertools.permutations(range(m)), values, strict=True):
            scores = np.empty(m)
            scores[list(order)] = -np.arange(m)
            assert distribution.ndcg_regret(scores, dcg) == pytest.approx(best - value, abs=1e-12)


def test_infinite_scores_rank_and_an_outcome_without_gain_adds_nothing():
    distribution = LabelDistribution([[1, 0], [0, 0]], [0.25, 0.75])
    assert distribution.bayes_scores().tolist() == [0.25, 0.0]
    assert distribution.expected_ndcg([0.0, -np.inf]) == 0.25
    assert distribution.ndcg_regret([-np.inf, np.inf]) == pytest.approx(0.25 * (1 - 1 / np.log2(3)))
    assert distribution.ndcg_regret([np.inf, np.inf]) == pytest.approx(0.125 * (1 - 1 / np.log2(3)))


def test_a_batch_has_the_values_of_its_distributions():
    distributions = [each for each in RANDOM if each.n_documents == 3]
    batch = DistributionBatch.of(distributions)
    assert batch.shape == (len(distributions), 3)
    assert len(distributions) > 2
    for i, distribution in enumerate(distributions):
        np.testing.assert_array_equal(batch[i].labels, distribution.labels)
        np.testing.assert_allclose(batch.bayes_scores()[i], distribution.bayes_scores(), rtol=1e-13)
    chosen = np.arange(len(distributions)) % 2 == 1
    np.testing.assert_array_equal(batch.take(chosen).bayes_scores(), batch.bayes_scores()[chosen])


def test_repr_makes_an_equal_distribution_and_distributions_are_immutable():
    labels = np.array([[1.0, 2.0], [0.0, 3.0]])
    distribution = LabelDistribution(labels, [0.25, 0.75])
    assert repr(distribution) == "LabelDistribution([[1, 2], [0, 3]], [0.25, 0.75])"
    labels[0, 0] = 9.0
    assert distribution.labels[0, 0] == 1.0
    with pytest.raises(ValueError, match="read-only"):
        distribution.labels[0, 0] = 9.0


@pytest.mark.parametrize(
    ("labels", "probabilities", "message"),
    [
        ([1, 2], [1.0], "shape"),
        ([[1, -1]], [1.0], "negative"),
        ([[1, np.nan]], [1.0], "not finite"),
        ([[1, 2]], [0.5, 0.5], "one per outcome"),
        ([[1, 2], [2, 1]], [0.5, 0.6], "sum to 1"),
        ([[1, 2], [2, 1]], [1.5, -0.5], "not negative"),
    ],
)
def test_invalid_distributions_are_errors(labels, probabilities, message):
    with pytest.raises(ValueError, match=message):
        LabelDistribution(labels, probabilities)


@pytest.mark.parametrize("scores", [[1.0], [1.0, np.nan], [[1.0, 2.0]], ["a", "b"]])
def test_invalid_scores_are_errors(scores):
    with pytest.raises(ValueError, match="scores must be"):
        SECTION_3_2_1.ndcg_regret(scores)
