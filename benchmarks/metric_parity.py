"""Largest difference of what a library prints to what `br.reconcile` says that it prints, over many random data sets.

Queries have 1 to 15 documents, or 1 to 60, graded labels, a fifth of them none, and tied scores or all different ones;
cutoffs are 1, 3, 10 and none. Where no rule orders a library's ties (ranx, long queries), `br.reconcile` gives bounds,
and the difference is how far the library lies outside.

    python benchmarks/metric_parity.py [--data-sets 50]
"""

import argparse
import collections
import warnings

import libraries
import numpy as np
from environment import describe

import boostrank as br
from boostrank.metrics import CONVENTIONS

KINDS = {"up to 15 documents, ties": (15, True), "up to 60, ties": (60, True), "up to 60, no ties": (60, False)}
CUTOFFS = (1, 3, 10, None)
TIES = {"average": "averaged", "stable": "by row", "worst": "worst", "names": "by name, last first"}


def make_data(longest, tied, seed, n_queries=60):
    """Labels, scores and ids of ragged queries."""
    random = np.random.default_rng(seed)
    qid = np.repeat(np.arange(n_queries), random.integers(1, longest + 1, n_queries))
    y = random.choice(5, len(qid), p=[0.5, 0.2, 0.15, 0.1, 0.05]) * (qid % 5 > 0)
    return y, random.integers(0, 8, len(qid)) / 4.0 if tied else random.permutation(len(qid)) / 8.0, qid


def differences(data):
    """Largest difference over cutoffs for each convention."""
    largest = np.zeros(len(CONVENTIONS))
    for k in CUTOFFS:
        for i, row in enumerate(br.reconcile(*data, k=k).table.itertuples()):
            theirs = libraries.CALLS[row.library](row.metric, *data)
            largest[i] = max(largest[i], row.low - theirs, theirs - row.high)
    return largest


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-sets", type=int, default=50)
    n = parser.parse_args().data_sets
    # numba's, of what ranx does with hashes of names.
    warnings.filterwarnings("ignore", message="unsafe cast")
    largest = collections.defaultdict(lambda: np.zeros(len(CONVENTIONS)))
    for kind, (longest, tied) in KINDS.items():
        for seed in range(n):
            largest[kind] = np.maximum(largest[kind], differences(make_data(longest, tied, seed)))
    print(describe())
    print(", ".join(f"{library} {version}" for library, version in libraries.versions().items()))
    print(f"{n} data sets of each kind, 60 queries each, k = 1, 3, 10 and none\n")
    head = ["library", "metric", "gain", "ties", "empty query", "scores", *KINDS]
    print("| " + " | ".join(head) + " |\n|" + "---|" * 6 + "---:|" * len(KINDS))
    for i, convention in enumerate(CONVENTIONS):
        empty = {"zero": "0", "one": "1"}[convention.empty]
        ties = TIES[convention.ties]
        if convention.unstable_above is not None:
            ties += f" up to {convention.unstable_above} documents"
        cells = [convention.library, f"`{convention.metric.format(k='k')}`", convention.gain, ties]
        cells += [empty, convention.scores, *(f"{values[i]:.0e}" for values in largest.values())]
        print("| " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
