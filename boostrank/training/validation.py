"""Validation sets, as users give them to ``fit``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from boostrank.backends.records import GroupedData, TrainingSpecification, ValidationSet
from boostrank.inputs.arrays import Floats
from boostrank.inputs.checks import named_part, refuse
from boostrank.inputs.table import Table
from boostrank.metrics.base import Measure
from boostrank.metrics.labels import warn_of_fractions
from boostrank.metrics.registry import default_measure
from boostrank.ndcg.labels import Labels
from boostrank.training.arguments import EvalArguments, TrainingArguments
from boostrank.training.data import features_and_qid, group_data
from boostrank.training.features import TrainingFeatures, check_features

#: Default name of a validation set that is the training data.
TRAINING = "training"
_EVAL_ADVICE = (
    "Give the set as (X, y, qid), or eval_qid or eval_group; a DataFrame X may have a column or "
    "index 'qid'."
)


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
        self,
        specification: TrainingSpecification,
        data: GroupedData,
        features: TrainingFeatures,
        read_labels: Callable[[Any], Labels],
    ) -> ValidationSet:
        """Check the set, group it by query, and bind the metrics to it.

        `read_labels` makes labels of the argument `y`.

        `data` and `features` are those of the training. If this set is the training data, they are
        grouped already, unless it has weights of its own or there are initial scores.
        """
        replaced = (self.sample_weight, self.init_score, data.init_score)
        is_same = self.is_training and all(values is None for values in replaced)
        with named_part(f"validation set {self.name!r}"):
            grouped = data if is_same else self._grouped(features, read_labels)
            metrics = bind_metrics(specification, grouped, None if is_same else grouped.weights)
        return ValidationSet(self.name, grouped, metrics, self.is_training, self.is_named)

    def _grouped(
        self, features: TrainingFeatures, read_labels: Callable[[Any], Labels]
    ) -> GroupedData:
        """The data, checked against the features of the training data and grouped by query."""
        table, ids = features_and_qid(
            Table(self.X),
            self.y,
            self.qid,
            self.group,
            "eval_set",
            _EVAL_ADVICE,
            features.qid_columns,
        )
        X = check_features(features, table.without(features.group_column))
        labels = read_labels(self.y)
        expand = None
        if features.query_features is not None:
            expand = features.query_features.expand_new
        return group_data(X, labels, ids, self.sample_weight, self.init_score, expand=expand)


def eval_sets(evaluation: EvalArguments, training: TrainingArguments) -> list[EvalSet]:
    """The validation sets one by one.

    A set is the training data if it has the same objects `X` and `y`, and either no query ids and
    sizes, or the same `qid` or `group`. If there are several such sets, only the first of them
    counts as the training data.

    Raises
    ------
    ValueError
        If an element of `eval_set` is no tuple (X, y) or (X, y, qid), if another list has more or
        fewer elements than `eval_set`, if two sets have the same name, or if a dict `eval_set` and
        `eval_names` both give names.
    """
    elements, names = _named_sets(evaluation)
    n_sets = len(elements)
    ids = _of_length(evaluation.qid, n_sets, "eval_qid")
    sizes = _of_length(evaluation.group, n_sets, "eval_group")
    weights = _of_length(evaluation.sample_weight, n_sets, "eval_sample_weight")
    init_scores = _of_length(evaluation.init_score, n_sets, "eval_init_score")
    listed: list[EvalSet] = []
    for i, element in enumerate(elements):
        X, y, qid = _parts_of(element, ids[i], i)
        group = sizes[i]
        queries = group if qid is None else qid
        is_same = X is training.X and y is training.y
        if queries is not None:
            of_training = training.qid if training.group is None else training.group
            is_same = is_same and _are_equal(queries, of_training)
        elif is_same:
            qid = training.qid
            group = training.group
        # The libraries evaluate the training data only once in a round.
        is_training = is_same and not any(earlier.is_training for earlier in listed)
        by_default = TRAINING if is_training else f"valid_{i}"
        listed.append(
            EvalSet(
                name=names[i] or by_default,
                X=X,
                y=y,
                qid=qid,
                group=group,
                sample_weight=weights[i],
                init_score=init_scores[i],
                is_training=is_training,
                is_named=bool(names[i]),
            )
        )
    labels = [validation_set.name for validation_set in listed]
    if len(set(labels)) < len(labels):
        raise ValueError(f"validation sets must have different names; got {labels}")
    return listed


def _named_sets(evaluation: EvalArguments) -> tuple[list[Any], list[str | None]]:
    """The elements of `eval_set`, and the names that the user gave, or None."""
    sets = evaluation.sets
    names = evaluation.names
    if isinstance(sets, Mapping):
        if names is not None:
            raise ValueError(
                "give the names of validation sets as keys of eval_set or as eval_names, not both"
            )
        names = [str(name) for name in sets]
        sets = list(sets.values())
    elif isinstance(sets, tuple) and sets and not isinstance(sets[0], (tuple, list)):
        sets = [sets]
    elements = [] if sets is None else list(sets)
    return elements, _of_length(names, len(elements), "eval_names")


def _parts_of(element: object, qid: ArrayLike | None, i: int) -> tuple[Any, Any, Any]:
    """Features, labels and query ids of element number `i` of `eval_set`; `qid` is in eval_qid."""
    if not isinstance(element, (tuple, list)) or len(element) not in (2, 3):
        given = f"an element of type {type(element).__name__}"
        refuse("eval_set", element, "a list or dict of (X, y, qid)", got=given)
    X, y, *ids = element
    if not ids or ids[0] is None:
        return X, y, qid
    if qid is not None:
        raise ValueError(
            f"eval_set[{i}] has query ids, and so has eval_qid[{i}]: give only one of them"
        )
    return X, y, ids[0]


def bind_metrics(
    specification: TrainingSpecification, data: GroupedData, weights: Floats | None = None
) -> list[Any]:
    """Bind the metrics of a training to validation data.

    Functions of the user get the `weights`, shape (n_documents,), as they are. The weight of a
    query in the mean of a measure is the mean of those of its documents, as in LightGBM.
    """
    labels, queries = data.labels, data.queries
    metrics = specification.metrics or (default_measure(labels, specification.dcg),)
    warn_of_fractions(metrics, labels.values)
    means = None if weights is None else queries.sum(weights) / queries.sizes
    return [
        metric.bind(labels, queries, means if isinstance(metric, Measure) else weights)
        for metric in metrics
    ]


def _are_equal(queries: Any, other_queries: Any) -> bool:
    """Whether query ids or sizes are the same object, or arrays or lists with equal values."""
    are_arrays = isinstance(queries, (np.ndarray, list))
    return queries is other_queries or (are_arrays and np.array_equal(queries, other_queries))


def _of_length(values: Sequence[object] | None, n_sets: int, name: str) -> list[Any]:
    """The values as a list of one per validation set; all are None if `values` is None."""
    if values is None:
        return [None] * n_sets
    is_list = hasattr(values, "__len__") and not isinstance(values, (str, bytes, Mapping))
    if not is_list or len(values) != n_sets:
        raise ValueError(
            f"{name} must be a list with one element for each of the {n_sets} validation sets"
        )
    return list(values)
