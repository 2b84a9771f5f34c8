"""The rankers on Dask of LightGBM and of XGBoost."""

from __future__ import annotations

from typing import ClassVar

from boostrank import rankers
from boostrank.clusters.dask.base import DaskRanker
from boostrank.rankers.base import BoostedRanker


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
    None means those that Dask gave it. In addition `client` takes a
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
    >>> from boostrank.clusters.dask import LightGBMRanker
    >>> client = Client(n_workers=1, processes=False, dashboard_address=":0")
    >>> X, y, qid = (dask.array.from_array(part) for part in boostrank.make_ranking(n_queries=50, random_state=0))
    >>> ranker = LightGBMRanker("softmax", k=10, n_estimators=20, random_state=0).fit(X, y, qid)
    >>> ranker.predict(X).shape == y.shape, ranker.score(X, y, qid) > 0.7
    (True, True)
    >>> client.close()
    """

    _local_class: ClassVar[type[BoostedRanker]] = rankers.LightGBMRanker


class XGBoostRanker(DaskRanker):
    """:class:`boostrank.XGBoostRanker` on the workers of a Dask cluster: the same parameters and attributes.

    Workers train one model together on the partitions that they hold, in XGBoost's own distributed training. Each
    computes the targets of its queries. The offset and the scale of the objective, and the metrics in `evals_result_`
    and early stopping, are those of the data of all workers. So the model does not depend on how the data are
    partitioned, except through XGBoost's binning of features and the rounding of its sums. With weights, XGBoost's own
    objectives do depend on it, because each worker divides its weights by their mean.

    A model that was trained on a cluster therefore predicts other scores than one that was trained locally on the same
    data: locally, the bins of a feature come from a summary of all its values, and on a cluster from the merged
    summaries of the workers, which is not quite the same. Predictions of one model are the same everywhere.

    `fit` takes fewer arguments than that of the local ranker: see its documentation. `objective` cannot be a function,
    and neither can the metrics, because each worker knows only its own queries.

    Parameters are those of :class:`boostrank.XGBoostRanker`; `n_jobs` is the number of threads of each worker, and
    None means those that Dask gave it. In addition `client` takes a
    ``distributed.Client``; by default it is the one that Dask finds. `tree_method` cannot be "exact", with which
    XGBoost does not train on several workers.

    Examples
    --------
    >>> import dask.array
    >>> from distributed import Client
    >>> import boostrank
    >>> from boostrank.clusters.dask import XGBoostRanker
    >>> client = Client(n_workers=1, processes=False, dashboard_address=":0")
    >>> X, y, qid = (dask.array.from_array(part) for part in boostrank.make_ranking(n_queries=50, random_state=0))
    >>> ranker = XGBoostRanker("softmax", k=10, n_estimators=20, random_state=0).fit(X, y, qid)
    >>> ranker.predict(X).shape == y.shape, ranker.score(X, y, qid) > 0.7
    (True, True)
    >>> client.close()
    """

    _local_class: ClassVar[type[BoostedRanker]] = rankers.XGBoostRanker
