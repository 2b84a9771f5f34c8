"""Measures of a run by their definitions, one query at a time, with judgments that may be missing
or negative."""

from __future__ import annotations

import math

import numpy as np


def random_tables(seed, lowest=0, highest=4, tied=True, n_ids=40, n_judged=20, n_found=30):
    """Judgments with relevance from `lowest` to `highest`, and a run of other documents and partly
    of other queries."""
    random = np.random.default_rng(seed)

    def documents(values, most):
        numbers = random.choice(n_ids, random.integers(1, most), replace=False)
        return {
            f"d{i:02}": value
            for i, value in zip(numbers, values(len(numbers)).tolist(), strict=True)
        }

    def scores(n):
        return np.round(random.normal(size=n), 1) if tied else random.permutation(n) / 8.0

    n_queries = int(random.integers(2, 7))
    qrels = {
        f"q{i}": documents(lambda n: random.integers(lowest, highest + 1, n), n_judged)
        for i in range(n_queries)
    }
    return qrels, {f"q{i}": documents(scores, n_found) for i in range(1, n_queries + 1)}


def many_random_tables(n_tables, **settings):
    """The queries of many random tables in one table of judgments and one run, so that one call
    evaluates them all."""
    qrels, run = {}, {}
    for seed in range(n_tables):
        for whole, part in zip((qrels, run), random_tables(seed, **settings), strict=True):
            whole |= {f"{seed:03}{query}": documents for query, documents in part.items()}
    return qrels, run


def noisy_runs(signals):
    """Judgments of the queries "301" to "340", and runs by name: scores are noise and the relevance
    times a signal."""
    random = np.random.default_rng(0)
    queries, documents = [str(i) for i in range(301, 341)], [f"d{i}" for i in range(20)]
    qrels = {query: {name: int(random.integers(0, 3)) for name in documents} for query in queries}
    runs = {
        run: {
            query: {
                name: qrels[query][name] * signal + random.normal()
                for name in random.permutation(documents)[:14]
            }
            for query in queries
        }
        for run, signal in signals.items()
    }
    return qrels, runs


def ranked(run):
    """Documents by decreasing score as float32, and those of equal score by decreasing id, as
    trec_eval ranks them."""
    return sorted(run, key=lambda document: (np.float32(run[document]), document), reverse=True)


def bpref(judged, documents, rel):
    """Share of the irrelevant documents below each relevant one, of those that were judged."""
    relevant = {document for document, grade in judged.items() if grade >= rel}
    irrelevant = {document for document, grade in judged.items() if 0 <= grade < rel}
    total = 0.0
    for rank, document in enumerate(documents):
        if document in relevant:
            above = min(len(irrelevant.intersection(documents[:rank])), len(relevant))
            total += 1 - above / min(len(irrelevant), len(relevant)) if above else 1
    return total / len(relevant) if relevant else 0.0


def rprec(judged, documents, rel):
    n_relevant = sum(grade >= rel for grade in judged.values())
    return (
        sum(judged.get(d, 0) >= rel for d in documents[:n_relevant]) / n_relevant
        if n_relevant
        else 0.0
    )


def success(judged, documents, rel, k=5):
    return float(any(judged.get(document, 0) >= rel for document in documents[:k]))


def iprec(judged, documents, rel, recall=0.3):
    needed = math.floor(recall * sum(grade >= rel for grade in judged.values()) + 0.9)
    relevant = np.cumsum([judged.get(document, 0) >= rel for document in documents])
    return max((n / rank for rank, n in enumerate(relevant, 1) if n >= needed), default=0)


def counts(judged, documents, rel):
    both = sum(judged.get(document, 0) >= rel for document in documents)
    return both, len(documents), sum(grade >= rel for grade in judged.values())


#: Each takes the judgments of a query, its documents in the sequence of their ranks, and the
#: smallest relevance of relevant documents.
DEFINITIONS = {
    "bpref": bpref,
    "rprec": rprec,
    "success@5": success,
    "iprec@0.3": iprec,
    "numq": lambda judged, documents, rel: 1,
    "numrel": lambda judged, documents, rel: counts(judged, documents, rel)[2],
}
