"""Trainings with LightGBM."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from boostrank.backends.interrupts import interruptible
from boostrank.backends.libraries import import_backend
from boostrank.backends.lightgbm.features import add_columns, dataset_features
from boostrank.backends.lightgbm.parameters import boosting_of, native_parameters, samples_queries
from boostrank.backends.models import require_same_categories
from boostrank.backends.records import GroupedData, Trained, TrainingSpecification, ValidationSet
from boostrank.backends.rounds import Rounds
from boostrank.inputs.arrays import Floats
from boostrank.inputs.streams import FeatureStream
from boostrank.surrogates.loss import BoundLoss

if TYPE_CHECKING:
    from lightgbm import Booster, Dataset
    from lightgbm.callback import CallbackEnv

    from boostrank.backends.libraries import Parameters

#: Smallest value of min_sum_hessian_in_leaf. With exactly 0 LightGBM crashes.
MIN_SUM_HESSIAN = 1e-10
#: LightGBM's default of num_leaves. It warns if max_depth is given without num_leaves.
DEFAULT_LEAVES = 31
#: Parameters of LightGBM that need all columns of a Dataset at once: values by column, and random
#: numbers by bundle.
OF_ALL_COLUMNS = ("max_bin_by_feature", "forcedbins_filename", "extra_trees")


def train(
    specification: TrainingSpecification,
    data: GroupedData,
    validation: Sequence[ValidationSet],
    objective: BoundLoss | None,
    weights: Floats | None,
) -> Trained:
    """Train a booster; see :meth:`boostrank.backends.interface.Backend.train`."""
    lgb = import_backend("lightgbm")
    _check(specification, data, validation)
    parameters = _parameters(specification)
    # LightGBM ignores categorical features in the parameters of a training, and refuses the file of
    # bins there if the Dataset is constructed, as it is for our losses. So the Dataset gets them.
    categorical = parameters.pop("categorical_feature", "auto")
    dataset = _training_set(specification, data, weights, parameters, categorical)
    datasets = _validation_sets(specification, data, dataset, validation, parameters)
    is_dart = boosting_of(parameters) == "dart"
    callbacks = list(specification.callbacks)
    if not is_dart and specification.early_stopping_metric is None:
        # LightGBM itself ends the training as soon as one of the metrics does not improve.
        callbacks += _early_stopping(specification)
        specification = replace(specification, early_stopping_rounds=None)
    rounds = Rounds(specification, data, validation, objective, changes_trees=is_dart)
    of_training = {**parameters, **_objective(specification, data, rounds, dataset)}
    of_training.pop("forcedbins_filename", None)
    if rounds.print_period:
        callbacks.append(lgb.log_evaluation(rounds.print_period))
    if is_dart and objective is not None:
        callbacks.append(FirstRound())
    counter = RoundCounter()
    with rounds.bar:
        booster = lgb.train(
            of_training,
            dataset,
            num_boost_round=specification.n_rounds,
            valid_sets=datasets,
            valid_names=[validation_set.name for validation_set in validation],
            feval=lambda scores, scored: rounds.evaluate(scores, scored, datasets),
            init_model=specification.init_model,
            callbacks=[*callbacks, counter, EndOfRound(rounds)],
        )
    best_round = _best_round(booster, rounds, counter, specification)
    n_kept = counter.n_kept[best_round - 1]
    text = rounds.best_model or booster.model_to_string(num_iteration=n_kept)
    model = lgb.Booster(model_str=with_named_objective(text))
    return Trained(
        booster=model,
        best_iteration=n_kept,
        evals_result=rounds.history.as_dict(),
        best_round=best_round,
        has_splits=bool(model.feature_importance().any()),
        oob_improvement=rounds.improvement,
    )


def stopping_callbacks(callbacks: Sequence[object]) -> list[Any]:
    """Those of the callbacks that are LightGBM's ``early_stopping``."""
    kind = type(import_backend("lightgbm").early_stopping(1))
    return [callback for callback in callbacks if isinstance(callback, kind)]


def _early_stopping(specification: TrainingSpecification) -> list[Any]:
    """LightGBM's callback that stops the training early, if this is asked for."""
    if specification.early_stopping_rounds is None:
        return []
    early_stopping = import_backend("lightgbm").early_stopping
    return [early_stopping(specification.early_stopping_rounds, verbose=False)]


@dataclass(eq=False)
class RoundCounter:
    """A callback that counts the rounds that LightGBM keeps.

    LightGBM does not keep a round in which it finds no split, unless it is the first one. Later
    rounds may find one, where random numbers decide on the features, the documents or the
    thresholds.

    Attributes
    ----------
    n_kept : list of int
        For each round, the number of rounds of the model after it.
    """

    n_kept: list[int] = field(default_factory=list)
    # LightGBM calls this callback before all others, because any of them may end the training. This
    # is a field, because LightGBM gives an order to each instance that has none in its `__dict__`.
    order: float = -np.inf

    def __call__(self, environment: CallbackEnv) -> None:
        """Add the number; here, a signal that waits is handled."""
        interruptible(self.n_kept.append, environment.model.current_iteration())


@dataclass(eq=False)
class EndOfRound:
    """A callback that ends the training when its rounds say so."""

    rounds: Rounds
    # LightGBM calls this callback after all others.
    order: float = np.inf

    def __call__(self, environment: CallbackEnv) -> None:
        """Count the round, and raise LightGBM's exception if it is the last one."""
        if self.rounds.end_round(environment.model.model_to_string):
            stop = import_backend("lightgbm").callback.EarlyStopException
            raise stop(environment.iteration, environment.evaluation_result_list)


class FirstRound:
    """A callback that makes the random numbers of DART with a custom objective the same every time.

    LightGBM drops trees when the scores of a round are asked for, unless a flag says that it has
    done so. With a custom objective nothing sets this flag before the first round, so that its
    value is what the memory contained before. A round in which trees are dropped takes a random
    number. So without this callback the same seed gives one of two models.
    """

    before_iteration = True

    def __call__(self, environment: CallbackEnv) -> None:
        """Before the first round, set the flag and let the random numbers start again."""
        if environment.iteration != environment.begin_iteration:
            return
        # This call asks for the scores, which sets the flag and may take a random number.
        environment.model.eval_train(feval=lambda scores, data: ("", 0.0, True))
        # Setting any parameter makes the random numbers start again from `drop_seed`. Where no
        # feature can split the rows, LightGBM refuses it; no tree has a split then, and the
        # random numbers do not matter.
        with suppress(import_backend("lightgbm").basic.LightGBMError):
            environment.model.reset_parameter({"verbosity": environment.params.get("verbosity", 1)})


def _check(
    specification: TrainingSpecification, data: GroupedData, validation: Sequence[ValidationSet]
) -> None:
    """Raise an error for callbacks, parameters or data that LightGBM does not take with these."""
    if boosting_of(specification.parameters) in ("rf", "random_forest"):
        raise ValueError(
            "boosting='rf' is not for rankers, because LightGBM's random forests take no custom "
            "objective: set 'gbdt' or 'dart'"
        )
    if data.position is not None and specification.loss.native_objective != "lambdarank":
        # LightGBM would take positions for rank_xendcg, and ignore them.
        raise ValueError(
            "position is only for objective='lambdarank': other objectives do not use it"
        )
    if specification.init_model is not None:
        for data_set in [data, *(validation_set.data for validation_set in validation)]:
            is_in_files = isinstance(data_set.X, FeatureStream) and not data_set.X.in_memory
            if data_set.init_score is not None or is_in_files:
                raise ValueError(
                    "LightGBM takes no init_model beside init_score or with features in "
                    "FeatureFiles: give init_score=init_model.predict(X), plus the init_score if "
                    "there is one, without init_model; the new model then has only the new rounds"
                )
        require_same_categories(specification.init_model.pandas_categorical or [], data.X)


def _parameters(specification: TrainingSpecification) -> dict[str, Any]:
    """Parameters of LightGBM, without those of the objective."""
    # Without force_col_wise LightGBM measures whether histograms by row or by column are faster,
    # and takes these. The two differ in rounding, so the model would depend on the measured times.
    defaults = {
        "verbosity": -1,
        "deterministic": True,
        "force_col_wise": True,
        "num_leaves": DEFAULT_LEAVES,
    }
    parameters = {**defaults, **specification.parameters, "metric": "None"}
    if parameters.get("force_row_wise"):
        parameters["force_col_wise"] = False
    if "min_sum_hessian_in_leaf" in parameters:
        parameters["min_sum_hessian_in_leaf"] = max(
            parameters["min_sum_hessian_in_leaf"], MIN_SUM_HESSIAN
        )
    return parameters


def _training_set(
    specification: TrainingSpecification,
    data: GroupedData,
    weights: Floats | None,
    parameters: Parameters,
    categorical: Sequence[int] | str,
) -> Dataset:
    """The Dataset of the training data, of which some features are `categorical`, or "auto"."""
    is_continued = specification.init_model is not None
    reads_all = is_continued or not parameters.keys().isdisjoint(OF_ALL_COLUMNS)
    dataset = import_backend("lightgbm").Dataset(
        **dataset_features(data, reads_all),
        label=data.labels.per_document,
        group=data.queries.sizes,
        weight=weights,
        init_score=data.init_score,
        position=data.position,
        params=dict(parameters),
        categorical_feature=categorical,
        # The scores of a model whose training goes on are computed from the features, so they must
        # be kept.
        free_raw_data=not is_continued,
    )
    if isinstance(data.X, FeatureStream) and data.X.in_memory and not reads_all:
        add_columns(dataset, data.X, parameters)
    return dataset


def _validation_sets(
    specification: TrainingSpecification,
    data: GroupedData,
    dataset: Dataset,
    validation: Sequence[ValidationSet],
    parameters: Parameters,
) -> list[Dataset]:
    """The Datasets of the validation sets; `dataset` is that of the training data."""
    lgb = import_backend("lightgbm")
    is_continued = specification.init_model is not None
    datasets = []
    for validation_set in validation:
        evaluated = validation_set.data
        # With these, LightGBM's scores of the training data are not those of the model after each
        # round. DART drops trees of the next round when a function asks for these scores, so that
        # the model would stay without them after the last round. With `bagging_by_query`, the
        # scores lack trees for queries that were left out.
        has_other_scores = boosting_of(parameters) == "dart" or samples_queries(parameters)
        if evaluated is data and not has_other_scores:
            datasets.append(dataset)
            continue
        evaluation_set = lgb.Dataset(
            **dataset_features(evaluated, is_continued, has_bins=True),
            label=evaluated.labels.per_document,
            init_score=evaluated.init_score,
            reference=dataset,
            params=dict(parameters),
        )
        datasets.append(evaluation_set)
    return datasets


def _objective(
    specification: TrainingSpecification, data: GroupedData, rounds: Rounds, dataset: Dataset
) -> dict[str, Any]:
    """The parameters of the objective."""
    native = specification.loss.native_objective
    if native is not None:
        relevance = data.labels.require_relevance(native)
        return {"objective": native, **native_parameters(native, specification.dcg, relevance)}
    sample = rounds.sample
    assert sample is not None
    dataset.construct()
    # None can be split if all are constant, or for few documents in min_child_samples.
    if not any(map(dataset.feature_num_bin, range(dataset.num_feature()))):
        # LightGBM refuses a custom objective if no feature can be split. Its own least squares on
        # labels that are all 0 gives every document the score 0.
        dataset.set_label(np.zeros(data.queries.n_documents))
        return {"objective": "regression"}
    # LightGBM copies its parameters: a method would be copied with its object, a function is not.
    return {"objective": lambda scores, _: interruptible(sample.next_round, scores)}


def _best_round(
    booster: Booster, rounds: Rounds, counter: RoundCounter, specification: TrainingSpecification
) -> int:
    """The round of this training, counted from 1, whose metrics are those of the model."""
    if rounds.stops_early:
        return rounds.history.best_round() + 1
    if booster.best_iteration <= 0:
        return len(counter.n_kept)
    # Left-out queries or a callback of the user stopped the training.
    if specification.init_model is None:
        return booster.best_iteration
    return booster.best_iteration - specification.init_model.current_iteration()


def with_named_objective(text: str) -> str:
    """Return the text of a model with the objective "regression" in place of a custom one.

    LightGBM writes no name for a custom objective, but converters and explainers need one. The
    scores of "regression" are the plain sums over trees.
    """
    if "\nobjective=" in text:
        return text
    text = text.replace("\nfeature_names=", "\nobjective=regression\nfeature_names=", 1)
    return text.replace("\n[objective: custom]\n", "\n[objective: regression]\n", 1)
