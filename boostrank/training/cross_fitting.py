"""Predictions of values of documents by trainings on other queries, for labels that need them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from boostrank.backends.interface import Backend
from boostrank.backends.interrupts import defer_interrupts
from boostrank.backends.records import GroupedData, TrainingSpecification, ValidationSet
from boostrank.inputs.arrays import Bools, Floats
from boostrank.ndcg.dcg import DCG
from boostrank.ndcg.labels import Relevance
from boostrank.queries.segments import Values
from boostrank.training.losses import bind

#: Parts of the queries whose values are predicted by trainings on the others, the numbers of rounds
#: of these, of which a larger one is tried if the smaller one ends too early, and the rounds
#: without an improvement that are the end.
PREDICTION_FOLDS = 3
PREDICTION_ROUNDS = 125, 250, 500, 1000
PREDICTION_PATIENCE = 20
#: The largest logarithm of a value whose exponential counts.
MAX_LOG = 3.0


class _PoissonLoss:
    """The weighted sum of the Poisson losses of documents, as a metric of a validation set.

    Attributes
    ----------
    offset : float
        It is added to the scores, which then are logarithms.
    """

    def __init__(self, values: Floats, weights: Floats, offset: float) -> None:
        self._values = values
        self._weights = weights
        self.offset = offset

    def results(self, scores: Values) -> list[tuple[str, float, bool]]:
        """The loss at grouped scores; lower is better."""
        logs = self.offset + scores.astype(np.float64)
        losses = np.exp(np.minimum(logs, MAX_LOG)) - self._values * logs
        return [("poisson", float(losses @ self._weights), False)]


def cross_fitted_logs(
    backend: Backend,
    specification: TrainingSpecification,
    data: GroupedData,
    values: Floats,
    weights: Floats,
) -> Floats:
    """Logarithm of a value of each document, predicted by trainings without its query.

    All trainings have the number of rounds with the least Poisson loss on the queries that they
    leave out. The trees have the parameters of the specification, except for a penalty of their
    own.

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
    positive_first = permutation[np.argsort(~is_positive[permutation], kind="stable")]
    fold = np.empty(len(permutation), dtype=np.int64)
    fold[positive_first] = np.arange(len(permutation)) % n_folds
    rows = GroupedData(data.X, Relevance(values), data.queries, weights)
    held_out = [fold == i for i in range(n_folds)]
    for n_rounds in PREDICTION_ROUNDS:
        runs = [_train_poisson(backend, specification, rows, mask, n_rounds) for mask in held_out]
        loss = np.sum([curve for _, _, curve in runs], axis=0)
        best = _first_best(loss)
        if len(loss) - best > PREDICTION_PATIENCE or n_rounds == PREDICTION_ROUNDS[-1]:
            break
    for mask, (booster, offset, _) in zip(held_out, runs, strict=True):
        used = None
        if best + 1 < backend.n_rounds(booster):
            used = range(best + 1)
        logs[data.queries.repeat(mask)] = offset + backend.predict(booster, rows.take(mask).X, used)
    return logs


def _train_poisson(
    backend: Backend,
    specification: TrainingSpecification,
    rows: GroupedData,
    held_out: Bools,
    n_rounds: int,
) -> tuple[Any, float, Sequence[float]]:
    """A training without the queries of a mask.

    Returns the model, its offset, and its loss on these queries in every round.
    """
    parameters = {**specification.parameters, backend.parameters.PARAMETERS["reg_lambda"]: 1.0}
    specification = replace(
        specification,
        parameters=parameters,
        n_rounds=n_rounds,
        min_rounds=None,
        early_stopping_rounds=None,
        dcg=DCG(gain="linear"),
        init_model=None,
        callbacks=(),
        verbose=False,
    )
    kept = rows.take(~held_out)
    tested = rows.take(held_out)
    objective = bind("poisson", kept.labels, kept.queries, specification.dcg, "none", kept.weights)
    assert tested.weights is not None
    metric = _PoissonLoss(tested.labels.per_document, tested.weights, objective.offset)
    with defer_interrupts():
        trained = backend.train(
            specification, kept, [ValidationSet("fold", tested, [metric])], objective, None
        )
    return trained.booster, objective.offset, trained.evals_result["fold"]["poisson"]


def _first_best(loss: Floats) -> int:
    """The round, from 0, with the least loss, before too many rounds without a smaller one."""
    best = 0
    for i, value in enumerate(loss):
        if value < loss[best]:
            best = i
        if i - best >= PREDICTION_PATIENCE:
            break
    return best
