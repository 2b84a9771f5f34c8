"""Trainings on all queries, or on those that are not held out."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from boostrank.backends.interface import Backend
from boostrank.backends.interrupts import defer_interrupts
from boostrank.backends.left_out_queries import best_round
from boostrank.backends.records import GroupedData, Trained, TrainingSpecification, ValidationSet
from boostrank.inputs.arrays import Bools, Floats
from boostrank.inputs.checks import named_part


def train(
    backend: Backend,
    specification: TrainingSpecification,
    data: GroupedData,
    validation: Sequence[ValidationSet] = (),
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
    weights = labels.weighted(data.weights)
    bound = loss.bind(labels, data.queries, specification.dcg, specification.normalize, weights)
    of_library = loss.weights_of_library(data.queries, weights)
    with defer_interrupts():
        trained = backend.train(specification, data, validation, bound, of_library)
    if specification.verbose and specification.min_rounds and len(trained.oob_improvement):
        print(_choice_of_rounds(specification, trained))  # noqa: T201
    return trained


def train_on_kept(
    backend: Backend, specification: TrainingSpecification, data: GroupedData, kept: Bools
) -> Trained:
    """Train on the queries in `kept`, shape (n_queries,); the others are the validation set."""
    # Imported on use, because it imports the measures.
    from boostrank.training.validation import bind_metrics

    with named_part("the queries that validation_fraction holds out"):
        held_out = data.take(~kept)
        metrics = bind_metrics(specification, held_out)
    validation = ValidationSet("valid_0", held_out, metrics, is_named=False)
    with named_part("the queries that validation_fraction leaves to train on"):
        remaining = data.take(kept)
    return train(backend, specification, remaining, [validation])


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
