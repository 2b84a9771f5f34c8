"""The steps of ``fit``: prepare the data, bind the validation sets and the loss, and train."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from numpy.random import RandomState

from boostrank.backends.interface import Backend
from boostrank.backends.interrupts import defer_interrupts
from boostrank.backends.left_out_queries import best_round
from boostrank.backends.models import warn_without_splits
from boostrank.backends.records import GroupedData, Trained, TrainingSpecification, ValidationSet
from boostrank.inputs.arrays import Bools, Floats
from boostrank.inputs.checks import as_random_state, named_part
from boostrank.inputs.warnings import warn
from boostrank.ndcg.labels import Labels, Relevance
from boostrank.queries.threads import use_threads
from boostrank.training.arguments import EvalArguments, TrainingArguments
from boostrank.training.data import training_data
from boostrank.training.features import TrainingFeatures
from boostrank.training.settings import Settings


@dataclass(frozen=True)
class PreparedData:
    """The data of a training, checked and grouped by query.

    Attributes
    ----------
    arguments : TrainingArguments
        The data as they were given.
    data : GroupedData
        Without queries of weight 0, and without copies that are added later.
    features : TrainingFeatures
    kept : ndarray of bool, shape (n_queries,), or None
        The queries to train on; None means all.
    random_state : RandomState
        For what is drawn later.
    """

    arguments: TrainingArguments
    data: GroupedData
    features: TrainingFeatures
    kept: Bools | None
    random_state: RandomState


def prepare(receiver: str, settings: Settings, arguments: TrainingArguments) -> PreparedData:
    """Check the data, group it by query, and draw the queries to hold out.

    `receiver` is the name of the class of the ranker, for messages.
    """
    random_state = as_random_state(settings.random_state)
    data, features = training_data(
        receiver,
        arguments,
        takes_infinity=settings.backend.takes_infinity(settings.native),
        query_features=settings.query_features,
        read_labels=partial(_labels_to_train, settings),
    )
    weights = data.labels.weighted(data.weights, data.queries)
    if weights is not None:
        has_weight = data.queries.sum(weights) > 0
        if not has_weight.all():
            # The libraries would count the documents of the others, in leaves and in bins.
            data = data.take(has_weight)
    data.labels.warn_of_large(settings.gain)
    if settings.lower_is_better is None and not settings.dcg.takes_negative:
        _warn_of_places(data)
    kept = None
    if settings.validation_fraction is not None:
        kept = settings.kept_queries(data.numbers_to_draw(), random_state)
    return PreparedData(arguments, data, features, kept, random_state)


def _warn_of_places(data: GroupedData) -> None:
    """Warn of labels that are 1, 2, ..., n in each query; grades have the label 0 too."""
    labels = data.labels.per_document
    if labels.min() == 1:
        # Imported on use: few trainings need it.
        from boostrank.ndcg.ranks import warn_of_places

        warn_of_places(labels, data.queries)


def train_prepared(
    settings: Settings,
    specification: TrainingSpecification,
    prepared: PreparedData,
    evaluation: EvalArguments,
) -> Trained:
    """Train on the prepared data; a warning says if nothing was learned about the order."""
    data = prepared.data
    kept = prepared.kept
    transformer = settings.query_features
    with use_threads(settings.n_jobs):
        validation: list[ValidationSet] = []
        if evaluation.are_given:
            # Imported on use, because it imports the measures.
            from boostrank.training.validation import eval_sets

            for data_set in eval_sets(evaluation, prepared.arguments):
                bound = data_set.bind(specification, data, prepared.features, settings.as_labels)
                validation.append(bound)
        if transformer is not None and transformer.cut_copies:
            data, kept = transformer.with_cut_copies(data, kept, prepared.random_state)
        remaining = data
        if kept is not None:
            remaining, held_out = _hold_out(specification, data, kept)
            validation = [held_out]
        trained = train(settings.backend, specification, remaining, validation)
    sameness = data.labels.sameness(data.queries)
    if not trained.has_splits:
        warn_without_splits(sameness)
    elif sameness:
        warn(f"the ranker has learned nothing about the order within queries: {sameness}")
    return trained


def train(
    backend: Backend,
    specification: TrainingSpecification,
    data: GroupedData,
    validation: Sequence[ValidationSet],
) -> Trained:
    """Check the categorical features, bind the loss to the data, and train.

    Raises
    ------
    ValueError
        As :meth:`boostrank.surrogates.loss.Loss.bind`, for categorical features that are no codes,
        and for labels or weights that the loss does not take.
    """
    backend.check_categories(data.X, specification.parameters)
    for validation_set in validation:
        backend.check_categories(validation_set.data.X, specification.parameters)
    loss = specification.loss
    loss.check_labels(data.labels)
    labels = data.labels.prepare(partial(_predict_logs, backend, specification, data))
    weights = labels.weighted(data.weights, data.queries)
    bound = loss.bind(labels, data.queries, specification.dcg, specification.normalize, weights)
    of_library = loss.weights_of_library(data.queries, weights)
    with defer_interrupts():
        trained = backend.train(specification, data, validation, bound, of_library)
    if specification.verbose and specification.min_rounds and len(trained.oob_improvement):
        print(_choice_of_rounds(specification, trained))  # noqa: T201
    return trained


def _hold_out(
    specification: TrainingSpecification, data: GroupedData, kept: Bools
) -> tuple[GroupedData, ValidationSet]:
    """The data of the queries in `kept`, shape (n_queries,), and the others as validation set."""
    # Imported on use, because it imports the measures.
    from boostrank.training.validation import bind_metrics

    with named_part("the queries that validation_fraction holds out"):
        held_out = data.take(~kept)
        metrics = bind_metrics(specification, held_out)
    with named_part("the queries that validation_fraction leaves to train on"):
        remaining = data.take(kept)
    return remaining, ValidationSet("valid_0", held_out, metrics, is_named=False)


def _labels_to_train(settings: Settings, y: Any) -> Labels:
    """Labels of which larger ones are better.

    XGBoost's "rank:pairwise" looks only at which label is larger, and measures need labels of 0 or
    more: there, labels that may be negative are shifted to 0 or more.
    """
    is_pairwise = settings.loss.native_objective == "rank:pairwise"
    labels = settings.as_labels(y, signed=is_pairwise)
    if is_pairwise and isinstance(labels, Relevance):
        return Relevance(labels.relevance - min(0.0, labels.relevance.min()))
    return labels


def _choice_of_rounds(specification: TrainingSpecification, trained: Trained) -> str:
    """A line that says how many rounds left-out queries chose, and why."""
    limit = ""
    if trained.best_round == specification.min_rounds:
        limit = ", the least number"
    elif trained.best_round == specification.n_rounds:
        limit = ", the largest number"
    best = best_round(trained.oob_improvement)
    return (
        f"{trained.best_round} rounds{limit}; the loss of left-out queries was least after round "
        f"{best}"
    )


def _predict_logs(
    backend: Backend,
    specification: TrainingSpecification,
    data: GroupedData,
    values: Floats,
    weights: Floats,
) -> Floats:
    # Imported on use: few labels need it.
    from boostrank.training.cross_fitting import cross_fitted_logs

    return cross_fitted_logs(backend, specification, data, values, weights)
