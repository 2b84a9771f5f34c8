"""The methods of quality.py, the space that their hyperparameters are drawn from, and how they are trained.

All methods share one space for their trees and get the same draws of it; each method has hyperparameters of its own
besides. The number of rounds is found on the validation queries: by NDCG@10, or for our losses by NDCG@k with the k of
their targets.
"""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from workloads import make_ranker

import boostrank as br
from boostrank.queries import Queries
from boostrank.surrogates import SURROGATES

MAX_ROUNDS, PATIENCE = 300, 30
#: The shared space: draws are log-uniform between two floats, uniform among the values of a list.
TREES = {
    "learning_rate": (0.03, 0.2),
    "leaves": [7, 15, 31, 63],
    "min_child": [1, 5, 20, 50],
    "subsample": [0.6, 0.8, 1.0],
    "colsample": [0.3, 0.6, 1.0],
    "reg_lambda": (0.01, 10.0),
}
CUTOFFS = {"k": [None, 5, 10]}
LAMBDARANK = {"lambdarank_truncation_level": [10, 20, 30, 100], "lambdarank_norm": [True, False]}
XGBOOST_PAIRS = {
    "lambdarank_pair_method": ["topk", "mean"],
    "lambdarank_num_pair_per_sample": [1, 4, 10, 32],
    "lambdarank_normalization": [True, False],
}
NORMS = {"q": [2.0, 3.0, 6.0, None]}
EPSILONS = {"epsilon": [0.1, 0.3, 1.0]}
#: The losses that "auto" chooses from; it draws one of them with the other hyperparameters.
AUTO = {"objective": ["softmax", "logistic", "centered-squared", "squared", "cosine", "pairwise-squared"]}


class Method(NamedTuple):
    """A library, the title of the method, the objective, and the hyperparameters of the method alone."""

    library: str
    title: str
    objective: str
    own: dict[str, Any]

    @property
    def name(self):
        """Library and title."""
        return f"{self.library} {self.title}"

    @property
    def is_ours(self):
        """Whether the loss is one of boostrank."""
        return self.objective in (*SURROGATES, "edge-logistic", "auto")


NATIVE = [
    Method("lightgbm", "lambdarank", "lambdarank", LAMBDARANK),
    Method("lightgbm", "rank_xendcg", "rank_xendcg", {}),
    Method("lightgbm", "regression", "squared/none", {}),
    Method("xgboost", "rank:ndcg", "rank:ndcg", XGBOOST_PAIRS),
    Method("xgboost", "rank:pairwise", "rank:pairwise", XGBOOST_PAIRS),
    Method("xgboost", "rank:map", "rank:map", XGBOOST_PAIRS),
    Method("catboost", "YetiRank", "YetiRank", {}),
    Method("catboost", "QueryRMSE", "QueryRMSE", {}),
    Method("catboost", "QuerySoftMax", "QuerySoftMax", {}),
    Method("catboost", "LambdaMart", "LambdaMart:metric=NDCG", {}),
]


def our_methods(library):
    """Every surrogate, RankNet and "auto" in one library."""
    own = {"pnorm": NORMS, "normalized-pnorm": NORMS, "cosine": EPSILONS}
    for name in SURROGATES:
        yield Method(library, name, name, {**CUTOFFS, **own.get(name, {})})
    yield Method(library, "edge-logistic", "edge-logistic", {})
    yield Method(library, "auto", "auto", {**CUTOFFS, **AUTO})


METHODS = {method.name: method for method in [*NATIVE, *our_methods("lightgbm"), *our_methods("xgboost")]}


def draw(method, seed, number):
    """Settings number `number` of a method: those of the trees are the same for every method."""
    trees, own = np.random.default_rng([seed, number]), np.random.default_rng([seed, number, 1])
    settings = {name: _draw_one(choices, trees) for name, choices in TREES.items()}
    settings.update({name: _draw_one(choices, own) for name, choices in method.own.items()})
    return settings


def train(method, settings, fold, seed):
    """Train on one fold: NDCG@10 on its validation queries, rounds, and a function from features to scores."""
    if method.library == "catboost":
        return _train_catboost(method, settings, fold, seed)
    return _train_booster(method, settings, fold, seed)


def _train_booster(method, settings, fold, seed):
    own = {name: settings[name] for name in method.own}
    objective, _, normalize = own.pop("objective", method.objective).partition("/")
    of_surrogate = {name: own.pop(name) for name in ("q", "epsilon") if own.get(name) is not None}
    # Without a q, the p-norms take the choice of the paper, log(m) + 2.
    own.pop("q", None)
    parameters = {
        "k": own.pop("k", 10),
        "normalize": normalize or "dcg",
        "n_estimators": MAX_ROUNDS,
        "early_stopping_rounds": PATIENCE,
        "learning_rate": settings["learning_rate"],
        "subsample": settings["subsample"],
        "colsample_bytree": settings["colsample"],
        "reg_lambda": settings["reg_lambda"],
        "random_state": seed,
        "n_jobs": 1,
        **own,
    }
    if method.library == "lightgbm":
        parameters.update(min_child_samples=settings["min_child"], subsample_freq=1)
    else:
        parameters["min_child_weight"] = settings["min_child"]
    surrogate = replace(SURROGATES[objective], **of_surrogate) if of_surrogate else objective
    ranker = make_ranker(method.library, surrogate, settings["leaves"], **parameters)
    X, y, qid = fold.train
    # Mean average precision takes relevant and irrelevant documents only.
    ranker.fit(X, y >= 1 if objective == "rank:map" else y, qid, eval_set=[tuple(fold.validation)])
    return _ndcg10(fold.validation, ranker.predict(fold.validation.X)), ranker.best_iteration_, ranker.predict


def _train_catboost(method, settings, fold, seed):
    from catboost import CatBoost

    parameters = {
        "loss_function": method.objective,
        "iterations": MAX_ROUNDS,
        "learning_rate": settings["learning_rate"],
        # CatBoost grows symmetric trees: the number of leaves is a power of 2, and there is no minimum of documents.
        "depth": int(np.log2(settings["leaves"] + 1)),
        "bootstrap_type": "Bernoulli",
        "subsample": settings["subsample"],
        "rsm": settings["colsample"],
        "l2_leaf_reg": settings["reg_lambda"],
        "random_seed": seed,
        "thread_count": 1,
        "allow_writing_files": False,
        "logging_level": "Silent",
        # CatBoost stops by its own NDCG@10, in which empty queries count 1 and ties are ranked in the worst way. Of the
        # rounds until then, the best is the one with the best NDCG@10 as the other methods compute it.
        "eval_metric": "NDCG:top=10;type=Exp",
        "od_type": "Iter",
        "od_wait": PATIENCE,
        "use_best_model": False,
    }
    model = CatBoost(parameters).fit(_pool(fold.train), eval_set=_pool(fold.validation))
    values = [_ndcg10(fold.validation, scores) for scores in model.staged_predict(_dense(fold.validation.X))]
    rounds = int(np.argmax(values)) + 1
    return values[rounds - 1], rounds, lambda X: model.predict(_dense(X), ntree_end=rounds)


def _pool(data):
    from catboost import Pool

    queries = Queries.from_qid(data.qid)
    X, y = queries.group(_dense(data.X)), queries.group(data.y)
    return Pool(X, y, group_id=np.repeat(np.arange(queries.n_queries), queries.sizes))


def _dense(X):
    return X.toarray() if hasattr(X, "toarray") else X


def _ndcg10(data, scores):
    return float(br.ndcg_score(data.y, scores, data.qid, k=10))


def _draw_one(choices, random):
    if isinstance(choices, tuple):
        low, high = choices
        return float(np.exp(random.uniform(np.log(low), np.log(high))))
    return choices[random.integers(len(choices))]
