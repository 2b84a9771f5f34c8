"""Trainings of rankers on folds: several at the same time, and without those whose results are saved."""

from __future__ import annotations

import os
import signal
import threading
import warnings
from collections.abc import Generator, Iterator, Sequence
from typing import Any, NamedTuple

from joblib import Parallel, delayed
from joblib.externals.loky.process_executor import TerminatedWorkerError

from boostrank.comparison.saved_results import (
    SavedResults,
    TrainingIdentity,
    TrainingResult,
    UnknownIdentityError,
    data_hash,
    settings_hash,
)
from boostrank.comparison.versions import versions
from boostrank.datasets import Fold
from boostrank.inputs.warnings import warn
from boostrank.metrics import check_scores
from boostrank.model_selection.estimators import fit_with_validation, n_rounds, recorded_curve


class Training(NamedTuple):
    """A ranker to train on a fold.

    Attributes
    ----------
    name : str
        Name of the ranker.
    ranker : estimator
    fold : Fold
        With validation data.
    """

    name: str
    ranker: Any
    fold: Fold


def run_trainings(
    trainings: Sequence[Training], n_jobs: int | None, saved: SavedResults | None
) -> Generator[tuple[int, TrainingResult, bool], None, None]:
    """Yield the number of each training, its result, and whether it was saved: first the saved ones, then as they end.

    A result that is not saved yet is written to the folder before it is yielded.
    """
    identities: list[TrainingIdentity | None] = [None] * len(trainings)
    if saved is not None:
        hashes: dict[int, str | None] = {}
        identities = [_identity(training, hashes) for training in trainings]
        _warn_of_unused(saved, identities)
    missing = []
    for number, identity in enumerate(identities):
        found = None if saved is None or identity is None else saved.find(identity)
        if found is None:
            missing.append(number)
        else:
            yield number, found, True
    for number, result in _train_all([(number, trainings[number]) for number in missing], n_jobs):
        identity = identities[number]
        if saved is not None and identity is not None:
            saved.add(identity, result)
        yield number, result, False


def _identity(training: Training, hashes: dict[int, str | None]) -> TrainingIdentity | None:
    """The identity of a training; None if a setting has none, so that the result is neither saved nor found.

    `hashes` keeps those of the data of folds.
    """
    name, ranker, fold = training
    try:
        if id(fold) not in hashes:
            hashes[id(fold)] = None
            hashes[id(fold)] = data_hash(fold)
        data = hashes[id(fold)]
        return None if data is None else TrainingIdentity(name, fold.name, data, settings_hash(ranker), versions())
    except UnknownIdentityError:
        return None


def _warn_of_unused(saved: SavedResults, identities: Sequence[TrainingIdentity | None]) -> None:
    """Warn of saved trainings of the same names that differ in something else."""
    n_others = sum(one is not None and saved.find(one) is None and saved.has_other(one) for one in identities)
    if n_others:
        warn(
            f"{saved.folder} has {n_others} of these trainings with other data, settings or versions: they are not "
            "used, and the trainings are run"
        )


def _train_all(jobs: list[tuple[int, Training]], n_jobs: int | None) -> Iterator[tuple[int, TrainingResult]]:
    """Yield the number and the result of each training when it ends."""
    # A large array is written to memory that all processes share; "c" lets estimators write to it, each for itself.
    parallel = Parallel(n_jobs, prefer="processes", return_as="generator_unordered", batch_size=1, mmap_mode="c")
    outputs = parallel(delayed(_train)(number, training, os.getpid()) for number, training in jobs)
    try:
        for number, result, warned in outputs:
            for text, category in warned:
                warn(text, category)
            yield number, result
    except TerminatedWorkerError as error:
        raise ChildProcessError(
            "the process of a training ended unexpectedly, as it does if memory is exhausted: let fewer trainings run "
            "at the same time (n_jobs, --jobs)"
        ) from error
    finally:
        with warnings.catch_warnings():
            # joblib warns of trainings that an error or an interrupt cancels.
            warnings.simplefilter("ignore")
            outputs.close()


def _train(number: int, training: Training, caller: int) -> tuple[int, TrainingResult, list[tuple[str, type[Warning]]]]:
    """Train a ranker, and predict the scores of the documents to test on; `caller` is the process that asks for it.

    Returns its number, the result, and the warnings of a training in another process.
    """
    if os.getpid() == caller:
        return number, _trained(training), []
    # Ctrl-C on a terminal goes to all processes. The caller ends this one, which would print a traceback otherwise.
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    with warnings.catch_warnings(record=True) as caught:
        result = _trained(training)
    return number, result, [(str(one.message), one.category) for one in caught]


def _trained(training: Training) -> TrainingResult:
    fold = training.fold
    assert fold.validation is not None
    try:
        fitted = fit_with_validation(training.ranker, fold.train, fold.validation)
        # Invalid scores are an error here, before they are saved.
        scores, n_documents = check_scores(fitted.predict(fold.test.X)), len(fold.test.y)
        if len(scores) != n_documents:
            raise ValueError(f"predict returned {len(scores)} scores for {n_documents} documents")
    except Exception as error:
        error.add_note(f"while {training.name} was trained on {fold.name}")
        raise
    return TrainingResult(scores, n_rounds(fitted), recorded_curve(fitted))
