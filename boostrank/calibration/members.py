"""The parts of a calibrated ranker: its members, and the rows that they are calibrated on."""

from __future__ import annotations

import json
import os
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from boostrank.backends.models import ModelSource, Notes, note_of, source_name
from boostrank.calibration.first_place import FirstPlace
from boostrank.calibration.relevance import Relevance
from boostrank.inputs.arrays import Floats, Ints
from boostrank.model_selection.splits import QueryKFold
from boostrank.queries.queries import Queries
from boostrank.rankers import load_model
from boostrank.rankers.model import TrainedModel

#: Number of folds in which the model of the level of lists is trained.
N_FOLDS = 5


class CalibratedMember(NamedTuple):
    """A fitted ranker with the map from its scores to probabilities.

    Attributes
    ----------
    ranker : estimator
    calibration : FirstPlace or Relevance
    """

    ranker: Any
    calibration: FirstPlace | Relevance


class CalibrationData(NamedTuple):
    """Rows to calibrate on, in the sequence in which they were given.

    Attributes
    ----------
    X : features
    relevance : ndarray, shape (n_documents,)
    weights : ndarray, shape (n_documents,), or None
    qid : ndarray, shape (n_documents,)
    groups : ndarray, shape (n_documents,), or None
        The group of the query of each row.
    """

    X: Any
    relevance: Floats
    weights: Floats | None
    qid: Any
    groups: Any

    def take(self, rows: Ints) -> CalibrationData:
        """The data of some rows."""
        weights = None if self.weights is None else self.weights[rows]
        groups = None if self.groups is None else self.groups[rows]
        X = _safe_indexing(self.X, rows)
        return CalibrationData(X, self.relevance[rows], weights, self.qid[rows], groups)

    def query_weights(self, queries: Queries) -> Floats:
        """The mean weight of each query, shape (n_queries,)."""
        if self.weights is None:
            return np.ones(queries.n_queries)
        return queries.mean(queries.group(self.weights))

    def folds(self, queries: Queries) -> Ints:
        """A fold for each query, shape (n_queries,), none of which divides a group."""
        if queries.n_queries < 2:
            raise ValueError(
                "the target 'relevance' needs two queries or more to calibrate on; got one"
            )
        splitter = QueryKFold(min(N_FOLDS, queries.n_queries))
        folds = np.empty(queries.n_documents, dtype=np.int64)
        pairs = splitter.split(self.X, self.relevance, self.groups, self.qid)
        for number, (_, test) in enumerate(pairs):
            folds[test] = number
        return queries.group(folds)[queries.starts]


def save_member(
    member: CalibratedMember, path: str | os.PathLike[str], notes_of_ids: Notes
) -> None:
    """Write the model of the ranker, with the calibration and columns of ids in notes of its file.

    Raises ValueError for a ranker that is not one of boostrank, and for categories that are neither
    texts nor numbers.
    """
    ranker = _trained_model(member, "saved")
    target = "first" if isinstance(member.calibration, FirstPlace) else "relevance"
    try:
        note = note_of({"target": target, **member.calibration.as_dict()})
    except TypeError as error:
        raise ValueError(
            f"the categories of the features of lists cannot be saved: {error}. Make them texts or "
            "numbers"
        ) from error
    notes = {**ranker._notes(), **notes_of_ids, "calibration": note}
    ranker._library.save(ranker.booster_, path, notes)


def load_member(path: ModelSource) -> CalibratedMember:
    """Read what :func:`save_member` wrote; ValueError for a file without a calibration."""
    ranker = load_model(path)
    _, notes = ranker._load(path)
    if "calibration" not in notes:
        raise ValueError(
            f"{source_name(path)} has no calibration: save it by save_model of a CalibratedRanker, "
            "or by boostrank fit --probabilities first. boostrank.load_model reads a ranker alone"
        )
    fields = json.loads(notes["calibration"])
    calibration: FirstPlace | Relevance
    if fields["target"] == "first":
        calibration = FirstPlace.from_dict(fields)
    else:
        calibration = Relevance.from_dict(fields)
    return CalibratedMember(ranker, calibration)


def folded(member: CalibratedMember) -> Any:
    """A ranker whose scores are those of the member, divided by the temperature.

    Raises ValueError for a ranker that is not one of boostrank, and without a temperature.
    """
    ranker = _trained_model(member, "exported")
    if not isinstance(member.calibration, FirstPlace):
        raise ValueError(
            "the target 'relevance' has no temperature, and needs features of whole lists: export "
            "its ranker_, which has the same sequence of documents"
        )
    divided = ranker._library.average([ranker.booster_], member.calibration.temperature)
    result = clone(ranker._parameters)
    result._set_booster(divided, ranker._notes())
    if hasattr(ranker, "feature_names_in_") and not hasattr(result, "feature_names_in_"):
        result.feature_names_in_ = np.array(ranker.feature_names_in_)
    return result


def _trained_model(member: CalibratedMember, done: str) -> TrainedModel:
    """The ranker, if it is one of boostrank."""
    if not isinstance(member.ranker, TrainedModel):
        raise ValueError(
            f"only a LightGBMRanker, an XGBoostRanker or a BaggedRanker can be {done}; got "
            f"{type(member.ranker).__name__}"
        )
    return member.ranker
