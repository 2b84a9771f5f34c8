"""A folder that keeps the result of each training, so that an interrupted comparison can go on."""

from __future__ import annotations

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
from boostrank.inputs.files import write_atomically

# Number of the format of the files, which are not read by versions with another one.
FORMAT = 3
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
    curve : dict of str to list of float
        Result of :func:`boostrank.model_selection.estimators.recorded_curve`.
    """

    scores: Floats
    rounds: float
    curve: dict[str, list[float]]


class TrainingIdentity(NamedTuple):
    """All that a training must have in common with one in the folder to have its result.

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
    """The trainings in a folder of results: a file of JSON for each, which is written at once.

    The name of a file is a hash of the names of ranker and fold, and a hash of the identity of the training.

    Parameters
    ----------
    folder : str or os.PathLike
        Folder that is made if there is none, in a folder that exists.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        # A folder that cannot be made is an error before the first training, not after it.
        self.folder.mkdir(exist_ok=True)

    def find(self, identity: TrainingIdentity) -> TrainingResult | None:
        """The result of a training; None if the folder has none of the same data, settings and versions."""
        path = self._path(identity)
        if not path.exists():
            return None
        try:
            values = json.loads(path.read_text("utf-8"))
            return TrainingResult(np.array(values["scores"]), values["rounds"], values["curve"])
        except (ValueError, TypeError, KeyError) as error:
            raise ValueError(f"{str(path)!r} is damaged: delete it, and its training will be run again") from error

    def has_other(self, identity: TrainingIdentity) -> bool:
        """Whether the folder has a training of the same ranker and fold, which may differ in all else."""
        return any(self.folder.glob(f"{_hash(identity[:2])}-*.json"))

    def add(self, identity: TrainingIdentity, result: TrainingResult) -> None:
        """Write the result of a training."""
        text = json.dumps({**identity._asdict(), **result._asdict(), "scores": result.scores.tolist()})
        self.folder.mkdir(exist_ok=True)
        write_atomically(self._path(identity), lambda path: Path(path).write_text(text, encoding="utf-8"))

    def _path(self, identity: TrainingIdentity) -> Path:
        return self.folder / f"{_hash(identity[:2])}-{_hash((FORMAT, *identity))}.json"


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
