"""The steps of ``fit``: prepare the data, bind the validation sets, and train."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

from numpy.random import RandomState

from boostrank.backends.models import warn_without_splits
from boostrank.backends.records import GroupedData, Trained, TrainingSpecification, ValidationSet
from boostrank.inputs.arrays import Bools
from boostrank.inputs.warnings import warn
from boostrank.ndcg.gains import warn_of_large_labels
from boostrank.ndcg.labels import Labels, Relevance
from boostrank.queries.equal_lists import numbers_of_lists
from boostrank.queries.queries import Queries
from boostrank.queries.threads import use_threads
from boostrank.training.data import training_data
from boostrank.training.features import TrainingFeatures
from boostrank.training.fit_arguments import EvalArguments, TrainingArguments
from boostrank.training.settings import Settings
from boostrank.training.train import train, train_on_kept


@dataclass(frozen=True)
class PreparedData:
    """The data of a training, checked and grouped by query.

    Attributes
    ----------
    arguments : TrainingArguments
        The data as they were given.
    data : GroupedData
        Without queries of weight 0.
    queries : Queries
        Those of `data`, without copies that are added later.
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

    @property
    def queries(self) -> Queries:
        """The queries of the data."""
        return self.data.queries


def prepare(receiver: str, settings: Settings, arguments: TrainingArguments) -> PreparedData:
    """Check the data, group it by query, and draw the queries to hold out.

    `receiver` is the name of the class of the ranker, for messages.
    """
    random_state = settings.make_random_state()
    data, features = training_data(
        receiver,
        arguments,
        takes_infinity=settings.backend.takes_infinity(settings.native),
        query_features=settings.query_features,
        read_labels=partial(_labels_to_train, settings),
    )
    weights = data.labels.weighted(data.weights)
    if weights is not None:
        has_weight = data.queries.sum(weights) > 0
        if not has_weight.all():
            # The libraries would count the documents of the others, in leaves and in bins.
            data = data.take(has_weight)
    warn_of_large_labels(data.labels.per_document, settings.gain)
    if settings.lower_is_better is None and not settings.dcg.takes_negative:
        _warn_of_places(data)
    kept = None
    if settings.validation_fraction is not None:
        # Held-out lists would be known from their copies.
        numbers = numbers_of_lists(data.X, data.labels.per_document, data.queries)
        kept = settings.kept_queries(numbers, random_state)
    return PreparedData(arguments, data, features, kept, random_state)


def _warn_of_places(data: GroupedData) -> None:
    """Warn of labels that are 1, 2, ..., n in each query; grades have the label 0 too."""
    labels = data.labels.per_document
    if labels.min() == 1:
        # Imported on use: few trainings need it.
        from boostrank.ndcg.ranks import warn_of_places

        warn_of_places(labels, data.queries)


def bind_validation(
    settings: Settings,
    specification: TrainingSpecification,
    prepared: PreparedData,
    evaluation: EvalArguments,
) -> list[ValidationSet]:
    """The validation sets of the user, checked against the training data, with their metrics."""
    if not evaluation.are_given:
        return []
    # Imported on use, because it imports the measures.
    from boostrank.training.validation import eval_sets

    sets = eval_sets(evaluation, prepared.arguments)
    return [
        one.bind(specification, prepared.data, prepared.features, settings.as_labels)
        for one in sets
    ]


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
        validation = bind_validation(settings, specification, prepared, evaluation)
        if transformer is not None and transformer.cut_copies:
            data, kept = transformer.with_cut_copies(data, kept, prepared.random_state)
        if kept is None:
            trained = train(settings.backend, specification, data, validation)
        else:
            trained = train_on_kept(settings.backend, specification, data, kept)
    sameness = data.labels.sameness(data.queries)
    if not trained.has_splits:
        warn_without_splits(sameness)
    elif sameness:
        warn(f"the ranker has learned nothing about the order within queries: {sameness}")
    return trained


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
