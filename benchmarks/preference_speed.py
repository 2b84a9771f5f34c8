"""Time of a call on preferences, paired in turns: gradients of edges, disagreement, gain-weighted pairs.

python benchmarks/preference_speed.py [--edges N] [--turns N]

Edges are random within 10,000 queries of 120 documents. One weighted np.bincount over the losers of the same edges is
the unit: adding one number per edge to one of its ends. Gain-weighted pairs are compared with softmax.
"""

import argparse
import time
from functools import partial

import numpy as np
from environment import describe

import boostrank as br
from boostrank.objective import EdgeObjective
from boostrank.preferences import EDGE_LOSSES

N_QUERIES, N_DOCUMENTS = 10_000, 120


def make_graph(n_edges, weighted, random):
    query = np.sort(random.integers(0, N_QUERIES, n_edges))
    winner = random.integers(0, N_DOCUMENTS, n_edges)
    loser = (winner + random.integers(1, N_DOCUMENTS, n_edges)) % N_DOCUMENTS
    qid = np.repeat(np.arange(N_QUERIES), N_DOCUMENTS)
    weight = random.random(n_edges) if weighted else None
    return br.PreferenceGraph(qid, query * N_DOCUMENTS + winner, query * N_DOCUMENTS + loser, weight).grouped


def in_turns(calls, turns):
    """Seconds of each call, shape (turns, calls), after one call of each to warm up."""
    for call in calls.values():
        call()
    seconds = np.empty((turns, len(calls)))
    for turn in range(turns):
        for i, call in enumerate(calls.values()):
            start = time.perf_counter()
            call()
            seconds[turn, i] = time.perf_counter() - start
    return seconds


def report(calls, turns, unit):
    seconds = in_turns(calls, turns)
    names = list(calls)
    print(f"| | median ms | times {unit} |")
    print("|---|---:|---:|")
    for i, name in enumerate(names):
        ratio = np.median(seconds[:, i] / seconds[:, names.index(unit)])
        print(f"| {name} | {1e3 * np.median(seconds[:, i]):.1f} | {ratio:.2f} |")


def edge_calls(graph, scores):
    loser, weights = graph.loser.astype(np.intp), graph.weights
    buffers = np.empty(len(graph), np.float32), np.empty(len(graph), np.float32)
    calls = {"np.bincount": partial(np.bincount, loser, weights, len(graph))}
    for name, loss in EDGE_LOSSES.items():
        calls[name] = partial(EdgeObjective(loss, graph).gradient_hessian, scores, buffers)
    return calls | {"agreement_score": partial(br.agreement_score, graph, scores)}


def pair_calls(sizes, random):
    queries = br.Queries.from_sizes(sizes)
    labels = (random.random(queries.n_documents) < 0.2) * random.integers(1, 5, queries.n_documents)
    scores = random.normal(size=queries.n_documents)
    names = ["softmax", *(name for name in br.surrogates.REGISTRY if name.startswith("pairwise"))]
    return {name: partial(br.Objective(name, labels, queries).gradient_hessian, scores) for name in names}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--edges", type=int, default=10_000_000)
    parser.add_argument("--turns", type=int, default=9)
    arguments = parser.parse_args()
    random = np.random.default_rng(0)
    scores = random.normal(size=N_QUERIES * N_DOCUMENTS)
    print(describe())
    for weighted in (False, True):
        print(f"\n{arguments.edges:,} edges, {'weighted' if weighted else 'all of weight 1'}\n")
        graph = make_graph(arguments.edges, weighted, random)
        report(edge_calls(graph, scores), arguments.turns, "np.bincount")
    for sizes in ([N_DOCUMENTS] * 2_000, [10_000]):
        print(f"\n{len(sizes):,} queries of {sizes[0]:,} documents, one in five relevant\n")
        report(pair_calls(sizes, random), arguments.turns, "softmax")


if __name__ == "__main__":
    main()
