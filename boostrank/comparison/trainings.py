"""Trainings of rankers on folds, several at the same time.

Each has its result in a folder, so that it is run once.
"""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import signal
import sys
import threading
import time
import warnings
from collections.abc import Generator, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import joblib
import numpy as np
from joblib import Parallel, delayed
from scipy import sparse
from sklearn.base import clone

from boostrank.comparison.versions import versions
from boostrank.datasets import Dataset, Fold
from boostrank.inputs.arrays import Floats
from boostrank.inputs.files import write_lines
from boostrank.inputs.warnings import warn
from boostrank.metrics import check_scores
from boostrank.metrics.labels import FractionalLabelsWarning
from boostrank.metrics.scorers import Estimator, call_with_qid
from boostrank.model_selection.estimators import accept_qid, fit_with_validation, n_rounds
from boostrank.ndcg.labels import Labels
from boostrank.queries.segments import Values

# Number of the format of the files, which are not read by versions with another one.
FORMAT = 6
# Parameters that change how long a training takes and what it prints, and not its model.
WITHOUT_INFLUENCE = frozenset(
    (
        "n_jobs",
        "nthread",
        "num_threads",
        "thread_count",
        "verbose",
        "verbosity",
        "silent",
        "logging_level",
    )
)


class TrainingJob(NamedTuple):
    """The name of a ranker, the ranker, and a fold to train it on, with validation data.

    `groups` has the group of each row to train on; rankers whose `fit` takes groups get them.
    """

    name: str
    ranker: Estimator
    fold: Fold
    groups: Values | None = None


class TrainingResult(NamedTuple):
    """The result of a training.

    Attributes
    ----------
    scores : ndarray, shape (n_documents,)
        Those of the rows of the fold to test on.
    rounds : float
        Number of boosting rounds that predictions use; NaN for an estimator that has none.
    seconds : float
        The time that the training took.
    """

    scores: Floats
    rounds: float
    seconds: float


def run_trainings(
    jobs: Sequence[TrainingJob], n_jobs: int | None, folder: Path | None = None
) -> Generator[tuple[int, TrainingResult, bool], None, None]:
    """Yield the number of each job, its result, and whether it was saved.

    The saved results come first, and then the others as their trainings end. A result is a file of
    JSON in the folder, which is written before the result is yielded. The name of the file is a
    hash of all that the training depends on.
    """
    paths = {} if folder is None else _paths(folder, jobs)
    saved = [number for number, path in paths.items() if path.exists()]
    for number in saved:
        yield number, read_result(paths[number]), True
    waiting = [(number, job) for number, job in enumerate(jobs) if number not in saved]
    for number, result in _train_all(waiting, n_jobs):
        if number in paths:
            write_result(paths[number], result)
        yield number, result, False


def read_result(path: Path) -> TrainingResult:
    """Read a file of :func:`write_result`."""
    values = json.loads(path.read_text("utf-8"))
    return TrainingResult(np.array(values["scores"]), values["rounds"], values["seconds"])


def write_result(path: Path, result: TrainingResult) -> None:
    """Write the result of a training, all at once."""
    values = result._asdict() | {"scores": result.scores.tolist()}
    write_lines(path, [json.dumps(values)])


def data_hash(fold: Fold) -> str:
    """A hash of the features, labels and query ids of a fold.

    Raises
    ------
    PicklingError, TypeError
        For labels that cannot be hashed, such as those of a click model in an interactive session.
    """
    parts = (fold.train, fold.validation, fold.test)
    return _hash([_content(data) for data in parts if data is not None])


def settings_hash(estimator: Estimator) -> str:
    """A hash of the class and the parameters of an estimator.

    Those in :data:`WITHOUT_INFLUENCE` do not count. Classes and functions are known by their names
    and by the content of the files that define them.

    Raises
    ------
    PicklingError, TypeError
        For a parameter that cannot be hashed, such as a function without a name or in another
        function.
    """
    plain = clone(accept_qid(estimator))
    ignored = []
    for name in plain.get_params():
        _, _, last_part = name.rpartition("__")
        if last_part in WITHOUT_INFLUENCE:
            ignored.append(name)
    plain.set_params(**dict.fromkeys(ignored))
    return _hash([plain, _sources([plain, *plain.get_params().values()])])


def _paths(folder: Path, jobs: Sequence[TrainingJob]) -> dict[int, Path]:
    """The file of each job, by its number, in a folder.

    Jobs that cannot be compared with those of earlier runs have none. A folder that cannot be made
    is an error.
    """
    folder.mkdir(exist_ok=True)
    paths: dict[int, Path] = {}
    # The folds are alive as long as their ids are used.
    hashes: dict[int, str] = {}
    for number, (name, ranker, fold, groups) in enumerate(jobs):
        with contextlib.suppress(pickle.PicklingError, TypeError):
            of_data = hashes.get(id(fold)) or data_hash(fold)
            hashes[id(fold)] = of_data
            identity: tuple[object, ...] = (FORMAT, name, fold.name, of_data)
            identity += (settings_hash(ranker), versions())
            if groups is not None:
                identity += (groups,)
            paths[number] = folder / f"{_hash(identity)}.json"
    return paths


def _hash(value: object) -> str:
    return str(joblib.hash(value, hash_name="sha1"))


def _sources(values: Iterable[object]) -> list[bytes]:
    """The content of the files that define functions, and the classes of other values."""
    names = {str(value.__module__) for value in values if hasattr(value, "__module__")}
    contents = []
    for name in sorted(names):
        file = getattr(sys.modules.get(name), "__file__", None)
        if file is not None:
            contents.append(Path(file).read_bytes())
        elif name == "__main__":
            raise pickle.PicklingError("code of an interactive session is in no file")
    return contents


def _content(data: Dataset) -> list[Any]:
    """The content of a data set, without what matrices and labels remember of their use."""
    X: Any = data.X
    if sparse.issparse(data.X):
        csr = X.tocsr()
        X = (csr.shape, csr.data, csr.indices, csr.indptr)
    labels = data.y.content if isinstance(data.y, Labels) else (data.y,)
    return [X, labels, _sources(labels), data.qid]


def _train_all(
    jobs: list[tuple[int, TrainingJob]], n_jobs: int | None
) -> Iterator[tuple[int, TrainingResult]]:
    """Yield the number and the result of each training when it ends."""
    # A large array is written to memory that all processes share; "c" lets estimators write to it,
    # each for itself.
    parallel = Parallel(
        n_jobs, prefer="processes", return_as="generator_unordered", batch_size=1, mmap_mode="c"
    )
    outputs = parallel(delayed(_train)(number, job, os.getpid()) for number, job in jobs)
    try:
        for number, result, warned in outputs:
            for text, category in warned:
                # The comparison has looked at the labels of all folds.
                if category is not FractionalLabelsWarning:
                    warn(text, category)
            yield number, result
    finally:
        with warnings.catch_warnings():
            # joblib warns of trainings that an error or an interrupt cancels.
            warnings.simplefilter("ignore")
            outputs.close()


def _train(
    number: int, job: TrainingJob, caller: int
) -> tuple[int, TrainingResult, list[tuple[str, type[Warning]]]]:
    """Train a ranker, and predict the scores of the documents to test on.

    `caller` is the process that asks for it. Returns the number of the training, the result, and
    the warnings of a training in another process.
    """
    if os.getpid() == caller:
        return number, _trained(job), []
    # Ctrl-C on a terminal goes to all processes. The caller ends this one, which would print a
    # traceback otherwise.
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    # LightGBM's own ranker asks joblib for its number of threads, and not OpenMP.
    os.environ["LOKY_MAX_CPU_COUNT"] = os.environ.get("OMP_NUM_THREADS", "1")
    with warnings.catch_warnings(record=True) as caught:
        result = _trained(job)
    texts = [(str(warning.message), warning.category) for warning in caught]
    return number, result, texts


def _trained(job: TrainingJob) -> TrainingResult:
    name, ranker, fold, groups = job
    began = time.perf_counter()
    try:
        fitted = fit_with_validation(ranker, fold.train, fold.validation, groups)
        seconds = time.perf_counter() - began
        # Invalid scores are an error here, before they are saved.
        predicted = call_with_qid(fitted, "predict", fold.test.qid, fold.test.X)
        scores = check_scores(predicted)
    except Exception as error:
        error.add_note(f"while {name} was trained on {fold.name}")
        raise
    return TrainingResult(scores, n_rounds(fitted), seconds)
