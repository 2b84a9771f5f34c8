"""Trainings on all queries, with held-out queries, and on folds of the training queries round by round."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostrank.backends.base import (
    Backend,
    BinnedData,
    GroupedData,
    Trained,
    Training,
    TrainingByRounds,
    TrainingSpecification,
    ValidationSet,
)
from boostrank.backends.interrupts import defer_interrupts
from boostrank.backends.objectives.labels import Clicks, Relevance
from boostrank.backends.objectives.losses import get_loss
from boostrank.backends.progress import History
from boostrank.clicks import ClickLabels
from boostrank.clicks.shrinkage import MAX_LOG
from boostrank.inputs.arrays import Bools, Floats
from boostrank.inputs.checks import named_part
from boostrank.metrics.base import BoundMeasure
from boostrank.model_selection import QueryKFold
from boostrank.queries.dcg import DCG
from boostrank.queries.queries import Queries

#: Parts of the queries whose relevance is predicted by trainings on the others, the largest number of rounds of these,
#: and the rounds without an improvement after which they end.
PREDICTION_FOLDS, PREDICTION_ROUNDS, PREDICTION_PATIENCE = 3, 1000, 20


def bind_training(
    backend: Backend, specification: TrainingSpecification, data: GroupedData, validation: list[ValidationSet]
) -> Training:
    """Check the categorical features, bind the loss to the data, and shrink the targets of clicks that ask for it."""
    for one in (data, *(part.data for part in validation)):
        backend.check_categories(one.X, specification.parameters)
    data = with_prior(backend, specification, data)
    return Training(specification, data, specification.bind(data), validation)


def train(
    backend: Backend, specification: TrainingSpecification, data: GroupedData, validation: list[ValidationSet]
) -> Trained:
    """Check the categorical features, bind the loss to the data, and train."""
    training = bind_training(backend, specification, data, validation)
    with defer_interrupts():
        return backend.train(training)


def train_on_kept(
    backend: Backend, specification: TrainingSpecification, data: GroupedData, kept: Bools, refit: bool
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


def make_folds(queries: Queries, n_folds: int, random_state: np.random.RandomState) -> list[Bools]:
    """Masks of the queries that each fold holds out, shape (n_queries,); each query is held out once.

    Raises
    ------
    ValueError
        If there are fewer queries than folds.
    """
    if queries.n_queries < n_folds:
        raise ValueError(
            f"cv={n_folds} folds need at least {n_folds} training queries; got {queries.n_queries} "
            f"(n_samples={queries.n_documents}): set cv to a smaller number, or choose the objective and n_estimators, "
            "which then need no folds"
        )
    numbers = np.arange(queries.n_queries)
    splitter = QueryKFold(n_folds, shuffle=True, random_state=random_state)
    return [np.isin(numbers, held_out) for _, held_out in splitter.split(numbers, groups=numbers)]


def with_prior(backend: Backend, specification: TrainingSpecification, data: GroupedData) -> GroupedData:
    """Return the data with clicks that are shrunk towards predicted relevance, if they ask for it, or unchanged.

    The text of the module :mod:`boostrank.clicks.shrinkage` has the formulas. The trees have the parameters of the
    specification, except for the number of rounds and a penalty of their own.
    """
    clicks = data.labels.values if isinstance(data.labels, Clicks) else None
    if not isinstance(clicks, ClickLabels) or not clicks.needs_prediction or specification.native_objective is not None:
        return data
    relevance = np.maximum(clicks.relevance, 0.0)
    is_clicked = data.queries.sum(relevance) > 0.0
    logs: Floats = np.zeros(len(relevance))
    n_folds = min(PREDICTION_FOLDS, int(is_clicked.sum()))
    if n_folds > 1:
        chosen = specification.for_refit(backend, PREDICTION_ROUNDS)
        parameters = {**chosen.parameters, backend.PARAMETERS["reg_lambda"]: 1.0}
        chosen = replace(chosen, loss=get_loss("poisson"), dcg=DCG(gain="linear"), normalize="none", init_model=None)
        chosen = replace(chosen, parameters=parameters, callbacks=(), metrics=(), verbose=False)
        # Each part has as many queries with clicks as the others.
        order = np.random.default_rng(specification.seed).permutation(len(is_clicked))
        part = np.empty(len(order), dtype=np.int64)
        part[order[np.argsort(~is_clicked[order], kind="stable")]] = np.arange(len(order)) % n_folds
        rows = GroupedData(data.X, Relevance(relevance), data.queries, clicks.evidence)
        logs = _cross_fitted_logs(backend, chosen, rows, [part == i for i in range(n_folds)])
    return replace(data, labels=Clicks(clicks.with_prediction(logs)))


def _cross_fitted_logs(
    backend: Backend, specification: TrainingSpecification, data: GroupedData, folds: list[Bools]
) -> Floats:
    """Logarithm of the relevance of each document, predicted by trainings without its fold.

    All trainings have the number of rounds with the least Poisson loss on the folds that they leave out.
    """
    relevance, weights, runs = data.labels.per_document, data.weights, []
    for held_out in folds:
        kept, tested = data.take(~held_out), data.take(held_out)
        training = bind_training(backend, specification, kept, [ValidationSet("", tested, [])])
        with defer_interrupts():
            run = backend.start(training)
        runs.append((data.queries.repeat(held_out), getattr(training.objective, "offset", 0.0), run))
    logs: Floats = np.zeros(len(relevance))
    best, least, best_round = logs.copy(), np.inf, 0
    for number in range(specification.n_rounds):
        for rows, offset, run in runs:
            with defer_interrupts():
                logs[rows] = offset + run.next_round()
        loss = float(np.average(np.exp(np.minimum(logs, MAX_LOG)) - relevance * logs, weights=weights))
        if loss < least:
            best, least, best_round = logs.copy(), loss, number
        if number - best_round >= PREDICTION_PATIENCE:
            break
    return best


class FoldTrainings:
    """The trainings of one specification on all folds, which go on together round by round.

    One metric decides: `early_stopping_metric`, or the first metric if this is None. Its mean over the folds by round
    is the mean curve.

    Parameters
    ----------
    backend : Backend
    specification : TrainingSpecification
        Its number of rounds is the largest one. If it has `early_stopping_rounds`, the trainings end when the mean
        curve has not improved for this number of rounds.

    Attributes
    ----------
    n_rounds : int
        Number of rounds that were trained.
    mean_curve : list of float
        Mean over folds of the deciding metric after each round.
    """

    def __init__(self, backend: Backend, specification: TrainingSpecification) -> None:
        self._backend, self._max_rounds = backend, specification.n_rounds
        self._patience = specification.early_stopping_rounds
        self._specification = replace(specification.for_refit(backend, specification.n_rounds), verbose=False)
        self._folds: list[_Fold] = []
        self.mean_curve: list[float] = []
        self.n_rounds = self._best_round = 0

    def add(self, name: str, data: GroupedData, held_out: GroupedData, binned: BinnedData) -> None:
        """Add the fold with this name, which trains on `data` and is evaluated on `held_out`.

        `binned` is one dict for all trainings on this fold.
        """
        with named_part(f"the metrics are not defined on the queries that {name} holds out"):
            metrics = self._specification.bind_metrics(held_out)
        validation = ValidationSet(name, held_out, metrics)
        training = bind_training(self._backend, self._specification, data, [validation])
        with defer_interrupts():
            run = self._backend.start(training, binned)
        self._folds.append(_Fold(validation, self._specification, run))

    def next_round(self) -> None:
        """Train one more round on each fold."""
        self.n_rounds += 1
        values = []
        for fold in self._folds:
            fold.next_round()
            values.append(fold.deciding[1])
        self.mean_curve.append(float(np.mean(values)))
        first = self._folds[0]
        sign = 1.0 if first.history.is_higher_better(first.name, self.deciding_metric) else -1.0
        best = int(np.argmax(sign * np.asarray(self.mean_curve))) + 1
        if best == self.n_rounds:
            for fold in self._folds:
                fold.best_scores = fold.scores
        self._best_round = best

    def free(self) -> None:
        """Free the models, the binned data and the scores; the values of metrics stay."""
        for fold in self._folds:
            fold.free()

    @property
    def has_ended(self) -> bool:
        """Whether there are no more rounds to train."""
        is_patient = self._patience is None or self.n_rounds - self._best_round < self._patience
        return self.n_rounds == self._max_rounds or not is_patient

    @property
    def judged_round(self) -> int:
        """Number of rounds of the models that are judged: the best of the mean curve, or all without early stopping."""
        return self.n_rounds if self._patience is None else self._best_round

    @property
    def deciding_metric(self) -> str:
        """Name of the deciding metric."""
        return self._folds[0].deciding[0]

    def per_query(self) -> Floats:
        """Value of the deciding metric on each query at the judged round, one fold after another, shape (n_queries,).

        Raises
        ------
        ValueError
            If the deciding metric is a function of the user, which has no values of single queries.
        """
        return np.concatenate([fold.per_query(best=self._patience is not None) for fold in self._folds])

    def evals_result(self) -> dict[str, dict[str, list[float]]]:
        """Values of all metrics by fold, metric and round: ``{"fold_0": {"ndcg@10": [value of each round]}, ...}``."""
        return {name: values for fold in self._folds for name, values in fold.history.as_dict().items()}


class _Fold:
    """The training on one fold, its metrics by round, and the scores of its held-out queries.

    Attributes
    ----------
    scores, best_scores : ndarray, shape (n_documents,)
        Those after the last round, and those after the best round of the mean curve.
    deciding : (str, float)
        Name of the deciding metric, and its value after the last round.
    """

    def __init__(self, validation: ValidationSet, specification: TrainingSpecification, run: TrainingByRounds) -> None:
        # Without the features, which then need no memory as long as the training goes on.
        light = replace(validation, data=replace(validation.data, X=None))
        self.run, self.history = run, History(Training(specification, light.data, None, [light]))
        self.name, self._metrics = validation.name, validation.metrics
        self.scores: NDArray[Any] = np.empty(0)
        self.best_scores: NDArray[Any] = self.scores

    def next_round(self) -> None:
        """Train one more round, and evaluate it."""
        with defer_interrupts():
            self.scores = self.run.next_round()
        self.history.record(0, self.scores)
        last = self.history.last()
        assert last is not None
        self.deciding = last

    def free(self) -> None:
        """Free the model, the binned data and the scores."""
        del self.run, self.scores, self.best_scores

    def per_query(self, best: bool) -> Floats:
        name = self.deciding[0]
        for metric in self._metrics:
            if isinstance(metric, BoundMeasure) and str(metric) == name:
                return metric.per_query(self.best_scores if best else self.scores)
        raise ValueError(
            f"objective='auto' compares the values of single queries, which the function {name!r} of eval_metric does "
            "not have: give a measure first, such as 'ndcg@10', or its name as early_stopping_metric"
        )
