"""A file that keeps the result of each training, so that an interrupted comparison can go on."""

from __future__ import annotations

import base64
import dataclasses
import json
import os
import pickle
import sys
from pathlib import Path
from typing import Any, NamedTuple

import joblib
import numpy as np
from scipy import sparse
from sklearn.base import clone

from boostrank.clicks import ClickLabels
from boostrank.datasets import Dataset, Fold
from boostrank.inputs.arrays import Floats

#: First line of a file of results.
HEADER = {"file": "results of boostrank compare, one training a line", "format": 2}
# Parameters that change how long a training takes and what it prints, and not its model.
WITHOUT_INFLUENCE = frozenset(
    ("n_jobs", "nthread", "num_threads", "thread_count", "verbose", "verbosity", "silent", "logging_level")
)


class UnknownIdentityError(ValueError):
    """A setting that cannot be compared with that of an earlier run, such as a lambda expression."""


class TrainingResult(NamedTuple):
    """The scores of a training of a ranker on a fold.

    Attributes
    ----------
    scores : ndarray, shape (n_documents,)
        Scores of the rows of the fold to test on.
    rounds : float
        Number of boosting rounds that predictions use, NaN for an estimator that has none.
    seconds : float
        Time of the training and the prediction.
    curve : dict of str to list of float
        Result of :func:`boostrank.model_selection.estimators.recorded_curve`.
    """

    scores: Floats
    rounds: float
    seconds: float
    curve: dict[str, list[float]]


class TrainingIdentity(NamedTuple):
    """All that a training must have in common with one in the file to have its result.

    Attributes
    ----------
    ranker, fold : str
        Names.
    data : str
        Result of :func:`data_hash`.
    settings : str
        Result of :func:`settings_hash`.
    versions : str
        Versions of packages.
    """

    ranker: str
    fold: str
    data: str
    settings: str
    versions: str


class SavedResults:
    """The trainings in a file of results: one of JSON in each line, below a first line that says what the file is.

    A line that is incomplete or damaged is ignored, so that its training is run again. Lines are only appended.

    Parameters
    ----------
    path : str or os.PathLike
        File that is created if there is none.

    Attributes
    ----------
    damaged_lines : list of int
        Numbers of the lines that are ignored, counted from 1.

    Raises
    ------
    ValueError
        If there is such a file, and it is no file of results.
    OSError
        If the file cannot be read or written.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.damaged_lines: list[int] = []
        self._results: dict[TrainingIdentity, TrainingResult] = {}
        # A file that cannot be written is an error before the first training, not after it.
        with open(self.path, "ab"):
            pass
        with open(self.path, "rb") as file:
            head = file.readline()
            if head and head.strip() != json.dumps(HEADER).encode():
                raise ValueError(
                    f"{str(path)!r} is no file of results of this version of boostrank: it is left as it is; give the "
                    "name of another file or of none"
                )
            for number, line in enumerate(file, 2):
                self._read(number, line)

    def find(self, identity: TrainingIdentity) -> TrainingResult | None:
        """The result of a training; None if the file has none of the same data, settings and versions."""
        return self._results.get(identity)

    def has_other(self, identity: TrainingIdentity) -> bool:
        """Whether the file has a training of the same ranker and fold, which may differ in all else."""
        return any(known[:2] == identity[:2] for known in self._results)

    def add(self, identity: TrainingIdentity, result: TrainingResult) -> None:
        """Append the result of a training."""
        scores = base64.b64encode(result.scores.tobytes()).decode()
        values = {**result._asdict(), "seconds": round(result.seconds, 3), "scores": scores}
        with open(self.path, "ab+") as file:
            # The file may have been deleted or emptied in the meantime.
            start = f"{json.dumps(HEADER)}\n" if file.tell() == 0 else ""
            if not start:
                file.seek(-1, os.SEEK_END)
                # An interrupted run may have left its last line incomplete.
                start = "" if file.read() == b"\n" else "\n"
            file.write(f"{start}{json.dumps(identity._asdict() | values)}\n".encode())

    def _read(self, number: int, line: bytes) -> None:
        try:
            values = json.loads(line)
            identity = TrainingIdentity(*(values[name] for name in TrainingIdentity._fields))
            scores = np.frombuffer(base64.b64decode(values["scores"])).copy()
            # Files of earlier versions have no curves.
            curve = values.get("curve", {})
            self._results[identity] = TrainingResult(scores, values["rounds"], values["seconds"], curve)
        except (ValueError, TypeError, KeyError):
            self.damaged_lines.append(number)


def data_hash(fold: Fold) -> str:
    """A hash of the rows of a fold to train on, to validate on and to test on: features, labels and query ids.

    Raises UnknownIdentityError for a click model that cannot be hashed.
    """
    return _hash([_arrays(part) for part in fold[1:] if part is not None])


def settings_hash(estimator: Any) -> str:
    """A hash of the class and the parameters of an estimator, except those in :data:`WITHOUT_INFLUENCE`.

    Classes and functions are known by their names and by the content of the files that define them.

    Raises
    ------
    UnknownIdentityError
        For a parameter that cannot be hashed, such as a function without a name or in another function.
    """
    plain = clone(estimator)
    ignored = [name for name in plain.get_params() if name.rpartition("__")[2] in WITHOUT_INFLUENCE]
    plain.set_params(**dict.fromkeys(ignored))
    return _hash([plain, _sources([plain, *plain.get_params().values()])])


def _hash(value: Any) -> str:
    try:
        return str(joblib.hash(value, hash_name="sha1"))
    except (pickle.PicklingError, TypeError) as error:
        raise UnknownIdentityError(str(error)) from error


def _sources(values: list[Any]) -> list[bytes]:
    """The content of the files that define functions, and the classes of other values."""
    names = {str(value.__module__) for value in values if hasattr(value, "__module__")}
    files = {name: getattr(sys.modules.get(name), "__file__", None) for name in names}
    if "__main__" in files and files["__main__"] is None:
        raise UnknownIdentityError("code of an interactive session is in no file")
    return [Path(file).read_bytes() for _, file in sorted(files.items()) if file is not None]


def _arrays(data: Dataset) -> tuple[Any, ...]:
    """The content of a data set, without what matrices and clicks remember of their use."""
    X: Any = data.X
    y: Any = data.y
    if sparse.issparse(data.X):
        csr = X.tocsr()
        X = csr.shape, csr.data, csr.indices, csr.indptr
    if isinstance(y, ClickLabels):
        log, settings = y.log, [getattr(y, field.name) for field in dataclasses.fields(y) if field.name != "log"]
        columns = [log.qid, log.row, log.position, log.clicks, log.impressions]
        y = columns, None if log.sessions is None else log.sessions.indptr, settings, _sources([y.model])
    return X, y, data.qid
