"""Trainings with XGBoost, and the objective on the GPU that XGBoost trains on.

XGBoost 3.2 passes the scores to a custom objective as an array of NumPy, whatever the device, and
has no other public access to them than a new prediction. It takes gradients and Hessians as arrays
of any library that has ``__cuda_array_interface__``. So in each round the scores are copied from
the GPU and back to it, 4 bytes a document each way. Gradients and Hessians stay on the GPU, and so
does what left-out queries are measured with; another 4 bytes a document say which ones these are.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from copy import copy
from typing import Any

from numpy.typing import NDArray

from boostrank.backends.base import (
    BoostingFunction,
    BoostingObjective,
    GroupedData,
    Trained,
    TrainingSpecification,
    ValidationSet,
    import_backend,
)
from boostrank.backends.interrupts import interruptible
from boostrank.backends.left_out_queries import QuerySample
from boostrank.backends.models import require_same_categories
from boostrank.backends.progress import BAR, History, ProgressBar
from boostrank.backends.xgboost.features import (
    make_matrix,
    missing_number,
    missing_number_of,
    remember_missing,
)
from boostrank.backends.xgboost.parameters import MATRIX_PARAMETERS, native_parameters
from boostrank.backends.xgboost.prediction import (
    booster_name,
    categories,
    device_of,
    from_document,
    to_document,
)
from boostrank.inputs.arrays import Floats
from boostrank.inputs.checks import refuse
from boostrank.inputs.streams import FeatureStream
from boostrank.queries.threads import use_threads


def train(
    specification: TrainingSpecification,
    data: GroupedData,
    validation: Sequence[ValidationSet],
    objective: BoostingObjective | None,
    weights: Floats | None,
) -> Trained:
    """Train a booster; see :meth:`boostrank.backends.base.Backend.train`."""
    xgb = import_backend("xgboost")
    parameters, model = _parameters(specification, data), specification.init_model
    # The best model is not the first rounds of the last one with DART, which rescales earlier
    # trees.
    is_dart = parameters.get("booster") == "dart"
    _check(specification, data, validation, parameters, is_dart)
    sample = None
    if objective is not None:
        # DART changes earlier trees, so that what a round adds is not its tree.
        objective = on_device(objective, parameters)
        sample = QuerySample(objective, specification, data, is_measured=not is_dart)
    dtrain = make_matrix(data, parameters, weights, exact=model is not None)
    if model is not None and dtrain.feature_names is None:
        dtrain.feature_names = model.feature_names
    # XGBoost's bins take a code that does not occur in the training data for another one, as
    # predictions do not.
    has_codes = "c" in parameters.get("feature_types", ())
    matrices = []
    for validation_set in validation:
        evaluated = validation_set.data
        exact = model is not None or (has_codes and not isinstance(evaluated.X, FeatureStream))
        is_same = evaluated is data
        matrices.append(
            dtrain if is_same else make_matrix(evaluated, parameters, reference=dtrain, exact=exact)
        )
    history = History(validation, specification)
    names = [one.name if one.is_named else f"validation_{i}" for i, one in enumerate(validation)]
    stops_early = bool(validation) and specification.early_stopping_rounds is not None
    bar = (
        ProgressBar(specification.n_rounds, True, history.last_value)
        if specification.verbose == BAR
        else None
    )
    stopping = stopping_callbacks(specification.callbacks)
    # XGBoost would compare with the results of an earlier training.
    fresh = {id(callback): copy(callback) for callback in stopping}
    for callback in fresh.values():
        callback.stopping_history, callback.best_scores = {}, {}
    undirected = [callback for callback in fresh.values() if callback.maximize is None]

    def evaluate(scores: NDArray[Any], scored: Any) -> list[tuple[str, float]]:
        i = next(i for i, matrix in enumerate(matrices) if matrix is scored)
        results = history.record(i, scores)
        for name, _, _ in results:
            _check_name("names of eval_metric", name, ":")
        for callback in undirected:
            # XGBoost takes the last ones too, and would minimize each metric whose name it does not
            # know.
            if callback.data in (None, names[i]):
                is_higher_better = {name: better for name, _, better in results}
                callback.maximize = is_higher_better.get(callback.metric_name or results[-1][0])
        return [(name, value) for name, value, _ in results]

    class AfterRound(xgb.callback.TrainingCallback):  # type: ignore[name-defined]
        best_model: Any = None

        def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
            # Here, a signal that waits is handled.
            interruptible(lambda: None if bar is None else bar.advance(sample))
            if not stops_early:
                return sample is not None and sample.should_stop()
            if is_dart and history.improved():
                self.best_model = model.copy()
            return history.should_stop()

    with bar or nullcontext():
        after_round = AfterRound()
        booster = xgb.train(
            {name: value for name, value in parameters.items() if name not in MATRIX_PARAMETERS},
            dtrain,
            num_boost_round=specification.n_rounds,
            obj=None
            if sample is None
            else lambda scores, _: interruptible(sample.next_round, scores),
            evals=list(zip(matrices, names, strict=True)),
            custom_metric=evaluate if validation else None,
            verbose_eval=False
            if specification.verbose == BAR
            else int(specification.verbose) or False,
            xgb_model=model,
            callbacks=[
                *(fresh.get(id(callback), callback) for callback in specification.callbacks),
                after_round,
            ],
        )
    best, n_earlier = (
        booster.num_boosted_rounds(),
        0 if model is None else model.num_boosted_rounds(),
    )
    if stops_early:
        best = n_earlier + history.best_round() + 1
        # Without this, predictions would use all rounds.
        booster = after_round.best_model if is_dart else _first_rounds(booster, best)
        # XGBoost's own early stopping writes these too.
        booster.set_attr(best_iteration=str(best - 1), best_score=repr(history.best_value()))
    elif stopping:
        found = {name: booster.attr(name) for name in ("best_iteration", "best_score")}
        best = int(found["best_iteration"]) + 1
        booster = _first_rounds(booster, best)
        # The first rounds alone do not have them.
        booster.set_attr(**found)
    elif model is not None:
        # They are those of the earlier model.
        booster.set_attr(best_iteration=None, best_score=None)
    has_splits = bool(booster.get_score(importance_type="weight"))
    improvement = () if sample is None else sample.improvement
    booster = remember_missing(booster, parameters, dtrain, model)
    return Trained(booster, best, history.as_dict(), best - n_earlier, has_splits, improvement)


def stopping_callbacks(callbacks: Sequence[Any]) -> list[Any]:
    """Those of the callbacks that are XGBoost's ``EarlyStopping``."""
    kind = import_backend("xgboost").callback.EarlyStopping
    return [callback for callback in callbacks if isinstance(callback, kind)]


def _parameters(specification: TrainingSpecification, data: GroupedData) -> dict[str, Any]:
    """Parameters of XGBoost, with those of a native objective."""
    parameters = {**specification.parameters, "disable_default_eval_metric": True}
    if specification.init_model is None:
        # A model whose training goes on keeps its own base score.
        parameters.setdefault("base_score", 0.0)
    native = specification.native_objective
    if native is not None:
        parameters["objective"] = native
        parameters.update(
            native_parameters(native, specification.dcg, data.labels.require_relevance(native))
        )
    return parameters


def _check(
    specification: TrainingSpecification,
    data: GroupedData,
    validation: Sequence[ValidationSet],
    parameters: Mapping[str, Any],
    is_dart: bool,
) -> None:
    """Raise an error for data, names, callbacks or an earlier model that XGBoost does not take with
    the others.
    """
    if data.position is not None:
        raise ValueError(
            "XGBoost takes no position: sort the rows of each query by position, and set "
            "lambdarank_unbiased=True with objective='rank:ndcg' or 'rank:pairwise'"
        )
    for validation_set in validation:
        _check_name("eval_names and keys of eval_set", validation_set.name, ":-")
    model = specification.init_model
    if model is not None:
        before = {"booster": booster_name(model), "missing": missing_number_of(model)}
        now = {
            "booster": parameters.get("booster", "gbtree"),
            "missing": missing_number(parameters),
        }
        for name in before:
            # As texts, two NaN are equal.
            if str(before[name]) != str(now[name]):
                refuse(name, now[name], f"{before[name]!r}, as in the training of init_model")
        # XGBoost gives an earlier model the numbers of the new categories.
        by_feature = categories(model)
        if None not in by_feature.values():
            require_same_categories(
                [values for values in by_feature.values() if values is not None], data.X
            )
    if is_dart and stopping_callbacks(specification.callbacks):
        raise ValueError(
            f"with booster={parameters['booster']!r}, the best model is not the first rounds of "
            f"the last one: set "
            "early_stopping_rounds of the ranker instead of the callback EarlyStopping"
        )


def _check_name(argument: str, name: str, forbidden: str) -> None:
    """Raise ValueError for a name that XGBoost cannot read in its line of metrics."""
    if re.search(rf"[\s{forbidden}]", name):
        characters = ", ".join(repr(character) for character in forbidden)
        raise ValueError(
            f"XGBoost takes no white space and no {characters} in {argument}; got {name!r}"
        )


def _first_rounds(booster: Any, n: int) -> Any:
    """Return the model of the first `n` rounds.

    XGBoost's slice of a booster loses the names of categories, so they are copied to it.
    """
    first = booster[:n]
    if "c" not in (booster.feature_types or ()):
        return first
    whole, document = to_document(booster), to_document(first)
    trees = document["learner"]["gradient_booster"]["model"]
    trees["cats"] = whole["learner"]["gradient_booster"]["model"]["cats"]
    return from_document(document)


class CudaObjective(BoostingObjective):
    """An objective that computes gradient and Hessian on a GPU.

    Parameters
    ----------
    objective : Objective
        That takes arrays of a device.
    cupy : module
    ordinal : int
        Number of the GPU.
    """

    def __init__(self, objective: Any, cupy: Any, ordinal: int) -> None:
        self.queries = objective.queries
        self._cupy, self._device = cupy, cupy.cuda.Device(ordinal)
        with self._device:
            self._objective = objective.to_device(cupy.asarray)

    def boosting_function(self) -> BoostingFunction:
        """The method :meth:`gradient_hessian`."""
        return self.gradient_hessian

    def gradient_hessian(self, scores: Any) -> tuple[Any, Any]:
        """Gradient and Hessian as arrays of CuPy, float32, each of shape (n_documents,).

        The scores are an array of NumPy or CuPy.

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
                    f"{self._objective.surrogate!r} cannot compute with arrays of a GPU ({error}): "
                    f"set "
                    "takes_device_arrays = False in its class, or make its arrays like its "
                    "arguments"
                ) from error

    def memory(self) -> AbstractContextManager[Any]:
        """The GPU as the current device of this thread: other threads have another one."""
        return self._device

    def copy(self, values: NDArray[Any]) -> Any:
        """Copy an array of NumPy to the GPU, as an array of CuPy."""
        with self._device:
            return self._cupy.asarray(values)


def on_device(objective: BoostingObjective, parameters: Mapping[str, Any]) -> BoostingObjective:
    """Return the objective on the GPU on which XGBoost trains with these parameters.

    It is returned unchanged, so that it is computed by the CPU, if XGBoost trains on the CPU, if
    CuPy is not installed or finds no GPU, or if the loss does not take arrays of a GPU. XGBoost
    then copies gradients and Hessians to its device.
    """
    if not objective.takes_device_arrays:
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
