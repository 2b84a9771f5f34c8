"""The records of a training: its data, its specification, and its result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np
from sklearn.utils import _safe_indexing

from boostrank.backends.libraries import Booster
from boostrank.inputs.arrays import Bools, Floats, Ints
from boostrank.ndcg.dcg import DCG
from boostrank.ndcg.labels import Labels
from boostrank.ndcg.targets import Normalize
from boostrank.queries.groups import numbers_to_draw
from boostrank.queries.queries import Queries
from boostrank.surrogates.loss import Loss

#: The value of `verbose` that shows a progress bar.
BAR = "bar"
#: Name of a metric, its value, and whether higher is better.
Result = tuple[str, float, bool]


class BoundMetric(Protocol):
    """A metric bound to the labels of a validation set. It may have several values."""

    def results(self, scores: Floats) -> Sequence[Result]:
        """Its values at grouped scores."""


@dataclass(frozen=True)
class GroupedData:
    """A data set whose rows are grouped by query.

    Attributes
    ----------
    X : ndarray, sparse matrix, DataFrame, FeatureStream or list of ndarray
        Features, shape (n_documents, n_features). Arrays of a list contain consecutive rows of
        whole queries.
    labels : Labels
    queries : Queries
    weights : ndarray, shape (n_documents,), optional
    init_score : ndarray, shape (n_documents,), optional
        Scores from which boosting starts; None means 0.
    position : ndarray of int, shape (n_documents,), optional
        Numbers of the positions at which documents were shown.
    groups : ndarray of int, shape (n_documents,), optional
        Number of the group of each document, equal within queries; see
        :mod:`boostrank.queries.groups`.
    """

    X: Any
    labels: Labels
    queries: Queries
    weights: Floats | None = None
    init_score: Floats | None = None
    position: Ints | None = None
    groups: Ints | None = None

    def numbers_to_draw(self) -> Ints:
        """A number for each query: queries with equal numbers are drawn and held out together."""
        groups = None if self.groups is None else self.groups[self.queries.starts]
        return numbers_to_draw(self.X, self.labels.per_document, self.queries, groups)

    def take(self, is_taken: Bools) -> GroupedData:
        """Return the data of the queries of a mask, shape (n_queries,)."""
        queries = Queries.from_sizes(self.queries.sizes[is_taken], self.queries.ids[is_taken])
        return self.take_rows(np.flatnonzero(self.queries.repeat(is_taken)), queries)

    def take_rows(self, rows: Ints, queries: Queries) -> GroupedData:
        """Return the data of these rows, which are grouped by the queries."""
        return GroupedData(
            X=_safe_indexing(self.X, rows),
            labels=self.labels[rows],
            queries=queries,
            weights=None if self.weights is None else self.weights[rows],
            init_score=None if self.init_score is None else self.init_score[rows],
            position=None if self.position is None else self.position[rows],
            groups=None if self.groups is None else self.groups[rows],
        )


@dataclass(frozen=True)
class ValidationSet:
    """Data on which metrics are computed in every round.

    Attributes
    ----------
    name : str
    data : GroupedData
        It may be the training data themselves.
    metrics : sequence of BoundMetric
        The metrics, bound to `data`.
    is_training : bool, default False
        Whether it has the rows of the training data. It decides on early stopping only if there is
        no other set. With initial scores, `data` may be another object than the training data.
    is_named : bool, default True
        Whether the user gave the name; otherwise callbacks see the name that the library's own
        ranker gives.
    """

    name: str
    data: GroupedData
    metrics: Sequence[BoundMetric]
    is_training: bool = False
    is_named: bool = True


@dataclass(frozen=True)
class TrainingSpecification:
    """Everything that a training needs besides the data.

    Attributes
    ----------
    loss : Loss
    dcg : DCG
        Gain, discount and cutoff of the targets.
    normalize : {"dcg", "none", "l2", "sum", "softmax"}
        See :func:`boostrank.make_targets`.
    parameters : dict
        Parameters of the boosting library, by their native names.
    n_rounds : int
        The largest number of rounds.
    min_rounds : int, optional
        If given, the queries that each round leaves out decide when the training ends, after so
        many rounds or later.
    fixed_rounds : int, optional
        With `min_rounds`: the number of rounds if nothing can be measured on left-out queries.
    query_share : float, default 1
        Share of the queries that each round draws, for losses of boostrank and objectives of users.
    seed : tuple of int
        Determines the queries that are drawn.
    early_stopping_rounds : int, optional
    early_stopping_metric : str, int or None, default 0
        Name of the metric that decides on early stopping, or its place among the values of all
        metrics. With None, each metric of each validation set may end a training of LightGBM, as in
        LGBMRanker.
    metrics : tuple
        Computed on validation sets. An empty tuple means the default measure of the labels.
    metric_names : mapping of str to str
        The names that the user has for metrics, by their own.
    callbacks : tuple
        Callbacks of the boosting library.
    verbose : bool, int or "bar"
        True prints the metrics of every round, a number n those of every n-th round, and "bar"
        shows a progress bar.
    init_model : lightgbm.Booster or xgboost.Booster, optional
        The model whose training goes on.
    """

    loss: Loss
    dcg: DCG
    normalize: Normalize
    parameters: dict[str, Any]
    n_rounds: int
    min_rounds: int | None = None
    fixed_rounds: int | None = None
    query_share: float = 1.0
    seed: tuple[int, ...] = (0,)
    early_stopping_rounds: int | None = None
    early_stopping_metric: str | int | None = 0
    metrics: tuple[Any, ...] = ()
    metric_names: Mapping[str, str] = field(default_factory=dict)
    callbacks: tuple[Any, ...] = ()
    verbose: bool | int | str = False
    init_model: Any = None


class EvalResults(NamedTuple):
    """Values of metrics on validation sets, by set and metric.

    Attributes
    ----------
    of_rounds : dict
        The values of all rounds.
    best : dict
        The values of the model.
    """

    of_rounds: dict[str, dict[str, list[float]]]
    best: dict[str, dict[str, float]]


class Trained(NamedTuple):
    """The result of a training.

    Attributes
    ----------
    booster : lightgbm.Booster or xgboost.Booster
    best_iteration : int
        Number of rounds that predictions use.
    evals_result : dict
        Metrics of validation sets by round: ``{"valid_0": {"ndcg@10": [value of each round]},
        ...}``.
    best_round : int
        The round, counted from 1, whose metrics are those of the model; 0 if it was not trained.
        `best_iteration` also counts rounds of an earlier model, and none in which LightGBM found no
        split.
    has_splits : bool
        Whether scores can depend on the features.
    oob_improvement : list of float
        See :class:`~boostrank.backends.left_out_queries.QuerySample`.
    """

    booster: Booster
    best_iteration: int
    evals_result: dict[str, dict[str, list[float]]]
    best_round: int = 0
    has_splits: bool = True
    oob_improvement: Sequence[float] = ()
