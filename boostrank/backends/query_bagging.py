"""Bagging of whole queries for LightGBM, whose own `bagging_by_query` gives a constant model with custom objectives."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostrank.backends.base import BoostingFunction
from boostrank.core.queries import Queries
from boostrank.objectives.bound_loss import Float32s

#: LightGBM's default of `bagging_seed`.
DEFAULT_SEED = 3
#: LightGBM's default of `min_data_in_leaf`.
DEFAULT_MIN_DATA_IN_LEAF = 20


def samples_queries(parameters: Mapping[str, Any]) -> bool:
    """Whether LightGBM's parameters, by canonical name, say that each tree is trained on a sample of the queries."""
    asked = str(parameters.get("bagging_by_query", False)).lower() in ("true", "1", "+")
    return asked and parameters.get("bagging_fraction", 1.0) < 1 and parameters.get("bagging_freq", 0) > 0


def without_bagging(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters with which LightGBM trains on the gradients of :class:`QueryBagging`.

    LightGBM estimates the number of documents in a leaf from the sum of their Hessians, as if it were the same in all
    leaves that it splits. So documents of queries that are left out count as none, and the others as more than one,
    by the inverse of the fraction. `min_data_in_leaf` is enlarged by that, so that it counts sampled documents.
    """
    by_us = ("bagging_by_query", "bagging_fraction", "bagging_freq")
    rest = {name: value for name, value in parameters.items() if name not in by_us}
    smallest = parameters.get("min_data_in_leaf", DEFAULT_MIN_DATA_IN_LEAF)
    return {**rest, "min_data_in_leaf": math.ceil(smallest / parameters["bagging_fraction"])}


class QueryBagging:
    """Gradient and Hessian that are 0 for the queries that are not in the sample.

    Parameters
    ----------
    boost : callable
        Scores to gradient and Hessian, which are overwritten.
    queries : Queries
    parameters : mapping of str to object
        LightGBM's parameters by canonical name. `bagging_fraction` is the share of the queries in a sample, and every
        `bagging_freq` rounds there is a new sample.
    """

    def __init__(self, boost: BoostingFunction, queries: Queries, parameters: Mapping[str, Any]) -> None:
        self._boost, self._queries = boost, queries
        self._n_sampled = max(1, round(parameters["bagging_fraction"] * queries.n_queries))
        self._period = parameters["bagging_freq"]
        self._random = np.random.default_rng(parameters.get("bagging_seed", parameters.get("seed", DEFAULT_SEED)))
        self._round = 0

    def __call__(self, scores: NDArray[Any]) -> tuple[Float32s, Float32s]:
        """Gradient and Hessian of the next round."""
        if self._round % self._period == 0:
            sampled = np.zeros(self._queries.n_queries, dtype=bool)
            sampled[self._random.permutation(self._queries.n_queries)[: self._n_sampled]] = True
            self._left_out = ~self._queries.repeat(sampled)
        self._round += 1
        gradient, hessian = self._boost(scores)
        gradient[self._left_out] = 0
        hessian[self._left_out] = 0
        return gradient, hessian
