"""Trainings on all queries, or on those that are not held out: the loss is bound to them, and the
library trains.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from boostrank.backends.base import (
    Backend,
    GroupedData,
    Trained,
    TrainingSpecification,
    ValidationSet,
)
from boostrank.backends.interrupts import defer_interrupts
from boostrank.backends.left_out_queries import best_round
from boostrank.inputs.arrays import Bools, Floats
from boostrank.inputs.checks import named_part
from boostrank.queries.weights import DOCUMENT_WEIGHTS, require_equal_weights, unit_mean
from boostrank.surrogates.base import Surrogate
from boostrank.training.losses import BindableLoss, bind


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
        As :func:`boostrank.training.losses.bind`. For an objective of the library also if weights
        differ within a query: XGBoost would take the weight of the first document, and LightGBM's
        objectives are no sums over documents. For an objective of a user also if the labels are no
        relevance.
    """
    backend.check_categories(data.X, specification.parameters)
    for validation_set in validation:
        backend.check_categories(validation_set.data.X, specification.parameters)
    loss, queries, objective = specification.loss, data.queries, None
    weights_of_library: Floats | None = None
    if isinstance(loss, (Surrogate, BindableLoss)):
        labels = data.labels.prepare(partial(_predict_logs, backend, specification, data))
        weights = labels.weighted(data.weights)
        objective = bind(loss, labels, queries, specification.dcg, specification.normalize, weights)
    elif not isinstance(loss, str):
        objective = loss.bind(data.labels, queries, data.weights)
    elif data.weights is not None:
        require_equal_weights(data.weights, queries, DOCUMENT_WEIGHTS)
        # The library compares its limits with weighted sums.
        weights_of_library = unit_mean(data.weights)
    with defer_interrupts():
        trained = backend.train(specification, data, validation, objective, weights_of_library)
    if specification.verbose and trained.oob_improvement and specification.min_rounds:
        best = best_round(trained.oob_improvement)
        limits = {
            specification.min_rounds: ", the least number",
            specification.n_rounds: ", the largest number",
        }
        rounds = f"{trained.best_round} rounds{limits.get(trained.best_round, '')}"
        print(f"{rounds}; the loss of left-out queries was least after round {best}")
    return trained


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


def train_on_kept(
    backend: Backend, specification: TrainingSpecification, data: GroupedData, kept: Bools
) -> Trained:
    """Train on the queries in `kept`, a mask of shape (n_queries,); the others are the validation
    set.
    """
    from boostrank.training.validation import bind_metrics

    with named_part("the queries that validation_fraction holds out"):
        held_out = data.take(~kept)
        validation = [
            ValidationSet(
                "valid_0", held_out, bind_metrics(specification, held_out), is_named=False
            )
        ]
    with named_part("the queries that validation_fraction leaves to train on"):
        remaining = data.take(kept)
    return train(backend, specification, remaining, validation)
