"""Measures of one query by their definitions, over every permutation of ties, with exact fractions where floats end."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial

from measure_definitions import CHOOSE, DEFINITIONS, WITHOUT_CUTOFF, precision
from oracles import orders_by

THRESHOLD = 1
#: The scale of expected reciprocal rank, which is one number for a data set and not for a query.
MAX_GRADE = 6


def exp2_gain(label):
    """2^y - 1 without cancellation, as a fraction."""
    label = Fraction(label)
    if label.denominator == 1:
        return Fraction(2) ** int(label) - 1
    return Fraction(math.expm1(float(label) * math.log(2)))


# Each takes the labels in the sequence in which they are ranked, and the number of ranks that count.
def dcg(shown, depth, gain=exp2_gain):
    return sum(gain(label) * Fraction(1 / math.log2(1 + rank)) for rank, label in enumerate(shown[:depth], 1))


def ndcg(shown, depth, gain=exp2_gain):
    return dcg(shown, depth, gain) / dcg(sorted(shown, reverse=True), depth, gain)


def iprec(shown):
    """The mean over the eleven levels of recall, each rounded as by trec_eval, in floats: 0.7 * 3 + 0.9 is below 3."""
    found = [sum(label >= THRESHOLD for label in shown[:rank]) for rank in range(1, len(shown) + 1)]
    levels = [math.floor(tenths / 10 * found[-1] + 0.9) for tenths in range(11)]
    best = [max(precision(shown, r, THRESHOLD) for r, n in enumerate(found, 1) if n >= level) for level in levels]
    return sum(best) / len(best)


OF_GAINS = {
    "ndcg": ndcg,
    "dcg": dcg,
    "linear ndcg": partial(ndcg, gain=Fraction),
    "linear dcg": partial(dcg, gain=Fraction),
}
RANKED = (*OF_GAINS, *DEFINITIONS)
#: Measures without a cutoff.
WHOLE = (*WITHOUT_CUTOFF, "iprec")
PAIRED = ("auc", "kendall_tau", "agreement")


def of_ranking(name, shown, depth):
    """A measure of the labels of the ranked documents."""
    if name in OF_GAINS:
        return OF_GAINS[name](shown, depth)
    if name in WITHOUT_CUTOFF:
        return WITHOUT_CUTOFF[name](shown, THRESHOLD)
    if name == "iprec":
        return iprec(shown)
    return DEFINITIONS[name](shown, depth, MAX_GRADE if name == "err" else THRESHOLD)


def of_query(name, labels, scores, k=None, ties="average"):
    """A measure of one query; NaN where it is undefined."""
    if name in PAIRED:
        return paired(name, labels, scores, ties)
    if not any(labels) if name in OF_GAINS or name == "err" else max(labels) < THRESHOLD:
        return math.nan
    if name == "iprec" and ties == "average":
        ties = "worst"  # Its default.
    depth = len(labels) if k is None else k if isinstance(k, int) else max(1, math.ceil(k * len(labels) - 1e-9))
    return float(CHOOSE[ties]([of_ranking(name, [labels[i] for i in order], depth) for order in orders_by(scores)]))


def paired(name, labels, scores, ties="average"):
    """A measure of pairs of documents: of different labels for AUC and agreement, of all pairs for Kendall's tau."""
    levels = [label >= THRESHOLD for label in labels] if name == "auc" else list(labels)
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
