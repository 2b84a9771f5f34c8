"""The rankers on Dask: from collections to the data of each worker, and lazy scores."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, Self

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
from distributed import Client, get_client
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from boostrank import rankers
from boostrank.clusters import driver
from boostrank.clusters.dask import partitions
from boostrank.clusters.dask.partitions import Collection, Column, Table
from boostrank.clusters.dask.trainings import train_on_workers
from boostrank.clusters.rows import Features
from boostrank.inputs.checks import as_random_state, named_part
from boostrank.inputs.table import QID
from boostrank.metrics import Measure
from boostrank.metrics.graded import NDCG
from boostrank.rankers.base import BoostedRanker
from boostrank.surrogates.loss import Loss
from boostrank.training.arguments import (
    EvalArguments,
    EvalSets,
    TrainingArguments,
    takes_other_names,
)
from boostrank.training.features import TrainingFeatures
from boostrank.training.losses import DEFAULT_LOSS
from boostrank.training.validation import eval_sets

#: Options of the `predict` of a ranker.
Options = Mapping[str, Any]


class DaskRanker(BoostedRanker):
    """The methods of a ranker that take dask collections: `fit`, `predict`, `apply` and `score`.

    A subclass is also a subclass of the local ranker, which it names as `_local_class`.

    Attributes
    ----------
    client : distributed.Client or None
        The Dask client that `fit` and `score` use; None for the one that Dask finds. It belongs to
        this process. It is no parameter of the ranker, and is not in a clone, a copy or a pickle.
    """

    client: Client | None = None
    _local_class: ClassVar[type[BoostedRanker]]

    def __init__(
        self,
        objective: str | Loss = DEFAULT_LOSS,
        *,
        client: Client | None = None,
        **parameters: Any,
    ) -> None:
        super().__init__(objective, **parameters)
        if client is not None:
            self.client = client

    @classmethod
    def _get_param_names(cls) -> list[str]:
        return [name for name in super()._get_param_names() if name != "client"]

    @takes_other_names
    def fit(  # type: ignore[override]
        self,
        X: Table,
        y: Column,
        qid: Column | None = None,
        *,
        group: Column | None = None,
        sample_weight: Column | None = None,
        eval_set: EvalSets = None,
        eval_names: Sequence[str] | None = None,
        eval_qid: Sequence[Column | None] | None = None,
        eval_group: Sequence[Column | None] | None = None,
        eval_metric: str | Measure | Sequence[str | Measure] | None = None,
        eval_at: Sequence[int] | None = None,
        early_stopping_metric: str | None = None,
        callbacks: Sequence[object] | None = None,
    ) -> Self:
        """Train on the workers that hold the data.

        Collections that are not persisted are computed first. The rows of a query that lies in
        several partitions move to one; all other rows stay where they are.

        Parameters
        ----------
        X : dask Array or DataFrame, shape (n_documents, n_features)
            As for the local ranker. Categories of a DataFrame must be known.
        y : dask Array or Series, shape (n_documents,)
            Relevance labels, 0 or more. All collections must be partitioned alike; arrays with
            known chunks are rechunked where they are not.
        qid : dask Array or Series, shape (n_documents,)
            Query of each row: integers or strings in any order. May be left out when X is a
            DataFrame with a column (which is no feature then) or an index named "qid".
        group : dask Array or Series, shape (n_queries,), optional
            Number of documents of each query, instead of `qid`. The rows must be sorted by query.
            Each partition has the sizes of the queries in the same partition of X, as for
            `lightgbm.dask`.
        sample_weight : dask Array or Series, shape (n_documents,), optional
            Weights of documents, which are relative, as for the local ranker. A query has the
            weight of its documents.
        eval_set : list or dict of (X, y, qid), optional
            Validation sets of dask collections. They are evaluated over the queries of all workers
            in every round; the last one that is not the training data decides on early stopping.
        eval_names : list of str, optional
            Names of the validation sets; by default "valid_0", "valid_1", ..., and "training" for
            the training data.
        eval_qid, eval_group : list, optional
            `qid` and `group` of each validation set, or None for a set that has none.
        eval_metric : str, Measure, or list of these, optional
            The metrics of validation sets; by default NDCG with the ranker's `k`, `gain` and
            `discount`. ERR needs its `max_grade`, because each worker knows the labels of its own
            queries only.
        eval_at : list of int, optional
            Cutoffs, as for the local ranker.
        early_stopping_metric : str, optional
            Name of the metric that decides on early stopping; the first one by default.
        callbacks : list, optional
            Callbacks of the boosting library. Each worker calls its own copy, so that what they
            record or print stays there; `evals_result_` has the values of all rounds.

        Returns
        -------
        self

        Raises
        ------
        TypeError, ValueError
            For queries, labels, weights, features or parameters that are invalid, before anything
            is trained.
        RuntimeError
            If a worker is lost. The ranker stays as it was, and the cluster can be used further.

        Notes
        -----
        The labels cannot be a ClickLog, ClickLabels or MultipleLabels, for which see the guide. A
        ranker with ``gain="linear"`` and ``normalize="none"`` gets the model of ClickLabels from
        three arrays, which this process computes from the whole log::

            columns = labels.targets(dcg=br.DCG(k=10)), labels.qid, labels.document_weights
            y, qid, weights = (da.from_array(column, chunks=X.chunks[0]) for column in columns)
            ranker.fit(X, y, qid, sample_weight=weights)

        The default measure of validation sets is then NDCG of the estimated relevance, which is no
        estimate of NDCG; ``get_measure("dcg@10", gain="linear")`` estimates what is trained.
        Afterwards ``br.get_measure("click-dcg@10")(labels, ranker.predict(X).compute())`` is that
        of ``score`` on one machine.
        """
        settings = driver.checked_settings(self, eval_set, early_stopping_metric)
        random_state = as_random_state(settings.random_state)
        sets = eval_sets(
            EvalArguments(eval_set, eval_names, eval_qid, eval_group),
            TrainingArguments(X, y, qid, group),
        )
        receiver = f"{type(self).__name__}.fit"
        features = TrainingFeatures()
        X, qid = partitions.columns_to_colocate(X, y, qid, group, receiver)
        partitions.check_columns(features, X, reset=True)
        client = self.client or get_client()
        data = partitions.colocate_queries(client, X, y, qid, sample_weight)
        validation = {}
        for i, watched in enumerate(sets):
            with named_part(f"eval_set[{i}]"):
                X, qid = partitions.columns_to_colocate(
                    watched.X, watched.y, watched.qid, watched.group, "eval_set"
                )
                partitions.check_columns(features, X)
                validation[watched.name] = partitions.colocate_queries(client, X, watched.y, qid)
        selected = driver.select_queries(settings, random_state, data, validation)
        driver.fit_ranker(
            self,
            settings,
            features,
            data.n_documents,
            random_state,
            partial(train_on_workers, client, *selected),
            eval_metric=eval_metric,
            eval_at=eval_at,
            callbacks=callbacks,
            early_stopping_metric=early_stopping_metric,
        )
        return self

    def predict(self, X: Collection | ArrayLike, **options: Any) -> Any:
        """Predict the score of each row.

        On demand, predict its leaves, or the contributions of the features to its score.

        Parameters
        ----------
        X : dask Array or DataFrame, shape (n_documents, n_features)
            Or data in this process, as the local ranker takes them. A ranker with `query_features`
            takes a DataFrame with a column or an index "qid", in which all rows of a query are in
            one partition.
        **options
            Options of the local ranker's `predict`, such as `num_iteration` or `pred_contrib`.

        Returns
        -------
        dask Array, Series or DataFrame
            An Array for an Array. For a DataFrame, scores are a Series; leaves and contributions of
            features are a DataFrame with the columns 0, 1, ... Nothing is computed yet. For data in
            this process, the result is that of the local ranker.
        """
        if not partitions.is_collection(X):
            return super().predict(X, **options)
        check_is_fitted(self)
        has_qid_feature = QID in getattr(self, "feature_names_in_", ())
        features, qid = partitions.find_lazy_qid(X, None)
        partitions.check_columns(self, X if has_qid_feature else features)
        if self.query_features_ is not None:
            partitions.require_whole_queries(qid)
        return _predict_lazily(self.to_local(), X, options)

    def score(
        self,
        X: Collection | ArrayLike,
        y: Collection | ArrayLike,
        qid: Collection | ArrayLike | None = None,
        sample_weight: Collection | ArrayLike | None = None,
    ) -> float:
        """Mean NDCG@k over queries, also over those that lie in several partitions.

        See the `score` of the local ranker.

        Parameters
        ----------
        X, y, qid
            As in `fit`; or data in this process, as the local ranker takes them.
        sample_weight : array-like, optional
            Weights of the queries in the mean, in the sequence in which they first appear; also a
            dask Array or Series.

        Returns
        -------
        float

        Raises
        ------
        ValueError
            As the local ranker's `score`.

        Notes
        -----
        Scores, labels and query ids must fit into the memory of this process.
        """
        if not partitions.is_collection(X):
            return super().score(X, y, qid, sample_weight)
        _, qid = partitions.columns_to_colocate(X, y, qid, None, f"{type(self).__name__}.score")
        client = self.client or get_client()
        columns = client.compute([self.predict(X), y, qid, sample_weight])
        scores, y, qid, weights = client.gather(columns)
        dcg = self._dcg
        measure = NDCG(k=dcg.k, gain=dcg.gain, discount=dcg.discount)
        return float(measure(y, scores, qid, sample_weight=weights))

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        return repr(self.to_local())

    def to_local(self) -> BoostedRanker:
        """The local ranker with the same parameters and, if this one is fitted, the same model."""
        local = self._local_class()
        for name, value in vars(self).items():
            if name not in ("client", "_trained_on"):
                local.__dict__[name] = value
        return local

    def __getstate__(self) -> dict[str, Any]:
        """State of a copy or a pickle: without the client, which belongs to this process."""
        return {name: value for name, value in super().__getstate__().items() if name != "client"}


class LightGBMRanker(DaskRanker, rankers.LightGBMRanker):
    """:class:`boostrank.LightGBMRanker` on the workers of a Dask cluster.

    It has the same parameters and attributes.

    Workers train one model together on the partitions that they hold, in LightGBM's own distributed
    (data parallel) training. Each computes the targets of its queries. The offset and the scale of
    the objective, and the metrics in `evals_result_` and early stopping, are those of the data of
    all workers. So the model does not depend on how the data are partitioned, except through
    LightGBM's binning of features and the rounding of its sums.

    A model that was trained on a cluster therefore predicts other scores than one that was trained
    locally on the same data: locally, LightGBM finds the bins of all features from a sample of all
    rows; on a cluster, each worker finds those of some features from a sample of its own rows.
    Predictions of one model are the same everywhere.

    The trees may differ for two more reasons. LightGBM's workers estimate the number of rows in a
    leaf from its Hessian: where `min_child_samples` prevents a split, trees may differ a little
    from those of one process. So they may with `reg_lambda` above 0: where no split of a leaf by a
    feature has a gain, LightGBM in one process does not try this feature further down, and its
    workers do.

    `fit` takes fewer arguments than that of the local ranker: see its documentation. `objective`
    cannot be a function, and neither can the metrics, because each worker knows only its own
    queries.

    Parameters are those of :class:`boostrank.LightGBMRanker`; `n_jobs` is the number of threads of
    each worker, and None means those that Dask gave it. In addition `client` takes a
    ``distributed.Client``; by default it is the one that Dask finds. LightGBM's own
    `local_listen_port` fixes the port of the workers; each machine can have only one worker then.
    Its `tree_learner` may be "data" or "voting". `fit` raises an error for parameters with which
    LightGBM's workers crash or do not train one model: `interaction_constraints`, `linear_tree`,
    the penalties `cegb_...`, and a `monotone_constraints_method` other than "basic". LightGBM
    trains on at most 2^31 - 1 documents, counted over all workers.

    Examples
    --------
    >>> import dask.array
    >>> from distributed import Client
    >>> import boostrank as br
    >>> client = Client(n_workers=1, processes=False, dashboard_address=":0")
    >>> X, y, qid = (
    ...     dask.array.from_array(column)
    ...     for column in br.make_ranking(n_queries=50, random_state=0)
    ... )
    >>> ranker = br.dask.LightGBMRanker("softmax", k=10, random_state=0).fit(X, y, qid)
    >>> ranker.predict(X).shape == y.shape, ranker.score(X, y, qid) > 0.7
    (True, True)
    >>> client.close()
    """

    _local_class = rankers.LightGBMRanker


class XGBoostRanker(DaskRanker, rankers.XGBoostRanker):
    """:class:`boostrank.XGBoostRanker` on the workers of a Dask cluster.

    It has the same parameters and attributes.

    Workers train one model together on the partitions that they hold, in XGBoost's own distributed
    training. Each computes the targets of its queries. The offset and the scale of the objective,
    and the metrics in `evals_result_` and early stopping, are those of the data of all workers. So
    the model does not depend on how the data are partitioned, except through XGBoost's binning of
    features and the rounding of its sums. With weights, XGBoost's own objectives do depend on it,
    because each worker divides its weights by their mean.

    A model that was trained on a cluster therefore predicts other scores than one that was trained
    locally on the same data: locally, the bins of a feature come from a summary of all its values,
    and on a cluster from the merged summaries of the workers, which is not quite the same.
    Predictions of one model are the same everywhere.

    `fit` takes fewer arguments than that of the local ranker: see its documentation. `objective`
    cannot be a function, and neither can the metrics, because each worker knows only its own
    queries.

    Parameters are those of :class:`boostrank.XGBoostRanker`; `n_jobs` is the number of threads of
    each worker, and None means those that Dask gave it. In addition `client` takes a
    ``distributed.Client``; by default it is the one that Dask finds. `tree_method` cannot be
    "exact", with which XGBoost does not train on several workers.

    Examples
    --------
    >>> import dask.array
    >>> from distributed import Client
    >>> import boostrank as br
    >>> client = Client(n_workers=1, processes=False, dashboard_address=":0")
    >>> X, y, qid = (
    ...     dask.array.from_array(column)
    ...     for column in br.make_ranking(n_queries=50, random_state=0)
    ... )
    >>> ranker = br.dask.XGBoostRanker("softmax", k=10, random_state=0).fit(X, y, qid)
    >>> ranker.predict(X).shape == y.shape, ranker.score(X, y, qid) > 0.7
    (True, True)
    >>> client.close()
    """

    _local_class = rankers.XGBoostRanker


def _predict_lazily(local: BoostedRanker, X: Table, options: Options) -> Collection:
    """Predictions of a fitted ranker for each row of a dask Array or DataFrame.

    The options are checked at once.
    """
    ranker = dask.delayed(local)
    is_frame = isinstance(X, dd.DataFrame)
    example = X._meta_nonempty if is_frame else np.zeros((1, X.shape[1]))
    with warnings.catch_warnings():
        # The rows that Dask makes up are no lists to score.
        warnings.simplefilter("ignore")
        nothing = _predict_block(example, local, options)[:0]
    if is_frame:
        return X.map_partitions(_predict_block, ranker, options, nothing, meta=nothing)
    shape: dict[str, Any] = {"drop_axis": 1}
    if nothing.ndim == 2:
        shape = {"chunks": (X.chunks[0], (nothing.shape[1],))}
    return X.rechunk({1: -1}).map_blocks(
        _predict_block, ranker, options, nothing=nothing, meta=nothing, **shape
    )


def _predict_block(
    X: Features,
    ranker: BoostedRanker,
    options: Options,
    nothing: NDArray[Any] | pd.DataFrame | pd.Series | None = None,
) -> Any:
    """Predictions for a block of rows; `nothing` are those for a block without rows."""
    if nothing is not None and not X.shape[0]:
        return nothing
    values = ranker.predict(X, **options)
    if not isinstance(values, np.ndarray):
        # Contributions are sparse for sparse features.
        values = values.toarray()
    if not isinstance(X, pd.DataFrame):
        return values
    if values.ndim == 1:
        return pd.Series(values, X.index, name="score")
    return pd.DataFrame(values, X.index)
