"""The validation sets of ``fit``, each with its name, its query ids, its weights and its initial scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from boostrank.backends.base import GroupedData, TrainingSpecification, ValidationSet
from boostrank.inputs.checks import named_part
from boostrank.inputs.frames import QID, without_column
from boostrank.rankers.features import TrainingFeatures, check_features
from boostrank.rankers.grouping import features_and_qid, group_data

#: Default name of a validation set that is the training data.
TRAINING = "training"
_ADVICE = "Give the set as (X, y, qid), or give eval_qid or eval_group; a DataFrame X may have a column or index 'qid'."
EvalSet = Sequence[tuple[Any, ...]] | Mapping[str, tuple[Any, ...]] | None


@dataclass(frozen=True)
class EvalPart:
    """One validation set as the user gave it.

    Attributes
    ----------
    name : str
    X, y, qid, group, sample_weight, init_score
        As in ``fit``; the last four may be None.
    is_training : bool
        Whether it is the training data.
    """

    name: str
    X: Any
    y: Any
    qid: Any
    group: Any
    sample_weight: Any
    init_score: Any
    is_training: bool

    def bind(
        self, specification: TrainingSpecification, data: GroupedData, features: TrainingFeatures
    ) -> ValidationSet:
        """Check the set, group it by query, and bind the metrics to it.

        `data` and `features` are those of the training. If this set is the training data, they are grouped already,
        unless it has weights of its own or there are initial scores.
        """
        own = (self.sample_weight, self.init_score, data.init_score)
        is_same = self.is_training and all(values is None for values in own)
        grouped = data if is_same else self._grouped(features)
        weights = None if is_same else grouped.weights
        with named_part(f"validation set {self.name!r}"):
            return ValidationSet(self.name, grouped, specification.bind_metrics(grouped, weights), self.is_training)

    def _grouped(self, features: TrainingFeatures) -> GroupedData:
        """The data, checked against the features of the training data and grouped by query."""
        qid = self.qid
        if qid is None and self.group is None and features.qid_column != QID:
            qid = features.qid_column
        X, ids = features_and_qid(self.X, self.y, qid, self.group, "eval_set", _ADVICE)
        # The column of ids is no feature either where ids or sizes are given beside it.
        X = without_column(X, features.qid_column)
        return group_data(check_features(features, X), self.y, ids, self.sample_weight, self.init_score)


@dataclass(frozen=True)
class EvalArguments:
    """The arguments of ``fit`` that describe validation sets."""

    eval_set: EvalSet = None
    eval_names: Sequence[str] | None = None
    eval_qid: Sequence[Any] | None = None
    eval_group: Sequence[Any] | None = None
    eval_sample_weight: Sequence[Any] | None = None
    eval_init_score: Sequence[Any] | None = None

    def parts(self, X: Any, y: Any, qid: Any, group: Any) -> list[EvalPart]:
        """The validation sets one by one.

        A set is the training data if it has the same objects `X` and `y`, and either no query ids and sizes, or the
        same object `qid` or `group`. If there are several such sets, only the first of them counts as the training
        data.

        Parameters
        ----------
        X, y, qid, group
            Those of the training data.

        Raises
        ------
        ValueError
            If an element of `eval_set` is no tuple (X, y) or (X, y, qid), if another list has more or fewer elements
            than `eval_set`, or if two sets have the same name.
        """
        tuples, names = self._tuples()
        fields = [
            _of_length(values, len(tuples), name)
            for name, values in (
                ("eval_qid", self.eval_qid),
                ("eval_group", self.eval_group),
                ("eval_sample_weight", self.eval_sample_weight),
                ("eval_init_score", self.eval_init_score),
            )
        ]
        found: list[EvalPart] = []
        own_queries = qid if group is None else group
        for i, (part, name, ids, sizes, weight, init_score) in enumerate(zip(tuples, names, *fields, strict=True)):
            if not isinstance(part, (tuple, list)) or len(part) not in (2, 3):
                raise ValueError(
                    f"eval_set must be a list or dict of (X, y, qid); got an element of type {type(part).__name__}"
                )
            if len(part) == 3 and part[2] is not None:
                if ids is not None:
                    raise ValueError(f"eval_set[{i}] has query ids, and so has eval_qid[{i}]: give only one of them")
                ids = part[2]
            queries = sizes if ids is None else ids
            is_same = part[0] is X and part[1] is y and (queries is None or queries is own_queries)
            # The libraries evaluate the training data only once in a round.
            is_training = is_same and not any(earlier.is_training for earlier in found)
            if is_same and queries is None:
                ids, sizes = qid, group
            label = name or (TRAINING if is_training else f"valid_{i}")
            found.append(EvalPart(label, part[0], part[1], ids, sizes, weight, init_score, is_training))
        labels = [part.name for part in found]
        if len(set(labels)) < len(labels):
            raise ValueError(f"validation sets must have different names; got {labels}")
        return found

    def _tuples(self) -> tuple[list[Any], list[str | None]]:
        """The tuples of `eval_set`, and the name of each; None for a set that was given no name."""
        given = self.eval_set
        if isinstance(given, Mapping):
            if self.eval_names is not None:
                raise ValueError("give the names of validation sets as keys of eval_set or as eval_names, not both")
            return list(given.values()), [str(name) for name in given]
        if isinstance(given, tuple) and given and not isinstance(given[0], (tuple, list)):
            given = [given]
        tuples = [] if given is None else list(given)
        names = _of_length(self.eval_names, len(tuples), "eval_names")
        if not all(name is None or (isinstance(name, str) and name) for name in names):
            raise ValueError(f"eval_names must be a list of strings that are not empty; got {names}")
        return tuples, names


def as_eval_set(eval_set: EvalSet, eval_X: Any, eval_y: Any) -> EvalSet:
    """The validation sets, which may be given as `eval_X` and `eval_y`: of one set, or tuples of those of several sets.

    Raises
    ------
    ValueError
        If only one of `eval_X` and `eval_y` is given, if they are given beside `eval_set`, or if only one of them is a
        tuple, or their lengths differ.
    """
    if eval_X is None and eval_y is None:
        return eval_set
    if eval_set is not None:
        raise ValueError("give either eval_set, or eval_X and eval_y")
    if eval_X is None or eval_y is None:
        raise ValueError(f"eval_X and eval_y belong together; {'eval_X' if eval_X is None else 'eval_y'} is missing")
    if not isinstance(eval_X, tuple) and not isinstance(eval_y, tuple):
        return [(eval_X, eval_y)]
    if not (isinstance(eval_X, tuple) and isinstance(eval_y, tuple) and len(eval_X) == len(eval_y)):
        raise ValueError("eval_X and eval_y must be those of one set, or two tuples of equal length")
    return list(zip(eval_X, eval_y, strict=True))


def _of_length(values: Sequence[Any] | None, n_sets: int, name: str) -> list[Any]:
    """The values as a list of one per validation set; all are None if `values` is None."""
    if values is None:
        return [None] * n_sets
    is_list = hasattr(values, "__len__") and not isinstance(values, (str, bytes, Mapping))
    if not is_list or len(values) != n_sets:
        raise ValueError(f"{name} must be a list with one element for each of the {n_sets} validation sets")
    return list(values)
