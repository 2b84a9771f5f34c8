"""Functions of the user as losses and metrics; they get the arguments that LightGBM gives them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from contextlib import suppress
from typing import Any, ClassVar

import numpy as np

from boostrank.inputs.arrays import Float32s, Floats, as_floats
from boostrank.ndcg.dcg import DCG
from boostrank.ndcg.labels import Labels
from boostrank.ndcg.targets import Normalize
from boostrank.queries.queries import Queries
from boostrank.queries.segments import Values
from boostrank.surrogates.loss import BoostingFunction, BoundLoss, Loss

#: Smallest and largest number of arguments of a function: labels, scores, weights, and sizes of
#: queries.
MIN_ARGUMENTS = 2
MAX_ARGUMENTS = 4


class UserFunction:
    """A function of the user of labels and scores, grouped by query, and of what else it takes.

    Parameters
    ----------
    function : callable
        It gets the labels and the scores, the weight of each document or None, and the number of
        documents of each query; see :data:`MIN_ARGUMENTS`.
    argument : str
        Name of the ranker's argument that takes the function, for messages.
    returns : str
        What the function returns, for messages.
    """

    def __init__(self, function: Callable[..., Any], argument: str, returns: str) -> None:
        self.function = function
        self.name = getattr(function, "__name__", type(function).__name__)
        self.returns = returns
        self._n_arguments = self._count_arguments(argument)

    def __call__(
        self, labels: object, scores: Values, weights: Floats | None, queries: Queries
    ) -> Any:
        """The result of the function."""
        arguments = (labels, scores.astype(np.float64), weights, queries.sizes)
        # The function may change its arrays, and the labels may be the user's own array.
        copies = [
            value.copy() if isinstance(value, np.ndarray) else value
            for value in arguments[: self._n_arguments]
        ]
        return self.function(*copies)

    def _count_arguments(self, argument: str) -> int:
        """Number of arguments to pass to the function: all that it takes, up to the largest."""
        for n in range(MAX_ARGUMENTS, MIN_ARGUMENTS - 1, -1):
            # Functions that are not written in Python may have no signature, which is a ValueError.
            with suppress(TypeError, ValueError):
                inspect.signature(self.function).bind(*range(n))
                return n
        raise ValueError(
            f"{argument}={self.name} must be a function (y, scores), (y, scores, weight) or (y, "
            f"scores, weight, group) -> {self.returns}, without other arguments"
        )


class FunctionLoss(Loss):
    """A loss that is a function ``(y, scores[, weight[, group]]) -> (gradient, hessian)``.

    It returns two arrays of shape (n_documents,), and has to apply the weights itself.
    """

    has_random_trees: ClassVar[bool] = False

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = UserFunction(function, "objective", "(gradient, hessian)")

    def __repr__(self) -> str:
        return f"objective={self.function.name}"

    def check_labels(self, labels: Labels) -> None:
        """Raise ValueError for labels that are no relevance."""
        labels.require_relevance(self, signed=True)

    def bind(
        self,
        labels: Labels,
        queries: Queries,
        dcg: DCG,
        normalize: Normalize,
        weights: Floats | None,
    ) -> BoundFunction:
        """Bind the function to grouped labels; it does not use the other arguments."""
        return BoundFunction(self.function, labels.values, queries, weights)


class BoundFunction(BoundLoss):
    """A function of the user, bound to the data of a training."""

    def __init__(
        self, function: UserFunction, labels: object, queries: Queries, weights: Floats | None
    ) -> None:
        self.queries = queries
        self._function = function
        self._labels = labels
        self._weights = weights

    def boosting_function(self) -> BoostingFunction:
        """The method :meth:`gradient_hessian`."""
        return self.gradient_hessian

    def gradient_hessian(self, scores: Values) -> tuple[Float32s, Float32s]:
        """Gradient and Hessian at grouped scores, float32, each of shape (n_documents,).

        Raises
        ------
        ValueError
            If the function does not return two arrays of this shape.
        FloatingPointError
            If a gradient or Hessian is not finite.
        """
        result = self._function(self._labels, scores, self._weights, self.queries)
        name = self._function.name
        shapes = []
        if isinstance(result, (tuple, list)):
            shapes = [np.shape(values) for values in result]
        shape = (self.queries.n_documents,)
        if shapes != [shape, shape]:
            got = shapes or type(result).__name__
            raise ValueError(
                f"the objective {name} must return gradient and Hessian of shape {shape}; got {got}"
            )
        with np.errstate(over="ignore"):
            gradient, hessian = (
                as_floats(values, f"the result of the objective {name}").astype(np.float32)
                for values in result
            )
        if not (np.isfinite(gradient).all() and np.isfinite(hessian).all()):
            raise FloatingPointError(f"the objective {name} returned values that are not finite")
        return gradient, hessian
