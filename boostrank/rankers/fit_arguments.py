"""The arguments of ``fit``: data and their queries, validation sets, and other names of arguments."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, ParamSpec, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from boostrank.backends.base import GroupedData, TrainingSpecification, ValidationSet
from boostrank.backends.objectives.labels import Labels, as_labels
from boostrank.inputs.arrays import Bools, Floats, Ints, as_array, check_lengths, finite_numbers
from boostrank.inputs.checks import did_you_mean, named_part
from boostrank.inputs.frames import ESTIMATOR_ADVICE, QID, find_qid, require_qid, without_column
from boostrank.inputs.streams import FeatureStream
from boostrank.queries.queries import Queries
from boostrank.queries.weights import document_weights
from boostrank.rankers.features import TrainingFeatures, check_features

#: Default name of a validation set that is the training data.
TRAINING = "training"
EvalSet = Sequence[tuple[Any, ...]] | Mapping[str, tuple[Any, ...]] | None
_EVAL_ADVICE = (
    "Give the set as (X, y, qid), or give eval_qid or eval_group; a DataFrame X may have a column or index 'qid'."
)
#: Our names of arguments of LGBMRanker and XGBRanker that have others.
_OTHER_NAMES = {
    "xgb_model": "init_model",
    "base_margin": "init_score",
    "base_margin_eval_set": "eval_init_score",
    "sample_weight_eval_set": "eval_sample_weight",
}
#: Values of arguments of theirs that ask for what our methods do anyway. So does None.
_NEUTRAL: Mapping[str, tuple[Any, ...]] = {
    "verbose": (False,),
    "feature_name": ("auto",),
    "categorical_feature": ("auto",),
    # Scores of rankers are never transformed.
    "raw_score": (True, False),
    "output_margin": (True, False),
}
#: What to use instead of an argument that LGBMRanker or XGBRanker has, by its name.
_INSTEAD = {
    "eval_X": "give eval_set=[(X, y, qid)]",
    "eval_y": "give eval_set=[(X, y, qid)]",
    "feature_name": "give X as a DataFrame whose columns have these names",
    "categorical_feature": "give X as a DataFrame with columns of a categorical type, or set the parameter "
    "categorical_feature of LightGBMRanker or feature_types of XGBoostRanker",
    "feature_weights": "set the parameter feature_weights of XGBoostRanker",
    "base_margin": "add it to the scores",
}
P = ParamSpec("P")
T = TypeVar("T")


def takes_other_names(method: Callable[P, T]) -> Callable[P, T]:
    """Let a method of a ranker take arguments by the names that LGBMRanker and XGBRanker have for them.

    The method raises TypeError for an argument that it does not have under any name, and says what to use instead.
    """
    known = inspect.signature(method).parameters

    @functools.wraps(method)
    def translated(*args: P.args, **kwargs: P.kwargs) -> T:
        own: dict[str, Any] = {name: value for name, value in kwargs.items() if name in known}
        for name, value in kwargs.items():
            target = _OTHER_NAMES.get(name, name)
            is_neutral = value is None or (isinstance(value, (str, bool)) and value in _NEUTRAL.get(name, ()))
            if name in known or is_neutral:
                continue
            if target not in known or own.get(target) is not None:
                _refuse_argument(args[0], method.__name__, name, known)
            own[target] = value
        return method(*args, **own)

    return translated


def _refuse_argument(ranker: Any, method: str, name: str, known: Collection[str]) -> NoReturn:
    """Raise TypeError for an argument that the method does not have, or got under its own name too."""
    advice = _INSTEAD.get(name, f"its help lists those that it has{did_you_mean(name, known)}")
    if name in ranker.get_params():
        advice = f"it is a parameter of the ranker, {type(ranker).__name__}({name}=...)"
    if _OTHER_NAMES.get(name) in known:
        advice = f"it is another name of {_OTHER_NAMES[name]}, which is given too"
    raise TypeError(f"{type(ranker).__name__}.{method} has no argument {name!r}: {advice}")


def features_and_qid(
    X: Any, y: Any, qid: Any, group: ArrayLike | None, receiver: str, advice: str = ESTIMATOR_ADVICE
) -> tuple[Any, Any]:
    """Return the features and one query id per row; the ids come from `qid`, or are made from the sizes in `group`.

    Parameters
    ----------
    X : array-like, sparse matrix or DataFrame, shape (n_documents, n_features)
    y : array-like, shape (n_documents,), PreferenceGraph or ClickLabels
    qid : array-like, shape (n_documents,), str or None
        See :func:`boostrank.inputs.frames.find_qid`.
    group : array-like of int, shape (n_queries,), or None
        Number of documents of each query; the rows must be sorted by query.
    receiver : str
        Name of the method or the argument that needs the query ids, for messages.
    advice : str
        How to pass the query ids, for the message that there are none.

    Raises
    ------
    ValueError
        If there are neither query ids nor sizes, or both; if the sizes do not add up to the number of rows; or if `qid`
        contains sizes of queries.
    """
    if group is None:
        X, qid = find_qid(X, qid, y)
        qid = require_qid(qid, receiver, advice)
        _refuse_sizes(qid, _num_samples(X))
        return X, qid
    if qid is not None:
        raise ValueError(f"{receiver} got both qid and group; give only one of them")
    X, _ = find_qid(X, None)
    sizes, n_documents = as_sizes(group), _num_samples(X)
    if sizes.ndim != 1 or sizes.dtype.kind not in "iu" or sizes.min(initial=1) < 1 or sizes.sum() != n_documents:
        raise ValueError(
            f"group must have the number of documents of each query: integers of at least 1 whose sum is the number of "
            f"rows, {n_documents}, and the rows must be sorted by query; got {np.array2string(sizes, threshold=9)}. If "
            "the rows are not sorted, give qid"
        )
    return X, np.repeat(np.arange(len(sizes)), sizes)


def as_sizes(group: ArrayLike) -> Any:
    """Sizes of queries as an array, of integers if they are whole numbers: ``numpy.loadtxt`` reads floats."""
    sizes = as_array(group, "group")
    return sizes.astype(np.int64) if sizes.dtype.kind == "f" and (sizes % 1 == 0).all() else sizes


def group_data(
    X: Any,
    labels: Labels,
    qid: ArrayLike,
    sample_weight: ArrayLike | None = None,
    init_score: ArrayLike | None = None,
    position: ArrayLike | None = None,
) -> GroupedData:
    """Check query ids, weights, initial scores and positions, and group them, features and labels by query.

    Rows that the labels leave out are not in the result.

    Parameters
    ----------
    X : ndarray, sparse matrix, DataFrame or FeatureFiles, shape (n_documents, n_features)
        Features that :func:`boostrank.rankers.features.check_features` returned.
    labels : Labels
    qid : array-like, shape (n_documents,)
    sample_weight : array-like, shape (n_queries,) or (n_documents,), optional
    init_score, position : array-like, shape (n_documents,), optional

    Raises
    ------
    ValueError
        For query ids, weights, scores or positions that are invalid, or of which there is not one for each row of `X`.
    """
    queries = Queries.from_qid(qid)
    check_lengths(X=X.shape[0], y=len(labels), qid=queries.n_documents)
    weights = (
        None if sample_weight is None else document_weights(sample_weight, queries, may_differ=True, grouped=False)
    )
    positions = None if position is None else queries.group(_positions(position, queries))
    scores = None
    if init_score is not None:
        scores = queries.group(finite_numbers(init_score, "init_score", X=queries.n_documents))
    if queries.permutation is not None:
        if isinstance(X, FeatureStream):
            raise ValueError(
                "the rows of a query must be adjacent in FeatureFiles, which are not read into memory as a whole: sort "
                "the rows of the files by query"
            )
        X = _safe_indexing(X, queries.permutation)
    data = GroupedData(X, labels.group(queries), queries, weights, scores, positions)
    kept = data.labels.kept
    return data if kept is None else data.take_documents(kept)


def training_data(
    ranker: Any, X: Any, y: Any, qid: Any, group: ArrayLike | None, sample_weight: Any, **per_row: Any
) -> tuple[GroupedData, TrainingFeatures, GivenRows]:
    """Find the queries of the data to train `ranker` on, check all values, and group them by query.

    Returns the grouped data, number and names of the features, and all rows, also those that the labels leave out.
    Parameters and errors are those of :func:`features_and_qid` and :func:`group_data`.
    """
    name = type(ranker).__name__
    if y is None:
        raise ValueError(f"{name} requires y to be passed, but the target y is None")
    features, own = TrainingFeatures(), ranker._parameters
    features._takes_infinity = own._backend.takes_infinity(own._native)
    if isinstance(qid, str):
        features.qid_column = qid
    X, ids = features_and_qid(X, y, qid, group, f"{name}.fit")
    X, labels = features.learn(X), as_labels(y)
    grouped = group_data(X, labels, ids, sample_weight, **per_row)
    return grouped, features, GivenRows.of(grouped, labels, ids)


@dataclass(frozen=True)
class GivenRows:
    """All rows that were given to ``fit``, of which the labels may leave some out; see :attr:`Labels.kept`.

    Attributes
    ----------
    queries : Queries
        Queries of all rows.
    kept : ndarray of bool, shape (n_documents,), or None
        Mask of the grouped rows that were not left out; None if none was.
    """

    queries: Queries
    kept: Bools | None

    @classmethod
    def of(cls, data: GroupedData, labels: Labels, qid: ArrayLike) -> GivenRows:
        """The rows of `labels` and `qid`, which were arguments of :func:`group_data`; `data` is its result."""
        kept = labels.kept
        if kept is None:
            return cls(data.queries, None)
        queries = Queries.from_qid(qid)
        return cls(queries, queries.group(kept))

    @property
    def query_numbers(self) -> Ints:
        """Number among all queries of each query that has rows left."""
        if self.kept is None:
            return np.arange(self.queries.n_queries)
        return np.flatnonzero(self.queries.sum(self.kept.astype(np.int64)))

    def ungroup(self, values: Floats) -> Floats:
        """Values of all rows from grouped values of those that are left; NaN for the others."""
        if self.kept is not None:
            left, values = values, np.full(len(self.kept), np.nan)
            values[self.kept] = left
        return self.queries.ungroup(values)

    def of_queries(self, values: Floats) -> Floats:
        """Values of all queries from those of the queries that have rows left; NaN for the others."""
        all_values = np.full(self.queries.n_queries, np.nan)
        all_values[self.query_numbers] = values
        return all_values


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
        X, ids = features_and_qid(self.X, self.y, qid, self.group, "eval_set", _EVAL_ADVICE)
        # The column of ids is no feature either where ids or sizes are given beside it.
        X = without_column(X, features.qid_column)
        return group_data(check_features(features, X), as_labels(self.y), ids, self.sample_weight, self.init_score)


def eval_parts(
    eval_set: EvalSet, eval_names: Sequence[str] | None, X: Any, y: Any, qid: Any, group: Any, **per_set: Any
) -> list[EvalPart]:
    """The validation sets one by one.

    A set is the training data if it has the same objects `X` and `y`, and either no query ids and sizes, or the same
    `qid` or `group`. If there are several such sets, only the first of them counts as the training data.

    Parameters
    ----------
    eval_set, eval_names
        As in ``fit``.
    X, y, qid, group
        Those of the training data.
    **per_set
        The arguments `eval_qid`, `eval_group`, `eval_sample_weight` and `eval_init_score` of ``fit``.

    Raises
    ------
    ValueError
        If an element of `eval_set` is no tuple (X, y) or (X, y, qid), if another list has more or fewer elements than
        `eval_set`, or if two sets have the same name.
    """
    if isinstance(eval_set, Mapping):
        if eval_names is not None:
            raise ValueError("give the names of validation sets as keys of eval_set or as eval_names, not both")
        eval_set, eval_names = list(eval_set.values()), [str(name) for name in eval_set]
    elif isinstance(eval_set, tuple) and eval_set and not isinstance(eval_set[0], (tuple, list)):
        eval_set = [eval_set]
    sets = [] if eval_set is None else list(eval_set)
    names = _of_length(eval_names, len(sets), "eval_names")
    lists = [_of_length(values, len(sets), name) for name, values in per_set.items()]
    found: list[EvalPart] = []
    own_queries = qid if group is None else group
    for i, (part, name, ids, sizes, weight, init_score) in enumerate(zip(sets, names, *lists, strict=True)):
        if not isinstance(part, (tuple, list)) or len(part) not in (2, 3):
            raise ValueError(
                f"eval_set must be a list or dict of (X, y, qid); got an element of type {type(part).__name__}"
            )
        if len(part) == 3 and part[2] is not None:
            if ids is not None:
                raise ValueError(f"eval_set[{i}] has query ids, and so has eval_qid[{i}]: give only one of them")
            ids = part[2]
        queries = sizes if ids is None else ids
        is_same = part[0] is X and part[1] is y and (queries is None or _are_equal(queries, own_queries))
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


def _are_equal(queries: Any, others: Any) -> bool:
    """Whether query ids or sizes are the same object or, for arrays and lists in this process, have equal values."""
    return queries is others or (isinstance(queries, (np.ndarray, list)) and np.array_equal(queries, others))


def _of_length(values: Sequence[Any] | None, n_sets: int, name: str) -> list[Any]:
    """The values as a list of one per validation set; all are None if `values` is None."""
    if values is None:
        return [None] * n_sets
    is_list = hasattr(values, "__len__") and not isinstance(values, (str, bytes, Mapping))
    if not is_list or len(values) != n_sets:
        raise ValueError(f"{name} must be a list with one element for each of the {n_sets} validation sets")
    return list(values)


def _refuse_sizes(qid: Any, n_documents: int) -> None:
    """Raise ValueError if `qid` contains sizes of queries instead of query ids."""
    given = as_array(qid, "qid")
    if given.ndim == 1 and len(given) != n_documents and given.dtype.kind in "iu" and given.sum() == n_documents:
        raise ValueError(
            f"qid has {len(given)} values, whose sum is the number of rows, {n_documents}: these are the sizes of the "
            "queries. Give them as group, or qid=numpy.repeat(numpy.arange(len(sizes)), sizes)"
        )


def _positions(position: ArrayLike, queries: Queries) -> Ints:
    """The number of each document's position among the different positions, counted from 0 for the smallest."""
    values = finite_numbers(position, "position", X=queries.n_documents)
    if (values % 1 != 0).any() or values.min() < 0:
        raise ValueError("position must have integers of at least 0: the position at which a document was shown")
    return np.unique(values, return_inverse=True)[1].astype(np.int64)
