"""Custom objectives and metrics for users of XGBoost itself."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostrank.inputs.warnings import warn
from boostrank.metrics import Measure
from boostrank.queries.dcg import DCG, Discount, Gain, Normalize
from boostrank.training.callables import NativeMetric, NativeObjective
from boostrank.training.losses import Loss
from boostrank.training.objective import Float32s


class XGBoostObjective(NativeObjective):
    """A loss as a custom objective of XGBoost; made by :func:`xgboost_objective`."""

    def __call__(self, preds: NDArray[np.float32], dtrain: Any) -> tuple[Float32s, Float32s]:
        """Gradient and Hessian, float32, each of shape (n_documents,)."""
        boost = self._bound(*_fields(dtrain))
        if not self.loss.shift_invariant and preds[0] == 0.5 and (preds == 0.5).all():
            warn(
                "XGBoost starts a custom objective from the score 0.5, but objectives of boostrank must start from 0: "
                "set base_score=0 in the parameters"
            )
        gradient_hessian: tuple[Float32s, Float32s] = boost(preds)
        return gradient_hessian


class XGBoostMetric(NativeMetric):
    """A measure as a custom metric of XGBoost; made by :func:`xgboost_metric`."""

    def __call__(self, preds: NDArray[np.float32], dmatrix: Any) -> tuple[str, float]:
        """Name and value; higher is better."""
        return str(self.measure), self._bound(*_fields(dmatrix)).mean(preds)


def xgboost_objective(
    objective: str | Loss = "consistent-lambdarank",
    *,
    gain: Gain = "exp2",
    discount: Discount = "log2",
    k: int | float | None = None,
    normalize: Normalize = "dcg",
) -> XGBoostObjective:
    """Make a custom objective of XGBoost from a loss: the ``obj`` of ``xgboost.train``.

    The DMatrix must have ``group`` or ``qid``. Its weights, one per query, are applied here, because XGBoost does not
    apply them to custom gradients. Gradients are scaled so that the mean Hessian is 1 before the first round, and
    ``min_child_weight`` and ``lambda`` mean numbers of documents. The defaults of :class:`boostrank.XGBoostRanker` for
    such losses are not set here: give ``min_child_weight=10``, ``lambda=20``, ``colsample_bytree=0.8`` and
    ``colsample_bynode=0.5``. Only the ranker draws queries for each round.

    Parameters
    ----------
    objective : str, Surrogate or EdgeLoss, default "consistent-lambdarank"
        A name in :data:`boostrank.surrogates.SURROGATES` or :data:`boostrank.preferences.EDGE_LOSSES`, or an instance.
        For an EdgeLoss, each pair of documents of a query with different labels is a preference.
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
        If a setting is invalid. The callable raises it for labels, weights or query groups that are invalid.
    FloatingPointError
        Raised by the callable if scores, gradient or Hessian are not finite.

    Notes
    -----
    Also set ``base_score=0`` and ``disable_default_eval_metric=True`` in the parameters of ``xgboost.train``.

    XGBoost takes an element that a sparse matrix does not store as missing, so that a sparse DMatrix and a dense one
    give different models. :class:`boostrank.XGBoostRanker` takes it as 0.

    XGBoost does not pass its ``nthread``: gradients are computed by ``OMP_NUM_THREADS`` threads or as many as there are
    processors, and ``boostrank.use_threads`` sets another number.

    Examples
    --------
    >>> import numpy, xgboost
    >>> dtrain = xgboost.DMatrix(numpy.arange(40.0).reshape(20, 2), label=numpy.arange(20) % 4, group=[10, 10])
    >>> parameters = {"base_score": 0, "disable_default_eval_metric": True}
    >>> xgboost.train(parameters, dtrain, 2, obj=xgboost_objective("softmax", k=10)).num_boosted_rounds()
    2
    """
    return XGBoostObjective(objective, DCG(k, gain, discount), normalize)


def xgboost_metric(measure: str | Measure = "ndcg@10", **settings: Any) -> XGBoostMetric:
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
        As :func:`boostrank.get_measure`. The callable raises ValueError for labels, weights or query groups that are
        invalid.

    Notes
    -----
    XGBoost minimizes custom metrics by default. For early stopping use
    ``xgboost.callback.EarlyStopping(..., maximize=True)``.

    Examples
    --------
    >>> import numpy, xgboost
    >>> dmatrix = xgboost.DMatrix(numpy.zeros((2, 1)), label=[0, 1], group=[2])
    >>> xgboost_metric("ndcg@1")(numpy.array([0.1, 0.2]), dmatrix)
    ('ndcg@1', 1.0)
    """
    return XGBoostMetric(measure, settings)


def _fields(dmatrix: Any) -> tuple[Any, ...]:
    """Labels, weights and sizes of the queries, and the data set itself."""
    sizes = np.diff(dmatrix.get_uint_info("group_ptr").astype(np.int64))
    return dmatrix.get_label(), dmatrix.get_weight(), sizes, dmatrix
