"""The ranker on XGBoost and Dask."""

from __future__ import annotations

from typing import Any, ClassVar

from boostrank import rankers
from boostrank.dask.base import DaskRanker
from boostrank.rankers.base import BoostedRanker
from boostrank.rankers.settings import Settings


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
    None means those that Dask gave it. `learning_rate` is 0.1 by default. In addition `client` takes a
    ``distributed.Client``; by default it is the one that Dask finds. `tree_method` cannot be "exact", with which
    XGBoost does not train on several workers.

    Examples
    --------
    >>> import dask.array
    >>> from distributed import Client
    >>> import boostrank
    >>> from boostrank.dask import XGBoostRanker
    >>> client = Client(n_workers=1, processes=False, dashboard_address=":0")
    >>> X, y, qid = (dask.array.from_array(part) for part in boostrank.make_ranking(n_queries=50, random_state=0))
    >>> ranker = XGBoostRanker("softmax", k=10, n_estimators=20, random_state=0).fit(X, y, qid)
    >>> ranker.predict(X).shape == y.shape, ranker.score(X, y, qid) > 0.7
    (True, True)
    >>> client.close()
    """

    _local_class: ClassVar[type[BoostedRanker]] = rankers.XGBoostRanker

    def _checked_settings(self, eval_set: Any, early_stopping_metric: str | None) -> Settings:
        settings = super()._checked_settings(eval_set, early_stopping_metric)
        if settings.values["tree_method"] == "exact":
            raise ValueError(
                "tree_method='exact' cannot be used on Dask, because XGBoost has it only for one process: use 'hist' "
                "or 'approx'"
            )
        return settings
