"""Trust bias from a log: a counterexample to identification, exact counts and simulations."""

import numpy as np
import pytest

from boostrank.clicks import (
    ClickLog,
    PositionBased,
    TrustBias,
    TrustBiasEstimate,
    estimate_relevance,
    estimate_trust_bias,
    simulate_clicks,
)

MODEL = TrustBias(("power", 0.5), click_relevant=0.9, click_irrelevant=[0.5, 0.3, 0.1])
#: Probabilities of relevance; one for each query of one document.
RELEVANCE = np.linspace(0.2, 0.8, 40)


def exact_log(rates, impressions=1_000_000):
    """A log of each row at each position, with the expected clicks for rates of shape (n_rows, n_positions)."""
    n_rows, n_positions = rates.shape
    row, position = np.repeat(np.arange(n_rows), n_positions), np.tile(np.arange(n_positions) + 1, n_rows)
    clicks = np.round(rates.ravel() * impressions).astype(int)
    return ClickLog(np.arange(n_rows), row, position, clicks, np.full(len(row), impressions))


def rates_of(model, relevance, n_positions=3):
    a, b = model.affine(n_positions)
    return relevance[:, None] * a + b


def random_log(seed, model="trust-bias", n_sessions=40_000):
    random = np.random.default_rng(seed)
    gamma = random.choice([0.02, 0.3, 0.9], size=900, p=[0.5, 0.3, 0.2])
    settings = {"model": model, "n_sessions": n_sessions, "policy": ("plackett-luce", 1.0), "depth": 4}
    qid = np.repeat(np.arange(150), 6)
    return simulate_clicks(np.ones(900), 3 * gamma, qid, relevance=lambda y: gamma, random_state=seed, **settings)


def test_different_trust_biases_give_the_same_clicks():
    # The counterexample to identification: the same click rates from other numbers and other relevances, which have
    # the same ranking.
    a, b = MODEL.affine(3)
    s, t = 0.1, 0.8
    clicked = t * a + b + s * a
    other = TrustBias(clicked, click_relevant=1.0, click_irrelevant=(b + s * a) / clicked)
    relevance = (RELEVANCE - s) / t
    assert ((relevance > 0) & (relevance < 1)).all()
    np.testing.assert_allclose(rates_of(other, relevance), rates_of(MODEL, RELEVANCE))
    assert np.abs(other.affine(3)[1] - b).max() > 0.03


def test_exact_counts_give_the_identified_line_and_the_ranking():
    log = exact_log(rates_of(MODEL, RELEVANCE))
    found = estimate_trust_bias(log)
    a, b = MODEL.affine(3)
    np.testing.assert_allclose(found.slopes, a / a[0], rtol=1e-4)
    np.testing.assert_allclose(found.intercepts, b - b[0] * a / a[0], atol=1e-4)
    relevance = estimate_relevance(log, found.click_model()).relevance
    # An increasing linear function of the truth.
    steps = np.diff(relevance)
    assert (steps > 0.01).all()
    np.testing.assert_allclose(steps, steps[0], rtol=1e-3)


def test_without_trust_bias_slopes_are_propensities():
    found = estimate_trust_bias(exact_log(rates_of(PositionBased(), RELEVANCE)))
    np.testing.assert_allclose(found.slopes, [1, 1 / 2, 1 / 3], rtol=1e-4)
    np.testing.assert_allclose(found.intercepts, 0, atol=1e-4)


def test_noise_of_clicks_gives_no_bias_and_errors_are_those_of_simulations():
    truth = np.array(TrustBias().affine(4))
    slopes, intercepts = truth[0] / truth[0, 0], truth[1] - truth[1, 0] * truth[0] / truth[0, 0]
    found = [estimate_trust_bias(random_log(seed).log) for seed in range(12)]
    for name, true in (("slope", slopes), ("intercept", intercepts)):
        values = np.array([getattr(one, f"{name}s") for one in found])
        errors = np.sqrt(np.mean([getattr(one, f"{name}_errors") ** 2 for one in found], axis=0))
        assert (np.abs(values.mean(axis=0) - true)[1:] < 3.5 * errors[1:] / np.sqrt(12)).all()
        ratio = values.std(axis=0, ddof=1)[1:].mean() / errors[1:].mean()
        assert 0.6 < ratio < 1.6


def test_the_estimated_model_corrects_trust_bias_and_a_position_based_one_does_not():
    simulated = random_log(3, n_sessions=100_000)
    estimate = estimate_trust_bias(simulated.log)
    assert (estimate.intercepts[1:] < -4 * estimate.intercept_errors[1:]).all()
    by_trust, by_position = (
        estimate_relevance(simulated.log, model, not_shown="irrelevant", bounded=False)
        for model in (estimate.click_model(), PositionBased())
    )
    many = by_trust.impressions > 50
    correlations = [
        np.corrcoef(one.relevance[many], simulated.relevance[many])[0, 1] for one in (by_trust, by_position)
    ]
    assert correlations[0] > 0.98 > correlations[1]


def test_sessions_and_counts_give_the_same_result_as_a_table():
    log = random_log(1).log
    found, counts = estimate_trust_bias(log), estimate_trust_bias(log.aggregate(), max_position=2)
    np.testing.assert_array_equal(found.slopes[:2], counts.slopes)
    table = found.to_frame()
    assert list(table.columns) == ["position", "slope", "slope_error", "intercept", "intercept_error", "queries"]
    np.testing.assert_array_equal(table["slope"], found.slopes)
    assert repr(counts).startswith("TrustBiasEstimate(slopes=(1: 1, 2: ")


def test_logs_without_evidence_are_named():
    one_ranker = ClickLog([1, 1, 2, 2], [0, 1, 2, 3], [1, 2, 1, 2], [5, 1, 3, 2], [9, 9, 9, 9])
    with pytest.raises(ValueError, match="position 2: fewer than two queries"):
        estimate_trust_bias(one_ranker)
    equal = exact_log(np.tile([0.5, 0.2], (20, 1)), 10)
    with pytest.raises(ValueError, match="differ too little between documents"):
        estimate_trust_bias(equal)
    with pytest.raises(ValueError, match="there is only one position"):
        estimate_trust_bias(ClickLog([1], [0], [1], [1]))
    with pytest.raises(ValueError, match="no document was shown at position 1"):
        estimate_trust_bias(ClickLog([1], [0], [2], [1]))
    with pytest.raises(TypeError, match="log must be a ClickLog"):
        estimate_trust_bias([1])
    log = exact_log(rates_of(MODEL, RELEVANCE))
    # Without position 3 of all rows but one.
    part = estimate_trust_bias(ClickLog(log.qid, *(x[(log.position < 3) | (log.row == 0)] for x in log._columns)))
    assert list(part.not_estimated) == [3]
    with pytest.raises(ValueError, match=r"not known at the positions \[3\] \(position 3: fewer than two"):
        part.click_model()


def test_lines_that_no_probabilities_explain_are_named():
    falling = exact_log(np.stack([RELEVANCE, 1 - RELEVANCE], axis=1))
    with pytest.raises(ValueError, match=r"slope of position 2 is -1 .* must increase with relevance"):
        estimate_trust_bias(falling).click_model()
    # At position 2 no rate below 0.49 is possible, and at position 3 none above 0.48.
    estimate = TrustBiasEstimate(
        np.array([1.0, 2.0, 2.0]), np.array([0.0, -0.98, 0.04]), np.zeros(3), np.zeros(3), np.full(3, 9), {}
    )
    with pytest.raises(ValueError, match=r"would have to be above 0.49 and below 0.48. Collect more clicks"):
        estimate.click_model()
