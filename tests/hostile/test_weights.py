"""Weights of queries and documents: forms, faults, small and large ones, and who takes which."""

from fractions import Fraction
from functools import partial

import numpy as np
import pandas as pd
import pytest
from cases import for_each

import boostrank as br
from boostrank.queries.queries import Queries
from boostrank.queries.weights import query_weights
from hostile import brute_force
from hostile.entry_points import (
    CODES,
    FEATURES,
    FUNCTIONS,
    LABELS,
    N_ROWS,
    NATIVE,
    RANKERS,
    SCORES,
    K,
    tiny,
)
from hostile.outcomes import NAMES, Fault, check_fault, check_value, with_faults

ROWS = np.array(LABELS), np.array(SCORES), np.array(CODES)
FAULTY = {
    "negative": ([1.0, -1.0], "negative"),
    "zero-everywhere": ([0.0, 0.0], "zero"),
    "too-short": ([1.0], "1"),
    "too-long": ([1.0, 2.0, 3.0], "3"),
    "one-row-too-few": (np.ones(N_ROWS - 1), "7"),
    "series-with-other-ids": (pd.Series([3, 1], index=["1", "0"]), "index"),
}


def per_row(weights):
    """The weight of each row, from those of the queries."""
    return [weights[code] for code in CODES]


# A Series of weights of queries is aligned by its index, which has the query ids; one of weights of
# rows is not.
FORMS = {
    "queries-in-series-with-reversed-index": (pd.Series([3, 1], index=[1, 0]), [1, 3]),
    "rows-in-series-with-reversed-index": (
        pd.Series(per_row([1, 3]), index=range(N_ROWS)[::-1]),
        [1, 3],
    ),
}
WEIGHTS = with_faults(FORMS, FAULTY)


@for_each("ranker_class", RANKERS.values(), ids=RANKERS)
@for_each("n_weights", [1, 4, 7, 9])
def test_weights_of_a_wrong_length_with_validation_fraction(ranker_class, n_weights):
    ranker = tiny(ranker_class, validation_fraction=0.5)
    weights = np.ones(n_weights)
    check_fault(
        lambda: ranker.fit(FEATURES, LABELS, CODES, sample_weight=weights),
        "sample_weight",
        "2.*8|8.*2",
    )


@for_each("form", WEIGHTS)
def test_which_weights_they_are(form):
    given, meaning = WEIGHTS[form]

    def call():
        return query_weights(given, Queries.from_qid(CODES), grouped=False)

    if isinstance(meaning, Fault):
        check_fault(call, NAMES["weights"], meaning.pattern)
    else:
        check_value(call(), meaning)


def measured(name, weights=None, per_query=False):
    return FUNCTIONS[name](*ROWS, sample_weight=weights, empty="skip", per_query=per_query)


def mean_of(name, weights):
    return brute_force.mean(measured(name, per_query=True), weights, "skip")


def mean_ndcg(weights, k=K):
    return brute_force.mean(brute_force.per_query("ndcg", LABELS, SCORES, CODES, k), weights)


def agreement_of_preferences(weights):
    graph = br.PreferenceGraph.from_grades(LABELS, CODES)
    return FUNCTIONS["agreement"](graph, SCORES, sample_weight=weights)


def trained(ranker_class, objective, weights):
    ranker = tiny(ranker_class, objective=objective)
    return ranker.fit(FEATURES, LABELS, CODES, sample_weight=weights).predict(FEATURES)


#: Calls with weights, and their values from weights of queries.
MEASURES = {
    **{name: (partial(measured, name), partial(mean_of, name)) for name in FUNCTIONS},
    "evaluate": (
        lambda weights: br.evaluate(*ROWS, ["ndcg@3"], sample_weight=weights)["ndcg@3"],
        mean_ndcg,
    ),
    "reconcile": (lambda weights: br.reconcile(*ROWS, k=K, sample_weight=weights).value, mean_ndcg),
    "agreement of preferences": (agreement_of_preferences, partial(mean_of, "agreement")),
}
FITS = {
    f"{name}-{objective}": partial(trained, RANKERS[name], objective)
    for name in RANKERS
    for objective in ("softmax", "squared", NATIVE[name])
}


@for_each("name", MEASURES)
def test_measures_are_means_with_these_weights(name):
    call, expected = MEASURES[name]
    check_value(call(per_row([1, 3])), expected([1, 3]))
    check_fault(lambda: call([1, -3]), NAMES["weights"], "negative")


#: Small and large weights of the two queries; only their ratios matter.
EXTREMES = [[0, 1], [1e-100, 3e-100], [3e100, 1e100], [2**64, 2**65], [True, False]]


@for_each("weights", EXTREMES, ids=str)
def test_measures_with_small_and_large_weights(weights):
    check_value(measured("ndcg", weights), mean_ndcg(weights, None))


@pytest.mark.slow
@for_each(("name", "weights"), [(name, weights) for name in FITS for weights in EXTREMES])
def test_fits_with_small_and_large_weights(name, weights):
    relative = [
        float(Fraction(weight) * len(weights) / sum(map(Fraction, weights))) for weight in weights
    ]
    # Weights in float32, which the backends take, end in the sixth digit.
    np.testing.assert_allclose(
        FITS[name](per_row(weights)), FITS[name](relative), rtol=1e-4, atol=1e-6
    )


ONE_WEIGHT_PER_QUERY = {name: call for name, (call, _) in MEASURES.items()}
# LightGBM's own objectives multiply rows.
ONE_WEIGHT_PER_QUERY |= {
    name: call for name, call in FITS.items() if name.endswith(NATIVE["XGBoostRanker"])
}


@for_each("name", ONE_WEIGHT_PER_QUERY)
@pytest.mark.parametrize("weight", [2.0, 1.0 + 2.0**-52, 0.0])
def test_weights_that_differ_within_a_query(name, weight):
    weights = np.where(np.arange(N_ROWS) == 3, weight, 1.0)
    check_fault(lambda: ONE_WEIGHT_PER_QUERY[name](weights), NAMES["weights"], "differ")
