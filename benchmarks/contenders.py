"""Who competes in quality.py: methods, the space that their hyperparameters are drawn from, and how they are trained.

All methods share one space for their trees, and the same draws of it; each has its own knobs besides. Rounds are found
on the validation queries: by NDCG@10, or for our losses by NDCG@k with the k of their targets.
"""

from typing import Any, NamedTuple

import numpy as np

import boostrank as br
from boostrank.queries import Queries
from boostrank.surrogates import REGISTRY

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
#: What "auto" would choose from: no one of them is best everywhere.
AUTO = {"objective": ["softmax", "logistic", "centered-squared", "squared", "cosine", "pairwise-squared"]}


class Method(NamedTuple):
    """A row of the table: a library, its objective, and the knobs that are its own."""

    name: str
    library: str
    objective: str
    knobs: dict[str, Any]

    @property
    def is_ours(self):
        """Whether the loss is this library's."""
        return self.objective in (*REGISTRY, "edge-logistic", "auto")


def _ours(library, name):
    own = {"pnorm": NORMS, "normalized-pnorm": NORMS, "cosine": EPSILONS}.get(name, {})
    return Method(f"{library} {name}", library, name, CUTOFFS | own)


METHODS = {
    method.name: method
    for method in [
        Method("lightgbm lambdarank", "lightgbm", "lambdarank", LAMBDARANK),
        Method("lightgbm rank_xendcg", "lightgbm", "rank_xendcg", {}),
        Method("lightgbm regression", "lightgbm", "squared/none", {}),
        Method("xgboost rank:ndcg", "xgboost", "rank:ndcg", XGBOOST_PAIRS),
        Method("xgboost rank:pairwise", "xgboost", "rank:pairwise", XGBOOST_PAIRS),
        Method("xgboost rank:map", "xgboost", "rank:map", XGBOOST_PAIRS),
        Method("catboost YetiRank", "catboost", "YetiRank", {}),
        Method("catboost QueryRMSE", "catboost", "QueryRMSE", {}),
        Method("catboost QuerySoftMax", "catboost", "QuerySoftMax", {}),
        Method("catboost LambdaMart", "catboost", "LambdaMart:metric=NDCG", {}),
        *(_ours(library, name) for library in ("lightgbm", "xgboost") for name in REGISTRY),
        *(Method(f"{library} edge-logistic", library, "edge-logistic", {}) for library in ("lightgbm", "xgboost")),
        *(Method(f"{library} auto", library, "auto", CUTOFFS | AUTO) for library in ("lightgbm", "xgboost")),
    ]
}


def draw(method, seed, number):
    """Settings number `number` of a method: the trees are those of every other method, the knobs its own."""
    trees, knobs = np.random.default_rng([seed, number]), np.random.default_rng([seed, number, 1])
    settings = {name: _one(choices, trees) for name, choices in TREES.items()}
    return settings | {name: _one(choices, knobs) for name, choices in method.knobs.items()}


def train(method, settings, fold, seed):
    """Train on one fold: NDCG@10 on its validation queries, rounds, and a function from features to scores."""
    fit = _train_catboost if method.library == "catboost" else _train_booster
    return fit(method, settings, fold, seed)


def _train_booster(method, settings, fold, seed):
    trees, knobs = {name: settings[name] for name in TREES}, {name: settings[name] for name in method.knobs}
    objective, _, normalize = knobs.pop("objective", method.objective).partition("/")
    k = knobs.pop("k", 10)
    of_surrogate = {name: knobs.pop(name) for name in ("q", "epsilon") if name in knobs}
    if of_surrogate.get("q", 0) is None:
        of_surrogate = {}  # the paper's own choice, log(m) + 2
    if of_surrogate:
        objective = REGISTRY[objective](**of_surrogate)
    shared = {
        "objective": objective,
        "k": k,
        "normalize": normalize or "dcg",
        "n_estimators": MAX_ROUNDS,
        "learning_rate": trees["learning_rate"],
        "subsample": trees["subsample"],
        "reg_lambda": trees["reg_lambda"],
        "random_state": seed,
        "n_jobs": 1,
    }
    if method.library == "lightgbm":
        shape = {"num_leaves": trees["leaves"], "min_child_samples": trees["min_child"], "subsample_freq": 1}
        ranker = br.LightGBMRanker(**shared, **shape, colsample_bytree=trees["colsample"], **knobs)
    else:
        shape = {"max_leaves": trees["leaves"], "max_depth": 0, "grow_policy": "lossguide"}
        weight = {"min_child_weight": trees["min_child"]}
        ranker = br.XGBoostRanker(**shared, **shape, **weight, colsample_bytree=trees["colsample"], **knobs)
    ranker.set_params(early_stopping_rounds=PATIENCE)
    X, y, qid = fold.train
    # Mean average precision knows relevant and irrelevant documents only.
    ranker.fit(X, y >= 1 if objective == "rank:map" else y, qid, eval_set=[tuple(fold.validation)])
    return _ndcg10(fold.validation, ranker.predict(fold.validation.X)), ranker.best_iteration_, ranker.predict


def _train_catboost(method, settings, fold, seed):
    from catboost import CatBoost

    parameters = {
        "loss_function": method.objective,
        "iterations": MAX_ROUNDS,
        "learning_rate": settings["learning_rate"],
        # Its symmetric trees: the same number of leaves, a power of 2, and no minimum of documents in one.
        "depth": int(np.log2(settings["leaves"] + 1)),
        "bootstrap_type": "Bernoulli",
        "subsample": settings["subsample"],
        "rsm": settings["colsample"],
        "l2_leaf_reg": settings["reg_lambda"],
    }
    fixed = {"random_seed": seed, "thread_count": 1, "allow_writing_files": False, "logging_level": "Silent"}
    # It stops by its own NDCG@10, which counts empty queries as 1 and ties as worst; of the rounds until then, the
    # best is found by the one that the other methods stop by.
    stopping = {"eval_metric": "NDCG:top=10;type=Exp", "od_type": "Iter", "od_wait": PATIENCE, "use_best_model": False}
    train, validation = _pool(fold.train), _pool(fold.validation)
    model = CatBoost(parameters | fixed | stopping).fit(train, eval_set=validation)
    values = [_ndcg10(fold.validation, scores) for scores in model.staged_predict(_dense(fold.validation.X))]
    rounds = int(np.argmax(values)) + 1
    return values[rounds - 1], rounds, lambda X: model.predict(_dense(X), ntree_end=rounds)


def _pool(ranking):
    from catboost import Pool

    queries = Queries.from_qid(ranking.qid)
    X, y = queries.group(_dense(ranking.X)), queries.group(ranking.y)
    return Pool(X, y, group_id=np.repeat(np.arange(queries.n_queries), queries.sizes))


def _dense(X):
    return X.toarray() if hasattr(X, "toarray") else X


def _ndcg10(ranking, scores):
    return float(br.ndcg_score(ranking.y, scores, ranking.qid, k=10))


def _one(choices, random):
    if isinstance(choices, tuple):
        low, high = choices
        return float(np.exp(random.uniform(np.log(low), np.log(high))))
    return choices[random.integers(len(choices))]
