"""Definitions of measures over every permutation of ties, and the functions that are held against
them."""

import math
from functools import partial

import numpy as np
import pandas as pd
import run_definitions
from oracles import orders_by

from boostrank.metrics import MEASURES, get_measure
from boostrank.metrics.base import QueryMeasure

# The persistence of rank-biased precision in tests.
P = 0.7
#: Means over queries of measures of arrays of labels and scores. Most others need a run.
FOR_ARRAYS = [
    name
    for name, kind in MEASURES.items()
    if issubclass(kind, QueryMeasure) and kind.domain != "runs" and kind.summary == "mean"
]


def score(name, y_true, y_score, qid=None, *, sample_weight=None, per_query=False, **settings):
    """The value of a measure with these settings."""
    measure = get_measure(name, **settings)
    return measure(y_true, y_score, qid, sample_weight=sample_weight, per_query=per_query)


FUNCTIONS = {name: partial(score, name) for name in FOR_ARRAYS}
#: Measures that depend on the scores themselves, and not only on the ranking.
OF_PROBABILITIES = ("neg-first-brier", "neg-first-log-loss")


# Each takes the labels of the ranked documents, the number of ranks that count, and the threshold
# or largest grade.
def precision(shown, depth, threshold):
    return sum(label >= threshold for label in shown[:depth]) / depth


def recall(shown, depth, threshold):
    return sum(label >= threshold for label in shown[:depth]) / sum(
        label >= threshold for label in shown
    )


def rbp(shown, depth, threshold):
    return sum(
        (1 - P) * P ** (r - 1) for r, label in enumerate(shown[:depth], 1) if label >= threshold
    )


def f_measure(shown, depth, threshold):
    both = precision(shown, depth, threshold), recall(shown, depth, threshold)
    return 2 * both[0] * both[1] / sum(both) if sum(both) else 0.0


def average_precision(shown, depth, threshold):
    found = [
        precision(shown, r, threshold)
        for r, label in enumerate(shown[:depth], 1)
        if label >= threshold
    ]
    return sum(found) / sum(label >= threshold for label in shown)


def reciprocal_rank(shown, depth, threshold):
    return next((1 / r for r, label in enumerate(shown[:depth], 1) if label >= threshold), 0.0)


def err(shown, depth, largest):
    total, reading = 0.0, 1.0
    for r, label in enumerate(shown[:depth], 1):
        satisfied = (2**label - 1) / 2**largest
        total += reading * satisfied / r
        reading *= 1 - satisfied
    return total


def of_judged_run(definition, shown, *settings):
    """A definition for runs of documents that all were judged, by the numbers of their ranks."""
    return definition(dict(enumerate(shown)), range(len(shown)), *settings)


DEFINITIONS = {
    "precision": precision,
    "recall": recall,
    "f": f_measure,
    "rbp": rbp,
    "map": average_precision,
    "mrr": reciprocal_rank,
    "success": lambda shown, depth, threshold: of_judged_run(
        run_definitions.success, shown, threshold, depth
    ),
    "err": err,
}
SETTINGS = {"rbp": {"p": P}}
RANKED = list(DEFINITIONS)
#: Without a cutoff: each takes the labels of the ranked documents and the threshold.
WITHOUT_CUTOFF = {
    name: partial(of_judged_run, getattr(run_definitions, name)) for name in ("rprec", "bpref")
}
CHOOSE = {"average": np.mean, "best": max, "worst": min, "stable": lambda values: values[0]}


def by_definition(name, y, scores, k, ties, cut):
    """A measure of one query, over every permutation of its ties; NaN where nothing is relevant."""
    if max(y) < (1 if name == "err" else cut):
        return math.nan
    depth = len(y) if k is None else k if isinstance(k, int) else math.ceil(k * len(y))
    values = [DEFINITIONS[name]([y[i] for i in order], depth, cut) for order in orders_by(scores)]
    return CHOOSE[ties](values)


def queries_of(qid, *rows):
    """The values of each query as lists, in order of first appearance."""
    return [tuple(row[qid == query].tolist() for row in rows) for query in pd.unique(qid)]
