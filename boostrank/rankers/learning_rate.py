"""The default learning rate: it is larger if more of what trees learn from some queries is true of other queries.

With a fixed rate, either small or noisy data are overfitted within the usual 100 rounds, or the rounds are too few for
many queries and good features. So a training of a few rounds is made on each half of some training queries. In each
round it adds ``delta_i`` to the score of document i, and to first order that lowers the loss by ``-sum_i g_i delta_i``,
where g is the gradient. The **transfer** rho is this sum over the queries of the other half, divided by the sum over
the queries of the half itself. It is 1 if the trees learn only what is true of all queries, and 0 if they learn noise.
The part of a step that is noise is inversely proportional to the number of queries: if ``m`` queries have the transfer
rho, ``n`` queries have

    rho_n = 1 / (1 + (1 / rho - 1) m / n),

and the learning rate for up to 100 rounds is ``0.1 (1 + 2 rho_n^6)``, from 0.1 to 0.3. With R > 100 rounds it is this
rate times ``100 / R``, but at least 0.1. The first rounds of the short trainings are left out, because what they learn
is true of other queries for nearly all data. The numbers were chosen on held-out training queries and synthetic data.
On some real data rho grows less with the number of queries than the formula says.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from boostrank.backends.base import Backend, GroupedData, TrainingSpecification
from boostrank.inputs.arrays import Bools, Floats, Ints
from boostrank.objectives.labels import Preferences
from boostrank.objectives.losses import Loss
from boostrank.objectives.objective import BoundLoss
from boostrank.rankers.automatic import Candidate
from boostrank.rankers.settings import BASE_LEARNING_RATE, Settings
from boostrank.rankers.training import is_caused_by_data, train

#: The largest learning rate is this number times the base rate.
MAX_FACTOR = 3.0
#: Exponent of the transfer.
EXPONENT = 6
#: Up to this number of rounds, the learning rate does not depend on the number of rounds.
USUAL_ROUNDS = 100
#: With fewer rounds than this, the short trainings would take a large part of the time, and the rate is the base rate.
MIN_ROUNDS = 50
#: Learning rate and rounds of the short trainings, and the first round (from 0) that counts.
SHORT_RATE, SHORT_ROUNDS, FIRST_ROUND = 0.3, 15, 7
#: Limits of the number of queries of the short trainings. Fewer say too little; more would only take more time.
MIN_QUERIES, MAX_QUERIES, MAX_DOCUMENTS = 20, 400, 20_000


def set_learning_rates(
    candidates: Sequence[Candidate], settings: Settings, backend: Backend, data: GroupedData, kept: Bools | None = None
) -> None:
    """Set the learning rate of the candidates that have a loss of boostrank, if the user has not set it.

    The rate stays the base rate where early stopping or cross-validation finds the number of rounds, with few or very
    many rounds, and for boosting that does not simply add trees. Only the queries in `kept` are used, a mask of shape
    (n_queries,); None means all.
    """
    n_rounds = candidates[0].specification.n_rounds
    if settings.values["learning_rate"] is not None or settings.patience_in_folds is not None:
        return
    if not MIN_ROUNDS <= n_rounds < MAX_FACTOR * USUAL_ROUNDS or isinstance(data.X, list):
        return
    chosen = [one for one in candidates if _adds_trees_of_losses(one.specification, backend)]
    if not chosen:
        return
    informative = np.flatnonzero(_informative(data) if kept is None else _informative(data) & kept)
    halves = draw_halves(data, informative)
    if halves is None:
        return
    ratio = len(informative) / halves[0].queries.n_queries
    for one in chosen:
        try:
            found = transfer(backend, one.specification, *halves)
        except (ValueError, FloatingPointError) as error:
            if not is_caused_by_data(error):
                raise
            # If the fault is in all data, the training on all queries raises an error that names the rows.
            continue
        rate = {backend.PARAMETERS["learning_rate"]: learning_rate(found, ratio, n_rounds)}
        one.specification, one.fold_specification = (
            replace(specification, parameters={**specification.parameters, **rate})
            for specification in (one.specification, one.fold_specification)
        )


def learning_rate(transfer: float, ratio: float, n_rounds: int) -> float:
    """The learning rate, given the transfer, the number of queries divided by that of a half, and the rounds.

    Examples
    --------
    >>> learning_rate(0.8, 2.0, 100), learning_rate(0.2, 2.0, 100), learning_rate(0.8, 2.0, 300)
    (0.199, 0.1, 0.1)
    """
    if not transfer > 0.0:
        return BASE_LEARNING_RATE
    of_all = 1.0 / (1.0 + max(0.0, 1.0 / transfer - 1.0) / ratio)
    factor = 1.0 + (MAX_FACTOR - 1.0) * of_all**EXPONENT
    return float(round(BASE_LEARNING_RATE * max(1.0, factor * min(1.0, USUAL_ROUNDS / n_rounds)), 3))


def transfer(backend: Backend, specification: TrainingSpecification, *halves: GroupedData) -> float:
    """How much of what trees learn from one half of queries is true of the other half, at most about 1.

    The transfer is NaN if the trees learn nothing from a half.
    """
    rate = backend.PARAMETERS["learning_rate"]
    short = replace(
        specification,
        parameters={**specification.parameters, rate: SHORT_RATE},
        n_rounds=SHORT_ROUNDS,
        callbacks=(),
        verbose=False,
        init_model=None,
    )
    losses = [short.bind(half) for half in halves]
    decreases = np.zeros(2)
    for own, half in enumerate(halves):
        booster = train(backend, short, half, []).booster
        for other in range(2):
            loss = losses[other]
            assert isinstance(loss, BoundLoss)
            decreases[int(other != own)] += _decrease_of_loss(backend, booster, loss, halves[other])
    return float(decreases[1] / decreases[0]) if decreases[0] > 0.0 else float("nan")


def draw_halves(data: GroupedData, informative: Ints) -> tuple[GroupedData, GroupedData] | None:
    """Draw two halves from the queries with the numbers `informative`; None if there are too few queries.

    The halves are the same in each call, so that the same data and settings give the same model.
    """
    drawn = np.random.RandomState(0).permutation(informative)[:MAX_QUERIES]
    n_documents = np.cumsum(data.queries.sizes[drawn])
    drawn = drawn[: max(MIN_QUERIES, int(np.searchsorted(n_documents, MAX_DOCUMENTS, side="right")))]
    if len(drawn) < MIN_QUERIES:
        return None
    masks = np.zeros((2, data.queries.n_queries), dtype=bool)
    masks[0, drawn[::2]] = masks[1, drawn[1::2]] = True
    return data.take(masks[0]), data.take(masks[1])


def _adds_trees_of_losses(specification: TrainingSpecification, backend: Backend) -> bool:
    """Whether the loss is one of boostrank, and the rounds simply add trees."""
    return isinstance(specification.loss, Loss) and backend.adds_trees(specification.parameters)


def _informative(data: GroupedData) -> Bools:
    """Whether each query has a relevant document or impressions, shape (n_queries,); all of them with preferences."""
    if isinstance(data.labels, Preferences):
        return np.ones(data.queries.n_queries, dtype=bool)
    return data.labels.compared(data.queries)


def _decrease_of_loss(backend: Backend, booster: Any, loss: BoundLoss, data: GroupedData) -> float:
    """By how much the steps of the rounds that count lower the loss on these data, to first order."""
    # LightGBM keeps no rounds without a split.
    n_rounds = backend.n_rounds(booster)
    if n_rounds <= FIRST_ROUND:
        return 0.0
    start: Floats = np.zeros(data.queries.n_documents) if data.init_score is None else data.init_score
    base_score = backend.base_score(booster)
    scores = start + backend.predict(booster, data.X, range(FIRST_ROUND)) - base_score
    total = 0.0
    for number in range(FIRST_ROUND, n_rounds):
        step = backend.predict(booster, data.X, range(number, number + 1)) - base_score
        total -= float(loss.gradient_hessian(scores)[0] @ step) / loss.scale
        scores += step
    return total
