"""Trainings of a backend on all queries, or on some of them with the others as validation set."""

from __future__ import annotations

from boostrank.backends.base import Backend, GroupedData, Trained, Training, TrainingSpecification, ValidationSet
from boostrank.inputs.arrays import Bools
from boostrank.inputs.checks import named_part


def bind_training(
    backend: Backend, specification: TrainingSpecification, data: GroupedData, validation: list[ValidationSet]
) -> Training:
    """Check the categorical features, and bind the loss to the data."""
    for one in (data, *(part.data for part in validation)):
        backend.check_categories(one.X, specification.parameters)
    return Training(specification, data, specification.bind(data), validation)


def train(
    backend: Backend, specification: TrainingSpecification, data: GroupedData, validation: list[ValidationSet]
) -> Trained:
    """Check the categorical features, bind the loss to the data, and train."""
    return backend.train(bind_training(backend, specification, data, validation))


def is_of_the_data(error: Exception) -> bool:
    """Whether an error is one of the data or of a loss on them, so that other trainings may go on.

    An error of XGBoost is a subclass of ValueError. It may follow from an interrupt.
    """
    return type(error) in (ValueError, FloatingPointError)


def train_on_kept(
    backend: Backend,
    specification: TrainingSpecification,
    data: GroupedData,
    kept: Bools,
    refit: bool,
) -> Trained:
    """Train on the queries in `kept`, a mask of shape (n_queries,); the others are the validation set.

    If `refit`, train once more on all queries, with the number of rounds that was found.
    """
    with named_part("the queries that validation_fraction holds out"):
        held_out = data.take(~kept)
        validation = [ValidationSet("valid_0", held_out, specification.bind_metrics(held_out))]
    with named_part("the queries that validation_fraction leaves to train on"):
        remaining = data.take(kept)
    trained = train(backend, specification, remaining, validation)
    if not refit:
        return trained
    again = train(backend, specification.for_refit(backend, trained.best_round), data, [])
    return trained._replace(booster=again.booster, best_iteration=again.best_iteration)
