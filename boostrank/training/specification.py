"""The specification of a training, from settings of a ranker, arguments of ``fit`` and data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.random import RandomState

from boostrank.backends.features import resolve_features
from boostrank.backends.records import BAR, TrainingSpecification
from boostrank.inputs import checks
from boostrank.inputs.arrays import as_list
from boostrank.training import defaults
from boostrank.training.arguments import RoundArguments
from boostrank.training.features import TrainingFeatures
from boostrank.training.settings import Settings

if TYPE_CHECKING:
    from boostrank.training.metrics_of_fit import Metric


@dataclass(frozen=True)
class Metrics:
    """The metrics of a training.

    Attributes
    ----------
    metrics : tuple of Metric
        An empty tuple means the default measure of the labels.
    names : dict of str to str
        The names that the user has for them, by their own.
    deciding : int or None
        The place of the one that decides on early stopping, if the user names none; None means that
        each of them may end the training, as in LGBMRanker.
    """

    metrics: tuple[Metric, ...]
    names: dict[str, str]
    deciding: int | None


def specify(
    settings: Settings,
    features: TrainingFeatures,
    shape: tuple[int, int],
    random_state: RandomState,
    arguments: RoundArguments,
) -> TrainingSpecification:
    """The specification of the training on features of a shape, with those that the ranker adds.

    Raises ValueError if `verbose` is invalid, for unknown metrics, and for native parameters that
    do not fit the features; see :mod:`boostrank.backends.features`.
    """
    _check_verbose(arguments.verbose)
    backend = settings.backend
    parameters = library_parameters(settings, features, shape, random_state)
    callbacks = (*as_list(settings.callbacks), *(arguments.callbacks or ()))
    stops_early = settings.early_stopping_rounds is not None
    if callbacks and backend.stopping_callbacks(callbacks):
        stops_early = True
    rate = parameters[backend.parameters.PARAMETERS["learning_rate"]]
    rounds = defaults.rounds(settings, rate, stops_early)
    metrics = _metrics(settings, arguments)
    deciding: str | int | None = metrics.deciding
    if arguments.early_stopping_metric is not None:
        deciding = arguments.early_stopping_metric
    n_earlier = 0
    if arguments.init_model is not None:
        n_earlier = backend.n_rounds(arguments.init_model)
    return TrainingSpecification(
        loss=settings.loss,
        dcg=settings.dcg,
        normalize=settings.normalize,
        parameters=parameters,
        n_rounds=rounds.largest,
        min_rounds=rounds.least,
        fixed_rounds=rounds.fixed,
        query_share=defaults.query_share(settings),
        # The rounds that are added to a model draw other queries than its first ones.
        seed=(parameters.get("seed", 0), n_earlier),
        early_stopping_rounds=settings.early_stopping_rounds,
        early_stopping_metric=deciding,
        metrics=metrics.metrics,
        metric_names=metrics.names,
        callbacks=callbacks,
        verbose=arguments.verbose,
        init_model=arguments.init_model,
    )


def library_parameters(
    settings: Settings,
    features: TrainingFeatures,
    shape: tuple[int, int],
    random_state: RandomState,
) -> dict[str, Any]:
    """Parameters of the boosting library by canonical name."""
    library = settings.backend.parameters
    n_documents, n_features = shape
    native = settings.native
    if native:
        native = resolve_features(native, library.FEATURE_PARAMETERS, features.of_booster)
    if settings.loss.has_random_trees:
        native = {**library.NATIVE_LOSS_DEFAULTS, **native}
    by_default = defaults.parameters_of_trees(
        settings, n_documents, features.n_features_in_, n_features
    )
    parameters: dict[str, Any] = {}
    for name, canonical in library.PARAMETERS.items():
        value = settings.of_library[name]
        if value is None:
            value = by_default.get(name)
        if value is not None and canonical not in settings.unused:
            parameters[canonical] = value
    seed = settings.random_state
    if checks.is_count(seed):
        # As in the libraries' own estimators, an integer is the seed itself.
        parameters["seed"] = int(seed)
    elif seed is not None:
        parameters["seed"] = int(random_state.randint(2**31 - 1))
    return {name: checks.plain_number(value) for name, value in {**parameters, **native}.items()}


def _check_verbose(verbose: bool | int | str) -> None:
    if verbose == BAR or isinstance(verbose, (bool, np.bool_)):
        return
    if not checks.is_count(verbose) or int(verbose) < 0:
        checks.refuse("verbose", verbose, f"True, False, a number of rounds or {BAR!r}")


def _metrics(settings: Settings, arguments: RoundArguments) -> Metrics:
    """The metrics of ``fit``, and then those of the parameters.

    The library's own objectives have the metrics of its own ranker, if all names are the library's.
    """
    native = settings.loss.native_objective
    has_none = arguments.eval_metric is None and settings.eval_metric is None
    if native is None and has_none and arguments.eval_at is None and settings.eval_at is None:
        return Metrics((), {}, 0)
    # Imported on use: most trainings have no metrics.
    from boostrank.training.metrics_of_fit import metrics_of_training

    return Metrics(*metrics_of_training(settings, arguments))
