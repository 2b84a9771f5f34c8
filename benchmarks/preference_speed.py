"""Time of the gradients of losses of edges and of gain-weighted pairs.

python benchmarks/preference_speed.py [--edges 10000000] [--turns 9] [--output FOLDER]

Edges are random within 10,000 queries of 120 documents. They are compared with one weighted
`np.bincount` over the losers of the same edges, which adds one number per edge to one of its two
documents. Gain-weighted pairs are compared with softmax. Calls take turns in one process, on one
thread; ratios are medians over turns.
"""

from functools import partial

import numpy as np
import pandas as pd
from reporting import make_parser, publish
from timing import median_ratios, seconds_in_turns

import boostrank as br
from boostrank import Queries
from boostrank.ndcg.labels import as_labels
from boostrank.preferences import EDGE_LOSSES
from boostrank.preferences.edge_losses import BoundEdgeLoss
from boostrank.surrogates import SURROGATES
from boostrank.surrogates.base import BoundSurrogate

N_QUERIES, N_DOCUMENTS = 10_000, 120


def make_graph(n_edges, weighted, random):
    """A graph of random edges within queries."""
    query = np.sort(random.integers(0, N_QUERIES, n_edges))
    winner = random.integers(0, N_DOCUMENTS, n_edges)
    loser = (winner + random.integers(1, N_DOCUMENTS, n_edges)) % N_DOCUMENTS
    qid = np.repeat(np.arange(N_QUERIES), N_DOCUMENTS)
    weight = random.random(n_edges) if weighted else None
    return br.PreferenceGraph(
        qid, query * N_DOCUMENTS + winner, query * N_DOCUMENTS + loser, weight
    ).grouped


def edge_calls(graph, scores):
    """The gradients of each loss of edges, and the `np.bincount` that they are compared with."""
    loser, weights = graph.loser.astype(np.intp), graph.weights
    buffers = np.empty(len(graph), np.float32), np.empty(len(graph), np.float32)
    calls = {"np.bincount": partial(np.bincount, loser, weights, len(graph))}
    for name, loss in EDGE_LOSSES.items():
        calls[name] = partial(BoundEdgeLoss(loss, graph).gradient_hessian, scores, buffers)
    return calls


def pair_calls(sizes, random):
    """The gradients of softmax and of gain-weighted pairs."""
    queries = Queries.from_sizes(sizes)
    labels = (random.random(queries.n_documents) < 0.2) * random.integers(1, 5, queries.n_documents)
    scores = random.normal(size=queries.n_documents)
    names = ["softmax", *(name for name in SURROGATES if name.startswith("pairwise"))]
    return {
        name: partial(BoundSurrogate(name, as_labels(labels), queries).gradient_hessian, scores)
        for name in names
    }


def rows_of(data, calls, turns):
    """Rows of one data set: the first call is the one that the others are compared with."""
    unit = next(iter(calls))
    seconds = seconds_in_turns(calls, turns, warm_up=True)
    ratios = median_ratios(seconds, unit)
    return [(data, name, 1e3 * seconds[name].median(), ratios[name], unit) for name in calls]


def main():
    parser = make_parser(__doc__)
    parser.add_argument("--edges", type=int, default=10_000_000)
    parser.add_argument("--turns", type=int, default=9)
    arguments = parser.parse_args()
    random = np.random.default_rng(0)
    scores = random.normal(size=N_QUERIES * N_DOCUMENTS)
    rows = []
    for weighted in (False, True):
        data = f"{arguments.edges:,} edges, {'weighted' if weighted else 'all of weight 1'}"
        graph = make_graph(arguments.edges, weighted, random)
        rows += rows_of(data, edge_calls(graph, scores), arguments.turns)
    for sizes, data in (
        ([N_DOCUMENTS] * 2_000, "2,000 queries of 120 documents"),
        ([10_000], "1 query of 10,000 documents"),
    ):
        rows += rows_of(f"{data}, one in five relevant", pair_calls(sizes, random), arguments.turns)
    publish(
        pd.DataFrame(rows, columns=["data", "call", "median_ms", "ratio", "ratio_to"]),
        "preference_speed",
        arguments.output,
        title="Milliseconds of one call of the gradients, on one thread",
        seeds="0",
    )


if __name__ == "__main__":
    main()
