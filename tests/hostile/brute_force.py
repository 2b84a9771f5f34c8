"""Measures of one query by their definitions, over every permutation of ties, with exact fractions where floats end."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial

from measure_definitions import DEFINITIONS, WITHOUT_CUTOFF, precision
from oracles import orders_by

THRESHOLD = 1
CHOOSE = {"average": lambda values: sum(values) / len(values), "best": max, "worst": min, "stable": lambda v: v[0]}


def exp2_gain(label):
    """2^y - 1 without cancellation, as a fraction."""
    label = Fraction(label)
    if label.denominator == 1:
        return Fraction(2) ** int(label) - 1
    return Fraction(math.expm1(float(label) * math.log(2)))


def discount(rank):
    return Fraction(1 / math.log2(1 + rank))


def depth_of(k, n):
    return n if k is None else k if isinstance(k, int) else max(1, math.ceil(k * n - 1e-9))


def relevant(label):
    return Fraction(label) >= THRESHOLD


# Each takes the labels in the sequence in which they are ranked, the number of ranks that count, and all labels.
def dcg(shown, depth, labels, gain=exp2_gain):
    return sum(gain(label) * discount(rank) for rank, label in enumerate(shown[:depth], 1))


def linear_dcg(shown, depth, labels):
    return dcg(shown, depth, labels, Fraction)


def ndcg(shown, depth, labels, gain=exp2_gain):
    return dcg(shown, depth, labels, gain) / dcg(sorted(labels, key=Fraction, reverse=True), depth, labels, gain)


def linear_ndcg(shown, depth, labels):
    return ndcg(shown, depth, labels, Fraction)


def by_threshold(name, shown, depth, labels):
    return DEFINITIONS[name](shown, depth, MAX_GRADE if name == "err" else THRESHOLD)


def without_cutoff(name, shown, depth, labels):
    return WITHOUT_CUTOFF[name](shown, THRESHOLD)


def iprec(shown, depth, labels):
    """The mean over the eleven levels of recall, each rounded as by trec_eval."""
    n_relevant = sum(map(relevant, labels))
    levels = [math.floor(Fraction(tenths, 10) * n_relevant + Fraction(9, 10)) for tenths in range(11)]
    ranks = range(1, len(shown) + 1)
    best = [
        max(Fraction(precision(shown, r, THRESHOLD)) for r in ranks if sum(map(relevant, shown[:r])) >= n)
        for n in levels
    ]
    return sum(best) / Fraction(len(best))


#: The scale of expected reciprocal rank, which is one number for a data set and not for a query.
MAX_GRADE = 6
RANKED = {"ndcg": ndcg, "dcg": dcg, "linear ndcg": linear_ndcg, "linear dcg": linear_dcg}
RANKED |= {name: partial(by_threshold, name) for name in DEFINITIONS}
#: Measures without a cutoff.
WHOLE = {"iprec": iprec, **{name: partial(without_cutoff, name) for name in WITHOUT_CUTOFF}}
PAIRED = ("auc", "kendall_tau", "agreement")


def is_empty(name, labels):
    """Whether the measure is undefined for these labels."""
    if name in ("ndcg", "dcg", "err", "linear ndcg", "linear dcg"):
        return not any(labels)
    return not any(map(relevant, labels))


def of_query(name, labels, scores, k=None, ties="average"):
    """A measure of one query; NaN where it is undefined."""
    if name in PAIRED:
        return paired(name, labels, scores, ties)
    if is_empty(name, labels):
        return math.nan
    if name == "iprec" and ties == "average":
        ties = "worst"  # Its default.
    depth = depth_of(k, len(labels))
    values = [{**RANKED, **WHOLE}[name]([labels[i] for i in order], depth, labels) for order in orders_by(scores)]
    return float(CHOOSE[ties](values))


def paired(name, labels, scores, ties="average"):
    """A measure of pairs of documents: of different labels for AUC and agreement, of all pairs for Kendall's tau."""
    levels = [relevant(label) for label in labels] if name == "auc" else list(labels)
    alike = opposite = tied = same_label = same_score = 0
    for i in range(len(levels)):
        for j in range(i):
            first, second = (
                (levels[i] > levels[j]) - (levels[i] < levels[j]),
                (scores[i] > scores[j]) - (scores[i] < scores[j]),
            )
            same_label += first == 0
            same_score += second == 0
            alike += first * second > 0
            opposite += first * second < 0
            # In the sequence of the rows, j is ranked before i.
            tied += (first != 0 and second == 0) * {"average": 0.5, "best": 1, "worst": 0, "stable": first < 0}[ties]
    n_pairs = len(levels) * (len(levels) - 1) // 2
    if name == "kendall_tau":
        norm = (n_pairs - same_label) * (n_pairs - same_score)
        return (alike - opposite) / math.sqrt(norm) if norm else math.nan
    return (alike + tied) / (n_pairs - same_label) if n_pairs > same_label else math.nan


def by_query(codes, *rows):
    """The values of each query, queries in the sequence of their first appearance."""
    return [
        tuple([row[i] for i, code in enumerate(codes) if code == query] for row in rows)
        for query in dict.fromkeys(codes)
    ]


def per_query(name, labels, scores, codes, k=None, ties="average"):
    """A measure of each query, NaN where it is undefined."""
    return [of_query(name, *query, k=k, ties=ties) for query in by_query(codes, labels, scores)]


def mean(values, weights=None, empty="zero"):
    """Weighted mean over queries, exact in the weights; undefined queries count 0 or are left out."""
    weights = [1] * len(values) if weights is None else weights
    pairs = [
        (0.0 if math.isnan(value) else value, Fraction(weight)) for value, weight in zip(values, weights, strict=True)
    ]
    if empty == "skip":
        pairs = [pair for pair, value in zip(pairs, values, strict=True) if not math.isnan(value)]
    return float(sum(Fraction(value) * weight for value, weight in pairs) / sum(weight for _, weight in pairs))
