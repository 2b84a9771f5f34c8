"""Trainings with XGBoost."""

from __future__ import annotations

import re
from collections.abc import Sequence
from copy import copy
from typing import TYPE_CHECKING, Any

from boostrank.backends.interrupts import interruptible
from boostrank.backends.libraries import Parameters, import_backend
from boostrank.backends.models import require_same_categories
from boostrank.backends.records import GroupedData, Trained, TrainingSpecification, ValidationSet
from boostrank.backends.rounds import Rounds
from boostrank.backends.xgboost.cuda import on_device
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
    from_document,
    to_document,
)
from boostrank.inputs.arrays import Floats
from boostrank.inputs.checks import refuse
from boostrank.inputs.streams import FeatureStream
from boostrank.surrogates.loss import BoundLoss

if TYPE_CHECKING:
    from xgboost import Booster, DMatrix
    from xgboost.callback import EarlyStopping, TrainingCallback


def train(
    specification: TrainingSpecification,
    data: GroupedData,
    validation: Sequence[ValidationSet],
    objective: BoundLoss | None,
    weights: Floats | None,
) -> Trained:
    """Train a booster; see :meth:`boostrank.backends.interface.Backend.train`."""
    xgb = import_backend("xgboost")
    parameters = _parameters(specification, data)
    earlier = specification.init_model
    is_dart = parameters.get("booster") == "dart"
    _check(specification, data, validation, parameters, is_dart)
    if objective is not None:
        objective = on_device(objective, parameters)
    rounds = Rounds(specification, data, validation, objective, changes_trees=is_dart)
    dtrain = make_matrix(data, parameters, weights, exact=earlier is not None)
    if earlier is not None and dtrain.feature_names is None:
        dtrain.feature_names = earlier.feature_names
    matrices = _validation_matrices(specification, data, dtrain, validation, parameters)
    names = _names(validation)
    callbacks = [_fresh(callback) for callback in specification.callbacks]
    stopping = stopping_callbacks(callbacks)
    with rounds.bar:
        booster = xgb.train(
            {name: value for name, value in parameters.items() if name not in MATRIX_PARAMETERS},
            dtrain,
            num_boost_round=specification.n_rounds,
            obj=_objective(rounds),
            evals=list(zip(matrices, names, strict=True)),
            custom_metric=Evaluation(rounds, matrices, names, stopping),
            verbose_eval=rounds.print_period,
            xgb_model=earlier,
            callbacks=[*callbacks, _end_of_rounds(rounds)],
        )
    booster, best_iteration = _best_model(booster, rounds, specification, bool(stopping))
    best_round = best_iteration
    if earlier is not None:
        best_round -= earlier.num_boosted_rounds()
    has_splits = bool(booster.get_score(importance_type="weight"))
    return Trained(
        booster=remember_missing(booster, parameters, dtrain, earlier),
        best_iteration=best_iteration,
        evals_result=rounds.history.as_dict(),
        best_round=best_round,
        has_splits=has_splits,
        oob_improvement=rounds.improvement,
    )


def stopping_callbacks(callbacks: Sequence[object]) -> list[Any]:
    """Those of the callbacks that are XGBoost's ``EarlyStopping``."""
    kind = import_backend("xgboost").callback.EarlyStopping
    return [callback for callback in callbacks if isinstance(callback, kind)]


class Evaluation:
    """The metrics of the validation sets, as XGBoost asks for them in every round.

    Parameters
    ----------
    rounds : Rounds
    matrices : list of DMatrix
    names : list of str
        The names of the validation sets for XGBoost.
    stopping : list of EarlyStopping
        The callbacks that stop the training. XGBoost would minimize each metric whose name it does
        not know, so those without a direction get one.
    """

    def __init__(
        self,
        rounds: Rounds,
        matrices: list[DMatrix],
        names: list[str],
        stopping: list[EarlyStopping],
    ) -> None:
        self._rounds = rounds
        self._matrices = matrices
        self._names = names
        self._undirected = [callback for callback in stopping if callback.maximize is None]

    def __call__(self, scores: Floats, scored: DMatrix) -> list[tuple[str, float]]:
        """The name and the value of each metric at the scores of one matrix."""
        results = self._rounds.evaluate(scores, scored, self._matrices)
        is_higher_better = {}
        for name, _, better in results:
            _check_name("names of eval_metric", name, ":")
            is_higher_better[name] = better
        for callback in self._undirected:
            if callback.data is None or self._name_of(scored) == callback.data:
                # XGBoost takes the last metric too.
                metric = callback.metric_name or results[-1][0]
                callback.maximize = is_higher_better.get(metric)
        return [(name, value) for name, value, _ in results]

    def _name_of(self, scored: DMatrix) -> str:
        pairs = zip(self._matrices, self._names, strict=True)
        return next(name for matrix, name in pairs if matrix is scored)


def _end_of_rounds(rounds: Rounds) -> TrainingCallback:
    """A callback that ends the training when its rounds say so."""

    class EndOfRound(import_backend("xgboost").callback.TrainingCallback):  # type: ignore[misc]
        def after_iteration(self, model: Booster, epoch: int, evals_log: object) -> bool:
            return rounds.end_round(model.copy)

    return EndOfRound()


def _fresh(callback: Any) -> Any:
    """The callback; a copy without its results if it stops the training.

    XGBoost would compare with the results of an earlier training.
    """
    if not stopping_callbacks([callback]):
        return callback
    fresh = copy(callback)
    fresh.stopping_history = {}
    fresh.best_scores = {}
    return fresh


def _parameters(specification: TrainingSpecification, data: GroupedData) -> dict[str, Any]:
    """Parameters of XGBoost, with those of a native objective."""
    parameters = {**specification.parameters, "disable_default_eval_metric": True}
    if specification.init_model is None:
        # A model whose training goes on keeps its own base score.
        parameters.setdefault("base_score", 0.0)
    native = specification.loss.native_objective
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
    parameters: Parameters,
    is_dart: bool,
) -> None:
    """Raise an error for data, names, callbacks or an earlier model that XGBoost does not take."""
    if data.position is not None:
        raise ValueError(
            "XGBoost takes no position: sort the rows of each query by position, and set "
            "lambdarank_unbiased=True with objective='rank:ndcg' or 'rank:pairwise'"
        )
    for validation_set in validation:
        _check_name("eval_names and keys of eval_set", validation_set.name, ":-")
    if specification.init_model is not None:
        _check_earlier(specification.init_model, data, parameters)
    if is_dart and stopping_callbacks(specification.callbacks):
        raise ValueError(
            f"with booster={parameters['booster']!r}, the best model is not the first rounds of "
            "the last one: set early_stopping_rounds of the ranker instead of the callback "
            "EarlyStopping"
        )


def _check_earlier(model: Booster, data: GroupedData, parameters: Parameters) -> None:
    """Raise an error for an earlier model that the parameters or the data do not go on with."""
    booster = parameters.get("booster", "gbtree")
    missing = missing_number(parameters)
    before = {"booster": booster_name(model), "missing": missing_number_of(model)}
    for name, now in (("booster", booster), ("missing", missing)):
        # As texts, two NaN are equal.
        if str(before[name]) != str(now):
            refuse(name, now, f"{before[name]!r}, as in the training of init_model")
    # XGBoost gives an earlier model the numbers of the new categories.
    by_feature = categories(model).values()
    known = [values for values in by_feature if values is not None]
    if len(known) == len(by_feature):
        require_same_categories(known, data.X)


def _check_name(argument: str, name: str, forbidden: str) -> None:
    """Raise ValueError for a name that XGBoost cannot read in its line of metrics."""
    if re.search(rf"[\s{forbidden}]", name):
        characters = ", ".join(repr(character) for character in forbidden)
        raise ValueError(
            f"XGBoost takes no white space and no {characters} in {argument}; got {name!r}"
        )


def _names(validation: Sequence[ValidationSet]) -> list[str]:
    """The names of the validation sets for XGBoost."""
    names = []
    for i, validation_set in enumerate(validation):
        names.append(validation_set.name if validation_set.is_named else f"validation_{i}")
    return names


def _validation_matrices(
    specification: TrainingSpecification,
    data: GroupedData,
    dtrain: DMatrix,
    validation: Sequence[ValidationSet],
    parameters: Parameters,
) -> list[DMatrix]:
    """The matrices of the validation sets; `dtrain` is that of the training data."""
    # XGBoost's bins take a code that does not occur in the training data for another one, as
    # predictions do not.
    has_codes = "c" in parameters.get("feature_types", ())
    matrices = []
    for validation_set in validation:
        evaluated = validation_set.data
        if evaluated is data:
            matrices.append(dtrain)
            continue
        exact = specification.init_model is not None
        if has_codes and not isinstance(evaluated.X, FeatureStream):
            exact = True
        matrices.append(make_matrix(evaluated, parameters, reference=dtrain, exact=exact))
    return matrices


def _objective(rounds: Rounds) -> Any:
    """The function that XGBoost asks for gradients; None for its own objective."""
    sample = rounds.sample
    if sample is None:
        return None
    return lambda scores, _: interruptible(sample.next_round, scores)


def _best_model(
    booster: Booster, rounds: Rounds, specification: TrainingSpecification, has_stopping: bool
) -> tuple[Booster, int]:
    """The model of the best round, and the number of its rounds.

    `has_stopping` says whether there is a callback that stops the training.
    """
    earlier = specification.init_model
    if rounds.stops_early:
        best = rounds.history.best_round() + 1
        if earlier is not None:
            best += earlier.num_boosted_rounds()
        model = rounds.best_model
        if model is None:
            # Without this, predictions would use all rounds.
            model = _first_rounds(booster, best)
        # XGBoost's own early stopping writes these too.
        best_score = repr(rounds.history.best_value())
        model.set_attr(best_iteration=str(best - 1), best_score=best_score)
        return model, best
    if has_stopping:
        found = {name: booster.attr(name) for name in ("best_iteration", "best_score")}
        best = int(found["best_iteration"]) + 1
        model = _first_rounds(booster, best)
        # The first rounds alone do not have them.
        model.set_attr(**found)
        return model, best
    if earlier is not None:
        # They are those of the earlier model.
        booster.set_attr(best_iteration=None, best_score=None)
    return booster, booster.num_boosted_rounds()


def _first_rounds(booster: Booster, n: int) -> Booster:
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
