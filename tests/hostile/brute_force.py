"""DCG and NDCG by their definitions, over every permutation of ties, with exact fractions where
floats end."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial

from measure_definitions import CHOOSE
from oracles import orders_by


def exp2_gain(label):
    """2^y - 1 without cancellation, as a fraction."""
    label = Fraction(label)
    if label.denominator == 1:
        return Fraction(2) ** int(label) - 1
    return Fraction(math.expm1(float(label) * math.log(2)))


# Each takes the labels in the sequence in which they are ranked, and the number of ranks that
# count.
def dcg(shown, depth, gain=exp2_gain):
    return sum(
        gain(label) * Fraction(1 / math.log2(1 + rank))
        for rank, label in enumerate(shown[:depth], 1)
    )


def ndcg(shown, depth, gain=exp2_gain):
    return dcg(shown, depth, gain) / dcg(sorted(shown, reverse=True), depth, gain)


MEASURES = {
    "ndcg": ndcg,
    "dcg": dcg,
    "linear ndcg": partial(ndcg, gain=Fraction),
    "linear dcg": partial(dcg, gain=Fraction),
}


def of_query(name, labels, scores, k, ties):
    """A measure of one query; NaN where it is undefined."""
    if not any(labels):
        return math.nan
    depth = (
        len(labels)
        if k is None
        else k
        if isinstance(k, int)
        else max(1, math.ceil(k * len(labels) - 1e-9))
    )
    return float(
        CHOOSE[ties](
            [MEASURES[name]([labels[i] for i in order], depth) for order in orders_by(scores)]
        )
    )


def per_query(name, labels, scores, codes, k=None, ties="average"):
    """A measure of each query, in the sequence of their first appearance; NaN where it is
    undefined."""
    rows = {query: [i for i, code in enumerate(codes) if code == query] for query in codes}
    return [
        of_query(name, [labels[i] for i in r], [scores[i] for i in r], k, ties)
        for r in rows.values()
    ]


def mean(values, weights, empty="zero"):
    """Weighted mean over queries, exact in the weights; undefined queries count 0 or are left
    out."""
    pairs = [(value, Fraction(weight)) for value, weight in zip(values, weights, strict=True)]
    if empty == "skip":
        pairs = [pair for pair in pairs if not math.isnan(pair[0])]
    total = sum(Fraction(0.0 if math.isnan(value) else value) * weight for value, weight in pairs)
    return float(total / sum(weight for _, weight in pairs))
