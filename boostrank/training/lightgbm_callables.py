"""Custom objectives and metrics for users of LightGBM itself."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any

from numpy.typing import NDArray

from boostrank.backends.lightgbm.names import canonical_names
from boostrank.backends.lightgbm.parameters import samples_queries
from boostrank.metrics import Measure
from boostrank.queries.dcg import DCG, Discount, Gain, Normalize
from boostrank.queries.threads import use_threads
from boostrank.training.callables import NativeMetric, NativeObjective
from boostrank.training.losses import Loss
from boostrank.training.objective import Float32s


class LightGBMObjective(NativeObjective):
    """A loss as a custom objective of LightGBM; made by :func:`lightgbm_objective`."""

    # LightGBM does not look at the names of the parameters but at their number: LGBMRanker passes labels, scores,
    # weights and group sizes to a function of four parameters; lightgbm.train passes scores and the Dataset.
    def __call__(
        self, first: NDArray[Any], second: Any, weight: Any = None, group: Any = None
    ) -> tuple[Float32s, Float32s]:
        """Gradient and Hessian, float32, each of shape (n_documents,)."""
        scores, fields, parameters = _scores_and_fields(first, second, weight, group)
        if samples_queries(parameters):
            raise ValueError(
                "LightGBM trains a constant model with bagging_by_query=True and a custom objective: use "
                "boostrank.LightGBMRanker, which samples queries itself, or leave bagging_by_query out"
            )
        with _use_threads(parameters):
            gradient_hessian: tuple[Float32s, Float32s] = self._bound(*fields)(scores)
            return gradient_hessian


class LightGBMMetric(NativeMetric):
    """A measure as a custom metric of LightGBM; made by :func:`lightgbm_metric`."""

    def __call__(
        self, first: NDArray[Any], second: Any, weight: Any = None, group: Any = None
    ) -> tuple[str, float, bool]:
        """Name, value, and that higher is better."""
        scores, fields, parameters = _scores_and_fields(first, second, weight, group)
        with _use_threads(parameters):
            return str(self.measure), self._bound(*fields).mean(scores), True


def lightgbm_objective(
    objective: str | Loss = "consistent-lambdarank",
    *,
    gain: Gain = "exp2",
    discount: Discount = "log2",
    k: int | float | None = None,
    normalize: Normalize = "dcg",
) -> LightGBMObjective:
    """Make a custom objective of LightGBM from a loss, for ``lightgbm.train`` and ``lightgbm.LGBMRanker``.

    The weights of the Dataset are applied here, because LightGBM does not apply them to custom gradients. Gradients are
    scaled so that the mean Hessian is 1 before the first round.
    The default penalty of :class:`boostrank.LightGBMRanker` for such losses is not set here: give ``lambda_l2=20``.

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
        ``(scores, dataset)`` or ``(labels, scores, weights, group sizes)`` to gradient and Hessian.

    Raises
    ------
    ValueError
        If a setting is invalid. The callable raises it for labels, weights or query groups that are invalid.
    FloatingPointError
        Raised by the callable if scores, gradient or Hessian are not finite.

    Notes
    -----
    Also set ``metric="None"``. Otherwise LightGBM adds its own NDCG, which fails for labels that are not integers. Do
    not set ``bagging_by_query``, with which LightGBM trains a constant model for any custom objective. With
    ``boosting="dart"`` and any custom objective, LightGBM trains one of two models for the same seed;
    :class:`boostrank.LightGBMRanker` always trains the same one.

    Gradients are computed by ``num_threads`` threads in ``lightgbm.train``. LGBMRanker does not pass its `n_jobs`:
    there it is ``OMP_NUM_THREADS`` or the number of processors, and ``boostrank.use_threads`` sets another one.

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
    """Make a custom metric of LightGBM from a measure.

    It is the ``feval`` of ``lightgbm.train`` or the ``eval_metric`` of ``lightgbm.LGBMRanker.fit``.

    Parameters
    ----------
    measure, **settings
        As in :func:`boostrank.get_measure`.

    Returns
    -------
    callable
        ``(scores, dataset)`` or ``(labels, scores, weights, group sizes)`` to the name of the measure, its mean over
        queries, and True, because higher is better.

    Raises
    ------
    ValueError, TypeError
        As :func:`boostrank.get_measure`. The callable raises ValueError for labels or query groups that are invalid,
        and for weights of the Dataset that differ within a query.

    Examples
    --------
    >>> import numpy
    >>> lightgbm_metric("ndcg@1")(numpy.array([0, 1]), numpy.array([0.1, 0.2]), None, [2])
    ('ndcg@1', 1.0, True)
    """
    return LightGBMMetric(measure, settings)


def _scores_and_fields(
    first: NDArray[Any], second: Any, weight: Any, group: Any
) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    """The scores, the fields of the data set, and the parameters of the training by canonical name.

    ``lightgbm.train`` gives the parameters to the Dataset too; LGBMRanker passes none.
    """
    if not hasattr(second, "get_label"):
        return second, (first, weight, group), {}
    canonical = canonical_names()
    parameters = {canonical.get(name, name): value for name, value in (second.params or {}).items()}
    return first, (second.get_label(), second.get_weight(), second.get_group(), second), parameters


def _use_threads(parameters: Mapping[str, Any]) -> AbstractContextManager[None]:
    return use_threads(int(parameters.get("num_threads") or 0))
