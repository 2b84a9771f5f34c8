"""Validation sets, as users give them to ``fit``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from boostrank.backends.base import GroupedData, TrainingSpecification, ValidationSet
from boostrank.inputs.arrays import Floats
from boostrank.inputs.checks import named_part, refuse
from boostrank.metrics.base import Measure
from boostrank.metrics.registry import default_measure
from boostrank.queries.labels import as_labels
from boostrank.training.data import features_and_qid, group_data
from boostrank.training.features import TrainingFeatures, check_features

#: Default name of a validation set that is the training data.
TRAINING = "training"
#: The argument `eval_set` of ``fit``.
EvalSets = Sequence[tuple[Any, ...]] | Mapping[str, tuple[Any, ...]] | None
_EVAL_ADVICE = "Give the set as (X, y, qid), or eval_qid or eval_group; a DataFrame X may have a column or index 'qid'."


@dataclass(frozen=True)
class EvalSet:
    """One validation set as the user gave it.

    Attributes
    ----------
    name : str
    X, y, qid, group, sample_weight, init_score
        As in ``fit``; the last four may be None.
    is_training, is_named : bool
        Whether it is the training data, and whether the user gave the name.
    """

    name: str
    X: Any
    y: Any
    qid: Any
    group: Any
    sample_weight: Any
    init_score: Any
    is_training: bool
    is_named: bool

    def bind(
        self, specification: TrainingSpecification, data: GroupedData, features: TrainingFeatures
    ) -> ValidationSet:
        """Check the set, group it by query, and bind the metrics to it.

        `data` and `features` are those of the training. If this set is the training data, they are
        grouped already, unless it has weights of its own or there are initial scores.
        """
        replaced = (self.sample_weight, self.init_score, data.init_score)
        is_same = self.is_training and all(values is None for values in replaced)
        with named_part(f"validation set {self.name!r}"):
            grouped = data if is_same else self._grouped(features)
            metrics = bind_metrics(specification, grouped, None if is_same else grouped.weights)
        return ValidationSet(self.name, grouped, metrics, self.is_training, self.is_named)

    def _grouped(self, features: TrainingFeatures) -> GroupedData:
        """The data, checked against the features of the training data and grouped by query."""
        given = self.X, self.y, self.qid, self.group
        X, ids = features_and_qid(*given, "eval_set", _EVAL_ADVICE, features.qid_column)
        expand = None if features.query_features is None else features.query_features.expand_new
        X, labels = check_features(features, X), as_labels(self.y)
        return group_data(X, labels, ids, self.sample_weight, self.init_score, expand=expand)


def eval_sets(
    eval_set: EvalSets,
    eval_names: Sequence[str] | None,
    X: Any,
    y: Any,
    qid: Any,
    group: Any,
    **per_set: Any,
) -> list[EvalSet]:
    """The validation sets one by one.

    A set is the training data if it has the same objects `X` and `y`, and either no query ids and
    sizes, or the same `qid` or `group`. If there are several such sets, only the first of them
    counts as the training data.

    Parameters
    ----------
    eval_set, eval_names
        As in ``fit``.
    X, y, qid, group
        Those of the training data.
    **per_set
        The arguments `eval_qid`, `eval_group`, `eval_sample_weight` and `eval_init_score` of
        ``fit``.

    Raises
    ------
    ValueError
        If an element of `eval_set` is no tuple (X, y) or (X, y, qid), if another list has more or
        fewer elements than `eval_set`, if two sets have the same name, or if a dict `eval_set` and
        `eval_names` both give names.
    """
    if isinstance(eval_set, Mapping):
        if eval_names is not None:
            raise ValueError(
                "give the names of validation sets as keys of eval_set or as eval_names, not both"
            )
        eval_set, eval_names = list(eval_set.values()), [str(name) for name in eval_set]
    elif isinstance(eval_set, tuple) and eval_set and not isinstance(eval_set[0], (tuple, list)):
        eval_set = [eval_set]
    sets = [] if eval_set is None else list(eval_set)
    set_names = _of_length(eval_names, len(sets), "eval_names")
    lists = [_of_length(values, len(sets), name) for name, values in per_set.items()]
    listed: list[EvalSet] = []
    training_queries = qid if group is None else group
    for i, (element, name, ids, sizes, weight, init_score) in enumerate(
        zip(sets, set_names, *lists, strict=True)
    ):
        if not isinstance(element, (tuple, list)) or len(element) not in (2, 3):
            given = f"an element of type {type(element).__name__}"
            refuse("eval_set", element, "a list or dict of (X, y, qid)", got=given)
        if len(element) == 3 and element[2] is not None:
            if ids is not None:
                raise ValueError(
                    f"eval_set[{i}] has query ids, and so has eval_qid[{i}]: give only one of them"
                )
            ids = element[2]
        queries = sizes if ids is None else ids
        is_same = (
            element[0] is X
            and element[1] is y
            and (queries is None or _are_equal(queries, training_queries))
        )
        # The libraries evaluate the training data only once in a round.
        is_training = is_same and not any(earlier.is_training for earlier in listed)
        if is_same and queries is None:
            ids, sizes = qid, group
        label = name or (TRAINING if is_training else f"valid_{i}")
        as_given = (element[0], element[1], ids, sizes, weight, init_score)
        listed.append(EvalSet(label, *as_given, is_training=is_training, is_named=bool(name)))
    labels = [validation_set.name for validation_set in listed]
    if len(set(labels)) < len(labels):
        raise ValueError(f"validation sets must have different names; got {labels}")
    return listed


def bind_metrics(
    specification: TrainingSpecification, data: GroupedData, weights: Floats | None = None
) -> list[Any]:
    """Bind the metrics of a training to validation data.

    Functions of the user get the `weights`, shape (n_documents,), as they are. The weight of a
    query in the mean of a measure is the mean of those of its documents, as in LightGBM.
    """
    labels, queries = data.labels, data.queries
    metrics = specification.metrics or (default_measure(labels, specification.dcg),)
    means = None if weights is None else queries.sum(weights) / queries.sizes
    return [
        metric.bind(labels, queries, means if isinstance(metric, Measure) else weights)
        for metric in metrics
    ]


def _are_equal(queries: Any, other_queries: Any) -> bool:
    """Whether query ids or sizes are the same object or, for arrays and lists in this process, have
    equal values.
    """
    are_arrays = isinstance(queries, (np.ndarray, list))
    return queries is other_queries or (are_arrays and np.array_equal(queries, other_queries))


def _of_length(values: Sequence[Any] | None, n_sets: int, name: str) -> list[Any]:
    """The values as a list of one per validation set; all are None if `values` is None."""
    if values is None:
        return [None] * n_sets
    is_list = hasattr(values, "__len__") and not isinstance(values, (str, bytes, Mapping))
    if not is_list or len(values) != n_sets:
        raise ValueError(
            f"{name} must be a list with one element for each of the {n_sets} validation sets"
        )
    return list(values)
