"""Preference graphs to test, and their edges as plain tuples."""

import numpy as np

from boostrank.preferences import PreferenceGraph


def random_graph(seed=0, n_queries=6, n_edges=60, weighted=True, shuffled=True):
    """A graph of several queries; edges may repeat and contradict each other."""
    random = np.random.default_rng(seed)
    qid = np.repeat(np.arange(n_queries), random.integers(2, 7, n_queries))
    if shuffled:
        qid = random.permutation(qid)
    winner = random.integers(0, len(qid), n_edges)
    loser = np.array([random.choice([row for row in np.flatnonzero(qid == qid[w]) if row != w]) for w in winner])
    return PreferenceGraph(qid, winner, loser, random.random(n_edges) if weighted else None)


def edges(graph):
    """Winner, loser and weight of each edge, sorted."""
    return sorted(zip(graph.winner.tolist(), graph.loser.tolist(), graph.weights.tolist(), strict=True))
