"""The number of rounds that is best on folds of the training queries."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from boostrank.backends.base import Backend, GroupedData, TrainingSpecification, ValidationSet
from boostrank.backends.progress import BAR
from boostrank.inputs.arrays import Bools, Floats
from boostrank.inputs.checks import named_part
from boostrank.queries.queries import Queries
from boostrank.training.train import train
from boostrank.training.validation import bind_metrics

#: Rounds without an improvement after which trainings that choose the number of rounds end. At the rate 0.04, the
#: metric on a few hundred queries often has no better value for 50 rounds by chance, long before its end.
DEFAULT_PATIENCE = 150
#: Number of folds of these, if `cv` is None.
DEFAULT_FOLDS = 5


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
