"""The training of a ranker: first the choices that are left to it, then the training itself."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from boostrank.backends.base import Backend, GroupedData, Trained, TrainingSpecification, ValidationSet
from boostrank.inputs.arrays import Bools
from boostrank.inputs.checks import named_part
from boostrank.rankers.automatic import Candidate, Choice, choose
from boostrank.rankers.learning_rate import set_learning_rates
from boostrank.rankers.settings import Settings
from boostrank.rankers.single_training import train, train_on_kept


def choose_and_train(
    backend: Backend,
    candidates: Sequence[Candidate],
    settings: Settings,
    data: GroupedData,
    kept: Bools | None,
    validation: list[ValidationSet],
    random_state: np.random.RandomState,
) -> tuple[Trained, TrainingSpecification, Choice | None]:
    """Choose learning rate, objective and number of rounds, as far as the settings leave them open, and train.

    Parameters
    ----------
    backend : Backend
    candidates : list of Candidate
        See :func:`boostrank.rankers.candidates.make_candidates`.
    settings : Settings
    data : GroupedData
    kept : ndarray of bool, shape (n_queries,), optional
        The queries to train on, if `validation_fraction` holds the others out.
    validation : list of ValidationSet
        Those of the user.
    random_state : RandomState
        Draws the folds.

    Returns
    -------
    (Trained, TrainingSpecification, Choice or None)
        The model, the specification of its training, and what was chosen on folds, if there were any.
    """
    set_learning_rates(candidates, settings, backend, data, kept)
    choice, specification = None, candidates[0].specification
    if settings.uses_folds:
        # Queries that are held out must not decide on the objective either.
        with named_part("the queries that validation_fraction leaves to train on"):
            to_choose = data if kept is None else data.take(kept)
        choice = choose(backend, candidates, to_choose, settings, random_state)
        del to_choose
        specification = choice.specification
    if choice is not None and settings.averages_folds:
        trained = choice.average(backend)
    elif kept is None:
        trained = train(backend, specification, data, validation)
    else:
        trained = train_on_kept(backend, specification, data, kept, settings.values["refit"])
    if choice is not None and settings.chooses_rounds:
        trained = trained._replace(evals_result={**choice.evals_result(), **trained.evals_result})
    return trained, specification, choice
