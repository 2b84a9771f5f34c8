"""Custom objectives and metrics for users of LightGBM and XGBoost themselves.

The libraries pass the data set to a custom objective or metric in every round. The targets and
other results that depend only on labels, weights and query sizes are computed in the first round
and kept as long as the data set exists.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike

from boostrank.backends.lightgbm.parameters import canonical_names, samples_queries
from boostrank.inputs.arrays import Float32s, Floats
from boostrank.inputs.checks import check_choice
from boostrank.inputs.warnings import warn
from boostrank.metrics import BoundMeasure, Measure, get_measure
from boostrank.ndcg.dcg import DCG, Discount
from boostrank.ndcg.gains import Gain
from boostrank.ndcg.labels import as_labels
from boostrank.ndcg.targets import NORMALIZATIONS, Normalize
from boostrank.queries.queries import Queries
from boostrank.queries.segments import Values
from boostrank.queries.threads import use_threads
from boostrank.queries.weights import document_weights
from boostrank.surrogates.loss import BoostingFunction, Loss
from boostrank.training.losses import DEFAULT_LOSS, bind, get_loss


class DatasetFunction(ABC):
    """A function that is bound to a data set in its first call, and again when a field changes."""

    def __init__(self) -> None:
        self._results: WeakKeyDictionary[Any, tuple[tuple[Any, ...], Any]] = WeakKeyDictionary()

    @abstractmethod
    def _bind(self, labels: Floats, queries: Queries, weights: Floats | None) -> Any:
        """Compute what depends only on these fields."""

    def _bound(self, labels: ArrayLike, weights: Any, sizes: Any, dataset: object = None) -> Any:
        """The result of :meth:`_bind` for the fields of a data set.

        Weights and sizes may be None or empty. `dataset` is None if the library passes only the
        fields.
        """
        key = self if dataset is None else dataset
        fields = (labels, weights, sizes)
        before, result = self._results.get(key, ((), None))
        if before and all(map(np.array_equal, before, fields)):
            return result
        if sizes is None or len(sizes) == 0:
            raise ValueError(
                "the data set has no query groups; pass group= to the Dataset or DMatrix"
            )
        queries = Queries.from_sizes(np.asarray(sizes, np.int64))
        given = None
        if weights is not None and len(weights):
            given = np.asarray(weights, np.float64)
        result = self._bind(np.asarray(labels, np.float64), queries, given)
        self._results[key] = tuple(map(np.array, fields)), result
        return result

    def __getstate__(self) -> dict[str, Any]:
        """State of a copy or a pickle: without results."""
        return {name: value for name, value in vars(self).items() if name != "_results"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _results=WeakKeyDictionary())


class NativeObjective(DatasetFunction):
    """A loss as a custom objective of both libraries."""

    def __init__(self, objective: str | Loss, dcg: DCG, normalize: Normalize) -> None:
        super().__init__()
        check_choice("normalize", normalize, NORMALIZATIONS)
        self.loss = get_loss(objective)
        self.dcg = dcg
        self.normalize = normalize

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.loss!r}, {self.dcg!r}, normalize={self.normalize!r})"

    def _bind(self, labels: Floats, queries: Queries, weights: Floats | None) -> BoostingFunction:
        """The function of scores that gives gradient and Hessian."""
        if weights is not None:
            weights = document_weights(weights, queries, may_differ=True)
        checked = as_labels(labels, signed=self.dcg.takes_negative)
        bound = bind(self.loss, checked, queries, self.dcg, self.normalize, weights)
        return bound.boosting_function()

    # LightGBM does not look at the names of the parameters but at their number: LGBMRanker passes
    # labels, scores, weights and group sizes to a function of four parameters; the functions
    # `train` pass scores and the data set.
    def __call__(
        self,
        first: Values,
        second: Any,
        weight: ArrayLike | None = None,
        group: ArrayLike | None = None,
    ) -> tuple[Float32s, Float32s]:
        """Gradient and Hessian, float32, each of shape (n_documents,)."""
        scores, fields, parameters = _scores_and_fields(first, second, weight, group)
        if samples_queries(parameters):
            raise ValueError(
                "LightGBM trains a constant model with bagging_by_query=True and a custom "
                "objective: use boostrank.LightGBMRanker, which samples queries itself, or leave "
                "bagging_by_query out"
            )
        with use_threads(int(parameters.get("num_threads") or 0)):
            boost = self._bound(*fields)
            depends_on_start = _is_xgboost(second) and not self.loss.shift_invariant
            if depends_on_start and scores[0] == 0.5 and (scores == 0.5).all():
                warn(
                    "XGBoost starts from the score 0.5, and this objective from 0: set "
                    "base_score=0 in the parameters"
                )
            return boost(scores)


class NativeMetric(DatasetFunction):
    """A measure as a custom metric of both libraries."""

    def __init__(self, measure: str | Measure, settings: dict[str, Any]) -> None:
        super().__init__()
        self.measure = get_measure(measure, **settings)
        if not self.measure.takes_relevance:
            raise ValueError(
                f"{self.measure} needs ClickLabels, and a Dataset or a DMatrix has only numbers as "
                "labels: use LightGBMRanker or XGBoostRanker of boostrank with "
                "eval_set=[(X, clicks)]"
            )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.measure!r})"

    def _bind(self, labels: Floats, queries: Queries, weights: Floats | None) -> BoundMeasure:
        return self.measure.bind(labels, queries, weights)

    def __call__(
        self,
        first: Values,
        second: Any,
        weight: ArrayLike | None = None,
        group: ArrayLike | None = None,
    ) -> tuple[Any, ...]:
        """Name, value, and, for LightGBM, that higher is better."""
        scores, fields, parameters = _scores_and_fields(first, second, weight, group)
        with use_threads(int(parameters.get("num_threads") or 0)):
            result = str(self.measure), self._bound(*fields).mean(scores)
        return result if _is_xgboost(second) else (*result, True)


def lightgbm_objective(
    objective: str | Loss = DEFAULT_LOSS,
    *,
    gain: Gain = "exp2",
    discount: Discount = "log2",
    k: int | float | None = None,
    normalize: Normalize = "dcg",
) -> NativeObjective:
    """Make a custom objective of LightGBM from a loss.

    It is for ``lightgbm.train`` and ``lightgbm.LGBMRanker``.

    The weights of the Dataset are applied here, because LightGBM does not apply them to custom
    gradients. Gradients are scaled so that the mean Hessian is 1 before the first round. The
    default penalty of :class:`boostrank.LightGBMRanker` for such losses is not set here: give
    ``lambda_l2=20``.

    Parameters
    ----------
    objective : str, Surrogate or EdgeLoss, default "softmax"
        A name in :data:`boostrank.surrogates.SURROGATES` or
        :data:`boostrank.preferences.EDGE_LOSSES`, or an instance. For an EdgeLoss, each pair of
        documents of a query with different labels is a preference.
    gain, discount, k
        See :class:`boostrank.DCG`.
    normalize : {"dcg", "none", "l2", "sum", "softmax"}, default "dcg"
        See :func:`boostrank.make_targets`.

    Returns
    -------
    callable
        ``(scores, dataset)`` or ``(labels, scores, weights, group sizes)`` to gradient and Hessian.

    Raises
    ------
    ValueError
        If a setting is invalid. The callable raises it for labels, weights or query groups that are
        invalid.
    FloatingPointError
        Raised by the callable if scores, gradient or Hessian are not finite.

    Notes
    -----
    Also set ``metric="None"``. Otherwise LightGBM adds its own NDCG, which fails for labels that
    are not integers. Do not set ``bagging_by_query``, with which LightGBM trains a constant model
    for any custom objective. With ``boosting="dart"`` and any custom objective, LightGBM trains one
    of two models for the same seed; :class:`boostrank.LightGBMRanker` always trains the same one.

    Gradients are computed by ``num_threads`` threads in ``lightgbm.train``. LGBMRanker does not
    pass its `n_jobs`: there it is ``OMP_NUM_THREADS`` or the number of processors, and
    ``boostrank.use_threads`` sets another one.

    Examples
    --------
    >>> import lightgbm
    >>> import numpy as np
    >>> import boostrank as br
    >>> X, y = np.arange(200.0).reshape(100, 2), np.arange(100) % 4
    >>> model = lightgbm.LGBMRanker(
    ...     objective=br.lightgbm_objective("softmax", k=10), metric="None", verbosity=-1
    ... )
    >>> model.fit(X, y, group=[50, 50]).predict(X).shape
    (100,)
    """
    return NativeObjective(objective, DCG(k, gain, discount), normalize)


def lightgbm_metric(measure: str | Measure = "ndcg@10", **settings: object) -> NativeMetric:
    """Make a custom metric of LightGBM from a measure.

    It is the ``feval`` of ``lightgbm.train`` or the ``eval_metric`` of ``lightgbm.LGBMRanker.fit``.

    Parameters
    ----------
    measure, **settings
        As in :func:`boostrank.get_measure`.

    Returns
    -------
    callable
        ``(scores, dataset)`` or ``(labels, scores, weights, group sizes)`` to the name of the
        measure, its mean over queries, and True, because higher is better.

    Raises
    ------
    ValueError, TypeError
        As :func:`boostrank.get_measure`. The callable raises ValueError for labels or query groups
        that are invalid, and for weights of the Dataset that differ within a query.

    Examples
    --------
    >>> import numpy as np
    >>> import boostrank as br
    >>> br.lightgbm_metric("ndcg@1")(np.array([0, 1]), np.array([0.1, 0.2]), None, [2])
    ('ndcg@1', 1.0, True)
    """
    return NativeMetric(measure, settings)


def _scores_and_fields(
    first: Values, second: Any, weight: ArrayLike | None, group: ArrayLike | None
) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    """The scores, the fields of the data set, and the parameters of the training by canonical name.

    ``lightgbm.train`` gives the parameters to the Dataset too; LGBMRanker and XGBoost pass none.
    """
    if _is_xgboost(second):
        sizes = np.diff(second.get_uint_info("group_ptr").astype(np.int64))
        return first, (second.get_label(), second.get_weight(), sizes, second), {}
    if not hasattr(second, "get_label"):
        return second, (first, weight, group), {}
    canonical = canonical_names()
    parameters = {canonical.get(name, name): value for name, value in (second.params or {}).items()}
    return first, (second.get_label(), second.get_weight(), second.get_group(), second), parameters


def _is_xgboost(dataset: object) -> bool:
    """Whether this is a DMatrix."""
    return hasattr(dataset, "get_uint_info")


def xgboost_objective(
    objective: str | Loss = DEFAULT_LOSS,
    *,
    gain: Gain = "exp2",
    discount: Discount = "log2",
    k: int | float | None = None,
    normalize: Normalize = "dcg",
) -> NativeObjective:
    """Make a custom objective of XGBoost from a loss: the ``obj`` of ``xgboost.train``.

    The DMatrix must have ``group`` or ``qid``. Its weights, one per query, are applied here,
    because XGBoost does not apply them to custom gradients. Gradients are scaled so that the mean
    Hessian is 1 before the first round, and ``min_child_weight`` and ``lambda`` mean numbers of
    documents. The defaults of :class:`boostrank.XGBoostRanker` for such losses are not set here:
    give ``min_child_weight=10``, ``lambda=20``, ``colsample_bytree=0.65`` and
    ``colsample_bynode=0.6``. Only the ranker draws queries for each round.

    Parameters
    ----------
    objective : str, Surrogate or EdgeLoss, default "softmax"
        A name in :data:`boostrank.surrogates.SURROGATES` or
        :data:`boostrank.preferences.EDGE_LOSSES`, or an instance. For an EdgeLoss, each pair of
        documents of a query with different labels is a preference.
    gain, discount, k
        See :class:`boostrank.DCG`.
    normalize : {"dcg", "none", "l2", "sum", "softmax"}, default "dcg"
        See :func:`boostrank.make_targets`.

    Returns
    -------
    callable
        ``(scores, dmatrix)`` to gradient and Hessian.

    Raises
    ------
    ValueError
        If a setting is invalid. The callable raises it for labels, weights or query groups that are
        invalid.
    FloatingPointError
        Raised by the callable if scores, gradient or Hessian are not finite.

    Notes
    -----
    Also set ``base_score=0`` and ``disable_default_eval_metric=True`` in the parameters of
    ``xgboost.train``.

    XGBoost takes an element that a sparse matrix does not store as missing, so that a sparse
    DMatrix and a dense one give different models. :class:`boostrank.XGBoostRanker` takes it as 0.

    XGBoost does not pass its ``nthread``: gradients are computed by ``OMP_NUM_THREADS`` threads or
    as many as there are processors, and ``boostrank.use_threads`` sets another number.

    Examples
    --------
    >>> import numpy as np
    >>> import xgboost
    >>> import boostrank as br
    >>> dtrain = xgboost.DMatrix(
    ...     np.arange(40.0).reshape(20, 2), label=np.arange(20) % 4, group=[10, 10]
    ... )
    >>> parameters = {"base_score": 0, "disable_default_eval_metric": True}
    >>> objective = br.xgboost_objective("softmax", k=10)
    >>> xgboost.train(parameters, dtrain, 2, obj=objective).num_boosted_rounds()
    2
    """
    return NativeObjective(objective, DCG(k, gain, discount), normalize)


def xgboost_metric(measure: str | Measure = "ndcg@10", **settings: object) -> NativeMetric:
    """Make a custom metric of XGBoost from a measure: the ``custom_metric`` of ``xgboost.train``.

    Parameters
    ----------
    measure, **settings
        As in :func:`boostrank.get_measure`.

    Returns
    -------
    callable
        ``(scores, dmatrix)`` to the name of the measure and its mean over queries.

    Raises
    ------
    ValueError, TypeError
        As :func:`boostrank.get_measure`. The callable raises ValueError for labels, weights or
        query groups that are invalid.

    Notes
    -----
    XGBoost minimizes custom metrics by default. For early stopping use
    ``xgboost.callback.EarlyStopping(..., maximize=True)``.

    Examples
    --------
    >>> import numpy as np
    >>> import xgboost
    >>> import boostrank as br
    >>> dmatrix = xgboost.DMatrix(np.zeros((2, 1)), label=[0, 1], group=[2])
    >>> br.xgboost_metric("ndcg@1")(np.array([0.1, 0.2]), dmatrix)
    ('ndcg@1', 1.0)
    """
    return NativeMetric(measure, settings)
