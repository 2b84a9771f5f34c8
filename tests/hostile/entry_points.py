"""Entry points that take labels, scores and query ids, as functions of these three, and data for
them."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from loss_defaults import PLAIN_TREES
from measure_definitions import FUNCTIONS

import boostrank as br

K = 3
N_ROWS = 8
LABELS = [2, 0, 1, 0, 3, 1, 0, 2]
SCORES = [0.5, 0.5, 0.1, 0.9, 0.1, 0.3, 0.3, 0.2]
CODES = [0, 1, 0, 1, 1, 0, 0, 1]
FEATURES = np.random.default_rng(0).normal(size=(N_ROWS, 3)).round(2)
RANKERS = {"LightGBMRanker": br.LightGBMRanker, "XGBoostRanker": br.XGBoostRanker}
NATIVE = {"LightGBMRanker": "lambdarank", "XGBoostRanker": "rank:ndcg"}


class Constant:
    """An estimator that predicts given scores."""

    def __init__(self, scores: Any) -> None:
        self.scores = scores

    def predict(self, X: Any) -> Any:
        return self.scores


def tiny(ranker_class: Any, **parameters: Any) -> Any:
    """A ranker that learns something from eight rows."""
    leaf = {"min_child_samples": 1} if ranker_class is br.LightGBMRanker else {}
    settings = {
        "n_estimators": 2,
        "n_jobs": 1,
        "random_state": 0,
        "k": K,
        "min_child_weight": 0.01,
        **PLAIN_TREES,
    }
    return ranker_class(**settings | leaf | parameters)


def fit_predict(ranker_class, y, s, q, objective="softmax"):
    return tiny(ranker_class, objective=objective).fit(FEATURES, y, q).predict(FEATURES)


def validated(ranker_class, y, s, q):
    """The values of a validation set in every round."""
    ranker = tiny(ranker_class).fit(FEATURES, LABELS, CODES, eval_set=[(FEATURES, y, q)])
    return ranker.evals_result_["valid_0"]["ndcg@3"]


def scored(ranker_class, y, s, q):
    return tiny(ranker_class).fit(FEATURES, LABELS, CODES).score(FEATURES, y, q)


def cross_validated(y, s, q):
    # The folds of a splitter depend on the values of the ids.
    folds = list(br.QueryKFold(2).split(FEATURES, groups=CODES))
    return br.cross_validate(tiny(br.LightGBMRanker), FEATURES, y, q, cv=folds, scoring="ndcg@3")[
        "test_score"
    ]


def agreement(y, s, q):
    return FUNCTIONS["agreement"](br.PreferenceGraph.from_grades(y, q), s, per_query=True)


METRICS = {
    **{name: partial(function, per_query=True) for name, function in FUNCTIONS.items()},
    "evaluate": lambda y, s, q: br.evaluate(y, s, q, ["ndcg@3", "mrr"], per_query=True),
    "make_scorer": lambda y, s, q: br.make_scorer("ndcg@3")(Constant(s), FEATURES, y, q),
    "reconcile": lambda y, s, q: br.reconcile(y, s, q, k=K).value,
    "expected_ndcg": lambda y, s, q: br.expected_ndcg(y, s, q, K),
    "agreement of preferences": agreement,
}
OF_RANKERS = {"eval_set": validated, "score": scored, "fit": fit_predict}
TRAINING = {
    **{
        f"{name}.{part}": partial(call, kind)
        for name, kind in RANKERS.items()
        for part, call in OF_RANKERS.items()
    },
    **{
        f"{name}.native": partial(fit_predict, RANKERS[name], objective=native)
        for name, native in NATIVE.items()
    },
    "cross_validate": cross_validated,
}
LISTS = tiny(br.LightGBMRanker, query_features="rank")
#: These take query ids alone.
SPLITS = {
    "split_queries": lambda y, s, q: np.concatenate(br.split_queries(q, 0.5, random_state=1)),
    "QueryKFold": lambda y, s, q: np.concatenate(
        [t for _, t in br.QueryKFold(2).split(FEATURES, groups=q)]
    ),
    "predict": lambda y, s, q: LISTS.fit(FEATURES, LABELS, CODES).predict(FEATURES, qid=q),
    "PreferenceGraph": lambda y, s, q: br.PreferenceGraph(q, [], []).queries.sizes,
}
