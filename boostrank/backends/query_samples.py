"""Samples of the queries: each round trains on some, and the others say what its tree is worth.

A tree that lowers the loss of queries that it was not trained on is worth its place. So the queries that each round
leaves out tell how long to train, and no queries are held out for good.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostrank.backends.base import TrainingSpecification
from boostrank.inputs.arrays import Floats

#: Left-out queries choose at most so many rounds, and at least so many that rounds times learning rate are this number:
#: the first rounds are too few to see a trend.
MAX_ROUNDS, MIN_TOTAL_STEP = 3000, 4.0
#: The number of rounds where no round leaves queries out.
FIXED_ROUNDS = 375
#: Training ends at this multiple of the round at which the sum of improvements is largest. That round is early, because
#: the queries that a round leaves out were in the samples of rounds before it (benchmarks/README.md, "Defaults").
ROUNDS_FACTOR = 2.0
#: The sum of improvements is smoothed by the mean over so many rounds, at most a third of all.
SMOOTHING_ROUNDS = 20


class QuerySample:
    """Gradient and Hessian that are 0 for the queries that a round leaves out, and what the round is worth on these.

    Each round draws other queries, as Friedman ("Stochastic gradient boosting", 2002) draws rows, so that trees learn
    less of what is true of single queries only. The loss of the queries that round r leaves out is lower after the
    round by about ``-(g + g') f / 2``, where ``f`` is what the round adds to their scores, and ``g`` and ``g'`` are the
    gradients before and after it (the trapezoid rule). This needs only gradients, which boosting computes anyway, and
    is defined for losses that have no value, such as those with weights of ranks.

    Parameters
    ----------
    objective : boostrank.backends.base.BoostingObjective
        If it has a method `to_host`, that copies its arrays to arrays of NumPy; if it has a method `total`, that sums
        numbers over all workers.
    specification : TrainingSpecification
    has_one_model : bool
        Whether earlier trees change in later rounds. Then no improvement is measured.

    Attributes
    ----------
    improvement : list of float
        For each round, the mean over the left-out documents of the decrease of the loss, whose unit is such that the
        mean Hessian is 1 where boosting starts. If several models are trained in turns, it is the decrease of the mean
        of their losses, each at the scores of its own model. The last rounds, one for each model, have no value,
        because only the next turn of the model shows the gradient after them.
    """

    def __init__(self, objective: Any, specification: TrainingSpecification, has_one_model: bool) -> None:
        self._queries, self._objective = objective.queries, objective
        self._boost = objective.boosting_function(has_one_model)
        self._draws, self._min_rounds = specification.query_share < 1, specification.min_rounds
        self._n_drawn = max(1, round(specification.query_share * self._queries.n_queries))
        self._random = np.random.default_rng(specification.seed)
        self._is_measured, self._n_rounds = not has_one_model, 0
        self.improvement: list[float] = []
        # Of the last round: the scores and the gradient before it, and 1 for each document that it leaves out.
        self._last: tuple[NDArray[Any], NDArray[Any], NDArray[np.float32]] | None = None
        # Of the last round of each model: what it added to the scores of the documents that it left out, the product of
        # this with the gradient before it, and the number of these documents.
        self._turns: deque[tuple[NDArray[Any], float, int]] = deque()

    def should_stop(self) -> bool:
        """Whether left-out queries decide when the training ends, and the rounds until now are enough."""
        expected = self.expected_rounds()
        return expected is not None and self._n_rounds >= expected

    def expected_rounds(self) -> int | None:
        """The number of rounds at which the training ends if the largest sum of improvements is where it is now.

        None if left-out queries do not decide on that.
        """
        if self._min_rounds is None:
            return None
        if not self.improvement:
            return FIXED_ROUNDS
        return min(MAX_ROUNDS, max(self._min_rounds, int(ROUNDS_FACTOR * best_round(self.improvement))))

    def next_round(self, scores: NDArray[Any]) -> tuple[Any, Any]:
        """Gradient and Hessian of the next round."""
        derivatives = self._boost(scores)
        self._n_rounds += 1
        if not self._draws:
            return derivatives
        is_drawn = np.zeros(self._queries.n_queries, dtype=np.float32)
        is_drawn[self._random.permutation(self._queries.n_queries)[: self._n_drawn]] = 1.0
        factors = self._queries.repeat(is_drawn)
        if self._is_measured:
            gradient = getattr(self._objective, "to_host", np.array)(derivatives[0])
            self._measure(scores, gradient)
            # LightGBM writes the scores of the next round to the same array.
            self._last = scores.copy(), gradient, 1.0 - factors
        getattr(self._objective, "multiply", multiply)(derivatives, factors)
        return derivatives

    def _measure(self, scores: NDArray[Any], gradient: NDArray[Any]) -> None:
        """Add the improvement by the last round of the model whose turn it is, whose gradient is now `gradient`."""
        if self._last is not None:
            scores_before, gradient_before, is_left_out = self._last
            change = (scores - scores_before).astype(np.float32) * is_left_out
            product = np.einsum("i,i", gradient_before, change, dtype=np.float64)
            self._turns.append((change, float(product), int(is_left_out.sum(dtype=np.float64))))
        if len(self._turns) == self._objective.n_models:
            change, product, n_left_out = self._turns.popleft()
            product += np.einsum("i,i", gradient, change, dtype=np.float64)
            total, n_documents = getattr(self._objective, "total", np.asarray)([product, n_left_out])
            if n_documents:
                self.improvement.append(-float(total) / 2 / float(n_documents))


def best_round(improvement: Sequence[float] | Floats) -> int:
    """The round, counted from 1, at which the smoothed sum of improvements is largest."""
    n_smoothed = max(1, min(SMOOTHING_ROUNDS, len(improvement) // 3))
    sums = np.convolve(np.cumsum(improvement), np.full(n_smoothed, 1 / n_smoothed), "valid")
    return int(np.argmax(sums)) + n_smoothed // 2 + 1


def multiply(arrays: tuple[Any, Any], factors: NDArray[np.float32]) -> None:
    """Multiply each array by `factors` in place."""
    for array in arrays:
        array *= factors
