"""Objectives and metrics for users of XGBoost itself."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostrank.backends.callables import Fields, NativeMetric, NativeObjective
from boostrank.dcg import DCG, Discount, Gain
from boostrank.losses import DEFAULT_LOSS, Loss
from boostrank.metrics import Measure
from boostrank.objective import Float32s
from boostrank.targets import Normalize


class XGBoostObjective(NativeObjective):
    """A loss as a custom objective of XGBoost; made by :func:`xgboost_objective`."""

    def __call__(self, preds: NDArray[np.float32], dtrain: Any) -> tuple[Float32s, Float32s]:
        """Gradient and Hessian."""
        boost = self._function(_fields(dtrain))
        if not self.loss.shift_invariant and preds[0] == 0.5 and (preds == 0.5).all():
            warnings.warn(
                "XGBoost starts a custom objective at base_score=0.5; boostrank's objectives bring their own start: "
                "set base_score=0 in the parameters",
                stacklevel=2,
            )
        return boost(preds)


class XGBoostMetric(NativeMetric):
    """A measure as a custom metric of XGBoost; made by :func:`xgboost_metric`."""

    def __call__(self, preds: NDArray[np.float32], dmatrix: Any) -> tuple[str, float]:
        """Name and value; higher is better."""
        return self._evaluate(preds, _fields(dmatrix))


def xgboost_objective(
    objective: str | Loss = DEFAULT_LOSS,
    *,
    gain: Gain = "exp2",
    discount: Discount = "log2",
    k: int | float | None = None,
    normalize: Normalize = "dcg",
) -> XGBoostObjective:
    """A loss as ``obj`` of ``xgboost.train``, on a DMatrix with ``group`` or ``qid``.

    The DMatrix's weights, one per query, are honoured. Gradients are scaled such that the mean Hessian is 1 at the
    start, so that ``min_child_weight`` and ``lambda`` count documents; see :class:`boostrank.objective.Objective`.

    Parameters
    ----------
    objective : str, Surrogate or EdgeLoss, default "pairwise-exponential"
        A name in :data:`boostrank.losses.LOSSES`, or an instance. For a loss of edges the labels stand for all their
        ordered pairs.
    gain, discount, k
        See :class:`boostrank.dcg.DCG`.
    normalize : {"dcg", "none", "l2", "sum", "softmax"}, default "dcg"

    Notes
    -----
    Set ``base_score=0`` and ``disable_default_eval_metric=True`` in the parameters beside it.

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
    """A measure as ``custom_metric`` of ``xgboost.train``.

    Parameters
    ----------
    measure, **settings
        As in :func:`boostrank.get_measure`.

    Notes
    -----
    XGBoost minimizes a custom metric unless told otherwise: stop early by
    ``xgboost.callback.EarlyStopping(..., maximize=True)``.

    Examples
    --------
    >>> import numpy, xgboost
    >>> dmatrix = xgboost.DMatrix(numpy.zeros((2, 1)), label=[0, 1], group=[2])
    >>> xgboost_metric("ndcg@1")(numpy.array([0.1, 0.2]), dmatrix)
    ('ndcg@1', 1.0)
    """
    return XGBoostMetric(measure, settings)


def _fields(dmatrix: Any) -> Fields:
    boundaries = dmatrix.get_uint_info("group_ptr")
    return Fields(dmatrix, dmatrix.get_label(), dmatrix.get_weight(), np.diff(boundaries.astype(np.int64)))
