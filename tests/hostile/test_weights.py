"""Hostile weights at every entry point that takes them."""

import functools
from fractions import Fraction

import numpy as np
import pytest
from cases import for_each

import boostrank as br
from boostrank import metrics
from hostile import brute_force
from hostile.entry_points import CODES, FEATURES, FUNCTIONS, LABELS, NATIVE, RANKERS, SCORES, SETTINGS, K, tiny
from hostile.outcomes import NAMES, Fault, check_fault, check_value, named, rotated_table
from hostile.weights import DIFFERENT_WITHIN_A_QUERY, WEIGHTS

ROWS = np.array(LABELS), np.array(SCORES), np.array(CODES)


def weighted(name):
    """The mean of a measure, and its expectation from weights of queries."""
    function, settings = FUNCTIONS[name.removeprefix("linear ")], SETTINGS[name]
    values = brute_force.per_query(name, LABELS, SCORES, CODES, settings.get("k"))
    return (
        lambda weights: function(*ROWS, sample_weight=weights, **settings),
        lambda weights: brute_force.mean(values, weights, "skip" if name in brute_force.PAIRED else "zero"),
    )


def mean_ndcg(weights, k=K):
    return brute_force.mean(brute_force.per_query("ndcg", LABELS, SCORES, CODES, k), weights)


def agreement_of_preferences(weights):
    graph = br.PreferenceGraph.from_grades(LABELS, CODES)
    return FUNCTIONS["agreement"](graph, SCORES, sample_weight=weights)


def trained(ranker_class, objective, weights):
    ranker = tiny(ranker_class, objective=objective)
    return ranker.fit(FEATURES, LABELS, CODES, sample_weight=weights).predict(FEATURES)


def relative(weights):
    """The same weights with mean 1 over the queries: only their ratios matter."""
    total = sum(map(Fraction, weights))
    return [float(Fraction(weight) * len(weights) / total) for weight in weights]


MEASURES = {name.replace(" ", "-"): weighted(name) for name in SETTINGS}
OTHERS = {
    "evaluate": (
        lambda weights: br.evaluate(*ROWS, ["ndcg@3"], sample_weight=weights)["ndcg@3"],
        mean_ndcg,
    ),
    "reconcile": (lambda weights: br.reconcile(*ROWS, k=K, sample_weight=weights).value, mean_ndcg),
    "ndcg_curve": (
        lambda weights: metrics.ndcg_curve(*ROWS, ks=[1, K], sample_weight=weights),
        lambda weights: [mean_ndcg(weights, 1), mean_ndcg(weights)],
    ),
    "agreement-of-preferences": (agreement_of_preferences, MEASURES["agreement"][1]),
}
FITS = {
    f"{name}.fit-{objective.replace(':', '-')}": (
        functools.partial(trained, ranker_class, objective),
        lambda weights, ranker_class=ranker_class, objective=objective: trained(
            ranker_class, objective, relative(weights)
        ),
    )
    for name, ranker_class in RANKERS.items()
    for objective in ("softmax", "squared", NATIVE[name])
}
ENTRY_POINTS = {**MEASURES, **OTHERS, **FITS}
CORE = ["ndcg", "XGBoostRanker.fit-softmax"]
PAIRS = rotated_table(WEIGHTS, CORE, [name for name in ENTRY_POINTS if name not in CORE], 2)


@pytest.mark.slow
@for_each(("weights", "entry_point"), named(PAIRS))
def test_weights(weights, entry_point):
    given, meaning = WEIGHTS[weights]
    call, expected = ENTRY_POINTS[entry_point]
    if isinstance(meaning, Fault):
        check_fault(lambda: call(given), NAMES["weights"], meaning.pattern)
    elif ".fit" in entry_point:
        # Weights in float32, which the backends take, end in the sixth digit.
        np.testing.assert_allclose(call(given), expected(meaning), rtol=1e-4, atol=1e-6)
    else:
        check_value(call(given), expected(meaning))


ONE_WEIGHT_PER_QUERY = [name for name in ENTRY_POINTS if "squared" not in name and "softmax" not in name]


@for_each(
    ("weights", "entry_point"),
    named([(weights, name) for weights in DIFFERENT_WITHIN_A_QUERY for name in ONE_WEIGHT_PER_QUERY]),
)
def test_weights_that_differ_within_a_query(weights, entry_point):
    call, _ = ENTRY_POINTS[entry_point]
    check_fault(lambda: call(DIFFERENT_WITHIN_A_QUERY[weights]), NAMES["weights"], "differ")
