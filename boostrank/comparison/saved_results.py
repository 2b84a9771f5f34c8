"""A file that keeps the result of each training, so that an interrupted comparison can go on."""

from __future__ import annotations

import base64
import errno
import json
import os
import zlib
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from boostrank.comparison.identity import versions
from boostrank.inputs.arrays import Floats

#: First line of a file of results.
HEADER = {"file": "results of boostrank compare, one training a line", "format": 1}


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
    """

    scores: Floats
    rounds: float
    seconds: float


class TrainingIdentity(NamedTuple):
    """All that a training must have in common with one in the file to have its result.

    Attributes
    ----------
    ranker, fold : str
        Names.
    data : str
        Hash of the data of the fold.
    settings : dict
        Class and parameters of the ranker, as values of JSON.
    versions : dict
        Versions of packages by name.
    """

    ranker: str
    fold: str
    data: str
    settings: Any
    versions: dict[str, str]

    @property
    def key(self) -> str:
        """All of it as text."""
        return json.dumps(self, sort_keys=True)


class SavedResults:
    """The trainings in a file of results: one of JSON in each line, below a first line that says what the file is.

    A line that is incomplete or damaged is ignored, so that its training is run again. Lines are only appended. Each is
    written in one step, so that an interrupted run leaves at most its last line incomplete.

    Parameters
    ----------
    path : str or os.PathLike
        File that is created if there is none.

    Attributes
    ----------
    damaged_lines : list of int
        Numbers of the lines that are ignored, counted from 1.
    n_trainings : int
        Number of the trainings in the file when it was opened.

    Raises
    ------
    ValueError
        If there is such a file, and it is no file of results.
    OSError
        If the file cannot be read or written.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        if self.path.exists() and not self.path.is_file() and not self.path.is_dir():
            raise ValueError(f"results must be a regular file; {str(path)!r} is a pipe or a device")
        # A file that cannot be written is an error before the first training, not after it.
        with open(self.path, "ab"):
            pass
        self.damaged_lines: list[int] = []
        self._results: dict[str, TrainingResult] = {}
        self._identities: dict[tuple[str, str], list[TrainingIdentity]] = {}
        with open(self.path, "rb") as file:
            head = file.readline()
            if head and _decoded(head) != HEADER:
                raise ValueError(
                    f"{str(path)!r} is no file of results of this version of boostrank: it is left as it is; give the "
                    "name of another file or of none"
                )
            for number, line in enumerate(file, 2):
                self._read(number, line)
                head = line
            self._ends_in_line = head.endswith(b"\n") or not head
        self.n_trainings = len(self._results)

    def find(self, identity: TrainingIdentity) -> TrainingResult | None:
        """The result of a training; None if the file has none of the same data, settings and versions."""
        return self._results.get(identity.key)

    def differences(self, identity: TrainingIdentity) -> list[str]:
        """The parts that differ in the most similar training of this name in the file; empty if there is none."""
        names = ("data", "settings", "versions")
        found = self._identities.get((identity.ranker, identity.fold), [])
        # As text: in JSON, NaN is equal to NaN.
        differences = [[name for name in names if _text(one, name) != _text(identity, name)] for one in found]
        return min(differences, key=len, default=[])

    def add(self, identity: TrainingIdentity, result: TrainingResult) -> None:
        """Append the result of a training."""
        scores = np.ascontiguousarray(result.scores)
        line = _with_checksum(
            {
                **identity._asdict(),
                "rounds": result.rounds,
                "seconds": round(result.seconds, 3),
                "type": scores.dtype.str,
                "scores": base64.b64encode(scores.tobytes()).decode(),
            }
        )
        # One call of `write` without a buffer: another run that appends to the same file does not come in between.
        with open(self.path, "ab", buffering=0) as file:
            # The file may have been deleted or emptied in the meantime.
            is_empty = os.fstat(file.fileno()).st_size == 0
            start = f"{json.dumps(HEADER)}\n" if is_empty else "" if self._ends_in_line else "\n"
            content = f"{start}{json.dumps(line)}\n".encode()
            n_written = file.write(content)
        self._ends_in_line = n_written == len(content)
        if n_written != len(content):
            # Without a buffer, a disk that becomes full is no error of this call, but of the next one.
            raise OSError(
                errno.ENOSPC,
                f"only {n_written} of the {len(content)} bytes of a result were written, as if the disk is full",
                str(self.path),
            )

    def _read(self, number: int, line: bytes) -> None:
        try:
            values = json.loads(line)
            if values == HEADER:  # Two runs that begin at the same time may both write it.
                return
            if _with_checksum(values) != values:
                raise ValueError("checksum")
            identity = TrainingIdentity(*(values[name] for name in TrainingIdentity._fields))
            scores = np.frombuffer(base64.b64decode(values["scores"]), dtype=values["type"]).copy()
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            self.damaged_lines.append(number)
            return
        self._results[identity.key] = TrainingResult(scores, values["rounds"], values["seconds"])
        self._identities.setdefault((identity.ranker, identity.fold), []).append(identity)


def make_identity(ranker: str, fold: str, data: str, settings: Any) -> TrainingIdentity:
    """The identity of a training with the versions that are installed, in the form that JSON reads it."""
    return TrainingIdentity(*json.loads(json.dumps([ranker, fold, data, settings, versions()])))


def _with_checksum(values: dict[str, Any]) -> dict[str, Any]:
    rest = {name: value for name, value in values.items() if name != "checksum"}
    return {**rest, "checksum": zlib.crc32(json.dumps(rest, sort_keys=True).encode())}


def _text(identity: TrainingIdentity, name: str) -> str:
    return json.dumps(getattr(identity, name), sort_keys=True)


def _decoded(line: bytes) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None
