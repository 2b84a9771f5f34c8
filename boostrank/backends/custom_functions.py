"""Objectives and metrics that are functions of the user, which get the arguments that they get from LightGBM."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from boostrank.core.queries import Queries
from boostrank.core.weights import query_weights
from boostrank.inputs.arrays import Floats, as_floats
from boostrank.inputs.checks import is_number
from boostrank.metrics import Measure, get_measure
from boostrank.objectives.objective import Float32s
from boostrank.preferences import PreferenceGraph

#: Smallest and largest number of arguments of a function: labels, scores, weights, and sizes of queries.
MIN_ARGUMENTS, MAX_ARGUMENTS = 2, 4


class BoundMetric(Protocol):
    """A metric bound to the labels of one data set."""

    def evaluate(self, scores: NDArray[Any]) -> list[tuple[str, float, bool]]:
        """The values of the metric at grouped scores; for each its name, the value, and whether higher is better."""


class Metric(Protocol):
    """A metric of validation sets: a :class:`~boostrank.metrics.Measure` or a :class:`CustomMetric`."""

    def bind(
        self, labels: ArrayLike | PreferenceGraph, queries: Queries, weights: ArrayLike | None = None
    ) -> BoundMetric:
        """Bind the metric to grouped labels."""


def as_metrics(eval_metric: Any) -> tuple[Metric, ...]:
    """The metrics of `eval_metric`, an argument of ``fit``.

    Parameters
    ----------
    eval_metric : str, Measure, callable, list of these, or None
        None and an empty list mean no metrics.

    Raises
    ------
    ValueError
        For an unknown name.

    Examples
    --------
    >>> as_metrics(["ndcg@5", "map"])
    (get_measure('ndcg@5'), get_measure('map'))
    """
    if eval_metric is None:
        return ()
    given = list(eval_metric) if isinstance(eval_metric, (list, tuple)) else [eval_metric]
    return tuple(
        CustomMetric(metric) if callable(metric) and not isinstance(metric, Measure) else get_measure(metric)
        for metric in given
    )


class CustomMetric:
    """A metric that is a function ``(y, scores[, weight[, group]]) -> (name, value, is_higher_better)``.

    Parameters
    ----------
    function : callable
        It gets the labels and the scores, grouped by query, the weight of each document or None, and the number of
        documents of each query. It may return a list of such triples.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function, self._n_arguments = function, _n_arguments(function, "eval_metric")

    def bind(
        self, labels: ArrayLike | PreferenceGraph, queries: Queries, weights: ArrayLike | None = None
    ) -> BoundCustomMetric:
        """Bind the metric to grouped labels."""
        if weights is not None:
            weights = queries.repeat(query_weights(weights, queries))
        return BoundCustomMetric(self.function, (labels, weights, queries.sizes), self._n_arguments)


class BoundCustomMetric:
    """A :class:`CustomMetric` bound to labels, weights and sizes of queries."""

    def __init__(self, function: Callable[..., Any], fields: tuple[Any, Any, Any], n_arguments: int) -> None:
        self._function, self._fields, self._n_arguments = function, fields, n_arguments

    def evaluate(self, scores: NDArray[Any]) -> list[tuple[str, float, bool]]:
        """The values of the metric at grouped scores; for each its name, the value, and whether higher is better.

        Raises
        ------
        ValueError
            If the function does not return such a triple or a list of them, or a value is not finite.
        """
        labels, weights, sizes = self._fields
        result = self._function(*_copies(labels, scores, weights, sizes)[: self._n_arguments])
        return [self._checked(part) for part in (result if isinstance(result, list) else [result])]

    def _checked(self, result: Any) -> tuple[str, float, bool]:
        name = _name(self._function)
        if not (isinstance(result, tuple) and len(result) == 3 and isinstance(result[0], str)):
            raise ValueError(
                f"the metric {name} returned {result!r}; it must return (name, value, is_higher_better), such as "
                f"('{name}', 0.5, True)"
            )
        if not is_number(result[1]):
            raise ValueError(f"the metric {name} returned the value {result[1]!r}; it must be a finite number")
        return result[0], float(result[1]), bool(result[2])


class CustomObjective:
    """An objective that is a function ``(y, scores[, weight[, group]]) -> (gradient, hessian)``.

    Parameters
    ----------
    function : callable
        It gets the arguments that a function of :class:`CustomMetric` gets, and returns two arrays of shape
        (n_documents,). It has to apply the weights itself.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function, self._n_arguments = function, _n_arguments(function, "objective")

    def __repr__(self) -> str:
        return f"objective={_name(self.function)}"

    @property
    def takes_weights(self) -> bool:
        """Whether the function has an argument for weights."""
        return self._n_arguments > MIN_ARGUMENTS

    def bind(self, labels: Floats, queries: Queries, weights: Floats | None) -> BoundCustomObjective:
        """Bind the objective to grouped labels; `weights` has the shape (n_documents,)."""
        return BoundCustomObjective(self.function, (labels, weights, queries), self._n_arguments)


class BoundCustomObjective:
    """A :class:`CustomObjective` bound to labels, weights and queries."""

    def __init__(
        self, function: Callable[..., Any], fields: tuple[Floats, Floats | None, Queries], n_arguments: int
    ) -> None:
        self._function, self._n_arguments = function, n_arguments
        self._labels, self._weights, self.queries = fields

    def gradient_hessian(self, scores: NDArray[Any]) -> tuple[Float32s, Float32s]:
        """Gradient and Hessian, float32, each of shape (n_documents,).

        Raises
        ------
        ValueError
            If the function does not return two arrays of this shape.
        FloatingPointError
            If a gradient or Hessian is not finite.
        """
        arguments = _copies(self._labels, scores, self._weights, self.queries.sizes)
        result = self._function(*arguments[: self._n_arguments])
        shapes = [np.shape(part) for part in result] if isinstance(result, (tuple, list)) else []
        if shapes != [(self.queries.n_documents,)] * 2:
            raise ValueError(
                f"the objective {_name(self._function)} must return gradient and Hessian, each of shape "
                f"({self.queries.n_documents},); got {shapes or type(result).__name__}"
            )
        with np.errstate(over="ignore"):
            name = f"the result of the objective {_name(self._function)}"
            gradient, hessian = (as_floats(part, name).astype(np.float32) for part in result)
        if not (np.isfinite(gradient).all() and np.isfinite(hessian).all()):
            raise FloatingPointError(f"the objective {_name(self._function)} returned values that are not finite")
        return gradient, hessian


def _copies(labels: Any, scores: NDArray[Any], weights: Any, sizes: Any) -> tuple[Any, ...]:
    """The arguments of a function, which may change its arrays: the labels may be the user's own array."""
    arrays = (labels, scores.astype(np.float64), weights, sizes)
    return tuple(array.copy() if isinstance(array, np.ndarray) else array for array in arrays)


def _name(function: Callable[..., Any]) -> str:
    return getattr(function, "__name__", type(function).__name__)


def _n_arguments(function: Callable[..., Any], argument: str) -> int:
    """Number of arguments to pass to a function: that of its positional parameters, or all that there are."""
    parameters = list(inspect.signature(function).parameters.values())
    if any(parameter.kind is parameter.VAR_POSITIONAL for parameter in parameters):
        return MAX_ARGUMENTS
    positional = [part for part in parameters if part.kind in (part.POSITIONAL_ONLY, part.POSITIONAL_OR_KEYWORD)]
    if not MIN_ARGUMENTS <= len(positional) <= MAX_ARGUMENTS:
        raise ValueError(
            f"{argument}={_name(function)} must be a function of (y, scores), (y, scores, weight) or "
            f"(y, scores, weight, group); it takes {len(positional)} arguments"
        )
    return len(positional)
