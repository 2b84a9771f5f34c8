"""Click models: probabilities of clicks against enumeration and formulas."""

import itertools
from collections import Counter

import numpy as np
import pytest
from clicks.enumeration import cascade_clicks, independent_clicks

from boostrank.clicks import Cascade, PositionBased, TrustBias, get_click_model
from boostrank.queries.segments import Segments

GAMMA = np.array([0.3, 0.9, 0.5, 0.2])
N = 200_000


def clicks_of(model, gamma, n=N, seed=0):
    """Clicks of n sessions that show the same documents, shape (n, n_documents)."""
    sessions = Segments.from_sizes(np.full(n, len(gamma)))
    return model.draw(np.tile(gamma, n), sessions, np.random.default_rng(seed)).reshape(n, -1)


def assert_probability(clicks, expected):
    """Means of clicks are within five standard errors of the expected probabilities."""
    error = np.sqrt(np.maximum(expected * (1 - expected), 1e-12) / len(clicks))
    assert (np.abs(clicks.mean(axis=0) - expected) <= 5 * error + 1e-12).all(), (
        clicks.mean(axis=0),
        expected,
    )


@pytest.mark.parametrize("satisfaction", [0.0, 0.6, 1.0])
def test_cascade_draws_click_patterns_with_their_probabilities(satisfaction):
    clicks, probabilities = clicks_of(Cascade(satisfaction), GAMMA), Counter()
    for relevant, probability in independent_clicks(GAMMA):
        for pattern, conditional in cascade_clicks(relevant, satisfaction):
            probabilities[tuple(pattern)] += probability * conditional
    for pattern in itertools.product((0, 1), repeat=4):
        assert_probability(
            (clicks == pattern).all(axis=1)[:, None], np.array([probabilities[pattern]])
        )


def test_position_based_clicks_are_independent_with_the_products_as_probabilities():
    model = PositionBased(("power", 0.7))
    p = np.arange(1.0, 5.0) ** -0.7
    clicks = clicks_of(model, GAMMA)
    assert_probability(clicks, p * GAMMA)
    for i, j in itertools.combinations(range(4), 2):
        assert_probability(
            (clicks[:, i] & clicks[:, j])[:, None], np.array([p[i] * GAMMA[i] * p[j] * GAMMA[j]])
        )


def test_trust_bias_clicks():
    model = TrustBias([0.9, 0.7, 0.6, 0.5], [0.95, 0.9, 0.85, 0.8], [0.4, 0.3, 0.1, 0.0])
    a, b = model.affine(4)
    p, relevant, irrelevant = map(
        np.array, (model.propensities, model.click_relevant, model.click_irrelevant)
    )
    np.testing.assert_allclose(a * GAMMA + b, p * (relevant * GAMMA + irrelevant * (1 - GAMMA)))
    assert_probability(clicks_of(model, GAMMA), a * GAMMA + b)


def test_affine_of_settings():
    a, b = PositionBased([0.9, 0.5, 0.1]).affine(2)
    assert (a.tolist(), b.tolist()) == ([0.9, 0.5], [0.0, 0.0])
    a, b = TrustBias(("power", 1.0), 1.0, ("power", 1.0, 0.5)).affine(2)
    assert (a.tolist(), b.tolist()) == ([0.5, 0.375], [0.5, 0.125])
    with pytest.raises(ValueError, match="has no affine correction"):
        Cascade().affine(2)


def test_names_and_propensities():
    assert get_click_model("position-based") == PositionBased()
    assert get_click_model("trust-bias") == TrustBias()
    assert get_click_model("cascade") == Cascade()
    assert get_click_model(np.array([1, 0.5])) == PositionBased([1.0, 0.5])
    model = PositionBased(("power", 2))
    assert get_click_model(model) is model
    assert eval(repr(TrustBias([0.5]))) == TrustBias([0.5])
    with pytest.raises(
        ValueError, match="model must be one of position-based, trust-bias, cascade; got 'pbm'"
    ):
        get_click_model("pbm")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: PositionBased([1.0, 0.0]), r"propensities of position 2 is 0, not in \(0, 1\]"),
        (lambda: PositionBased([1.0, np.nan]), "propensities of position 2 is nan"),
        (lambda: PositionBased([[1.0, 0.5]]), "one number for each position; got shape"),
        (
            lambda: PositionBased(("power", -1)),
            "exponent eta of propensities must be a finite number",
        ),
        (lambda: PositionBased(("power", 1.0, 2.0)), r"position 1 is 2, not in \(0, 1\]"),
        (
            lambda: PositionBased([0.5]).affine(2),
            "propensities has 1 positions, but position 2 is used",
        ),
        (
            lambda: TrustBias(click_irrelevant=-0.1),
            r"click_irrelevant of position 1 is -0.1, not in \[0, 1\]",
        ),
        (
            lambda: TrustBias(click_relevant=0.5, click_irrelevant=[0.2, 0.5]).affine(2),
            "0.5 and 0.5 at position 2",
        ),
        (
            lambda: Cascade(satisfaction=1.1),
            "satisfaction must be .* at least 0 and of at most 1; got 1.1",
        ),
    ],
)
def test_invalid_settings_are_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()
