"""The unknown normalizer of NDCG: the bound of the regret, and the variance of unbiased targets by enumeration."""

import numpy as np
import pytest
from clicks.click_enumeration import binary_vectors, independent_clicks, normalized

from boostrank.clicks import ClickLog, session_targets
from boostrank.core.dcg import DCG
from boostrank.theory import LabelDistribution, dcg_ranking_bound, session_target_variance


@pytest.mark.slow
@pytest.mark.parametrize("dcg", [DCG(), DCG(k=2), DCG(gain="linear", discount="zipf")])
@pytest.mark.parametrize("max_label", [1, 4])
def test_the_bound_holds(dcg, max_label):
    ratios = []
    for seed in range(120):
        distribution = LabelDistribution.random(2 + seed % 4, 2 + seed % 3, max_label=max_label, random_state=seed)
        gains = dcg.gains(distribution.labels.ravel()).reshape(distribution.labels.shape)
        regret, bound = (
            distribution.ndcg_regret(distribution.probabilities @ gains, dcg),
            dcg_ranking_bound(distribution, dcg),
        )
        assert -1e-12 <= regret <= bound + 1e-12
        assert bound <= 1.0
        ratios.append(regret / bound if bound > 0 else 0.0)
        # Every z gives a bound; none is smaller.
        ideal = np.array([dcg.ideal(row, _one(row))[0] for row in gains])
        z = np.append(np.linspace(0.01, 3, 50), 1 / max(ideal @ distribution.probabilities, 1e-9))
        bounds = np.where(ideal > 0, np.abs(1 - z[:, None] * ideal), 0.0) @ distribution.probabilities
        assert (bound <= bounds + 1e-9).all()
    assert max(ratios) > 0.2


def _one(row):
    from boostrank.core.segments import Segments

    return Segments.from_sizes([len(row)])


def test_a_constant_normalizer_has_no_regret():
    distribution = LabelDistribution([[1, 0, 1], [0, 1, 1], [1, 1, 0]], [0.2, 0.5, 0.3])
    assert dcg_ranking_bound(distribution) == 0.0
    assert distribution.ndcg_regret(distribution.probabilities @ distribution.labels) == 0.0
    assert dcg_ranking_bound(LabelDistribution([[0, 0]], [1.0])) == 0.0
    mixed = LabelDistribution([[0, 0, 0], [0, 1, 0]], [0.5, 0.5])
    assert dcg_ranking_bound(mixed) == 0.0


@pytest.mark.parametrize("k", [None, 1, 2, 3])
def test_variance_of_session_targets(k):
    p, random = np.array([0.9, 0.5, 0.35, 0.2]), np.random.default_rng(0)
    for relevant in binary_vectors(4):
        if not relevant.any():
            continue
        mean = square = 0.0
        for clicks, weight in independent_clicks(p * relevant):
            log = ClickLog([1] * 4, range(4), range(1, 5), clicks, session=[0] * 4)
            target = session_targets(log, p, dcg=DCG(k))
            mean, square = mean + weight * target, square + weight * target**2
        for i in np.flatnonzero(relevant):
            others = [p[j] for j in random.permutation(np.flatnonzero(relevant)) if j != i]
            found = session_target_variance(p[i], others, DCG(k), n_documents=4)
            assert found.total == pytest.approx((square - mean**2)[i], rel=1e-9)
            assert found.known_normalizer == pytest.approx(normalized(relevant, k)[i] ** 2 * (1 / p[i] - 1))


def test_growth_of_the_variance():
    """Formula 5: bounded for propensities of 1/2 or more, and exponential below."""
    cost = {p: [np.divide(*session_target_variance(p, [p] * n)) for n in (2, 8, 16, 29)] for p in (0.5, 0.6, 0.9, 0.3)}
    assert all(max(cost[p]) < 2 for p in (0.5, 0.6, 0.9))
    assert cost[0.3][3] / cost[0.3][2] > ((1 / 0.3 - 1) ** 13) / 10
    # The harmonic example of the text, whose constant is 8/3.
    for n in range(2, 25):
        total = session_target_variance(0.5, [0.5] * (n - 1), DCG(discount=lambda r: np.ones_like(r)))
        second_moment, first_term = total.total + n**-2.0, 2 * n**-2.0
        assert second_moment <= first_term * 8 / 3 + 1e-12
    with_cutoff = [session_target_variance(0.6, [0.6] * n, DCG(k=3)) for n in (16, 29)]
    assert all(each.total / each.known_normalizer < 1.1 for each in with_cutoff)


def test_invalid_propensities_are_named():
    with pytest.raises(ValueError, match=r"in \(0, 1\]; got 0"):
        session_target_variance(0.5, [0.0])
    with pytest.raises(ValueError, match="at most 30 relevant documents"):
        session_target_variance(0.5, [0.5] * 30)
