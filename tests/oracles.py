"""Slow, obvious definitions that the library is held against: loops and permutations, never its own
formulas."""

from __future__ import annotations

import itertools
import math

import numpy as np

from boostrank.queries.queries import Queries
from boostrank.surrogates import Separable

GAINS = {
    "exp2": lambda label: 2.0**label - 1.0,
    "linear": float,
    "log": lambda label: math.log2(1.0 + label),
}
DISCOUNTS = {
    "log2": lambda rank: 1.0 / math.log2(1 + rank),
    "zipf": lambda rank: 1.0 / rank,
    ("power", 0.5): lambda rank: 1.0 / math.sqrt(rank),
    ("exponential", 2.0): lambda rank: 1.0 / 2.0**rank,
}


def slices(sizes):
    """The documents of each query."""
    stops = list(itertools.accumulate(sizes))
    return [slice(stop - size, stop) for size, stop in zip(sizes, stops, strict=True)]


def one_query(rows):
    """Query ids for rows that belong to one query."""
    return np.zeros(len(rows))


def per_query(function, values, sizes):
    """A function of the values of each query."""
    return np.array([function(values[part]) for part in slices(sizes)])


def dcg_of_order(gains, order, discount="log2", cutoff=None):
    """DCG of documents shown in this order."""
    shown = order if cutoff is None else order[:cutoff]
    return sum(
        gains[document] * DISCOUNTS[discount](rank) for rank, document in enumerate(shown, start=1)
    )


def ideal_dcg(gains, discount="log2", cutoff=None):
    """The best DCG over all orders."""
    return max(
        dcg_of_order(gains, order, discount, cutoff)
        for order in itertools.permutations(range(len(gains)))
    )


def orders_by(scores):
    """Every order that decreases in score: the orders of tied documents, all combined; first the
    order of rows."""
    documents = range(len(scores))
    groups = [
        [i for i in documents if scores[i] == score] for score in sorted(set(scores), reverse=True)
    ]
    for parts in itertools.product(*(itertools.permutations(group) for group in groups)):
        yield [document for part in parts for document in part]


def normalized_gains(labels, discount="log2", cutoff=None, gain="exp2"):
    """Gains over the best DCG of one query, zero where nothing is relevant."""
    gains = [GAINS[gain](label) for label in labels]
    best = ideal_dcg(gains, discount, cutoff)
    return np.array([value / best if best > 0 else 0.0 for value in gains])


class Arc(Separable):
    """A user's own separable potential, without closed forms: sqrt(1 + s^2) + s^2 / 8."""

    def potential(self, scores):
        return np.hypot(1.0, scores) + scores**2 / 8.0

    def slope_curvature(self, scores):
        return scores / np.hypot(1.0, scores) + scores / 4.0, np.hypot(1.0, scores) ** -3.0 + 0.25


def numeric_gradient(surrogate, scores, targets, queries, step=1e-5):
    """Central differences of each query's loss, one document at a time."""
    gradient = np.empty_like(scores)
    for document, query in enumerate(np.repeat(np.arange(queries.n_queries), queries.sizes)):
        bump = np.zeros_like(scores)
        bump[document] = step
        above = surrogate.loss(scores + bump, targets, queries)[query]
        below = surrogate.loss(scores - bump, targets, queries)[query]
        gradient[document] = (above - below) / (2 * step)
    return gradient


def numeric_hessians(surrogate, scores, targets, queries, step=1e-5):
    """The Hessian matrix of each query, by central differences of the gradient."""
    matrices = []
    for part in slices(queries.sizes.tolist()):
        size, u = part.stop - part.start, targets[part]
        query = Queries.from_sizes([size])
        fixed, bumped = surrogate.at(scores[part], query), scores[part] + step * np.eye(size)
        above = np.array([fixed.gradient_hessian(row, u, query)[0] for row in bumped])
        below = np.array(
            [fixed.gradient_hessian(row, u, query)[0] for row in 2 * scores[part] - bumped]
        )
        matrices.append((above - below + (above - below).T) / (4 * step))
    return matrices
