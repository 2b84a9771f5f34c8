"""Entry points that take labels, scores and query ids, each beside what it must return.

A call takes ``(labels, scores, qid)`` as a user passes them. Its expectation takes ``(labels, scores, codes)``: what
these mean, as lists of plain numbers, with the number of the query of each row.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from loss_defaults import PLAIN_TREES
from measure_definitions import FUNCTIONS, P

import boostrank as br
from boostrank import metrics, significance
from hostile import brute_force

K = 3
N_ROWS = 8
LABELS = [2, 0, 1, 0, 3, 1, 0, 2]
SCORES = [0.5, 0.5, 0.1, 0.9, 0.1, 0.3, 0.3, 0.2]
#: Scores of a second ranker, for comparisons.
OTHER_SCORES = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8]
CODES = [0, 1, 0, 1, 1, 0, 0, 1]
FEATURES = np.random.default_rng(0).normal(size=(N_ROWS, 3)).round(2)


class EntryPoint(NamedTuple):
    """A call, and what it must return; `gains` says whether it takes the gain 2^y - 1 of labels."""

    call: Callable[[Any, Any, Any], Any]
    expected: Callable[[list, list, list], Any]
    gains: bool = True


SETTINGS: dict[str, dict[str, Any]] = {
    **{name: {"k": K} for name in brute_force.RANKED},
    "err": {"k": K, "max_grade": brute_force.MAX_GRADE},
    "rbp": {"k": K, "p": P},
    **{f"linear {name}": {"k": K, "gain": "linear"} for name in ("ndcg", "dcg")},
    **{name: {} for name in (*brute_force.WHOLE, *brute_force.PAIRED)},
}


def measure(name: str) -> EntryPoint:
    """The function of a measure, which returns the value of each query."""
    settings, function = SETTINGS[name], FUNCTIONS[name.removeprefix("linear ")]
    return EntryPoint(
        lambda y, s, q: function(y, s, q, empty="skip", per_query=True, **settings),
        lambda y, s, c: brute_force.per_query(name, y, s, c, settings.get("k")),
        gains=name in ("ndcg", "dcg"),
    )


class Constant:
    """An estimator that predicts given scores."""

    def __init__(self, scores: Any) -> None:
        self.scores = scores

    def predict(self, X: Any) -> Any:
        return self.scores


def mean_ndcg(y, s, c, k=K):
    return brute_force.mean(brute_force.per_query("ndcg", y, s, c, k))


def breakdown(y, s, q):
    return br.metrics.dcg_breakdown(y, s, q, k=K, ties="average")["contribution"].sum()


def evaluated(y, s, q):
    table = br.evaluate(y, s, q, ["ndcg@3", "mrr"], per_query=True)
    return [*table["ndcg@3"], *table["mrr"]]


def evaluated_expected(y, s, c):
    return np.nan_to_num([*brute_force.per_query("ndcg", y, s, c, K), *brute_force.per_query("mrr", y, s, c)])


def edges(y, c):
    pairs = [(i, j) for i in range(len(c)) for j in range(len(c)) if c[i] == c[j] and y[i] > y[j]]
    return tuple(sorted(pairs))


def graph_edges(graph):
    return tuple(sorted(zip(graph.winner.tolist(), graph.loser.tolist(), strict=True)))


def agreement_of_graph(y, s, q):
    graph = br.PreferenceGraph.from_grades(y, q)
    return FUNCTIONS["agreement"](graph, s, per_query=True)


def curve_expected(y, s, c):
    columns = [brute_force.per_query("ndcg", y, s, c, k) for k in (1, K)]
    return np.nan_to_num(np.transpose(columns))


def tie_range_expected(y, s, c):
    return np.nan_to_num([brute_force.per_query("ndcg", y, s, c, K, t) for t in ("worst", "average", "best")])


def expected_ndcg(y, s, c):
    return np.nan_to_num(brute_force.per_query("linear dcg", y, s, c, K))


def mean_difference(y, s, c):
    sides = [np.nan_to_num(brute_force.per_query("ndcg", y, scores, c, K)) for scores in (s, OTHER_SCORES)]
    return np.mean(sides[0] - sides[1])


def needed(y, s, q):
    table = significance.queries_needed(y, s, OTHER_SCORES, q, discounts=["log2"], ks=[K])
    return table["difference"].iloc[0]


METRICS = {
    **{f"{name.replace(' ', '-')}": measure(name) for name in SETTINGS},
    "evaluate": EntryPoint(evaluated, evaluated_expected),
    "make_scorer": EntryPoint(lambda y, s, q: br.make_scorer("ndcg@3")(Constant(s), FEATURES, y, q), mean_ndcg),
    "reconcile": EntryPoint(lambda y, s, q: br.reconcile(y, s, q, k=K).value, mean_ndcg),
    "dcg_breakdown": EntryPoint(breakdown, lambda y, s, c: np.nansum(brute_force.per_query("dcg", y, s, c, K))),
    "ndcg_curve": EntryPoint(lambda y, s, q: metrics.ndcg_curve(y, s, q, ks=[1, K], per_query=True), curve_expected),
    "tie_range": EntryPoint(lambda y, s, q: metrics.tie_range(y, s, q, k=K, per_query=True), tie_range_expected),
    "expected_ndcg": EntryPoint(lambda y, s, q: br.expected_ndcg(y, s, q, K), expected_ndcg, gains=False),
    "queries_needed": EntryPoint(needed, mean_difference),
}


def tiny(ranker_class: Any, **parameters: Any) -> Any:
    """A ranker that learns something from eight rows."""
    leaf = {"min_child_samples": 1} if ranker_class is br.LightGBMRanker else {}
    settings = {"n_estimators": 2, "n_jobs": 1, "random_state": 0, "k": K, "min_child_weight": 0.01, **PLAIN_TREES}
    return ranker_class(**settings | leaf | parameters)


RANKERS = {"LightGBMRanker": br.LightGBMRanker, "XGBoostRanker": br.XGBoostRanker}
NATIVE = {"LightGBMRanker": "lambdarank", "XGBoostRanker": "rank:ndcg"}


def fit_predict(ranker_class, y, q, objective="softmax"):
    return tiny(ranker_class, objective=objective).fit(FEATURES, y, q).predict(FEATURES)


def validated(ranker_class, y, q):
    """The values of a validation set in every round."""
    ranker = tiny(ranker_class).fit(FEATURES, LABELS, CODES, eval_set=[(FEATURES, y, q)])
    return ranker.evals_result_["valid_0"]["ndcg@3"]


@functools.cache
def trained(ranker_class):
    return tiny(ranker_class).fit(FEATURES, LABELS, CODES)


def scored(ranker_class, y, q):
    return trained(ranker_class).score(FEATURES, y, q)


def cross_validated(y, q):
    # The folds of this splitter depend on the sequence of the queries, and not on the values of their ids.
    ranker, cv = tiny(br.LightGBMRanker), br.QueryKFold(2, stratify=True)
    return br.cross_validate(ranker, FEATURES, y, q, cv=cv, scoring="ndcg@3")["test_score"]


def pairs_of_rows(codes):
    return tuple((i, j) for j in range(len(codes)) for i in range(j) if codes[i] == codes[j])


def always_together(q):
    """Pairs of rows that are in the same fold whatever the seed: those of one query."""
    pairs = set(pairs_of_rows([0] * N_ROWS))
    for seed in range(12):
        for train, _ in br.QueryKFold(2, shuffle=True, random_state=seed).split(FEATURES, groups=q):
            pairs = {(i, j) for i, j in pairs if (i in train) == (j in train)}
    return tuple(sorted(pairs, key=lambda pair: pair[::-1]))


def on_codes(call):
    """The expectation of a call on rows: the same call on plain numbers."""
    return lambda y, s, c: call(np.array(y, np.float64), np.array(c))


def on_rows(call, gains=True):
    return EntryPoint(lambda y, s, q: call(y, q), on_codes(call), gains)


TRAINING = {
    **{
        f"{name}.{part}": on_rows(functools.partial(function, ranker_class))
        for name, ranker_class in RANKERS.items()
        for part, function in {
            "fit": fit_predict,
            f"fit-{NATIVE[name].replace(':', '-')}": functools.partial(fit_predict, objective=NATIVE[name]),
            "eval_set": validated,
            "score": scored,
        }.items()
    },
    "cross_validate": on_rows(cross_validated),
}
PREFERENCES = {
    "PreferenceGraph.from_grades": EntryPoint(
        lambda y, s, q: graph_edges(br.PreferenceGraph.from_grades(y, q)), lambda y, s, c: edges(y, c), gains=False
    ),
}
#: Entry points that take query ids alone.
SPLITS = {
    "split_queries": on_rows(lambda y, q: np.concatenate(br.split_queries(q, 0.5, random_state=1))),
    "QueryKFold": EntryPoint(lambda y, s, q: always_together(q), lambda y, s, c: pairs_of_rows(c)),
    "QueryKFold-stratified": on_rows(
        lambda y, q: np.concatenate([t for _, t in br.QueryKFold(2, stratify=True).split(FEATURES, LABELS, q)])
    ),
    "PreferenceGraph": on_rows(lambda y, q: br.PreferenceGraph(q, [], []).queries.sizes),
    "agreement-of-preferences": EntryPoint(
        agreement_of_graph,
        lambda y, s, c: brute_force.per_query("agreement", y, s, c),
        gains=False,
    ),
}
