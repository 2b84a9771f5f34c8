"""What workers share while they train: sums over all of them, and what is made of such sums.

The sums go through XGBoost's collective, for LightGBM too, whose own network has no public door for them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from xgboost import collective
from xgboost.core import XGBoostError
from xgboost.tracker import RabitTracker

from boostrank.dcg import DCG
from boostrank.metrics import get_measure
from boostrank.objective import EdgeObjective, Objective
from boostrank.queries import Queries
from boostrank.segments import Floats

#: Seconds that workers wait for each other at the start and at the end.
PATIENCE = 300
#: Attempts to reach the others, which are there before; without them, all the earlier an error.
RETRIES = 1


class Meeting:
    """Where workers find each other and part. It lasts as long as this object, which stays on one of them."""

    def __init__(self, host: str, n_workers: int) -> None:
        self._tracker = RabitTracker(n_workers, host, sortby="task", timeout=PATIENCE)
        self._tracker.start()
        self.address = self._tracker.worker_args()

    def __del__(self) -> None:
        # Where a worker was lost, the tracker still waits for its farewell, and says that it was disturbed.
        with suppress(XGBoostError):
            self._tracker.free()


@contextmanager
def joined(address: dict[str, Any] | None, rank: int) -> Iterator[None]:
    """Take part in a meeting as worker `rank`; alone without an address."""
    if address is None:
        yield
        return
    # Ranks go by the order of these as strings.
    with collective.CommunicatorContext(
        **address, dmlc_task_id=f"{rank:08d}", dmlc_timeout=PATIENCE, dmlc_retry=RETRIES
    ):
        yield


def add_up(values: ArrayLike) -> Floats:
    """Sum over all workers, which must all call it, with arrays of one shape."""
    return _reduce(values, collective.Op.SUM)


def largest(value: float) -> float:
    """Largest value of all workers, which must all call it."""
    return float(_reduce([value], collective.Op.MAX)[0])


def _reduce(values: ArrayLike, operation: collective.Op) -> Floats:
    local = np.asarray(values, dtype=np.float64)
    if not collective.is_distributed():
        return local
    return collective.allreduce(local, operation).reshape(local.shape)


class StoppedError(RuntimeError):
    """Another worker had to stop."""


def stop_together(error: Exception | None) -> None:
    """Raise on every worker if one of them has an error; all must call it.

    A worker of LightGBM that leaves alone lets the others wait forever: they take the end of a connection for a pause.
    """
    if add_up(error is not None) > 0:
        raise StoppedError("another worker stopped") if error is None else error


class SharedNDCG:
    """NDCG of data that lie on several workers: the mean over the queries of all.

    Parameters
    ----------
    relevance, queries, dcg
        Those of this worker.
    present : bool, default True
        False if this worker has none of the data, and these only stand in for them.
    """

    def __init__(self, relevance: ArrayLike, queries: Queries, dcg: DCG, present: bool = True) -> None:
        measure = get_measure("ndcg", k=dcg.k, gain=dcg.gain, discount=dcg.discount)
        self._bound, self._present = measure.bind(relevance, queries), present

    def __str__(self) -> str:
        return str(self._bound)

    def mean(self, scores: NDArray[Any]) -> float:
        """Mean NDCG over the queries of all workers, which must all call it."""
        values = self._bound.per_query(scores) if self._present else np.empty(0)
        total, n_queries = add_up([values.sum(), len(values)])
        return float(total / n_queries)


def agree(objective: Objective | EdgeObjective) -> None:
    """Give the objective of each worker's data the start and the scale that one of all the data would have.

    Otherwise each would boost another loss: the constant score to start from and the unit of the Hessian depend on
    the data. All workers must call it.
    """
    if isinstance(objective, Objective):
        objective.offset = _common_start(objective)
    # The scale is such that the mean weighted Hessian at the start is 1.
    objective.scale = 1.0
    hessian = objective.gradient_hessian(np.zeros(objective.queries.n_documents, dtype=np.float32))[1]
    if isinstance(objective, EdgeObjective):
        weight = float(np.count_nonzero(hessian))
    else:
        weight = float(len(hessian) if objective.weights is None else objective.weights.sum())
    weight, total = add_up([weight, hessian.sum(dtype=np.float64)])
    objective.scale = float(weight / total) if total > 0 else 1.0


def _common_start(objective: Objective) -> float:
    """The surrogate's best constant score for the targets of all workers.

    At a constant score ``c`` a query's loss is ``W(c) - c sum(u)`` up to what does not depend on ``c``, and ``W(c)``
    depends on the number of its documents alone. So queries of equal size may be merged into one with their mean
    target and the sum of their weights; there are few sizes.
    """
    queries = objective.queries
    sizes = queries.repeat(queries.sizes)
    weights = np.ones(len(sizes)) if objective.weights is None else objective.weights
    n_sizes = int(largest(queries.sizes.max())) + 1
    weight, mass = add_up(
        [np.bincount(sizes, weights=part, minlength=n_sizes) for part in (weights, weights * objective.targets)]
    )
    present = np.flatnonzero(weight)
    if len(present) == 0:
        raise ValueError("sample_weight is zero for all queries to train on")
    merged = Queries.from_sizes(present)
    targets = merged.repeat(mass[present] / weight[present])
    return objective.surrogate.best_constant(targets, merged, merged.repeat(weight[present] / present))
