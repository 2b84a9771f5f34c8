"""Objectives and metrics for users of LightGBM itself."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from boostrank.backends.callables import Fields, NativeMetric, NativeObjective
from boostrank.dcg import DCG, Discount, Gain
from boostrank.losses import DEFAULT_LOSS, Loss
from boostrank.metrics import Measure
from boostrank.objective import Float32s
from boostrank.targets import Normalize


class LightGBMObjective(NativeObjective):
    """A loss as a custom objective of LightGBM; made by :func:`lightgbm_objective`."""

    # LightGBM does not look at the names of the parameters but at their number: LGBMRanker passes labels, scores,
    # weights and group sizes to a function of four parameters; lightgbm.train passes scores and the Dataset.
    def __call__(
        self, first: NDArray[Any], second: Any, weight: Any = None, group: Any = None
    ) -> tuple[Float32s, Float32s]:
        """Gradient and Hessian."""
        scores, fields = _scores_and_fields(first, second, weight, group)
        return self._function(fields)(scores)


class LightGBMMetric(NativeMetric):
    """A measure as a custom metric of LightGBM; made by :func:`lightgbm_metric`."""

    def __call__(
        self, first: NDArray[Any], second: Any, weight: Any = None, group: Any = None
    ) -> tuple[str, float, bool]:
        """Name, value, and that higher is better."""
        scores, fields = _scores_and_fields(first, second, weight, group)
        return *self._evaluate(scores, fields), True


def lightgbm_objective(
    objective: str | Loss = DEFAULT_LOSS,
    *,
    gain: Gain = "exp2",
    discount: Discount = "log2",
    k: int | float | None = None,
    normalize: Normalize = "dcg",
) -> LightGBMObjective:
    """A loss as objective for ``lightgbm.train`` and for ``lightgbm.LGBMRanker``.

    Weights of the Dataset are honoured (LightGBM does not apply them to custom gradients). Gradients are scaled such
    that the mean Hessian is 1 at the start; see :class:`boostrank.objective.Objective`.

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
    Set ``metric="None"`` beside it: LightGBM attaches its own NDCG otherwise, which fails for float labels.

    Examples
    --------
    >>> import lightgbm, numpy
    >>> X, y = numpy.arange(200.0).reshape(100, 2), numpy.arange(100) % 4
    >>> model = lightgbm.LGBMRanker(objective=lightgbm_objective("softmax", k=10), metric="None", verbosity=-1)
    >>> model.fit(X, y, group=[50, 50]).predict(X).shape
    (100,)
    """
    return LightGBMObjective(objective, DCG(k, gain, discount), normalize)


def lightgbm_metric(measure: str | Measure = "ndcg@10", **settings: Any) -> LightGBMMetric:
    """A measure as ``feval`` of ``lightgbm.train`` and ``eval_metric`` of ``lightgbm.LGBMRanker.fit``.

    Parameters
    ----------
    measure, **settings
        As in :func:`boostrank.get_measure`. Weights of the Dataset must agree within a query.

    Examples
    --------
    >>> import numpy
    >>> lightgbm_metric("ndcg@1")(numpy.array([0, 1]), numpy.array([0.1, 0.2]), None, [2])
    ('ndcg@1', 1.0, True)
    """
    return LightGBMMetric(measure, settings)


def _scores_and_fields(first: NDArray[Any], second: Any, weight: Any, group: Any) -> tuple[Any, Fields]:
    if hasattr(second, "get_label"):
        return first, Fields(second, second.get_label(), second.get_weight(), second.get_group())
    return second, Fields(None, first, weight, group)
