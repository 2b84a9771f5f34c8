"""Shrinkage of relevance: against loops over entries, a grid of strengths, and another solver; what
must not change."""

import numpy as np
import pytest
from scipy import optimize

import boostrank as br
from boostrank.clicks import ClickLog, TrustBias, get_click_model
from boostrank.clicks.relevance import mean_positions, predict_relevance
from boostrank.clicks.targets import targets_of_relevance
from boostrank.ndcg.dcg import DCG

TRUST = TrustBias([1.0, 0.8, 0.6, 0.5], click_relevant=0.9, click_irrelevant=0.3)
QID = np.repeat(["a", "b", "c"], 4)


def simulated(model, n_sessions=300):
    relevance = np.random.default_rng(1).uniform(0.05, 0.9, 12)
    settings = {
        "policy": ("swap", 0.7),
        "relevance": lambda y: y,
        "random_state": 0,
        "n_sessions": n_sessions,
    }
    return br.simulate_clicks(relevance, np.arange(12.0), QID, model=model, **settings).log


def shrunk_by_loop(log, model, prior):
    """The shrunk estimates, with the strength that is best of a fine grid."""
    a, b = get_click_model(model).affine(4)
    estimates, evidence, spread = np.zeros(12), np.zeros(12), prior * (1 - prior)
    for i in range(12):
        entries = [(k - 1, c, n) for row, k, c, n in zip(*log.columns, strict=True) if row == i]
        exposure = sum(a[k] * n for k, _, n in entries)
        estimates[i] = sum(c - b[k] * n for k, c, n in entries) / exposure
        rates = [(a[k] * prior[i] + b[k], n) for k, _, n in entries]
        evidence[i] = spread[i] * exposure**2 / sum(n * p * (1 - p) for p, n in rates)

    def likelihood(strength):
        variance = spread / evidence + spread / strength
        return -(np.log(variance) + (estimates - prior) ** 2 / variance).sum()

    strength = max(np.geomspace(1e-3, 1e6, 40_001), key=likelihood)
    return (evidence * estimates + strength * prior) / (evidence + strength), strength


@pytest.mark.parametrize("model", [(1.0, 0.8, 0.6, 0.5), TRUST], ids=["positions", "trust"])
def test_shrunk_targets_are_those_of_a_loop(model):
    log, prior = simulated(model), np.random.default_rng(2).uniform(0.3, 0.6, 12)
    labels = br.ClickLabels(log, model, normalize="none", shrink=prior)
    expected, strength = shrunk_by_loop(log.aggregate(), model, prior)
    assert 1 < strength < 100  # Otherwise nothing is tested.
    np.testing.assert_allclose(labels.targets(), np.clip(expected, 0, 1), rtol=1e-3, atol=1e-4)
    of_ndcg = br.ClickLabels(log, model, shrink=prior).targets(dcg=DCG(2))
    by_hand = targets_of_relevance(log.queries, labels.targets(), "independent", DCG(2))
    np.testing.assert_array_equal(of_ndcg, by_hand)
    np.testing.assert_array_equal(labels.relevance, br.ClickLabels(log, model).relevance)


def test_the_regression_minimizes_its_loss():
    random = np.random.default_rng(3)
    logs, positions, weights = (
        random.standard_normal(50),
        random.uniform(0, 2, 50),
        random.uniform(0, 9, 50),
    )
    estimates = 0.1 * np.exp(0.8 * logs - positions) * random.uniform(0.5, 1.5, 50)
    estimates[0] = -0.1  # With trust bias.
    centered = [values - np.average(values, weights=weights) for values in (logs, positions)]

    def loss(c):
        predicted = c[0] + c[1] * centered[0] + c[2] * centered[1]
        return (
            weights @ (np.exp(predicted) - estimates * predicted)
            + ((c[1] - 1) ** 2 + c[2] ** 2) / 2
        )

    c = optimize.minimize(loss, [-2.0, 1.0, 0.0], options={"gtol": 1e-9}).x
    expected = np.exp(c[0] + c[1] * centered[0] + c[2] * centered[1])
    mean = np.average(estimates, weights=weights)
    assert 0.02 * mean < expected.min() < expected.max() < 1  # Limits are tested below.
    found = predict_relevance(estimates, weights, logs, positions)
    np.testing.assert_allclose(found, expected, rtol=1e-4)


def test_rows_have_their_own_prior_and_those_that_were_not_shown_have_none():
    log = ClickLog(
        QID, row=[0, 1, 4, 5], position=[1, 2, 1, 2], clicks=[5, 1, 2, 2], impressions=[9, 9, 9, 9]
    )
    prior = np.linspace(0.1, 0.9, 12)
    settings = {"normalize": "none", "not_shown": "irrelevant"}
    labels = br.ClickLabels(log, ("power", 1.0), shrink=prior, **settings)
    assert np.flatnonzero(labels.targets()).tolist() == [0, 1, 4, 5]
    rows = np.array([5, 4, 0])
    for chosen, plain in ((rows, rows), ((rows, ...), rows), (slice(0, 6, 2), slice(0, 6, 2))):
        np.testing.assert_array_equal(labels[chosen].shrink, prior[plain])
    assert repr(labels).endswith("not_shown='irrelevant', shrink='array')")
    np.testing.assert_allclose(mean_positions(log)[[1, 2, 3, 4, 11]], [2.0, 3.5, 3.5, 1.0, 2.5])
    shuffled = np.random.default_rng(0).permutation(12)
    np.testing.assert_allclose(mean_positions(log[shuffled]), mean_positions(log)[shuffled])
    both = ClickLog(["a"], row=[0, 0], position=[1, 4], clicks=[1, 0], impressions=[1, 3])
    np.testing.assert_allclose(mean_positions(both), [3.25])
    predicted = br.ClickLabels(log, ("power", 1.0), **settings).with_prediction(np.zeros(12))
    assert (
        predicted.shrink[0] > predicted.shrink[1]
    )  # The first position has more of the clicks that are expected.


def test_documents_that_were_never_shown_are_predicted():
    log = ClickLog(
        QID, row=[0, 1, 4, 5], position=[1, 2, 1, 2], clicks=[5, 1, 2, 2], impressions=[9, 9, 9, 9]
    )
    shown, prior = log.shown, np.linspace(0.1, 0.9, 12)
    labels, others = (
        br.ClickLabels(log, ("power", 1.0), "none", shrink=prior, not_shown=kind)
        for kind in ("predict", "irrelevant")
    )
    np.testing.assert_allclose(labels.targets(), np.where(shown, others.targets(), prior))
    scores = -np.arange(12.0)
    assert not labels.lacks_support.any()
    assert br.clicks.evaluate(log=labels, scores=scores) == br.clicks.evaluate(
        log=others, scores=scores
    )
    auto = br.ClickLabels(log, ("power", 1.0), not_shown="predict")
    assert auto.shrink == "auto"
    with pytest.raises(ValueError, match="has no prediction yet: call with_prediction first"):
        auto.targets()
    predicted = auto.with_prediction(np.zeros(12)).targets()
    assert predicted[2] == pytest.approx(
        predicted[3]
    )  # Both have the mean of the positions below the list.
    # Features say nothing here, so that the position alone makes them less relevant than the last
    # one that was shown.
    assert 0 < predicted[2] < predicted[1] < predicted[0]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"shrink": "yes"}, "shrink must be"),
        ({"shrink": [0.5] * 11}, "11 values"),
        ({"shrink": [0.5] * 11 + [1.5]}, r"shrink\[11\] is 1.5, not .* in \(0, 1\)"),
    ],
)
def test_bad_priors(settings, message):
    with pytest.raises(ValueError, match=message):
        br.ClickLabels(simulated((1.0, 0.8, 0.6, 0.5)), ("power", 1.0), **settings)
