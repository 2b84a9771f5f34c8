"""The common part of both rankers on Dask: from collections to the data of each worker, and lazy scores."""

from __future__ import annotations

import inspect
import os
from collections.abc import Sequence
from copy import copy
from typing import Any, ClassVar, Self

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
from distributed import Client
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from boostrank.backends.base import Trained
from boostrank.clusters.dask import partitions
from boostrank.clusters.dask.workers import PlacedSelection, find_client, train_on_workers
from boostrank.clusters.fitting import check_n_documents, checked_settings, fit_local, specify
from boostrank.clusters.rows import as_rows
from boostrank.clusters.training import ClusterSpecification
from boostrank.inputs.arrays import Bools
from boostrank.inputs.checks import named_part
from boostrank.inputs.frames import QID, require_qid
from boostrank.metrics import Measure
from boostrank.metrics.ndcg import NDCG
from boostrank.rankers.base import BoostedRanker
from boostrank.training.arguments import takes_other_names
from boostrank.training.features import TrainingFeatures
from boostrank.training.losses import DEFAULT_LOSS, Loss
from boostrank.training.validation import EvalSet, EvalSets, eval_sets


class DaskRanker(BaseEstimator):
    """A local ranker whose `fit`, `predict`, `apply` and `score` take dask collections; a subclass sets its class.

    Attributes
    ----------
    local : LightGBMRanker or XGBoostRanker
        The local ranker, which holds the parameters and, once fitted, the model. All its public attributes can be read
        and set on this object, and its methods that take no data can be called.
    client : distributed.Client or None
        The Dask client that `fit` and `score` use; None for the one that Dask finds. It belongs to this process. It is
        no parameter of the ranker, and is not in a clone, a copy or a pickle.
    """

    __metadata_request__fit: ClassVar = {"qid": True}
    __metadata_request__score: ClassVar = {"qid": True}
    _local_class: ClassVar[type[BoostedRanker]]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        # For help() and editors: the parameters of the local ranker, and the client.
        local = inspect.signature(cls._local_class)
        *explicit, native = local.parameters.values()
        client = inspect.Parameter("client", inspect.Parameter.KEYWORD_ONLY, default=None)
        cls.__signature__ = local.replace(parameters=[*explicit, client, native])

    def __init__(
        self, objective: str | Loss = DEFAULT_LOSS, *, client: Client | None = None, **parameters: Any
    ) -> None:
        self.local = self._local_class(objective, **parameters)
        self.client = client

    def __getattr__(self, name: str) -> Any:
        if not _is_of_local(name):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(self.local, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if _is_of_local(name):
            setattr(self.local, name, value)
        else:
            super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *filter(_is_of_local, dir(self.local))})

    def __repr__(self, *arguments: Any) -> str:
        return self.local.__repr__(*arguments)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters of the local ranker by name."""
        return self.local.get_params(deep)

    def set_params(self, **params: Any) -> Self:
        """Set parameters of the local ranker, and `client`."""
        if "client" in params:
            self.client = params.pop("client")
        self.local.set_params(**params)
        return self

    @takes_other_names
    def fit(
        self,
        X: Any,
        y: Any,
        qid: Any = None,
        *,
        group: Any = None,
        sample_weight: Any = None,
        init_score: Any = None,
        eval_set: EvalSets = None,
        eval_names: Sequence[str] | None = None,
        eval_qid: Sequence[Any] | None = None,
        eval_group: Sequence[Any] | None = None,
        eval_init_score: Sequence[Any] | None = None,
        eval_metric: str | Measure | Sequence[str | Measure] | None = None,
        eval_at: Sequence[int] | None = None,
        early_stopping_metric: str | None = None,
        callbacks: Sequence[Any] | None = None,
    ) -> Self:
        """Train on the workers that hold the data.

        Collections that are not persisted are computed first. The rows of a query that lies in several partitions move
        to one of them; all other rows stay where they are.

        Parameters
        ----------
        X : dask Array or DataFrame, shape (n_documents, n_features)
            As for the local ranker. Categories of a DataFrame must be known.
        y : dask Array or Series, or ndarray, shape (n_documents,)
            Relevance labels, 0 or more. All collections must be partitioned alike; arrays with known chunks are
            rechunked where they are not. Of an ndarray, whose rows are those of X, one partition after another, each
            worker gets its part. The same holds for the next three arguments.
        qid : dask Array or Series, or ndarray, shape (n_documents,)
            Query of each row: integers or strings in any order. May be left out when X is a DataFrame with a column
            (which is no feature then) or an index named "qid".
        group : dask Array or Series, or array-like, shape (n_queries,), optional
            Number of documents of each query, instead of `qid`. The rows must be sorted by query. Each partition of a
            dask Array or Series has the sizes of the queries in the same partition of X, as for `lightgbm.dask`.
        sample_weight : dask Array or Series, or ndarray, shape (n_documents,), optional
            Weights of documents, which are relative, as for the local ranker. A query has the weight of its documents.
        init_score : dask Array or Series, or ndarray, shape (n_documents,), optional
            Scores from which boosting starts. `predict` does not add them.
        eval_set : list or dict of (X, y, qid), optional
            Validation sets of dask collections. They are evaluated over the queries of all workers in every round; the
            last one that is not the training data decides on early stopping.
        eval_names : list of str, optional
            Names of the validation sets; by default "valid_0", "valid_1", ..., and "training" for the training data.
        eval_qid, eval_group, eval_init_score : list, optional
            `qid`, `group` and `init_score` of each validation set, or None for a set that has none.
        eval_metric : str, Measure, or list of these, optional
            The metrics of validation sets; by default NDCG with the ranker's `k`, `gain` and `discount`. ERR needs its
            `max_grade`, because each worker knows the labels of its own queries only.
        eval_at : list of int, optional
            Cutoffs, as for the local ranker.
        early_stopping_metric : str, optional
            Name of the metric that decides on early stopping; the first one by default.
        callbacks : list, optional
            Callbacks of the boosting library. Each worker calls its own copy, so that what they record or print stays
            there; `evals_result_` has the values of all rounds.

        Returns
        -------
        self

        Raises
        ------
        TypeError, ValueError
            For queries, labels, weights, features or parameters that are invalid, before anything is trained.
        RuntimeError
            If a worker is lost. The ranker stays as it was, and the cluster can be used further.

        Notes
        -----
        The labels cannot be a ClickLog or ClickLabels. A ranker with ``gain="linear"`` and ``normalize="none"`` gets
        the same model from two arrays, which this process computes from the whole log::

            y, weights = labels.targets(dcg=br.DCG(k=10)), labels.document_weights
            ranker.fit(X, y, labels.qid, sample_weight=weights)

        With ``not_shown="drop"`` take the rows ``labels.kept`` of X and of the labels first. The default measure of
        validation sets is then NDCG of the estimated relevance, which is no estimate of NDCG;
        ``get_measure("dcg@10", gain="linear")`` estimates what is trained. Afterwards
        ``br.get_measure("click-dcg@10")(labels, ranker.predict(X).compute())`` is that of ``score`` on one machine.
        """
        settings = checked_settings(self.local, eval_set, early_stopping_metric)
        features, random_state = TrainingFeatures(), settings.random_state()
        per_set = {"eval_qid": eval_qid, "eval_group": eval_group, "eval_sample_weight": None}
        parts = eval_sets(eval_set, eval_names, X, y, qid, group, **per_set, eval_init_score=eval_init_score)
        X, qid = partitions.columns_to_colocate(X, y, qid, group, f"{type(self).__name__}.fit")
        partitions.check_columns(features, X, reset=True)
        client = find_client(self.client)
        data = partitions.colocate_queries(client, X, y, qid, sample_weight, init_score)
        check_n_documents(settings.backend, data.n_documents)
        validation = []
        for i, part in enumerate(parts):
            with named_part(f"eval_set[{i}]"):
                validation.append(_colocate_part(client, part, features))
        everything = np.ones(data.n_queries, dtype=bool)
        kept = settings.kept_queries(data.n_queries, random_state)
        if kept is not None:
            validation = [_selections(data, ~kept)]
        cluster = specify(
            settings,
            features,
            random_state,
            [part.name for part in parts],
            eval_metric=eval_metric,
            eval_at=eval_at,
            early_stopping_metric=early_stopping_metric,
            callbacks=callbacks,
        )

        def train(specification: ClusterSpecification, on_all: bool) -> Trained:
            chosen = everything if on_all or kept is None else kept
            return train_on_workers(client, specification, _selections(data, chosen), [] if on_all else validation)

        fit_local(self.local, cluster, features, train, settings.values["refit"], data.sameness)
        return self

    def predict(self, X: Any, **options: Any) -> Any:
        """Predict the score of each row, or, on demand, its leaves or the contributions of the features to its score.

        Parameters
        ----------
        X : dask Array or DataFrame, shape (n_documents, n_features)
            Or data in this process, as the local ranker takes them.
        **options
            Options of the local ranker's `predict`, such as `num_iteration` or `pred_contrib`.

        Returns
        -------
        dask Array, Series or DataFrame
            An Array for an Array. For a DataFrame, scores are a Series; leaves and contributions of features are a
            DataFrame with the columns 0, 1, ... Nothing is computed yet. For data in this process, the result is that
            of the local ranker.
        """
        check_is_fitted(self)
        if not partitions.is_collection(X):
            return self.local.predict(X, **options)
        local = self.to_local()
        has_qid_feature = QID in getattr(local, "feature_names_in_", ())
        partitions.check_columns(local, X if has_qid_feature else partitions.find_lazy_qid(X, None)[0])
        return _predict_lazily(local, X, options)

    # For help() and metadata routing.
    predict.__signature__ = inspect.signature(BoostedRanker.predict)  # type: ignore[attr-defined]

    def apply(self, X: Any, iteration_range: tuple[int, int] | None = None) -> Any:
        """Return the leaf of each tree in which each row ends: ``predict(X, pred_leaf=True)``.

        Parameters
        ----------
        X, iteration_range
            As in :meth:`predict`.

        Returns
        -------
        dask Array or DataFrame, shape (n_documents, n_trees)
            For data in this process, the result is that of the local ranker.
        """
        return self.predict(X, pred_leaf=True, iteration_range=iteration_range)

    def score(self, X: Any, y: Any, qid: Any = None, sample_weight: Any = None) -> float:
        """Mean NDCG@k over queries, also over those that lie in several partitions; see the local ranker's `score`.

        Parameters
        ----------
        X, y, qid
            As in `fit`; or data in this process, as the local ranker takes them.
        sample_weight : array-like, optional
            Weights of the queries in the mean; for data in this process only.

        Returns
        -------
        float

        Raises
        ------
        ValueError
            For weights and collections, and as the local ranker's `score`.
        """
        if not partitions.is_collection(X):
            return self.local.score(X, y, qid, sample_weight)
        if sample_weight is not None:
            raise ValueError(
                "score on Dask collections does not take sample_weight: compute predict(X), labels and query ids, and "
                "pass them to boostrank.ndcg_score with sample_weight"
            )
        partitions.refuse_clicks(y)
        _, qid = partitions.find_lazy_qid(X, qid)
        qid = require_qid(qid, f"{type(self).__name__}.score")
        client, measure = find_client(self.client), NDCG(k=self.k, gain=self.gain, discount=self.discount)
        colocated = partitions.colocate_queries(client, self.predict(X), y, qid)
        sums = [partitions.submit(client, part.worker, _sum_of_measure, part.rows, measure) for part in colocated.parts]
        return float(sum(client.gather(sums)) / colocated.n_queries)

    def load_model(self, path: str | os.PathLike[str]) -> Self:
        """Read a model into this ranker; see the local ranker's `load_model`."""
        self.local.load_model(path)
        return self

    def to_local(self) -> BoostedRanker:
        """The local ranker with the same parameters and, if this one is fitted, the same model."""
        return copy(self.local)

    def __getstate__(self) -> dict[str, Any]:
        """State of a copy or a pickle: its own local ranker, and no client, which belongs to this process."""
        return {**super().__getstate__(), "local": copy(self.local), "client": None}

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self.local, "booster_")

    def __sklearn_tags__(self) -> Any:
        return self.local.__sklearn_tags__()


def _is_of_local(name: str) -> bool:
    """Whether a ranker on Dask leaves the attribute of this name to its local ranker."""
    return not name.startswith("_") and name not in ("local", "client")


def _colocate_part(client: Client, part: EvalSet, features: TrainingFeatures) -> list[PlacedSelection]:
    """One validation set, with each of its queries on one worker."""
    X, qid = partitions.columns_to_colocate(part.X, part.y, part.qid, part.group, "eval_set")
    partitions.check_columns(features, X)
    data = partitions.colocate_queries(client, X, part.y, qid, init_score=part.init_score)
    return _selections(data, np.ones(data.n_queries, dtype=bool))


def _selections(data: partitions.Partitions, chosen: Bools) -> list[PlacedSelection]:
    """The chosen queries of each partition that has any."""
    return [PlacedSelection(worker, [rows, chosen[own]]) for rows, worker, own in data.parts if chosen[own].any()]


def _sum_of_measure(part: Sequence[Any], measure: Measure) -> float:
    """Sum of the measure over the queries of a partition whose features are scores."""
    rows = as_rows(part)
    return float(np.sum(measure(rows.relevance, rows.X, rows.qid, per_query=True)))


def _predict_lazily(local: BoostedRanker, X: Any, options: dict[str, Any]) -> Any:
    """Predictions of a fitted ranker for each row of a dask Array or DataFrame; `options` are checked at once."""
    ranker = dask.delayed(local)
    if isinstance(X, dd.DataFrame):
        nothing = _as_frame(_predict_block(X._meta_nonempty, local, options)[:0], X._meta.index[:0])
        return X.map_partitions(_predict_partition, ranker, options, nothing, meta=nothing)
    nothing = _predict_block(np.zeros((1, X.shape[1])), local, options)[:0]
    shape: dict[str, Any] = {"drop_axis": 1} if nothing.ndim == 1 else {"chunks": (X.chunks[0], (nothing.shape[1],))}
    return X.rechunk({1: -1}).map_blocks(
        _predict_block, ranker, options, nothing=nothing, dtype=nothing.dtype, meta=nothing, **shape
    )


def _predict_block(
    X: Any, ranker: BoostedRanker, options: dict[str, Any], nothing: NDArray[Any] | None = None
) -> NDArray[Any]:
    """Predictions for a block of rows; `nothing` are those for a block without rows."""
    if nothing is not None and not X.shape[0]:
        return nothing
    found = ranker.predict(X, **options)
    # Contributions are sparse for sparse features.
    return found if isinstance(found, np.ndarray) else found.toarray()


def _predict_partition(X: Any, ranker: BoostedRanker, options: dict[str, Any], nothing: Any) -> Any:
    return _as_frame(_predict_block(X, ranker, options), X.index) if len(X) else nothing


def _as_frame(values: NDArray[Any], index: Any) -> Any:
    return pd.Series(values, index=index, name="score") if values.ndim == 1 else pd.DataFrame(values, index=index)
