"""Communication between the workers of one training: sums, and the boosting library's network.

The sums go through XGBoost's collective, for LightGBM too, because LightGBM's own network has no
public function for them.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from boostrank.backends.libraries import import_backend
from boostrank.inputs.arrays import Floats
from boostrank.metrics import BoundMeasure, Measure
from boostrank.queries.queries import Queries
from boostrank.queries.segments import Segments
from boostrank.queries.weights import scale_weights
from boostrank.surrogates.base import BoundSurrogate
from boostrank.surrogates.loss import ScaledLoss, unit_scale

try:
    from xgboost import collective
    from xgboost.core import XGBoostError
    from xgboost.tracker import RabitTracker
except ImportError as error:
    raise ImportError(
        f"on clusters, sums of workers go through XGBoost, also for LightGBM ({error}): pip "
        "install xgboost",
        name=error.name,
    ) from error

#: Seconds that workers wait for each other at the start and at the end.
TIMEOUT_SECONDS = 300
#: Seconds that the tracker waits for the last worker to disconnect, where no client keeps it alive
#: until then.
CLOSING_SECONDS = 60
#: Attempts to connect. The tracker and the other workers run already when a worker connects, so
#: that one attempt is enough, and an error shows without a delay.
RETRIES = 1
#: Minutes that LightGBM's workers wait for each other at the start, unless the parameter `time_out`
#: says otherwise.
TIMEOUT_MINUTES = 5
#: Once a worker has failed, the others get this many seconds to raise their own errors.
ERROR_SECONDS = 15.0
#: Types of errors that follow from the error of another worker: those of the backends' networks,
#: and our own.
CONSEQUENCES = ("LightGBMError", "XGBoostError", "StoppedError")

T = TypeVar("T")
#: The address of a tracker: the arguments of XGBoost's communicator, by name.
Address = dict[str, Any]


class Tracker:
    """The tracker of XGBoost's collective, which connects the workers.

    It runs as long as this object lives.

    Attributes
    ----------
    address : dict
        Arguments of :func:`communicator`.
    """

    def __init__(self, host: str, n_workers: int) -> None:
        self._tracker = RabitTracker(n_workers, host, sortby="task", timeout=TIMEOUT_SECONDS)
        self._tracker.start()
        self.address: Address = self._tracker.worker_args()

    def wait(self) -> None:
        """Wait until all workers have disconnected, which they do through the tracker."""
        with suppress(XGBoostError, ValueError):
            self._tracker.wait_for(CLOSING_SECONDS)

    def __del__(self) -> None:
        # Where a worker was lost, the tracker still waits for it, and raises an error when it is
        # stopped.
        with suppress(XGBoostError):
            self._tracker.free()


def communicator(tracker: Address, rank: int) -> AbstractContextManager[Any]:
    """Connect to the other workers as worker `rank` while the context lasts.

    `tracker` is the address of a Tracker.
    """
    # The tracker sorts workers by these ids as strings.
    settings = {
        "dmlc_task_id": f"{rank:08d}",
        "dmlc_timeout": TIMEOUT_SECONDS,
        "dmlc_retry": RETRIES,
    }
    return collective.CommunicatorContext(**tracker, **settings)


@contextmanager
def lightgbm_network(host: str, parameters: Mapping[str, object]) -> Iterator[dict[str, Any]]:
    """Connect LightGBM on this worker with LightGBM on the others while the context lasts.

    All workers must call it. Gives parameters that LightGBM needs besides. `host` is the name or
    the address by which others reach this worker.
    """
    wanted_port = parameters.get("local_listen_port", 0)
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as reserved:
        # Bound until all have their ports, so that no other process takes it before LightGBM
        # listens.
        compute_on_all_workers(lambda: reserved.bind(("", wanted_port)))
        port = reserved.getsockname()[1]
        addresses = [
            collective.broadcast(f"{host}:{port}", rank)
            for rank in range(collective.get_world_size())
        ]
    if len(addresses) == 1:
        yield {}
        return
    lgb = import_backend("lightgbm")
    # The network belongs to the thread; a booster is needed only to call its method. The network
    # must be connected before any Dataset is made, so that all workers have the same bins.
    data = lgb.Dataset(np.zeros((2, 1)), label=np.zeros(2), params={"verbosity": -1})
    handle = lgb.Booster({"verbosity": -1}, data)
    minutes = parameters.get("time_out", TIMEOUT_MINUTES)
    handle.set_network(addresses, port, minutes, len(addresses))
    tree_learner = parameters.get("tree_learner", "data")
    try:
        yield {"num_machines": len(addresses), "tree_learner": tree_learner}
    finally:
        handle.free_network()


def allreduce(values: ArrayLike, operation: collective.Op = collective.Op.SUM) -> Floats:
    """Sum, or another operation, over all workers.

    All of them must call it, with arrays of one shape.
    """
    local = np.asarray(values, dtype=np.float64)
    return collective.allreduce(local, operation).reshape(local.shape)


def allreduce_max(value: float) -> float:
    """Largest value of all workers, which must all call it."""
    return float(allreduce([value], collective.Op.MAX)[0])


class StoppedError(RuntimeError):
    """Another worker stopped with an error, or the training was cancelled."""


def compute_on_all_workers(compute: Callable[[], T]) -> T:
    """Return the result of a function; if it raises an error on one worker, all raise one.

    All workers must call it. Otherwise the other workers of LightGBM would wait forever: LightGBM
    takes a closed connection for a slow one. The errors of the others are StoppedErrors that say
    what happened.
    """
    error: Exception | None = None
    text = ""
    rank = -1
    try:
        result = compute()
    except Exception as failure:
        error = failure
        text = f"{type(error).__name__}: {error}"
        rank = collective.get_rank()
    failed = int(allreduce_max(rank))
    if failed < 0:
        return result
    text = collective.broadcast(text, failed)
    if error is not None:
        raise error
    raise StoppedError(f"worker {failed} stopped with {text}")


def raise_cause(errors: Sequence[BaseException]) -> None:
    """Raise the first error that does not follow from that of another worker, or else the first.

    If there are no errors, nothing happens.
    """
    if errors:
        raise min(errors, key=lambda error: type(error).__name__ in CONSEQUENCES)


class GlobalMeasure(BoundMeasure):
    """A measure of validation data that lie on several workers: the mean over the queries of all.

    Parameters
    ----------
    measure : Measure
    queries : Queries
    local : BoundMeasure or None
        The measure bound to the validation data of this worker; None if this worker has none.
    """

    def __init__(self, measure: Measure, queries: Queries, local: BoundMeasure | None) -> None:
        super().__init__(measure, queries)
        self._local = local

    def per_query(self, scores: Floats) -> Floats:
        """Value of each query of this worker."""
        return np.empty(0) if self._local is None else self._local.per_query(scores)

    def mean(self, scores: Floats) -> float:
        """Mean over the queries of all workers, which must all call it."""
        values = compute_on_all_workers(lambda: self.per_query(scores))
        defined = values[~np.isnan(values)]
        total, divisor = allreduce([defined.sum(), len(defined)])
        return float(total / divisor)


def global_unit_mean(weights: Floats, *, keep_ordinary: bool = False) -> Floats:
    """Weights of this worker, divided by the mean of those of all workers that are not 0.

    `keep_ordinary` is that of :func:`boostrank.queries.weights.unit_mean`. All workers must call
    it.
    """
    total, n_documents = allreduce([weights.sum(), np.count_nonzero(weights)])
    return scale_weights(weights, total, n_documents, keep_ordinary)


def use_global_start(objective: ScaledLoss) -> None:
    """Give the loss of each worker the offset and the scale that a loss of all data would have.

    Both depend on the data. Without this, each worker would boost another loss. All workers must
    call it.
    """
    if isinstance(objective, BoundSurrogate):
        objective.offset = _best_constant(objective)
    objective.scale = 1.0
    zeros = np.zeros(objective.queries.n_documents, dtype=np.float32)
    _, hessian = objective.gradient_hessian(zeros)
    n_documents, total = allreduce([objective.n_weighted(hessian), hessian.sum(dtype=np.float64)])
    objective.scale = float(unit_scale(n_documents, total))


def _best_constant(objective: BoundSurrogate) -> float:
    """The surrogate's best constant score for the targets of all workers.

    At a constant score ``c`` a query's loss is ``W(c) - c sum(u)`` plus terms that do not depend on
    ``c``, and ``W(c)`` depends on the number of its documents alone. So all queries of equal size
    may be replaced by one query with their mean target and the sum of their weights; there are few
    sizes.
    """
    queries = objective.queries
    sizes = queries.repeat(queries.sizes)
    weights = np.ones(len(sizes)) if objective.weights is None else objective.weights
    n_sizes = int(allreduce_max(queries.sizes.max())) + 1
    weight_by_size = np.bincount(sizes, weights, n_sizes)
    mass_by_size = np.bincount(sizes, weights * objective.targets, n_sizes)
    weight, mass = allreduce([weight_by_size, mass_by_size])
    present = np.flatnonzero(weight)
    merged = Segments.from_sizes(present)
    targets = merged.repeat(mass[present] / weight[present])
    merged_weights = merged.repeat(weight[present] / present)
    return objective.surrogate.best_constant(targets, merged, merged_weights)
