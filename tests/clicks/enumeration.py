"""Slow oracles: all examinations of a session, all subsets of documents, and binary label
distributions."""

import itertools

import numpy as np


def subsets(items):
    items = list(items)
    for size in range(len(items) + 1):
        yield from itertools.combinations(items, size)


def binary_vectors(m):
    return [np.array(vector) for vector in itertools.product((0, 1), repeat=m)]


def ideal(n, k=None, discount=lambda r: 1 / np.log2(1 + r)):
    return sum(discount(r) for r in range(1, min(n, n if k is None else k) + 1))


def normalized(relevant, k=None):
    """u of binary relevance."""
    relevant = np.asarray(relevant)
    n = int(relevant.sum())
    return relevant / ideal(n, k) if n else relevant * 0.0


def independent_clicks(probabilities):
    """All click vectors with their probabilities, for independent clicks."""
    for clicks in binary_vectors(len(probabilities)):
        yield clicks, np.prod(np.where(clicks == 1, probabilities, 1 - np.asarray(probabilities)))


def cascade_clicks(relevant, satisfaction):
    """All click vectors with their probabilities, for known relevances."""
    m = len(relevant)
    go = [1 - satisfaction * r for r in relevant]
    for last in range(m):
        clicks = np.array([r if j <= last else 0 for j, r in enumerate(relevant)])
        yield clicks, np.prod(go[:last]) * (1 - go[last] if last < m - 1 else 1.0)
