"""Regression EM: against plain EM by loops, in simulations with known propensities, and where it must fail."""

import numpy as np
import pytest
from propensity_logs import counts_of
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from boostrank.clicks import ClickLog, PositionBased, harvest_propensities, regression_em_propensities, simulate_clicks

# The ranker of these logs sorts by a feature, and the classifier of most tests has the form of the relevance.
pytestmark = pytest.mark.filterwarnings("ignore:X explains .*% of the variance of positions")
N_QUERIES, DEPTH = 120, 5
TRUTH = 1 / np.arange(1, DEPTH + 1)


def world(seed, n_sessions=12_000, *, known_to_ranker=0.0):
    """A log of the lists of one ranker, and features that determine relevance but for noise.

    The ranker is the first feature, and `known_to_ranker` times the noise.
    """
    random = np.random.default_rng(seed)
    qid = np.repeat(np.arange(N_QUERIES), 8)
    X, noise = random.standard_normal((len(qid), 3)), random.standard_normal(len(qid))
    gamma = 1 / (1 + np.exp(1.0 - X[:, 0] - X[:, 1] - noise))
    scores = X[:, 0] + known_to_ranker * noise
    settings = {"model": PositionBased(), "depth": DEPTH, "n_sessions": n_sessions, "random_state": seed}
    return simulate_clicks(np.ones(len(qid)), scores, qid, relevance=lambda y: gamma, **settings).log, X


def test_one_deterministic_ranker_is_enough():
    log, X = world(0, 40_000)
    found = regression_em_propensities(log.aggregate(), X, LogisticRegression(), tolerance=0.005, random_state=0)
    assert found.method == "regression EM"
    assert np.isnan(found.standard_errors).all()
    np.testing.assert_allclose(found.values / TRUTH, 1, atol=0.1)
    with pytest.raises(ValueError, match="cannot tell propensity from relevance"):
        harvest_propensities(log)


def em_by_loop(log, n_iterations):
    """EM of Wang et al. (2018), Section 4.1, with one relevance for each row."""
    counts = {d: shown for d, shown in counts_of(log).items() if len(shown) > 1 and sum(c for c, _ in shown.values())}
    p = {k: 1 / k for shown in counts.values() for k in shown}
    g = dict.fromkeys(counts, 0.5)
    for _ in range(n_iterations):
        examined, relevant = {k: [] for k in p}, {d: [] for d in counts}
        for d, shown in counts.items():
            for k, (c, n) in shown.items():
                # E step: probabilities of examination and of relevance of an impression without a click.
                e = p[k] * (1 - g[d]) / (1 - p[k] * g[d])
                r = g[d] * (1 - p[k]) / (1 - p[k] * g[d])
                examined[k].append((c + (n - c) * e, n))
                relevant[d].append((c + (n - c) * r, n))
        p = {k: sum(x for x, _ in pairs) / sum(n for _, n in pairs) for k, pairs in examined.items()}
        g = {d: sum(x for x, _ in pairs) / sum(n for _, n in pairs) for d, pairs in relevant.items()}
    return np.array([p[k] / p[1] for k in sorted(p)])


def test_a_classifier_of_every_row_gives_plain_em():
    # A tree without limits on the row number predicts each row by its own clicks.
    random = np.random.default_rng(0)
    gamma = random.uniform(0.2, 0.9, 12)
    log = simulate_clicks(
        np.ones(12), np.zeros(12), np.repeat([0, 1, 2], 4), model=PositionBased(), n_sessions=4000,
        policy=("plackett-luce", 1.0), relevance=lambda y: gamma, random_state=0,
    ).log  # fmt: skip
    tree = DecisionTreeClassifier(random_state=0)
    found = regression_em_propensities(log, np.arange(12)[:, None], tree, n_folds=1, tolerance=1e-5)
    np.testing.assert_allclose(found.values, em_by_loop(log, 1000), rtol=2e-3)


def test_features_that_determine_the_position_are_named():
    log, _ = world(0)
    counts = log.aggregate()
    X = np.zeros((len(log), DEPTH))
    X[counts.row, counts.position - 1] = 1.0
    with pytest.warns(UserWarning, match="X explains 100% of the variance of positions"):
        regression_em_propensities(log, X, LogisticRegression(C=1e4), random_state=0)


def test_with_a_constant_relevance_propensities_are_ratios_of_click_rates():
    log, X = world(0, 3000)
    found = regression_em_propensities(log, X, DummyClassifier(), n_folds=1, tolerance=1e-3)
    rates = np.bincount(log.position - 1, log.clicks) / np.bincount(log.position - 1)
    np.testing.assert_allclose(found.values, rates / rates[0], rtol=0.02)


def test_another_position_may_have_the_largest_propensity():
    log, X = world(0)
    first = {1: 2, 2: 1}
    swapped = ClickLog(log.qid, log.row, [first.get(r, r) for r in log.position.tolist()], log.clicks)
    found, expected = (
        regression_em_propensities(one, X, LogisticRegression(), tolerance=0.01, random_state=0)
        for one in (swapped.aggregate(), log.aggregate())
    )
    np.testing.assert_allclose(found.values[1], 1 / expected.values[1], rtol=0.1)
    np.testing.assert_allclose(found.values[2:], expected.values[2:] / expected.values[1], rtol=0.1)


def test_positions_without_clicks_are_named():
    log, X = world(0, 3000)
    kept = log.position != 4
    part = ClickLog(
        log.qid, *(x[kept] for x in (log.row, log.position)), np.where(log.position == 3, 0, log.clicks)[kept]
    )
    found = regression_em_propensities(part, X, LogisticRegression(), tolerance=0.05, random_state=0)
    assert found.not_estimated == {3: "no clicks there", 4: "nothing was shown there"}
    assert np.isnan(found.values[2:4]).all()
    with pytest.raises(ValueError, match="no clicks at any position but the first"):
        regression_em_propensities(ClickLog([1, 1], [0, 1], [1, 2], [1, 0]), X[:2], LogisticRegression())
    with pytest.raises(ValueError, match="no clicks at position 1"):
        regression_em_propensities(ClickLog([1, 1], [0, 1], [1, 2], [0, 1]), X[:2], LogisticRegression())


def test_bad_arguments_are_named():
    log, X = world(0, 300)
    with pytest.raises(ValueError, match="X has 10 rows, but the log belongs to 960"):
        regression_em_propensities(log, X[:10], LogisticRegression())
    with pytest.raises(TypeError, match="log must be a ClickLog"):
        regression_em_propensities(X, X, LogisticRegression())
    for settings in ({"n_folds": 0}, {"max_iterations": 0}, {"tolerance": 0}, {"max_position": 1}):
        with pytest.raises(ValueError, match=next(iter(settings))):
            regression_em_propensities(log, X, LogisticRegression(), **settings)
    with pytest.warns(ConvergenceWarning, match="did not converge in 3 steps"):
        regression_em_propensities(log, X, LogisticRegression(), max_iterations=3, random_state=0)
