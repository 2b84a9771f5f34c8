"""The methods of quality.py: the rankers of each protocol, and how they are made and trained.

To add a method, add a row to a table. `make` gets the parameters of the ranker that the protocol
sets, such as `random_state`, under the names of its library, and returns the unfitted ranker.
"""

import inspect
import time
from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any, NamedTuple

import catboost
import lightgbm
import numpy as np
import xgboost
from workloads import leaf_parameters, training_queries

import boostrank as br
from boostrank.backends.lightgbm.parameters import TREE_SHAPE as LIGHTGBM_SHAPE
from boostrank.backends.xgboost.parameters import TREE_SHAPE as XGBOOST_SHAPE
from boostrank.model_selection.estimators import accept_qid
from boostrank.training.defaults import NODE_SHARE, QUERY_SHARE, TREE_SHARE

#: Rounds and patience of the protocol "early-stopping", and the learning rate of the peers;
#: CatBoost has its own.
MAX_ROUNDS, PATIENCE, LEARNING_RATE = 1000, 150, 0.1
#: Rounds and patience of the protocol "tuned".
MAX_ROUNDS_TUNED, PATIENCE_TUNED = 300, 100
#: The shared space of "tuned": draws are log-uniform between two floats of a tuple, uniform among
#: the values of a list.
TREES = {
    "learning_rate": (0.03, 0.2),
    "leaves": [7, 15, 31, 63],
    "min_child": [1, 5, 20, 50],
    "subsample": [0.6, 0.8, 1.0],
    "colsample": [0.3, 0.6, 1.0],
    "reg_lambda": (0.01, 100.0),
}
#: Parameters that say how the libraries run.
RUNNING = {
    "lightgbm": {"n_jobs": 1, "verbosity": -1},
    "xgboost": {"n_jobs": 1},
    "catboost": {"thread_count": 1, "allow_writing_files": False, "logging_level": "Silent"},
}
#: The kinds of features of lists.
KINDS = ["standardize", "rank"]
#: NDCG@10 as the metric for early stopping of the libraries' own rankers; ours have an argument of
#: `fit`.
METRICS = {
    "lightgbm": {"eval_at": 10},
    "xgboost": {"eval_metric": "ndcg@10"},
    "catboost": {"eval_metric": "NDCG:top=10;type=Exp"},
}


class Method(NamedTuple):
    """A row of a table of methods.

    Attributes
    ----------
    name : str
        Unique in its protocol.
    library : str
        "lightgbm", "xgboost" or "catboost".
    is_ours : bool
        Whether the ranker is one of boostrank, and not one of the library.
    make : callable
        Function of the parameters of the ranker that returns it, unfitted.
    own : mapping of str to list or tuple
        For "tuned": the hyperparameters that only this method has.
    validates_itself : bool
        For "early-stopping": the ranker gets all training queries, and finds the number of rounds
        without further data.
    """

    name: str
    library: str
    is_ours: bool
    make: Callable[..., Any]
    own: Mapping[str, Any] = {}
    validates_itself: bool = False


def bagged(make, **parameters):
    """The mean of ten rankers on 70% of the training queries each."""
    return br.BaggedRanker(make(**parameters), random_state=parameters["random_state"])


class OnQueryFeatures:
    """A ranker of a library on the features of documents and those relative to their list."""

    def __init__(self, make, **parameters):
        self.ranker, self.transformer = accept_qid(make(**parameters)), br.QueryFeatures()

    def fit(self, X, y, qid):
        """Add the features of the lists, and train."""
        self.ranker.fit(self.transformer.fit_transform(X, qid=qid), y, qid)
        self.best_iteration_ = self.ranker.best_iteration_
        return self

    def predict(self, X, qid):
        """The scores of whole lists."""
        return self.ranker.predict(self.transformer.transform(X, qid))


def on_query_features(make, **parameters):
    """Our ranker with both kinds of features of lists."""
    return make(query_features=KINDS, **parameters)


def power(make, exponent, **parameters):
    """A ranker with the loss of the power family that has this exponent."""
    return make(br.surrogates.Power(exponent, max_step=1.0), **parameters)


def cosine(make, epsilon, **parameters):
    """A ranker with the cosine loss that has this epsilon."""
    return make(br.surrogates.Cosine(epsilon), **parameters)


#: Names under which the report finds the peers that differences are to.
LAMBDARANK, RANK_NDCG = "LGBMRanker", "XGBRanker"
OURS = {"lightgbm": br.LightGBMRanker, "xgboost": br.XGBoostRanker}
XENDCG = partial(lightgbm.LGBMRanker, objective="rank_xendcg")
PEERS = [
    Method(LAMBDARANK, "lightgbm", False, lightgbm.LGBMRanker),
    Method("LGBMRanker rank_xendcg", "lightgbm", False, XENDCG),
    Method(RANK_NDCG, "xgboost", False, xgboost.XGBRanker),
    Method("CatBoostRanker", "catboost", False, catboost.CatBoostRanker),
]

#: The LambdaMART of each library, as its own ranker trains it by default.
BASELINES = {peer.library: peer for peer in PEERS if peer.name in (LAMBDARANK, RANK_NDCG)}

#: The trees of LGBMRanker for our loss, and the random trees of our defaults for LambdaMART, so
#: that a reader sees what the loss adds and what the trees add. The objectives of the libraries
#: draw rows in place of queries.
THEIR_TREES = {
    "n_estimators": 100,
    "learning_rate": 0.1,
    "num_leaves": 31,
    "reg_lambda": 0.0,
    "subsample_queries": 1.0,
    "colsample_bytree": 1.0,
    "colsample_bynode": 1.0,
}
RANDOM_TREES = {
    "n_estimators": 375,
    "learning_rate": 0.04,
    "subsample": QUERY_SHARE,
    "colsample_bytree": TREE_SHARE,
    "colsample_bynode": NODE_SHARE,
}
RANDOM_LAMBDARANK = {**RANDOM_TREES, "subsample_freq": 1, **LIGHTGBM_SHAPE}
RANDOM_RANK_NDCG = {**RANDOM_TREES, **XGBOOST_SHAPE}

UNTUNED = [
    *PEERS,
    # Without the factor of the query, which makes LambdaMART fail where judges disagree.
    Method(
        "LGBMRanker lambdarank_norm=False",
        "lightgbm",
        False,
        partial(lightgbm.LGBMRanker, lambdarank_norm=False),
    ),
    Method(
        "XGBRanker lambdarank_normalization=False",
        "xgboost",
        False,
        partial(xgboost.XGBRanker, lambdarank_normalization=False),
    ),
    Method(
        "LightGBMRanker, trees of LGBMRanker",
        "lightgbm",
        True,
        partial(br.LightGBMRanker, **THEIR_TREES),
    ),
    Method(
        "lambdarank, random trees",
        "lightgbm",
        True,
        partial(br.LightGBMRanker, "lambdarank", **RANDOM_LAMBDARANK),
    ),
    Method(
        "rank:ndcg, random trees",
        "xgboost",
        True,
        partial(br.XGBoostRanker, "rank:ndcg", **RANDOM_RANK_NDCG),
    ),
    # Only the loss is that of the libraries: trees and the rule of rounds are our defaults.
    *(
        Method(
            f"LambdaMART, our trees and rounds, {library}",
            library,
            True,
            partial(make, br.surrogates.LambdaMART()),
        )
        for library, make in OURS.items()
    ),
    Method("LightGBMRanker", "lightgbm", True, br.LightGBMRanker),
    Method("XGBoostRanker", "xgboost", True, br.XGBoostRanker),
    Method("BaggedRanker of LightGBMRanker", "lightgbm", True, partial(bagged, br.LightGBMRanker)),
    Method("BaggedRanker of XGBoostRanker", "xgboost", True, partial(bagged, br.XGBoostRanker)),
    # The transformer, which is ours, makes the features of lists for all.
    *(
        Method(
            f"{peer.name}, query features", peer.library, True, partial(OnQueryFeatures, peer.make)
        )
        for peer in PEERS
        if peer.name != "LGBMRanker rank_xendcg"
    ),
    *(
        Method(f"{make.__name__}, query features", library, True, partial(on_query_features, make))
        for library, make in OURS.items()
    ),
]


def early_stopping_methods():
    """The peers, and our rankers, which also choose the number of rounds as by default.

    They get it from all training queries.
    """
    yield from PEERS
    for library, make in OURS.items():
        yield Method(make.__name__, library, True, make)
        yield Method(f"{make.__name__} default rounds", library, True, make, validates_itself=True)


def tuned_methods():
    """The peers and the losses among which tuning may choose, with hyperparameters of their own."""
    own = {
        LAMBDARANK: {
            "lambdarank_truncation_level": [10, 20, 30, 100],
            "lambdarank_norm": [True, False],
            "bagging_by_query": [True, False],
        },
        "LGBMRanker rank_xendcg": {"bagging_by_query": [True, False]},
        "CatBoostRanker": {"sampling_unit": ["Object", "Group"]},
        RANK_NDCG: {
            "lambdarank_pair_method": ["topk", "mean"],
            "lambdarank_num_pair_per_sample": [1, 4, 10, 32],
            "lambdarank_normalization": [True, False],
        },
    }
    for peer in PEERS:
        yield peer._replace(own=own.get(peer.name, {}))
    cutoffs = {"k": [None, 5, 10]}
    for library, make in OURS.items():
        name = make.__name__
        yield Method(name, library, True, make, cutoffs)
        exponents = {"exponent": [-0.25, 0.0, 0.25, 0.5, 1.0]}
        yield Method(f"{name} power", library, True, partial(power, make), {**cutoffs, **exponents})
        epsilons = {"epsilon": [0.1, 0.3, 1.0]}
        yield Method(
            f"{name} cosine", library, True, partial(cosine, make), {**cutoffs, **epsilons}
        )


PROTOCOLS = {
    protocol: {method.name: method for method in methods}
    for protocol, methods in {
        "untuned": UNTUNED,
        "early-stopping": early_stopping_methods(),
        "tuned": tuned_methods(),
    }.items()
}


def processor_seconds(library, fit):
    """What `fit()` returns, and its processor seconds."""
    train_once(library)
    start = time.process_time()
    result = fit()
    return result, time.process_time() - start


@cache
def train_once(library):
    """Train each ranker of a library on few queries.

    Imports are then not in the seconds of the next fit.
    """
    makers = [peer.make for peer in PEERS if peer.library == library] + [
        make for name, make in OURS.items() if name == library
    ]
    for make in makers:
        accept_qid(make(**RUNNING[library], n_estimators=2)).fit(
            *br.make_ranking(20, random_state=0)
        )


def fit(method, protocol, fold, seed, n_draws):
    """The fitted ranker of a method, and what is to be recorded about it."""
    running = {**RUNNING[method.library], "random_state": seed}
    if protocol == "tuned":
        return fit_best_draw(method, running, fold, seed, n_draws)
    if protocol == "untuned" or method.validates_itself:
        ranker = accept_qid(method.make(**running))
        ranker.fit(*training_queries(fold))
    else:
        rate = (
            {}
            if method.is_ours or method.library == "catboost"
            else {"learning_rate": LEARNING_RATE}
        )
        ranker = fit_with_early_stopping(method, {**running, **rate}, fold, MAX_ROUNDS, PATIENCE)
    return ranker, {"rounds": int(ranker.best_iteration_)}


def fit_with_early_stopping(method, parameters, fold, rounds, patience):
    """Train on the training queries without the validation queries, which decide on the rounds."""
    stopping = {"n_estimators": rounds, "early_stopping_rounds": patience}
    evaluation = [tuple(fold.validation)]
    if method.is_ours:
        return method.make(**parameters, **stopping).fit(
            *fold.train, eval_set=evaluation, eval_metric="ndcg@10"
        )
    ranker = accept_qid(method.make(**parameters, **stopping, **METRICS[method.library]))
    return ranker.fit(*fold.train, eval_set=evaluation)


def fit_best_draw(method, running, fold, seed, n_draws):
    """Train all draws of the hyperparameters.

    The one with the best NDCG@10 on the validation queries is returned.
    """
    best, best_value, draws = None, -np.inf, []
    for number in range(n_draws):
        settings = draw(method, seed, number)
        parameters = {**running, **library_parameters(method, settings)}
        parameters.update({name: settings[name] for name in method.own})
        ranker = fit_with_early_stopping(method, parameters, fold, MAX_ROUNDS_TUNED, PATIENCE_TUNED)
        X, y, qid = fold.validation
        value = float(br.ndcg_score(y, ranker.predict(X), qid, k=10))
        draws.append(
            {"settings": settings, "validation": value, "rounds": int(ranker.best_iteration_)}
        )
        if value > best_value:
            best, best_value = ranker, value
    return best, {"draws": draws}


def predict(ranker, X, qid):
    """The scores of a fitted ranker, which gets the query ids if its `predict` takes them."""
    takes_qid = "qid" in inspect.signature(ranker.predict).parameters
    return ranker.predict(X, **({"qid": qid} if takes_qid else {}))


def draw(method, seed, number):
    """Settings number `number` of a method: those of the trees are the same for every method."""
    trees, own = np.random.default_rng([seed, number]), np.random.default_rng([seed, number, 1])
    settings = {name: _draw_one(choices, trees) for name, choices in TREES.items()}
    settings.update({name: _draw_one(choices, own) for name, choices in method.own.items()})
    return settings


def _draw_one(choices, random):
    if isinstance(choices, tuple):
        low, high = choices
        return float(np.exp(random.uniform(np.log(low), np.log(high))))
    return choices[random.integers(len(choices))]


def library_parameters(method, settings):
    """The settings of the trees under the names of a ranker.

    Ours draw queries where others draw rows.
    """
    shared = {name: settings[name] for name in ("learning_rate", "reg_lambda")}
    leaves, min_child, colsample = settings["leaves"], settings["min_child"], settings["colsample"]
    shared["subsample_queries" if method.is_ours else "subsample"] = settings["subsample"]
    if method.library == "catboost":
        # CatBoost grows symmetric trees: the number of leaves is a power of 2, and there is no
        # minimum of documents.
        depth = int(np.log2(leaves + 1))
        return {
            **shared,
            "depth": depth,
            "bootstrap_type": "Bernoulli",
            "colsample_bylevel": colsample,
        }
    shared.update(leaf_parameters(method.library, leaves))
    if method.library == "lightgbm":
        node = "colsample_bynode" if method.is_ours else "feature_fraction_bynode"
        return {**shared, node: colsample, "min_child_samples": min_child, "subsample_freq": 1}
    return {**shared, "colsample_bynode": colsample, "min_child_weight": min_child}
