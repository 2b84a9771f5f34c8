"""Trainings on folds of the training queries: for the number of rounds, and for predictions by other queries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostrank.backends.base import Backend, GroupedData, TrainingSpecification, ValidationSet
from boostrank.backends.interrupts import defer_interrupts
from boostrank.inputs.arrays import Bools, Floats
from boostrank.inputs.checks import named_part
from boostrank.queries.dcg import DCG
from boostrank.queries.labels import Relevance
from boostrank.queries.queries import Queries
from boostrank.training.losses import bind
from boostrank.training.train import train
from boostrank.training.validation import bind_metrics

#: Rounds without an improvement after which trainings that choose the number of rounds end. At the rate 0.04, the
#: metric on a few hundred queries often has no better value for 50 rounds by chance, long before its end.
DEFAULT_PATIENCE = 150
#: Number of folds of these, if `cv` is None.
DEFAULT_FOLDS = 5
#: Parts of the queries whose values are predicted by trainings on the others, the numbers of rounds of these, of which
#: a larger one is tried if the smaller one ends too early, and the rounds without an improvement that are the end.
PREDICTION_FOLDS, PREDICTION_ROUNDS, PREDICTION_PATIENCE = 3, (125, 250, 500, 1000), 20
#: The largest logarithm of a value whose exponential counts.
MAX_LOG = 3.0


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
        verbose=False,
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


class _PoissonLoss:
    """The weighted sum of the Poisson losses of documents, as a metric of a validation set.

    Attributes
    ----------
    offset : float
        It is added to the scores, which then are logarithms.
    """

    def __init__(self, values: Floats, weights: Floats, offset: float) -> None:
        self._values, self._weights, self.offset = values, weights, offset

    def evaluate(self, scores: NDArray[Any]) -> list[tuple[str, float, bool]]:
        """The loss at grouped scores; lower is better."""
        logs = self.offset + scores.astype(np.float64)
        losses = np.exp(np.minimum(logs, MAX_LOG)) - self._values * logs
        return [("poisson", float(losses @ self._weights), False)]


def cross_fitted_logs(
    backend: Backend, specification: TrainingSpecification, data: GroupedData, values: Floats, weights: Floats
) -> Floats:
    """Logarithm of a value of each document, predicted from the features by trainings without its query.

    All trainings have the number of rounds with the least Poisson loss on the queries that they leave out. The trees
    have the parameters of the specification, except for a penalty of their own.

    Parameters
    ----------
    backend, specification, data
        Those of the training that needs the predictions.
    values, weights : ndarray, shape (n_documents,)
        Grouped values of 0 or more, and their weights.
    """
    is_positive = data.queries.sum(values) > 0.0
    n_folds = min(PREDICTION_FOLDS, int(is_positive.sum()))
    logs: Floats = np.zeros(len(values))
    if n_folds < 2:
        return logs
    # Each fold has as many queries with positive values as the others.
    permutation = np.random.default_rng(specification.seed).permutation(len(is_positive))
    fold = np.empty(len(permutation), dtype=np.int64)
    fold[permutation[np.argsort(~is_positive[permutation], kind="stable")]] = np.arange(len(permutation)) % n_folds
    rows = GroupedData(data.X, Relevance(values), data.queries, weights)
    held_out = [fold == i for i in range(n_folds)]
    for n_rounds in PREDICTION_ROUNDS:
        runs = [_train_poisson(backend, specification, rows, mask, n_rounds) for mask in held_out]
        loss = np.sum([curve for _, _, curve in runs], axis=0)
        best = _first_best(loss)
        if len(loss) - best > PREDICTION_PATIENCE or n_rounds == PREDICTION_ROUNDS[-1]:
            break
    for mask, (booster, offset, _) in zip(held_out, runs, strict=True):
        n_trained = backend.n_rounds(booster)
        tested = rows.take(mask).X
        used = None if best + 1 >= n_trained else range(best + 1)
        logs[data.queries.repeat(mask)] = offset + backend.predict(booster, tested, used)
    return logs


def _train_poisson(
    backend: Backend, specification: TrainingSpecification, rows: GroupedData, held_out: Bools, n_rounds: int
) -> tuple[Any, float, Sequence[float]]:
    """The model of a training without the queries of a mask, its offset, and its loss on them in every round."""
    parameters = {**specification.parameters, backend.PARAMETERS["reg_lambda"]: 1.0}
    specification = replace(
        specification.for_refit(backend, n_rounds),
        parameters=parameters,
        dcg=DCG(gain="linear"),
        init_model=None,
        callbacks=(),
        verbose=False,
    )
    kept, tested = rows.take(~held_out), rows.take(held_out)
    objective = bind("poisson", kept.labels, kept.queries, specification.dcg, "none", kept.weights)
    assert tested.weights is not None
    metric = _PoissonLoss(tested.labels.per_document, tested.weights, objective.offset)
    with defer_interrupts():
        trained = backend.train(specification, kept, [ValidationSet("fold", tested, [metric])], objective, None)
    return trained.booster, objective.offset, trained.evals_result["fold"]["poisson"]


def _first_best(loss: Floats) -> int:
    """The round, from 0, with the least loss before the loss does not fall for :data:`PREDICTION_PATIENCE` rounds."""
    best = 0
    for i, value in enumerate(loss):
        if value < loss[best]:
            best = i
        if i - best >= PREDICTION_PATIENCE:
            break
    return best
