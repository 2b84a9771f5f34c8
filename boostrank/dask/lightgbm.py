"""The ranker on LightGBM and Dask."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

import numpy as np

from boostrank import rankers
from boostrank.backends.base import import_backend
from boostrank.backends.lightgbm.features import check_n_rows
from boostrank.dask.base import DaskRanker
from boostrank.dask.native_output import without_line
from boostrank.dask.training import Endpoint
from boostrank.rankers.base import BoostedRanker
from boostrank.rankers.settings import Settings

#: Minutes that workers wait for each other at the start, unless the parameter `time_out` says otherwise.
TIMEOUT_MINUTES = 5
#: Parameters of LightGBM's network that are found from the Dask workers.
SET_BY_DASK = ("machines", "num_machines")
_OWN_ROWS = "each of LightGBM's workers would compute it from its own rows"
#: Parameters that LightGBM has only in training on one machine, and what happens with several workers.
ONE_MACHINE_ONLY = {
    "interaction_constraints": "LightGBM's workers crash with it",
    "linear_tree": _OWN_ROWS,
    "cegb_penalty_split": _OWN_ROWS,
    "cegb_penalty_feature_lazy": _OWN_ROWS,
    "cegb_penalty_feature_coupled": _OWN_ROWS,
}
#: What LightGBM prints on every worker, in a thread that it starts to wait for the other workers. LightGBM has one
#: verbosity and one logger for each thread, so that neither of them reaches this message.
LISTENING = b"[LightGBM] [Info] Listening..."
TREE_LEARNERS = ("data", "data_parallel", "voting", "voting_parallel")


class PortEndpoint(Endpoint):
    """A port for LightGBM's network, bound from the start so that no other process takes it before LightGBM listens."""

    def __init__(self, host: str, parameters: dict[str, Any]) -> None:
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self._socket.bind(("", parameters.get("local_listen_port", 0)))
        self._port = self._socket.getsockname()[1]
        self._time_out = parameters.get("time_out", TIMEOUT_MINUTES)
        self._tree_learner = parameters.get("tree_learner", "data")
        super().__init__(f"{host}:{self._port}", parameters)

    @contextmanager
    def connect(self, addresses: list[str]) -> Iterator[dict[str, Any]]:
        """Connect LightGBM on this worker with LightGBM on the other workers while the context lasts."""
        self._socket.close()
        if len(addresses) == 1:
            yield {}
            return
        lgb = import_backend("lightgbm")
        # The network belongs to the thread; a booster is needed only to call its method. The network must be connected
        # before any Dataset is made, so that all workers have the same bins.
        data = lgb.Dataset(np.zeros((2, 1)), label=np.zeros(2), params={"verbosity": -1})
        handle = lgb.Booster({"verbosity": -1}, data)
        with without_line(LISTENING):
            handle.set_network(addresses, self._port, self._time_out, len(addresses))
        try:
            yield {"num_machines": len(addresses), "tree_learner": self._tree_learner}
        finally:
            handle.free_network()


class LightGBMRanker(DaskRanker):
    """:class:`boostrank.LightGBMRanker` on the workers of a Dask cluster: the same parameters and attributes.

    Workers train one model together on the partitions that they hold, in LightGBM's own distributed (data parallel)
    training. Each computes the targets of its queries. The offset and the scale of the objective, and the metrics in
    `evals_result_` and early stopping, are those of the data of all workers. So the model does not depend on how the
    data are partitioned, except through LightGBM's binning of features and the rounding of its sums.

    A model that was trained on a cluster therefore predicts other scores than one that was trained locally on the same
    data: locally, LightGBM finds the bins of all features from a sample of all rows; on a cluster, each worker finds
    those of some features from a sample of its own rows. Predictions of one model are the same everywhere.

    The trees may differ for two more reasons. LightGBM's workers estimate the number of rows in a leaf from its
    Hessian: where `min_child_samples` prevents a split, trees may differ a little from those of one process. So they
    may with `reg_lambda` above 0: where no split of a leaf by a feature has a gain, LightGBM in one process does not
    try this feature further down, and its workers do.

    `fit` takes fewer arguments than that of the local ranker: see its documentation. `objective` cannot be a function,
    and neither can the metrics, because each worker knows only its own queries.

    Parameters are those of :class:`boostrank.LightGBMRanker`; `n_jobs` is the number of threads of each worker, and
    None means those that Dask gave it. `learning_rate` is 0.1 by default. In addition `client` takes a
    ``distributed.Client``; by default it is the one that Dask finds. LightGBM's own `local_listen_port` fixes the port
    of the workers; each machine can have only one worker then. Its `tree_learner` may be "data" or "voting". `fit`
    raises an error for parameters with which LightGBM's workers crash or do not train one model:
    `interaction_constraints`, `linear_tree`, the penalties `cegb_...`, and a `monotone_constraints_method` other than
    "basic". LightGBM trains on at most 2^31 - 1 documents, counted over all workers.

    Examples
    --------
    >>> import dask.array
    >>> from distributed import Client
    >>> import boostrank
    >>> from boostrank.dask import LightGBMRanker
    >>> client = Client(n_workers=1, processes=False, dashboard_address=":0")
    >>> X, y, qid = (dask.array.from_array(part) for part in boostrank.make_ranking(n_queries=50, random_state=0))
    >>> ranker = LightGBMRanker("softmax", k=10, n_estimators=20, random_state=0).fit(X, y, qid)
    >>> ranker.predict(X).shape == y.shape, ranker.score(X, y, qid) > 0.7
    (True, True)
    >>> client.close()
    """

    _endpoint_class: ClassVar[type[Endpoint]] = PortEndpoint
    _local_class: ClassVar[type[BoostedRanker]] = rankers.LightGBMRanker

    def _check_size(self, n_documents: int) -> None:
        # With more, LightGBM's workers train a constant model without an error (its issue 5861).
        check_n_rows(n_documents, "on all workers")

    def _checked_settings(self, eval_set: Any, early_stopping_metric: str | None) -> Settings:
        settings = super()._checked_settings(eval_set, early_stopping_metric)
        native = settings.native
        for name in SET_BY_DASK:
            if name in native:
                raise ValueError(f"{name} follows from the Dask workers: leave it out; local_listen_port may be set")
        if native.get("tree_learner", "data") not in TREE_LEARNERS:
            raise ValueError(
                f"tree_learner must be one of {', '.join(TREE_LEARNERS)}, for rows that are distributed over workers; "
                f"got {native['tree_learner']!r}"
            )
        for name, reason in ONE_MACHINE_ONLY.items():
            if _is_set(native.get(name)):
                raise ValueError(f"{name} cannot be used on Dask: {reason}. Use boostrank.LightGBMRanker")
        if native.get("monotone_constraints_method", "basic") != "basic":
            raise ValueError(
                "monotone_constraints_method must be 'basic' on Dask, which LightGBM's workers use in place of "
                f"others; got {native['monotone_constraints_method']!r}"
            )
        return settings


def _is_set(value: Any) -> bool:
    """Whether the value of a parameter is not None, False or 0."""
    return value is not None and not (np.isscalar(value) and value in (0, ""))
