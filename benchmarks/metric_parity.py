"""Largest difference between measures of a library and what `br.reconcile` says of it.

It is that over many random data sets.

python benchmarks/metric_parity.py [--data-sets 50] [--output FOLDER]

Queries have 1 to 15 documents, or 1 to 60, with graded labels, and scores that are tied or all
different. A fifth of the queries has no relevant document. A metric that takes only labels 0 and 1
gets the labels above 0 as 1. Cutoffs are 1, 3, 10 and none. Where a library breaks ties by no fixed
rule (ranx in long queries), `br.reconcile` gives bounds, and the difference is how far the library
lies outside. A library that is not installed is left out.
"""

import importlib.util
import warnings

import libraries
import numpy as np
import pandas as pd
from reporting import PACKAGES, make_parser, publish

import boostrank as br
from boostrank.runs import CONVENTIONS

#: Number of documents of the longest query, and whether scores are tied.
KINDS = {
    "up to 15 documents, ties": (15, True),
    "up to 60 documents, ties": (60, True),
    "up to 60 documents, no ties": (60, False),
}
CUTOFFS = (1, 3, 10, None)
TIES = {
    "average": "averaged",
    "stable": "by row",
    "worst": "worst",
    "names": "by name, last first",
    "names ascending": "by name, first first",
    "last rank": "at last rank",
}
EMPTY = {"zero": "counts 0", "one": "counts 1"}
MODULES = {"scikit-learn": "sklearn"}


def is_installed(library):
    return importlib.util.find_spec(MODULES.get(library, library.lower())) is not None


def make_data(longest, tied, seed, n_queries=60):
    """Labels, scores and query ids of queries of 1 to `longest` documents."""
    random = np.random.default_rng(seed)
    qid = np.repeat(np.arange(n_queries), random.integers(1, longest + 1, n_queries))
    y = random.choice(5, len(qid), p=[0.5, 0.2, 0.15, 0.1, 0.05]) * (qid % 5 > 0)
    return (
        y,
        random.integers(0, 8, len(qid)) / 4.0 if tied else random.permutation(len(qid)) / 8.0,
        qid,
    )


def differences(chosen, data):
    """Largest difference over cutoffs of each chosen metric: conventions and their rows."""
    y, scores, qid = data
    largest = np.zeros(len(chosen))
    for k in CUTOFFS:
        tables = {
            (measure, limit): br.reconcile(np.minimum(y, limit), scores, qid, measure, k=k).table
            for measure, limit in {(each.measure, min(each.max_label, 4)) for each, _ in chosen}
        }
        for i, (each, position) in enumerate(chosen):
            limit = min(each.max_label, 4)
            row = tables[each.measure, limit].iloc[position]
            theirs = libraries.CALLS[each.library](row["metric"], np.minimum(y, limit), scores, qid)
            largest[i] = max(largest[i], row["low"] - theirs, theirs - row["high"])
    return largest


def describe(convention):
    """The columns that say what a library computes."""
    ties = TIES[convention.ties]
    if convention.unstable_above is not None and convention.unstable_above > 1:
        ties += f" up to {convention.unstable_above} documents"
    return {
        "measure": convention.measure,
        "library": convention.library,
        "metric": convention.metric.translate({ord("["): None, ord("]"): None}).format(
            k="k", level=""
        ),
        "ties": ties if convention.unstable_above != 1 else "by no rule",
        "empty_query": EMPTY[convention.empty],
        "scores": convention.scores,
    }


def main():
    parser = make_parser(__doc__)
    parser.add_argument("--data-sets", type=int, default=50)
    arguments = parser.parse_args()
    # numba warns of what ranx does with hashes of names.
    warnings.filterwarnings("ignore", message="unsafe cast")
    chosen = [
        (convention, position)
        for conventions in CONVENTIONS.values()
        for position, convention in enumerate(conventions)
        if is_installed(convention.library)
    ]
    table = pd.DataFrame([describe(convention) for convention, _ in chosen])
    for kind, (longest, tied) in KINDS.items():
        by_seed = [
            differences(chosen, make_data(longest, tied, seed))
            for seed in range(arguments.data_sets)
        ]
        table[kind] = np.max(by_seed, axis=0)
    publish(
        table,
        "metric_parity",
        arguments.output,
        title=f"Largest difference of measures: {arguments.data_sets} data sets of each kind, 60 "
        "queries each",
        seeds=f"0 to {arguments.data_sets - 1}",
        formats=dict.fromkeys(KINDS, ".0e"),
        packages=[*PACKAGES, *libraries.OTHERS],
    )


if __name__ == "__main__":
    main()
