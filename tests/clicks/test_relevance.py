"""Estimates of relevance: unbiasedness and variance by enumeration of all clicks, clipping, and
support."""

import itertools
from contextlib import nullcontext

import numpy as np
import pytest
from clicks.enumeration import cascade_clicks

from boostrank.clicks import (
    Cascade,
    ClickLabels,
    ClickLog,
    PositionBased,
    TrustBias,
    estimate_relevance,
)

P = [0.9, 0.4, 0.15]
TRUST = TrustBias(P, [0.95, 0.9, 0.8], [0.5, 0.2, 0.1])


def expectation_and_variance(impressions, probability, model, **settings):
    """Mean and variance of the estimate for one document, over all numbers of clicks at each
    position."""
    from scipy.stats import binom

    positions = np.arange(1, len(impressions) + 1)
    first = second = 0.0
    for clicks in itertools.product(*(range(n + 1) for n in impressions)):
        weight = np.prod(
            [binom.pmf(c, n, q) for c, n, q in zip(clicks, impressions, probability, strict=True)]
        )
        log = ClickLog([1], np.zeros_like(positions), positions, clicks, impressions)
        value = estimate_relevance(log, model, **settings).relevance[0]
        first, second = first + weight * value, second + weight * value**2
    return first, second - first**2


@pytest.mark.parametrize("model", [PositionBased(P), TRUST])
@pytest.mark.parametrize("gamma", [0.0, 0.3, 1.0])
def test_estimates_are_unbiased_with_the_variance_of_the_formula(model, gamma):
    impressions = np.array([2, 3, 4])
    a, b = model.affine(3)
    q = a * gamma + b
    mean, variance = expectation_and_variance(impressions, q, model)
    assert mean == pytest.approx(gamma, abs=1e-12)
    expected = (impressions * q * (1 - q)).sum() / (a * impressions).sum() ** 2
    assert variance == pytest.approx(expected, abs=1e-12)


def test_clipping_shrinks_by_the_stated_factor():
    impressions, gamma, tau = np.array([2, 3, 4]), 0.6, 0.5
    mean = expectation_and_variance(impressions, np.array(P) * gamma, P, clip=tau)[0]
    shrinkage = (P * impressions).sum() / (np.maximum(P, tau) * impressions).sum()
    assert mean == pytest.approx(shrinkage * gamma, abs=1e-12)


@pytest.mark.parametrize("satisfaction", [0.0, 0.3, 0.6])
def test_cascade_corrections_are_unbiased_for_all_relevances(satisfaction):
    model = Cascade(satisfaction)
    for relevant in itertools.product((0, 1), repeat=4):
        mean = np.zeros(4)
        for clicks, probability in cascade_clicks(relevant, satisfaction):
            log = ClickLog([1] * 4, range(4), range(1, 5), clicks, session=[0] * 4)
            estimate = estimate_relevance(log, model).relevance
            np.testing.assert_allclose(estimate, clicks / model.corrections(log)[0])
            mean += probability * estimate
        np.testing.assert_allclose(mean, relevant, atol=1e-12)


def test_impressions_of_a_cascade_have_the_inverses_of_its_probabilities_as_weights():
    log = ClickLog(
        [1] * 3, [0, 1, 2, 0, 1, 2], [1, 2, 3] * 2, [0, 1, 0, 0, 0, 1], session=[0] * 3 + [1] * 3
    )
    found = estimate_relevance(log, "cascade")
    assert found.relevance.tolist() == [0.0, 0.5, 1.0]
    assert found.impressions.tolist() == [2, 2, 1]
    first = ClickLog([1, 1], [0, 1], [1, 2], [1, 0], session=[0, 0])
    with pytest.raises(ValueError, match=r"1 of 2 rows have no support.* row 1 of query '1'"):
        ClickLabels(first, "cascade").targets()
    log = ClickLog([1, 1], [0, 1, 0, 1], [1, 2, 1, 2], [1, 1, 0, 1], session=[0, 0, 1, 1])
    # The second document is examined with the probability 0.5 below a click.
    assert estimate_relevance(log, Cascade(0.5)).relevance.tolist() == [0.5, (1 / 0.5 + 1) / 2]


def test_rows_without_support_are_named_or_marked():
    log = ClickLog([1, 1, 1], row=[0], position=[1], clicks=[1], documents=["x", "y", "z"])
    with pytest.raises(
        ValueError, match=r"2 of 3 rows have no support.* row 1, document 'y' of query '1'"
    ):
        ClickLabels(log, "position-based").targets()
    found = estimate_relevance(log, "position-based")
    assert found.relevance.tolist() == [1.0, 0.0, 0.0]
    assert found.shown.tolist() == [True, False, False]


def test_logs_that_a_cascade_does_not_explain_are_errors():
    both = ClickLog([1, 1], row=[0, 1], position=[1, 2], clicks=[1, 1], session=[0, 0])
    with pytest.raises(
        ValueError,
        match=r"contradicts Cascade.* row 1 of query '1' was clicked below .* position 2",
    ):
        estimate_relevance(both, "cascade")
    gap = ClickLog([1, 1], row=[0, 1], position=[1, 3], clicks=[1, 0], session=[0, 0])
    with pytest.raises(ValueError, match="without gaps"):
        estimate_relevance(gap, Cascade(0.5))


@pytest.mark.parametrize("model", [PositionBased([1.0, 0.25]), TrustBias([1.0, 0.25], 0.9, 0.1)])
def test_more_clicks_than_any_relevance_explains_are_a_warning(model):
    a, b = model.affine(2)
    n, largest = 400, round((a + b)[1] * 400)
    margin = 4 * np.sqrt(n * (a + b)[1] * (1 - (a + b)[1])) + 4
    for clicks, warned in ((largest + int(margin) - 1, False), (largest + int(margin) + 2, True)):
        log = ClickLog(
            [7, 7, 7],
            row=[0, 1, 2],
            position=[1, 2, 2],
            clicks=[1, clicks, 3],
            impressions=[n, n, n],
        )
        message = f"1 of 3 rows have .* row 1 of query '7' has {clicks}, .* have {largest} "
        with pytest.warns(UserWarning, match=message) if warned else nullcontext():
            ClickLabels(log, model).targets()
