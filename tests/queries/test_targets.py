"""Targets: each normalization by its formula, and the numbers of the paper."""

import math

import numpy as np
import pytest
from cases import for_each
from hypothesis import given
from hypothesis import strategies as st
from oracles import DISCOUNTS, normalized_gains, slices

from boostrank.queries.dcg import DCG, NORMALIZATIONS, make_targets
from boostrank.queries.queries import Queries


def gains(y):
    return [2.0**label - 1 for label in y]


def divided(values, norm):
    return [value / norm if norm > 0 else 0.0 for value in values]


FORMULAS = {
    "dcg": lambda y: normalized_gains(y),
    "none": gains,
    "l2": lambda y: divided(gains(y), math.sqrt(sum(g**2 for g in gains(y)))),
    "sum": lambda y: divided(gains(y), sum(gains(y))),
    "softmax": lambda y: divided([math.exp(label) for label in y], sum(math.exp(label) for label in y)),
}


@pytest.mark.parametrize("normalize", NORMALIZATIONS)
@given(sizes=st.lists(st.integers(1, 5), min_size=1, max_size=5), highest=st.sampled_from([0, 1, 4]))
def test_targets_by_formula(normalize, sizes, highest):
    labels = np.random.default_rng(sizes).integers(0, highest + 1, sum(sizes))
    expected = np.concatenate([FORMULAS[normalize](labels[part]) for part in slices(sizes)])
    targets = make_targets(labels, Queries.from_sizes(sizes), normalize=normalize)
    np.testing.assert_allclose(targets, expected, rtol=1e-12, atol=1e-15)
    assert targets.dtype == np.float64


@for_each("discount", DISCOUNTS, ids=str)
@for_each("k", [None, 1, 2])
@for_each("gain", ["exp2", "linear"])
def test_normalized_gains_use_gain_discount_and_cutoff(gain, k, discount):
    labels, queries = [3, 0, 1, 1, 0, 2], Queries.from_sizes([4, 2])
    expected = [normalized_gains(part, discount, k, gain) for part in (labels[:4], labels[4:])]
    targets = make_targets(labels, queries, DCG(k=k, gain=gain, discount=discount))
    np.testing.assert_allclose(targets, np.concatenate(expected), rtol=1e-12)


@pytest.mark.parametrize("normalize", ["dcg", "l2", "sum"])
def test_targets_of_the_largest_labels_are_finite_and_right(normalize):
    labels, queries = [1000.0, 1000.0, 999.0], Queries.from_sizes([3])
    small = make_targets([60.0, 60.0, 59.0], queries, normalize=normalize)
    np.testing.assert_allclose(make_targets(labels, queries, normalize=normalize), small, rtol=1e-12)
