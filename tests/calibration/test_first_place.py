"""The map from scores to the probability of the first place."""

import json

import numpy as np
import pytest
from cases import for_each
from scipy.optimize import minimize_scalar

from boostrank.calibration.first_place import FirstPlace, shares_of_first
from boostrank.queries.segments import Segments


def races(n_lists, factor, seed=0, size=6):
    """Lists whose winners are drawn by the softmax of utilities, and scores of other spread."""
    random = np.random.default_rng(seed)
    queries = Segments.from_sizes(np.full(n_lists, size))
    utilities = random.standard_normal(n_lists * size)
    noisy = utilities + random.gumbel(size=len(utilities))
    winners = (noisy == queries.repeat(queries.max(noisy))).astype(float)
    return factor * utilities, winners, queries, np.ones(n_lists)


@for_each("factor", [0.01, 1.0, 50.0])
def test_the_temperature_is_that_of_the_simulation(factor):
    scores, winners, queries, weights = races(4000, factor)
    fitted = FirstPlace.fit(scores, winners, queries, weights, "temperature")
    assert fitted.temperature == pytest.approx(factor, rel=0.06)


def test_the_temperature_has_the_largest_likelihood():
    scores, winners, queries, weights = races(300, 2.0)
    weights = np.random.default_rng(1).random(len(weights))

    def loss(inverse):
        logs = inverse * scores - queries.repeat(queries.logsumexp(inverse * scores))
        return -weights @ queries.sum(winners * logs)

    best = minimize_scalar(loss, bounds=(1e-3, 10.0), method="bounded").x
    fitted = FirstPlace.fit(scores, winners, queries, weights, "temperature")
    # The counts of Platt change it by about one list in 300.
    assert 1.0 / fitted.temperature == pytest.approx(best, rel=0.01)


def test_ties_of_the_best_label_share_the_event():
    queries = Segments.from_sizes([3, 1, 2])
    shares = shares_of_first(np.array([2.0, 0.0, 2.0, 0.0, 1.0, 1.0]), queries)
    assert shares.tolist() == [0.5, 0.0, 0.5, 1.0, 0.5, 0.5]


def test_lists_that_say_nothing_do_not_count():
    scores, winners, queries, weights = races(50, 1.0)
    more = Segments.from_sizes([*queries.sizes, 1, 4, 4])
    extra = np.array([9.0, *range(8)])
    labels = np.array([3.0, *np.zeros(4), *np.full(4, 2.0)])
    one = FirstPlace.fit(scores, winners, queries, weights, "temperature")
    other = FirstPlace.fit(
        np.append(scores, extra), np.append(winners, labels), more, np.ones(53), "temperature"
    )
    assert other.temperature == pytest.approx(one.temperature, rel=1e-9)


def test_perfect_scores_have_a_temperature_above_zero():
    scores = np.tile([1.0, 0.0, 0.0], 20)
    queries = Segments.from_sizes(np.full(20, 3))
    fitted = FirstPlace.fit(scores, scores, queries, np.ones(20), "temperature")
    probabilities = fitted.probabilities(scores, None, queries)
    # The smoothed share of the first place is (1 - 1 / 22) + 1 / 66.
    assert probabilities[0] == pytest.approx(1.0 - 1.0 / 22.0 + 1.0 / 66.0)


@for_each(
    ("scores", "labels", "message"),
    [
        ([0.0, 1.0, 0.0, 1.0], [1.0, 1.0, 0.0, 0.0], "no list to calibrate on"),
        ([0.0, 0.0, 0.0, 0.0], [1.0, 0.0, 0.0, 1.0], "better than chance"),
        ([0.0, 1.0, 1.0, 0.0], [1.0, 0.0, 0.0, 1.0], "better than chance"),
    ],
)
def test_what_cannot_be_calibrated_is_an_error(scores, labels, message):
    queries = Segments.from_sizes([2, 2])
    with pytest.raises(ValueError, match=message):
        FirstPlace.fit(np.array(scores), np.array(labels), queries, np.ones(2), "temperature")


def test_isotonic_repairs_scores_that_no_temperature_does():
    scores, winners, queries, weights = races(3000, 1.0)
    bent = np.sign(scores) * np.abs(scores) ** 3
    new_scores, new_winners, new_queries, _ = races(3000, 1.0, seed=1)
    bent_new = np.sign(new_scores) * np.abs(new_scores) ** 3
    losses = {}
    for method in ("temperature", "isotonic"):
        fitted = FirstPlace.fit(bent, winners, queries, weights, method)
        probabilities = fitted.probabilities(bent_new, None, new_queries)
        assert new_queries.sum(probabilities) == pytest.approx(1.0)
        losses[method] = -np.log(probabilities[new_winners == 1]).mean()
        # The sequence within a list stays that of the scores.
        utilities = fitted.utilities(bent_new, new_queries)
        assert (new_queries.sort(utilities) == new_queries.sort(bent_new)).all()
        loaded = FirstPlace.from_dict(json.loads(json.dumps(fitted.as_dict())))
        assert loaded.utilities(bent_new, new_queries).tolist() == utilities.tolist()
    assert losses["isotonic"] < losses["temperature"] - 0.005
