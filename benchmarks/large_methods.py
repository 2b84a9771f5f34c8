"""The rankers of large_experiment.py, the spaces in which they are tuned, and their training."""

import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from workloads import leaf_parameters

import boostrank as br

#: What is drawn for every ranker: log-uniform between two floats of a tuple, or one of a list.
SHARED = {
    "learning_rate": (0.02, 0.2),
    "leaves": [15, 31, 63, 127, 255],
    "min_child": [0, 1, 2, 3],
    "subsample": [0.5, 0.75, 1.0],
    "colsample": [0.3, 0.6, 1.0],
    "reg_lambda": (0.01, 100.0),
}
#: What the four values of `min_child` are: documents in a leaf, or a sum of Hessians.
MIN_CHILD = {
    "lightgbm": ("min_child_samples", [5, 20, 100, 500]),
    "xgboost": ("min_child_weight", [0.1, 1, 10, 100]),
    "catboost": ("min_data_in_leaf", [5, 20, 100, 500]),
}
#: The losses and another setting of the loss of each ranker, both drawn.
LAMBDAMART = {
    "normalized": {"lambdarank_norm": True},
    "not normalized": {"lambdarank_norm": False},
    "xendcg": {"objective": "rank_xendcg"},
}
RANK_NDCG = {
    "topk": {"lambdarank_pair_method": "topk"},
    "topk, not normalized": {
        "lambdarank_pair_method": "topk",
        "lambdarank_normalization": False,
    },
    "mean": {"lambdarank_pair_method": "mean"},
}
YETI = {
    "YetiRank": {"loss_function": "YetiRank"},
    "YetiRank for NDCG": {"loss_function": "YetiRank:mode=NDCG"},
    "QueryRMSE": {"loss_function": "QueryRMSE"},
}
OURS = {name: {"objective": name} for name in ("softmax", "pairwise-exponential", "cosine")}


class Method(NamedTuple):
    """A ranker of the experiment.

    Attributes
    ----------
    library : str
        "lightgbm", "xgboost" or "catboost".
    is_ours : bool
    losses : mapping of str to dict
        The parameters of each loss that may be drawn.
    further : (str, list)
        A further setting and its values.
    """

    library: str
    is_ours: bool
    losses: Mapping[str, Mapping[str, Any]]
    further: tuple[str, list[Any]]


METHODS = {
    "LightGBM": Method(
        "lightgbm", False, LAMBDAMART, ("lambdarank_truncation_level", [10, 30, 100])
    ),
    "XGBoost": Method("xgboost", False, RANK_NDCG, ("lambdarank_num_pair_per_sample", [1, 8, 32])),
    "CatBoost": Method(
        "catboost", False, YETI, ("grow_policy", ["SymmetricTree", "Depthwise", "Lossguide"])
    ),
    "boostrank, LightGBM": Method("lightgbm", True, OURS, ("k", [None, 10, 30])),
    "boostrank, XGBoost": Method("xgboost", True, OURS, ("k", [None, 10, 30])),
}
#: Our rankers, and for the libraries the metric of early stopping and that they print nothing.
RANKERS = {"lightgbm": br.LightGBMRanker, "xgboost": br.XGBoostRanker}
METRICS = {
    "lightgbm": {"verbosity": -1},
    "xgboost": {"eval_metric": "ndcg@10"},
    "catboost": {
        "eval_metric": "NDCG:top=10;type=Exp",
        "allow_writing_files": False,
        "logging_level": "Silent",
    },
}


def space(method):
    """All that is drawn for a method; the number of settings is the same for all methods."""
    name, values = METHODS[method].further
    return {**SHARED, "loss": list(METHODS[method].losses), name: values}


def draw(method, search, number):
    """Settings number `number` of the search with the seed `search`, a list of integers.

    The first six are equal for all methods.
    """
    random = np.random.default_rng([*search, number])
    return {name: _draw_one(choices, random) for name, choices in space(method).items()}


def _draw_one(choices, random):
    if isinstance(choices, tuple):
        low, high = np.log(choices)
        return float(np.exp(random.uniform(low, high)))
    return choices[random.integers(len(choices))]


def parameters_of(name, settings):
    """The parameters of the ranker for drawn settings, under the names of its library."""
    method = METHODS[name]
    further, _ = method.further
    parameters = {
        "learning_rate": settings["learning_rate"],
        "reg_lambda": settings["reg_lambda"],
        further: settings[further],
        **method.losses[settings["loss"]],
    }
    minimum, values = MIN_CHILD[method.library]
    parameters[minimum] = values[settings["min_child"]]
    parameters["subsample_queries" if method.is_ours else "subsample"] = settings["subsample"]
    if method.library == "catboost":
        parameters |= _catboost_trees(settings)
    else:
        parameters |= leaf_parameters(method.library, settings["leaves"])
        of_node = "colsample_bynode"
        if method.library == "lightgbm":
            of_node = of_node if method.is_ours else "feature_fraction_bynode"
            parameters["subsample_freq"] = 1
        parameters[of_node] = settings["colsample"]
    return parameters


def _catboost_trees(settings):
    """Symmetric and depthwise trees have a depth, and those of the best leaf first leaves."""
    trees = {"bootstrap_type": "Bernoulli", "colsample_bylevel": settings["colsample"]}
    if settings["grow_policy"] == "Lossguide":
        return {**trees, "max_leaves": settings["leaves"], "depth": 12}
    return {**trees, "depth": int(np.log2(settings["leaves"] + 1))}


class Trained(NamedTuple):
    """A trained ranker.

    Attributes
    ----------
    predict : callable
        Function of features that returns scores.
    rounds : int
        Number of rounds that predictions use.
    seconds : float
        Of the training, by the clock.
    was_stopped : bool
        Whether the time was over before early stopping or the largest number of rounds.
    """

    predict: Callable[[Any], Any]
    rounds: int
    seconds: float
    was_stopped: bool


class Stopping(NamedTuple):
    """When a training ends.

    Attributes
    ----------
    rounds : int
        The largest number of rounds.
    patience : int
        Number of rounds without a better NDCG@10 of the validation queries.
    seconds : float
        The longest time of a training.
    by_left_out : bool
        Whether the ranker, which is one of boostrank, chooses the number of rounds by the queries
        that rounds leave out, without a largest number and without validation queries.
    """

    rounds: int
    patience: int
    seconds: float
    by_left_out: bool = False


class Clock:
    """A callback of LightGBM and CatBoost that ends a training when the time is over.

    The model is then that of the best round so far.
    """

    def __init__(self, seconds):
        self.start, self.seconds = time.perf_counter(), seconds
        self.is_over, self.best, self.best_round = False, -np.inf, 0

    @property
    def passed(self):
        """Seconds since the start."""
        return time.perf_counter() - self.start

    def check(self):
        """Whether the time is over; this is noted."""
        self.is_over = self.is_over or self.passed > self.seconds
        return self.is_over

    def __call__(self, env):
        """End a training of LightGBM."""
        value = env.evaluation_result_list[0][2] if env.evaluation_result_list else np.inf
        if value > self.best or not env.evaluation_result_list:
            self.best, self.best_round = value, env.iteration
        if self.check():
            from lightgbm.callback import EarlyStopException

            raise EarlyStopException(self.best_round, env.evaluation_result_list)

    def after_iteration(self, *_):
        """Whether CatBoost shall continue."""
        return not self.check()


def train(name, parameters, split, stopping, *, seed, threads):
    """Train a ranker on the training queries, whose rows follow each other; see `Stopping`."""
    method, clock = METHODS[name], Clock(stopping.seconds)
    shared = {**parameters, "random_state": seed}
    shared["thread_count" if method.library == "catboost" else "n_jobs"] = threads
    if not stopping.by_left_out:
        shared |= {"n_estimators": stopping.rounds, "early_stopping_rounds": stopping.patience}
    if method.is_ours:
        ranker = RANKERS[method.library](**shared)
        of_fit = {"eval_set": [tuple(split.validation)], "eval_metric": "ndcg@10"}
        callback = clock if method.library == "lightgbm" else for_xgboost(clock)
        ranker.fit(*split.train, callbacks=[callback], **({} if stopping.by_left_out else of_fit))
        rounds = ranker.best_iteration_
    else:
        fit = {"lightgbm": _fit_lightgbm, "xgboost": _fit_xgboost, "catboost": _fit_catboost}
        ranker, rounds = fit[method.library](shared | METRICS[method.library], split, clock)
    return Trained(ranker.predict, int(rounds), clock.passed, clock.is_over)


def _fit_lightgbm(parameters, split, clock):
    import lightgbm

    X, y, qid = split.validation
    held_out = {"eval_X": (X,), "eval_y": (y,), "eval_group": [sizes(qid)], "eval_at": [10]}
    train = split.train
    ranker = lightgbm.LGBMRanker(**parameters)
    ranker.fit(train.X, train.y, group=sizes(train.qid), callbacks=[clock], **held_out)
    return ranker, ranker.best_iteration_ or ranker.n_iter_


def _fit_xgboost(parameters, split, clock):
    import xgboost

    X, y, qid = split.validation
    held_out = {"eval_set": [(X, y)], "eval_qid": [numbered(qid)]}
    train = split.train
    ranker = xgboost.XGBRanker(**parameters, callbacks=[for_xgboost(clock)])
    ranker.fit(train.X, train.y, qid=numbered(train.qid), verbose=False, **held_out)
    # If the time is over, XGBoost ends a round without early stopping, so that the first round may
    # be no best one.
    best = ranker.get_booster().attr("best_iteration")
    return ranker, 1 if best is None else int(best) + 1


def _fit_catboost(parameters, split, clock):
    import catboost

    train, validation = (
        catboost.Pool(data.X, data.y, group_id=numbered(data.qid))
        for data in (split.train, split.validation)
    )
    ranker = catboost.CatBoostRanker(**parameters)
    ranker.fit(train, eval_set=validation, callbacks=[clock])
    return ranker, ranker.tree_count_


def for_xgboost(clock):
    """The clock as a callback of XGBoost, which must be of its class."""
    from xgboost.callback import TrainingCallback

    class Callback(TrainingCallback):
        def after_iteration(self, *_):
            return clock.check()

    return Callback()


def sizes(qid):
    """Numbers of documents of queries whose rows follow each other."""
    return np.bincount(numbered(qid))


def numbered(qid):
    """Query ids 0, 1, ..."""
    return np.cumsum(np.r_[False, qid[1:] != qid[:-1]])
