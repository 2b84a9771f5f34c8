"""Trainings with LightGBM."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostrank.backends.base import BinnedData, Trained, Training, TrainingSpecification, ValidationSet, import_backend
from boostrank.backends.lightgbm import rounds
from boostrank.backends.lightgbm.features import dataset_features
from boostrank.backends.lightgbm.parameters import PARAMETERS, boosting_of, native_parameters, samples_queries
from boostrank.backends.models import require_same_categories
from boostrank.backends.progress import BAR, History, ProgressBar, metric_text, printing_period
from boostrank.inputs.streams import FeatureStream

#: Smallest value of min_sum_hessian_in_leaf. With exactly 0 LightGBM crashes.
MIN_SUM_HESSIAN = 1e-10
#: Parameters on which the binned data do not depend: most of those that the ranker has too, and some others.
TREE_PARAMETERS = {*PARAMETERS.values(), "bagging_freq", "extra_trees"} - {"min_data_in_leaf", "num_threads"}


def train(training: Training) -> Trained:
    """Train a booster."""
    lgb = import_backend("lightgbm")
    specification, history = training.specification, History(training)
    parameters, dataset, validation = _prepare(training)

    def evaluate(scores: NDArray[Any], evaluated: Any) -> list[tuple[str, float, bool]]:
        i = next(i for i, candidate in enumerate(validation) if candidate is evaluated)
        return history.record(i, scores)

    is_shown, period = specification.verbose == BAR, printing_period(specification.verbose)
    with ProgressBar(specification.n_rounds, is_shown, lambda: metric_text(history.last())) as bar:
        after_round, kept = rounds.AfterRound(training, history, bar), rounds.KeptRounds()
        booster = lgb.train(
            parameters,
            dataset,
            num_boost_round=specification.n_rounds,
            valid_sets=validation or None,
            valid_names=[part.name for part in training.validation] or None,
            feval=evaluate if validation else None,
            init_model=specification.init_model,
            callbacks=[
                *specification.callbacks,
                *([lgb.log_evaluation(period)] if period else []),
                *rounds.dart_callbacks(specification),
                kept,
                after_round,
            ],
        )
    best_round = len(kept.after_round)
    if training.stops_early:
        best_round = history.best_round() + 1
    elif booster.best_iteration > 0:
        # A callback of the user stopped the training.
        best_round = booster.best_iteration - after_round.n_earlier_rounds
    best = kept.after_round[best_round - 1]
    text = after_round.best_model or booster.model_to_string(num_iteration=best)
    return Trained(lgb.Booster(model_str=rounds.with_named_objective(text)), best, history.as_dict(), best_round)


def start(training: Training, binned: BinnedData | None = None) -> rounds.LightGBMRounds:
    """Begin a training that goes on round by round; its last validation set is scored after each round."""
    return rounds.LightGBMRounds(training, *_prepare(training, binned))


def _prepare(training: Training, binned: BinnedData | None = None) -> tuple[dict[str, Any], Any, list[Any]]:
    """The parameters of LightGBM with the objective, the Dataset to train on, and those of the validation sets.

    Datasets are taken from `binned` or added to it.
    """
    specification = training.specification
    _check(training)
    parameters = _parameters(specification)
    # LightGBM ignores categorical features in the parameters of the training: the Dataset must get them.
    categorical = parameters.pop("categorical_feature", "auto")
    if binned is None or specification.init_model is not None:
        # LightGBM adds the scores of an earlier model to the Datasets of a training.
        binned = {}
    key = training.bins_key({**parameters, "categorical_feature": categorical}, without=TREE_PARAMETERS)
    if key not in binned:
        dataset = _training_data(training, parameters, categorical)
        # With these, LightGBM's scores of the training data are not those of the model after each round. DART drops
        # trees of the next round when a function asks for these scores, so that the model would stay without them after
        # the last round. With `bagging_by_query`, the scores lack trees for queries that were left out.
        are_other_scores = boosting_of(parameters) == "dart" or samples_queries(parameters)
        validation = [
            _validation_data(part, dataset) if part.data is not training.data or are_other_scores else dataset
            for part in training.validation
        ]
        binned[key] = dataset, validation
    dataset, validation = binned[key]
    parameters.update(_objective(training, dataset))
    return parameters, dataset, validation


def _check(training: Training) -> None:
    """Raise an error for callbacks, parameters or data that LightGBM does not take with these."""
    specification, data = training.specification, training.data
    if boosting_of(specification.parameters) in ("rf", "random_forest"):
        raise ValueError(
            "boosting='rf' is not for rankers, because LightGBM's random forests take no custom objective: set 'gbdt' "
            "or 'dart'"
        )
    rounds.check_callbacks(specification.callbacks)
    if data.position is not None and specification.native_objective != "lambdarank":
        # LightGBM would take positions for rank_xendcg, and ignore them.
        raise ValueError("position is only for objective='lambdarank': other objectives do not use it")
    if specification.init_model is not None:
        parts = [data, *(part.data for part in training.validation)]
        if any(part.init_score is not None for part in parts):
            raise ValueError(
                "LightGBM takes no init_score beside init_model: give init_score + init_model.predict(X) as "
                "init_score, without init_model; the new model then has only the new rounds"
            )
        if any(isinstance(part.X, FeatureStream) for part in parts):
            raise ValueError(
                "LightGBM takes no init_model with features in FeatureFiles: give init_score=init_model.predict(X) in "
                "its place; the new model then has only the new rounds"
            )
        require_same_categories(specification.init_model.pandas_categorical or [], data.X)


def _training_data(training: Training, parameters: dict[str, Any], categorical: Any) -> Any:
    """The Dataset to train on; `categorical` are LightGBM's categorical features."""
    data, specification = training.data, training.specification
    return import_backend("lightgbm").Dataset(
        **dataset_features(data),
        label=data.labels.per_document,
        group=data.queries.sizes,
        weight=None if specification.native_objective is None else training.native_weights(),
        init_score=data.init_score,
        position=data.position,
        params=dict(parameters),
        categorical_feature=categorical,
        # The scores of a model whose training goes on are computed from the features, so they must be kept.
        free_raw_data=specification.init_model is None,
    )


def _objective(training: Training, dataset: Any) -> dict[str, Any]:
    """The parameters of the objective."""
    specification, data = training.specification, training.data
    native = specification.native_objective
    if native is not None:
        relevance = data.labels.require_relevance(native)
        return {"objective": native, **native_parameters(native, specification.dcg, relevance)}
    dataset.construct()
    # None can be split if all are constant, or for few documents in min_child_samples.
    if not any(dataset.feature_num_bin(feature) for feature in range(dataset.num_feature())):
        # LightGBM refuses a custom objective if no feature can be split. Its own least squares on labels that are all 0
        # gives every document the score 0.
        dataset.set_label(np.zeros(data.queries.n_documents))
        return {"objective": "regression"}
    boost = training.boosting_function()
    return {"objective": lambda scores, _: boost(scores)}


def _parameters(specification: TrainingSpecification) -> dict[str, Any]:
    """Parameters of LightGBM, without those of the objective."""
    # Without force_col_wise LightGBM measures whether histograms by row or by column are faster, and takes these. The
    # two differ in rounding, so the model would depend on the measured times.
    defaults = {"verbosity": -1, "deterministic": True, "force_col_wise": True}
    parameters = {**defaults, **specification.parameters, "metric": "None"}
    if parameters.get("force_row_wise"):
        parameters["force_col_wise"] = False
    if "min_sum_hessian_in_leaf" in parameters:
        parameters["min_sum_hessian_in_leaf"] = max(parameters["min_sum_hessian_in_leaf"], MIN_SUM_HESSIAN)
    return parameters


def _validation_data(part: ValidationSet, dataset: Any) -> Any:
    """The Dataset of a validation set."""
    return import_backend("lightgbm").Dataset(
        **dataset_features(part.data),
        label=part.data.labels.per_document,
        init_score=part.data.init_score,
        reference=dataset,
    )
