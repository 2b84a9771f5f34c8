"""Rounds that leave queries out, which say whether a round is of use, and when training ends.

Each round trains on a sample of the queries, and the others say what its tree is worth: a tree that
lowers the loss of queries that it was not trained on is of use. So the queries that rounds leave
out tell how long to train, and no queries are held out for good.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from boostrank.backends.interrupts import interruptible
from boostrank.backends.records import GroupedData, TrainingSpecification
from boostrank.inputs.arrays import Floats
from boostrank.surrogates.loss import BoundLoss

#: An array of NumPy, or of the library for GPUs whose arrays the loss takes.
Array = Any
#: Left-out queries choose at most so many rounds.
MAX_ROUNDS = 3000
#: They choose at least so many rounds that rounds times learning rate are this number: the first
#: rounds are too few to see a trend.
MIN_TOTAL_STEP = 4.0
#: The number of rounds where no round leaves queries out is such that rounds times learning rate
#: are this number.
FIXED_TOTAL_STEP = 15.0
#: Training ends at this multiple of the round at which the sum of improvements is largest. That
#: round is early, because the queries that a round leaves out were in the samples of rounds before
#: it (benchmarks/rounds.py).
ROUNDS_FACTOR = 2.0
#: The sum of improvements is smoothed by the mean over this share of the rounds.
SMOOTHING_SHARE = 0.2


@dataclass(frozen=True)
class _Round:
    """A round whose improvement the next round shows."""

    #: The scores and the gradient before it.
    scores: Array
    gradient: Array
    #: 1 for each document that it leaves out, otherwise 0.
    is_left_out: Array


class QuerySample:
    """Gradient and Hessian that are 0 for the queries that a round leaves out.

    It measures what the round is worth on these queries.

    Each round draws other queries, as Friedman ("Stochastic gradient boosting", 2002) draws rows,
    so that trees learn less of what is true of single queries only. The loss of the queries that
    round r leaves out is lower after the round by about ``-(g + g') f / 2``, where ``f`` is what
    the round adds to their scores, and ``g`` and ``g'`` are the gradients before and after it. This
    needs only gradients, which boosting computes anyway.

    For a loss, this is the trapezoid rule for the integral of its gradient along the step, which is
    exact for losses that are quadratic in the scores, and has an error of third order in `f` for
    others, such as softmax. Gradients with weights that depend on ranks, such as those of
    ``consistent-lambdarank``, are those of no loss. For them it is the trapezoid rule for the line
    integral of the gradient along the step, and it is inaccurate where scores cross in the step,
    because the weights jump there: for one pair with the targets (1, 0) whose difference of scores
    goes from -0.1 to 0.1, the integral is 0.89, and the rule gives 0.34.

    Queries that :func:`~boostrank.queries.groups.numbers_to_draw` gives one number are drawn
    together: those that are left out would be known from the others.

    Parameters
    ----------
    objective : BoundLoss
    specification : TrainingSpecification
    data : GroupedData
        Those of the objective.
    is_measured : bool
        Whether improvements are measured. They are not defined if earlier trees change in later
        rounds.

    Attributes
    ----------
    improvement : list of float
        For each round, the mean over the left-out documents of the decrease of the loss, whose unit
        is such that the mean Hessian is 1 where boosting starts. The last round has no value,
        because only the next round shows the gradient after it.
    """

    def __init__(
        self,
        objective: BoundLoss,
        specification: TrainingSpecification,
        data: GroupedData,
        is_measured: bool,
    ) -> None:
        self._objective = objective
        self._boost = objective.boosting_function()
        self._draws = specification.query_share < 1
        self._min_rounds = specification.min_rounds
        self._fixed_rounds = specification.fixed_rounds
        if self._draws:
            # It may read files, and a boosting library is not at work yet.
            self._numbers = interruptible(data.numbers_to_draw)
            self._n_different = int(self._numbers.max()) + 1
            self._n_drawn = max(1, round(specification.query_share * self._n_different))
        self._random = np.random.default_rng(specification.seed)
        self._is_measured = is_measured
        self._n_rounds = 0
        self.improvement: list[float] = []
        self._last: _Round | None = None

    def should_stop(self) -> bool:
        """Whether left-out queries decide when the training ends, and say that it does now."""
        expected = self.expected_rounds()
        return expected is not None and self._n_rounds >= expected

    def expected_rounds(self) -> int | None:
        """The number of rounds at which the training ends; None if left-out queries do not decide.

        It is that number if the largest sum of improvements stays where it is now.
        """
        if self._min_rounds is None:
            return None
        if not self.improvement:
            return self._fixed_rounds
        enough = int(ROUNDS_FACTOR * best_round(self.improvement))
        return min(MAX_ROUNDS, max(self._min_rounds, enough))

    def next_round(self, scores: Floats) -> tuple[Array, Array]:
        """Gradient and Hessian of the next round."""
        self._n_rounds += 1
        if not self._draws:
            return self._boost(scores)
        drawn = self._random.permutation(self._n_different)[: self._n_drawn]
        is_drawn = np.zeros(self._n_different, dtype=np.float32)
        is_drawn[drawn] = 1.0
        of_documents = self._objective.queries.repeat(is_drawn[self._numbers])
        with self._objective.memory():
            # LightGBM writes the scores of the next round to the same array.
            copied_scores = self._objective.copy(scores)
            factors = self._objective.copy(of_documents)
            derivatives = self._boost(copied_scores)
            if self._is_measured:
                gradient = derivatives[0].copy()
                self._measure(copied_scores, gradient)
                self._last = _Round(copied_scores, gradient, is_left_out=1.0 - factors)
            for values in derivatives:
                values *= factors
        return derivatives

    def _measure(self, scores: Array, gradient: Array) -> None:
        """Add the improvement by the last round; `scores` and `gradient` are those after it."""
        last = self._last
        if last is None:
            return
        change = (scores - last.scores).astype(np.float32) * last.is_left_out
        decrease = -float(np.sum((last.gradient + gradient) * change, dtype=np.float64)) / 2
        n_left_out = float(np.sum(last.is_left_out, dtype=np.float64))
        total, n_documents = self._objective.total([decrease, n_left_out])
        if n_documents:
            self.improvement.append(float(total) / float(n_documents))


def best_round(improvement: Sequence[float] | Floats) -> int:
    """The round, counted from 1, at which the smoothed sum of improvements is largest."""
    n_smoothed = max(1, int(SMOOTHING_SHARE * len(improvement)))
    # Differences of these are sums over windows, in linear time: each round asks for it.
    sums = np.concatenate([[0.0], np.cumsum(np.cumsum(improvement))])
    windows = sums[n_smoothed:] - sums[:-n_smoothed]
    return int(np.argmax(windows)) + n_smoothed // 2 + 1
