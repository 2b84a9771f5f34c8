"""Trainings with XGBoost, and the objective on the GPU that XGBoost trains on.

XGBoost 3.2 passes the scores to a custom objective as an array of NumPy, whatever the device, and has no other public
access to them than a new prediction. It takes gradients and Hessians as arrays of any library that has
``__cuda_array_interface__``. So in each round the scores are copied from the GPU and back to it, 4 bytes a document
each way, and gradients and Hessians stay on the GPU.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from numpy.typing import NDArray

from boostrank.backends.base import BinnedData, BoostingObjective, Trained, Training, import_backend
from boostrank.backends.models import require_same_categories
from boostrank.backends.objectives.losses import Loss
from boostrank.backends.objectives.objective import EnsembleObjective, Objective, copy_to_device
from boostrank.backends.progress import BAR, History, ProgressBar, metric_text, printing_period
from boostrank.backends.xgboost import rounds
from boostrank.backends.xgboost.features import check_same_missing, make_matrix, remember_missing, takes_bins
from boostrank.backends.xgboost.parameters import PARAMETERS, native_parameters, training_parameters
from boostrank.backends.xgboost.prediction import booster_name, categories, device_of, from_document, to_document
from boostrank.inputs.streams import FeatureStream
from boostrank.queries.threads import use_threads

#: Parameters on which the binned data do not depend: most of those that the ranker has too, and some others.
TREE_PARAMETERS = {*PARAMETERS.values(), "ndcg_exp_gain", "objective", "seed_per_iteration"} - {
    "max_bin",
    "nthread",
    "tree_method",
}


def train(training: Training) -> Trained:
    """Train a booster."""
    xgb = import_backend("xgboost")
    specification, history = training.specification, History(training)
    parameters, boost, dtrain, validation = _prepare(training)
    rewritten = _is_rewritten(parameters)

    def evaluate(scores: NDArray[Any], evaluated: Any) -> list[tuple[str, float]]:
        i = next(i for i, candidate in enumerate(validation) if candidate is evaluated)
        results = history.record(i, scores)
        for name, _, _ in results:
            _check_name("names of eval_metric", name, ":")
        return [(name, value) for name, value, _ in results]

    is_shown = specification.verbose == BAR
    progress = ProgressBar(specification.n_rounds, is_shown, lambda: metric_text(history.last()))
    with progress as bar, rounds.fresh_early_stopping(specification.callbacks, history) as callbacks:
        after_round = rounds.make_after_round(training, history, bar, keeps_best=rewritten)
        booster = xgb.train(
            training_parameters(parameters),
            dtrain,
            num_boost_round=specification.n_rounds,
            obj=boost,
            evals=[(matrix, part.name) for matrix, part in zip(validation, training.validation, strict=True)],
            custom_metric=evaluate if validation else None,
            verbose_eval=printing_period(specification.verbose) or False,
            xgb_model=specification.init_model,
            callbacks=[*callbacks, after_round],
        )
    model, best = specification.init_model, booster.num_boosted_rounds()
    n_earlier = 0 if model is None else model.num_boosted_rounds()
    if training.stops_early:
        best = n_earlier + history.best_round() + 1
        # Without this, predictions would use all rounds.
        booster = after_round.best_model if rewritten else _first_rounds(booster, best)
    elif rounds.stopping_callbacks(specification.callbacks):
        best = int(booster.attr("best_iteration")) + 1
        booster = _first_rounds(booster, best)
    return Trained(remember_missing(booster, parameters), best, history.as_dict(), best - n_earlier)


def start(training: Training, binned: BinnedData | None = None) -> rounds.XGBoostRounds:
    """Begin a training that goes on round by round; its last validation set is scored after each round."""
    parameters, boost, dtrain, validation = _prepare(training, binned)
    specification = training.specification
    # XGBoost has one stream of random numbers for all boosters. Trainings whose rounds alternate would take the numbers
    # of each other, so that every round has its own seed.
    settings = {**training_parameters(parameters), "seed_per_iteration": True}
    booster = import_backend("xgboost").Booster(settings, [dtrain, *validation], model_file=specification.init_model)
    return rounds.XGBoostRounds(booster, boost, dtrain, validation[-1], specification.callbacks)


def _prepare(training: Training, binned: BinnedData | None = None) -> tuple[dict[str, Any], Any, Any, list[Any]]:
    """The parameters of XGBoost, its custom objective or None, the matrix to train on, and those of validation sets.

    Matrices are taken from `binned` or added to it.
    """
    specification, parameters = training.specification, _parameters(training)
    _check(training, parameters, _is_rewritten(parameters))
    boost = None
    if training.objective is not None:
        boost = replace(training, objective=on_device(training.objective, parameters)).boosting_function()
    is_exact = specification.init_model is not None
    if binned is None or is_exact or not takes_bins(parameters):
        # Matrices of the features themselves keep what was computed for the parameters of one training.
        binned = {}
    key = training.bins_key(parameters, without=TREE_PARAMETERS)
    if key not in binned:
        weights = None if specification.native_objective is None else training.native_weights()
        dtrain = make_matrix(training.data, parameters, weights, exact=is_exact)
        if is_exact and dtrain.feature_names is None:
            dtrain.feature_names = specification.init_model.feature_names
        # XGBoost's bins take a code that does not occur in the training data for another one, as predictions do not.
        has_codes = "c" in parameters.get("feature_types", ())
        validation = []
        for part in training.validation:
            exact = is_exact or (has_codes and not isinstance(part.data.X, FeatureStream))
            is_same = part.data is training.data
            validation.append(dtrain if is_same else make_matrix(part.data, parameters, reference=dtrain, exact=exact))
        binned[key] = dtrain, validation
    dtrain, validation = binned[key]
    return parameters, None if boost is None else lambda scores, _: boost(scores), dtrain, validation


def _is_rewritten(parameters: Mapping[str, Any]) -> bool:
    """Whether the best model is not the first rounds of the last one: DART rescales earlier trees."""
    return parameters.get("booster") == "dart"


def _parameters(training: Training) -> dict[str, Any]:
    """Parameters of XGBoost, with those of a native objective."""
    specification = training.specification
    parameters = {**specification.parameters, "disable_default_eval_metric": True}
    if specification.init_model is None:
        # A model whose training goes on keeps its own base score.
        parameters.setdefault("base_score", 0.0)
    native = specification.native_objective
    if isinstance(specification.loss, Loss):
        # The features of each node are drawn by default. Where every round has its own seed, the rounds that are added
        # to a model are those of one training.
        parameters.setdefault("seed_per_iteration", True)
    if native is not None:
        parameters["objective"] = native
        parameters.update(native_parameters(native, specification.dcg, training.data.labels.require_relevance(native)))
    return parameters


def _check(training: Training, parameters: Mapping[str, Any], rewritten: bool) -> None:
    """Raise an error for data, names, callbacks or an earlier model that XGBoost does not take with the others."""
    specification = training.specification
    if training.data.position is not None:
        raise ValueError(
            "XGBoost takes no position: sort the rows of each query by position, and set lambdarank_unbiased=True with "
            "objective='rank:ndcg' or 'rank:pairwise'"
        )
    for part in training.validation:
        _check_name("eval_names and keys of eval_set", part.name, ":-")
    if specification.init_model is not None:
        before, now = booster_name(specification.init_model), parameters.get("booster", "gbtree")
        if before != now:
            raise ValueError(f"init_model was trained with booster={before!r}, and this ranker has booster={now!r}")
        check_same_missing(specification.init_model, parameters)
        # XGBoost gives an earlier model the numbers of the new categories.
        found = categories(specification.init_model)
        if None not in found.values():
            require_same_categories([values for values in found.values() if values is not None], training.data.X)
    rounds.check_callbacks(specification.callbacks)
    if not rounds.stopping_callbacks(specification.callbacks):
        return
    if not training.validation:
        raise ValueError("the callback EarlyStopping needs validation queries: give eval_set or validation_fraction")
    if rewritten:
        raise ValueError(
            f"with booster={parameters['booster']!r}, the best model is not the first rounds of the last one: set "
            "early_stopping_rounds of the ranker instead of the callback EarlyStopping"
        )


def _check_name(argument: str, name: str, forbidden: str) -> None:
    """Raise ValueError for a name that XGBoost cannot read in its line of metrics."""
    if re.search(rf"[\s{forbidden}]", name):
        characters = ", ".join(repr(character) for character in forbidden)
        raise ValueError(f"XGBoost takes no white space and no {characters} in {argument}; got {name!r}")


def _first_rounds(booster: Any, n: int) -> Any:
    """Return the model of the first `n` rounds.

    XGBoost's slice of a booster loses the names of categories, so they are copied to it.
    """
    part = booster[:n]
    if "c" not in (booster.feature_types or ()):
        return part
    whole, document = to_document(booster), to_document(part)
    trees = document["learner"]["gradient_booster"]["model"]
    trees["cats"] = whole["learner"]["gradient_booster"]["model"]["cats"]
    return from_document(document)


class CudaObjective:
    """An objective that takes scores in the memory of the host, and computes gradient and Hessian on a GPU.

    Parameters
    ----------
    objective : Objective
        Of a surrogate that `takes_device_arrays`.
    cupy : module
    ordinal : int
        Number of the GPU.
    """

    def __init__(self, objective: Objective, cupy: Any, ordinal: int) -> None:
        self.queries = objective.queries
        self._cupy, self._device = cupy, cupy.cuda.Device(ordinal)
        with self._device:
            self._objective = copy_to_device(objective, cupy.asarray)

    def gradient_hessian(self, scores: NDArray[Any]) -> tuple[Any, Any]:
        """Gradient and Hessian as arrays of CuPy, float32, each of shape (n_documents,).

        Raises
        ------
        FloatingPointError
            If a score, gradient or Hessian is not finite.
        TypeError
            If the surrogate combines arrays of NumPy with those of the GPU.
        """
        # Other threads have another current device.
        with self._device, use_threads(1):
            try:
                return self._objective.gradient_hessian(self._cupy.asarray(scores))
            except TypeError as error:
                raise TypeError(
                    f"{self._objective.surrogate!r} cannot compute with arrays of a GPU ({error}): set "
                    "takes_device_arrays = False in its class, or make its arrays like its arguments"
                ) from error

    def multiply(self, arrays: tuple[Any, Any], factors: NDArray[Any]) -> None:
        """Multiply arrays of CuPy by `factors` in place."""
        with self._device:
            on_gpu = self._cupy.asarray(factors)
            for array in arrays:
                array *= on_gpu


def on_device(
    objective: BoostingObjective | EnsembleObjective, parameters: Mapping[str, Any]
) -> BoostingObjective | EnsembleObjective:
    """Return the objective on the GPU on which XGBoost trains with these parameters.

    It is returned unchanged, so that it is computed by the CPU, if XGBoost trains on the CPU, if CuPy is not installed
    or finds no GPU, or if the loss does not take arrays of a GPU. XGBoost then copies gradients and Hessians to its
    device.
    """
    if not (isinstance(objective, Objective) and objective.surrogate.takes_device_arrays):
        return objective
    kind, _, ordinal = device_of_training(parameters.get("device")).partition(":")
    if kind != "cuda":
        return objective
    try:
        cupy: Any = importlib.import_module("cupy")
    except ImportError:
        return objective
    return CudaObjective(objective, cupy, int(ordinal)) if cupy.cuda.is_available() else objective


def device_of_training(device: str | None) -> str:
    """The device that XGBoost uses for its parameter `device`: "cpu", or for instance "cuda:0".

    Without a GPU it uses the CPU, whatever the parameter.
    """
    if device in (None, "cpu"):
        return "cpu"
    xgb = import_backend("xgboost")
    # The training itself warns if there is no GPU.
    with xgb.config_context(verbosity=0):
        return device_of(xgb.Booster({"device": device, "num_feature": 1}))
