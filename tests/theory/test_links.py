"""The table of the page theory/calibration: best scores as functions of the expected targets."""

import numpy as np
import pytest
import scipy
from cases import for_each

import boostrank as br
from boostrank.theory import LabelDistribution, minimizer

#: Each list has one document of label 2 and one of label 1, so that the sum of targets is constant.
PERMUTED = LabelDistribution([[2, 1, 0], [1, 2, 0], [0, 1, 2], [2, 0, 1]], [0.5, 0.2, 0.1, 0.2])
TWO = LabelDistribution([[2, 0], [0, 1], [1, 2]], [0.6, 0.2, 0.2])


def shares(distribution):
    """The expected normalized gain of each document."""
    queries = br.Queries.from_sizes([distribution.n_documents])
    targets = [br.make_targets(labels, queries) for labels in distribution.labels]
    return np.asarray(distribution.probabilities) @ np.array(targets)


def centred(scores):
    return scores - np.mean(scores)


@for_each(
    ("name", "temperature"),
    [
        ("softmax", 1.0),
        ("consistent-lambdarank", 1.0),
        ("pairwise-logistic", 1.0),
        ("poisson", 1.0),
        ("power", 0.8),
        ("pairwise-exponential", 0.5),
    ],
)
def test_a_temperature_makes_shares_of_these_losses(name, temperature):
    expected = shares(PERMUTED)
    scores = minimizer(name, PERMUTED)
    found = scipy.special.softmax(scores / temperature)
    assert found == pytest.approx(expected / expected.sum(), rel=1e-4)


@for_each(
    ("name", "link"),
    [
        ("logistic", scipy.special.logit),
        ("centered-logistic", scipy.special.logit),
        ("squared", np.asarray),
        ("centered-squared", np.asarray),
    ],
)
def test_other_links_are_no_logarithms(name, link):
    scores = minimizer(name, PERMUTED)
    assert centred(scores) == pytest.approx(centred(link(shares(PERMUTED))), abs=1e-4)


@for_each("name", ["pairwise-squared", "pairwise-squared-hinge"])
def test_differences_of_two_documents(name):
    first, second = minimizer(name, TWO)
    a, b = shares(TWO)
    assert first - second == pytest.approx((a - b) / (a + b), abs=1e-4)
