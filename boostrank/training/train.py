"""One training, and those that find a number of rounds: the loss is bound to the data, and the library trains."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from boostrank.backends.base import Backend, GroupedData, Trained, TrainingSpecification, ValidationSet
from boostrank.backends.interrupts import defer_interrupts
from boostrank.backends.progress import BAR
from boostrank.inputs.arrays import Bools, Floats
from boostrank.inputs.checks import named_part
from boostrank.queries.queries import Queries
from boostrank.queries.weights import DOCUMENT_WEIGHTS, require_equal_weights, unit_mean
from boostrank.surrogates.base import Surrogate
from boostrank.training.losses import BindableLoss, bind

#: Rounds without an improvement after which trainings that choose the number of rounds end. At the rate 0.04, the
#: metric on a few hundred queries often has no better value for 50 rounds by chance, long before its end.
DEFAULT_PATIENCE = 150
#: Number of folds of these, if `cv` is None.
DEFAULT_FOLDS = 5


def train(
    backend: Backend, specification: TrainingSpecification, data: GroupedData, validation: Sequence[ValidationSet] = ()
) -> Trained:
    """Check the categorical features, bind the loss to the data, and train.

    Raises
    ------
    ValueError
        As :func:`boostrank.training.losses.bind`. For an objective of the library also if weights differ within a
        query: XGBoost would take the weight of the first document, and LightGBM's objectives are no sums over
        documents. For an objective of a user also if the labels are no relevance.
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
        return backend.train(specification, data, validation, objective, weights_of_library)


def _predict_logs(
    backend: Backend, specification: TrainingSpecification, data: GroupedData, values: Floats, weights: Floats
) -> Floats:
    # Imported on use: few labels need it.
    from boostrank.training.cross_fitting import cross_fitted_logs

    return cross_fitted_logs(backend, specification, data, values, weights)


def train_on_kept(
    backend: Backend, specification: TrainingSpecification, data: GroupedData, kept: Bools, refit: bool
) -> Trained:
    """Train on the queries in `kept`, a mask of shape (n_queries,); the others are the validation set.

    If `refit`, train once more on all queries, with the number of rounds that was found.
    """
    from boostrank.training.validation import bind_metrics

    with named_part("the queries that validation_fraction holds out"):
        held_out = data.take(~kept)
        validation = [ValidationSet("valid_0", held_out, bind_metrics(specification, held_out))]
    with named_part("the queries that validation_fraction leaves to train on"):
        remaining = data.take(kept)
    trained = train(backend, specification, remaining, validation)
    if not refit:
        return trained
    again = train(backend, specification.for_refit(backend, trained.best_round), data)
    return again._replace(evals_result=trained.evals_result, best_round=trained.best_round)


def choose_rounds(
    backend: Backend,
    specification: TrainingSpecification,
    data: GroupedData,
    cv: int | None,
    random_state: np.random.RandomState,
) -> tuple[int, dict[str, dict[str, list[float]]]]:
    """The number of rounds with the best mean of the deciding metric over folds, and the curves of all metrics.

    Each training on a fold ends when the metric on its held-out queries has not improved for the
    `early_stopping_rounds` of the specification, by default 150, and the mean is over the rounds that all of them have.
    `cv` is the number of folds, by default 5.

    Raises
    ------
    ValueError
        If there are fewer queries than folds, or the metrics are not defined on the queries of a fold.
    """
    from boostrank.training.validation import bind_metrics

    n_folds = cv or DEFAULT_FOLDS
    specification = replace(
        specification.for_refit(backend, specification.n_rounds),
        early_stopping_rounds=specification.early_stopping_rounds or DEFAULT_PATIENCE,
        # Metrics of single rounds are not printed.
        verbose=specification.verbose == BAR and BAR,
    )
    bind_metrics(specification, data)
    curves: dict[str, dict[str, list[float]]] = {}
    deciding: list[Floats] = []
    for i, held_out in enumerate(_folds(data.queries, n_folds, random_state)):
        name = f"fold_{i}"
        with named_part(f"{name} of cv={n_folds}"):
            kept, tested = data.take(~held_out), data.take(held_out)
        with named_part(f"the metrics are not defined on the queries that {name} holds out"):
            validation = ValidationSet(name, tested, bind_metrics(specification, tested))
        trained = train(backend, specification, kept, [validation])
        curves[name] = trained.evals_result[name]
        metric = specification.early_stopping_metric or next(iter(curves[name]))
        curve = np.asarray(curves[name][metric])
        # The best value is the largest or, for a metric that is better if lower, the smallest.
        deciding.append(curve if curve[trained.best_round - 1] == curve.max() else -curve)
    n_common = min(map(len, deciding))
    return int(np.argmax(np.mean([curve[:n_common] for curve in deciding], axis=0))) + 1, curves


def _folds(queries: Queries, n_folds: int, random_state: np.random.RandomState) -> list[Bools]:
    """Masks of the queries that each fold holds out, shape (n_queries,); each query is held out once."""
    if queries.n_queries < n_folds:
        raise ValueError(
            f"cv={n_folds} folds need at least {n_folds} training queries; got {queries.n_queries} "
            f"(n_samples={queries.n_documents}): set cv to a smaller number, or choose n_estimators, which then needs "
            "no folds"
        )
    numbers = np.arange(queries.n_queries)
    return [np.isin(numbers, held_out) for held_out in np.array_split(random_state.permutation(numbers), n_folds)]
