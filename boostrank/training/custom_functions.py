"""Objectives and metrics that are functions of the user, which get the arguments that they get from
LightGBM.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from contextlib import suppress
from copy import copy
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import UndefinedMetricWarning

from boostrank.backends.base import BoostingFunction, BoostingObjective
from boostrank.inputs.arrays import Floats, as_floats, as_list
from boostrank.inputs.checks import is_number
from boostrank.metrics import Measure, get_measure
from boostrank.queries.dcg import DCG
from boostrank.queries.labels import Labels
from boostrank.queries.queries import Queries

#: Smallest and largest number of arguments of a function: labels, scores, weights, and sizes of
#: queries.
MIN_ARGUMENTS, MAX_ARGUMENTS = 2, 4


#: LightGBM's names of metrics that we, and what it prints, call by others.
_OTHER_NAMES = {
    "mean_average_precision": "map",
    **dict.fromkeys(
        ("lambdarank", "rank_xendcg", "xendcg", "xe_ndcg", "xe_ndcg_mart", "xendcg_mart"), "ndcg"
    ),
}
#: LightGBM's names that stand for no metric.
_NO_METRIC = ("None", "none", "null", "na", "custom", "")


def as_metrics(
    eval_metric: Any, eval_at: Any = None, dcg: DCG | None = None
) -> tuple[tuple[Metric, ...], dict[str, str]]:
    """The metrics of `eval_metric`, an argument of ``fit``, and the names that the user has for
    them, by their own.

    Parameters
    ----------
    eval_metric : str, Measure, callable, list of these, or None
        None, an empty list and LightGBM's "None" mean no metrics.
    eval_at : int or list of int, optional
        Cutoffs of the names that have none, and of NDCG if there are no metrics.
    dcg : DCG, optional
        Gain and discount of "ndcg" with the cutoffs of `eval_at`.

    Raises
    ------
    ValueError
        For an unknown name, and for an invalid cutoff.

    Examples
    --------
    >>> as_metrics(["ndcg@5", "pre@3"])
    ((get_measure('ndcg@5'), get_measure('precision@3')), {'ndcg@5': 'ndcg@5', 'precision@3': 'pre@3'})
    >>> as_metrics(["mean_average_precision", "auc"], eval_at=[5, 10])[0]
    (get_measure('map@5'), get_measure('map@10'), get_measure('auc'))
    """
    metrics = [
        metric
        for metric in as_list(eval_metric)
        if not (isinstance(metric, str) and metric in _NO_METRIC)
    ]
    cutoffs, dcg = as_list(eval_at), dcg or DCG()
    expanded: list[Metric] = []
    names: dict[str, str] = {}
    for metric in metrics or ["ndcg"] * bool(cutoffs):
        if isinstance(metric, str):
            named = _measures(metric, cutoffs, dcg)
            names.update({str(measure): name for name, measure in named.items()})
            expanded.extend(named.values())
        else:
            is_function = callable(metric) and not isinstance(metric, Measure)
            is_of_sklearn = str(getattr(metric, "__module__", "")).startswith("sklearn.")
            kind = SklearnMetric if is_of_sklearn else CustomMetric
            expanded.append(kind(metric) if is_function else get_measure(metric))
    return tuple(expanded), names


def _measures(text: str, cutoffs: list[Any], dcg: DCG) -> dict[str, Measure]:
    """The measure of a name, or one for each cutoff if it has none and may have one, by the name
    with the cutoff.
    """
    # XGBoost's "ndcg@5-" counts a query without a relevant document as 0, as "ndcg@5" does here.
    name, at, cutoff = text.removesuffix("-").partition("@")
    library, colon, name = name.rpartition(":")
    name, end = _OTHER_NAMES.get(name, name), text[len(text.removesuffix("-")) :]
    measure = get_measure(library + colon + ("precision" if name == "pre" else name) + at + cutoff)
    if library and name == "ndcg":
        # The libraries' metrics have the gain of the training.
        measure = get_measure(measure, gain=dcg.gain)
    if at or not cutoffs or not hasattr(measure, "k"):
        return {name + at + cutoff + end: measure}
    settings = (
        {"gain": dcg.gain, "discount": dcg.discount} if name == "ndcg" and not library else {}
    )
    by_cutoff = {k: get_measure(measure, k=k, **settings) for k in cutoffs}
    return {name + (f"@{k}" if k else "") + end: expanded for k, expanded in by_cutoff.items()}


class CustomFunction:
    """A function of the user and, once it is bound, the data that it gets besides the scores.

    Parameters
    ----------
    function : callable
        It gets the labels and the scores, grouped by query, the weight of each document or None,
        and the number of documents of each query; see :data:`MIN_ARGUMENTS`.

    Attributes
    ----------
    queries : Queries
        Those of the data; only after binding.
    """

    #: Name of the ranker's argument that takes the function, and what the function returns, for
    #: messages.
    argument: ClassVar[str]
    returns: ClassVar[str]
    queries: Queries
    _labels: Any
    _weights: Floats | None

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function, self._name = function, getattr(function, "__name__", type(function).__name__)
        self._n_arguments = self._count_arguments()

    def bind(self, labels: Labels, queries: Queries, weights: Floats | None = None) -> Self:
        """Bind the function to grouped labels; `weights` has the shape (n_documents,)."""
        bound = copy(self)
        bound._labels, bound.queries, bound._weights = labels.values, queries, weights
        return bound

    def _count_arguments(self) -> int:
        """Number of arguments to pass to the function: all that it takes, up to
        :data:`MAX_ARGUMENTS`.
        """
        for n in range(MAX_ARGUMENTS, MIN_ARGUMENTS - 1, -1):
            # Functions that are not written in Python may have no signature, which is a ValueError.
            with suppress(TypeError, ValueError):
                inspect.signature(self.function).bind(*range(n))
                return n
        raise ValueError(
            f"{self.argument}={self._name} must be a function (y, scores), (y, scores, weight) or "
            f"(y, scores, weight, group) -> {self.returns}, without other arguments"
        )

    def _call(self, scores: NDArray[Any]) -> Any:
        arguments = (self._labels, scores.astype(np.float64), self._weights, self.queries.sizes)[
            : self._n_arguments
        ]
        # The function may change its arrays, and the labels may be the user's own array.
        copies = [
            copy(argument) if isinstance(argument, np.ndarray) else argument
            for argument in arguments
        ]
        return self.function(*copies)


class CustomMetric(CustomFunction):
    """A metric that is a function ``(y, scores[, weight[, group]]) -> (name, value,
    is_higher_better)``.

    It may return a list of such triples.
    """

    argument, returns = "eval_metric", "(name, value, is_higher_better)"

    def results(self, scores: NDArray[Any]) -> list[tuple[str, float, bool]]:
        """The values of the bound metric at grouped scores; for each its name, the value, and
        whether higher is better.

        Raises
        ------
        ValueError
            If the function does not return such a triple or a list of them, or a value is not
            finite.
        """
        result = self._call(scores)
        return [
            self._checked(triple) for triple in (result if isinstance(result, list) else [result])
        ]

    def _checked(self, result: Any) -> tuple[str, float, bool]:
        is_triple = isinstance(result, tuple) and len(result) == 3 and isinstance(result[0], str)
        if not (is_triple and is_number(result[1])):
            raise ValueError(
                f"the metric {self._name} returned {result!r}; it gets all queries at once, and "
                f"not one after another as in XGBRanker, and must return {self.returns} with a "
                f"finite value, such as ('{self._name}', 0.5, "
                "True)"
            )
        return result[0], float(result[1]), bool(result[2])


class SklearnMetric(CustomMetric):
    """A metric of scikit-learn as in XGBRanker: the mean over the queries, which it gets one after
    another.

    Higher is better if its name ends in "_score", as scikit-learn has it. Queries whose value is
    NaN do not count.
    """

    def _call(self, scores: NDArray[Any]) -> Any:
        ends = np.cumsum(self.queries.sizes)[:-1]
        pairs = zip(np.split(self._labels, ends), np.split(scores, ends), strict=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UndefinedMetricWarning)
            values = np.array([self.function(*pair) for pair in pairs])
        counts = ~np.isnan(values)
        weights = (
            None
            if self._weights is None
            else (self.queries.sum(self._weights) / self.queries.sizes)[counts]
        )
        value = np.average(values[counts], weights=weights) if counts.any() else np.nan
        return self._name, value, self._name.endswith("_score")


#: A metric of validation sets.
Metric = Measure | CustomMetric


class CustomObjective(CustomFunction, BoostingObjective):
    """An objective that is a function ``(y, scores[, weight[, group]]) -> (gradient, hessian)``.

    It returns two arrays of shape (n_documents,), and has to apply the weights itself.
    """

    argument, returns = "objective", "(gradient, hessian)"

    def __repr__(self) -> str:
        return f"objective={self._name}"

    def bind(self, labels: Labels, queries: Queries, weights: Floats | None = None) -> Self:
        """Bind the function to grouped labels; raises ValueError if these are no relevance."""
        labels.require_relevance(self)
        return super().bind(labels, queries, weights)

    def boosting_function(self) -> BoostingFunction:
        """The method :meth:`gradient_hessian`."""
        return self.gradient_hessian

    def gradient_hessian(
        self, scores: NDArray[Any]
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Gradient and Hessian of the bound objective, float32, each of shape (n_documents,).

        Raises
        ------
        ValueError
            If the function does not return two arrays of this shape.
        FloatingPointError
            If a gradient or Hessian is not finite.
        """
        result = self._call(scores)
        shapes = (
            [np.shape(values) for values in result] if isinstance(result, (tuple, list)) else []
        )
        shape = (self.queries.n_documents,)
        if shapes != [shape, shape]:
            got = shapes or type(result).__name__
            raise ValueError(
                f"the objective {self._name} must return gradient and Hessian of shape {shape}; "
                f"got {got}"
            )
        with np.errstate(over="ignore"):
            name = f"the result of the objective {self._name}"
            gradient, hessian = (as_floats(values, name).astype(np.float32) for values in result)
        if not (np.isfinite(gradient).all() and np.isfinite(hessian).all()):
            raise FloatingPointError(
                f"the objective {self._name} returned values that are not finite"
            )
        return gradient, hessian
