"""What both rankers on Dask share: from collections to shares of workers, and lazy scores."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Self

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
from distributed import Client
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from boostrank.dask.partitions import Partitions, bring_together, is_collection, split_qid
from boostrank.dask.rows import Rows, flat, plain_ids
from boostrank.dask.training import Door, Order, Share
from boostrank.dask.workers import find_client, train_on_workers
from boostrank.dcg import DCG, check_relevance
from boostrank.frames import QID
from boostrank.metrics import check_scores, get_measure
from boostrank.model_selection import split_queries
from boostrank.queries import Queries
from boostrank.rankers.base import BoostedRanker
from boostrank.segments import Bools, Floats
from boostrank.weights import document_weights


class DaskRanker(BoostedRanker):
    """A ranker whose `fit` takes dask collections; a subclass adds the local ranker whose parameters it has."""

    _door: ClassVar[type[Door]] = Door
    _local: ClassVar[type[BoostedRanker]]
    _client: Client | None = None

    @property
    def client(self) -> Client | None:
        """The Dask client that `fit` and `score` use; None for the one that Dask finds. It is not copied or pickled."""
        return self._client

    @client.setter
    def client(self, client: Client | None) -> None:
        self._client = client

    def fit(
        self,
        X: Any,
        y: Any,
        qid: Any = None,
        *,
        sample_weight: Any = None,
        eval_set: list[tuple[Any, ...]] | None = None,
    ) -> Self:
        """Train on the workers that hold the data.

        Collections are computed where they are not persisted. Partitions that hold their queries whole stay where they
        are; rows of queries that lie in several partitions move to one of them.

        Parameters
        ----------
        X : dask Array or DataFrame, shape (n_documents, n_features)
            As for the local ranker. Categories of a DataFrame must be known.
        y : dask Array or Series, shape (n_documents,)
            Relevance labels, 0 or more. All collections have the same partitions, or are arrays with known chunks.
        qid : dask Array or Series, shape (n_documents,)
            Query of each row: integers or strings in any order. May be left out when X is a DataFrame with a column
            (which is no feature then) or an index named "qid".
        sample_weight : dask Array or Series, shape (n_documents,), or array of shape (n_queries,), optional
            Weights of documents, or of queries in order of first appearance.
        eval_set : list of (X, y, qid), optional
            Validation sets, dask collections too; NDCG@k over the queries of all workers is recorded every round, and
            the last set decides on early stopping.

        Returns
        -------
        self

        Raises
        ------
        TypeError, ValueError
            For queries, labels, weights, features or parameters that are invalid, before anything is trained.
        RuntimeError
            If a worker is lost. The ranker stays as it was, and the cluster can be used further.
        """
        return super().fit(X, y, qid, sample_weight=sample_weight, eval_set=eval_set)

    def predict(self, X: Any) -> Any:
        """Scores, lazily: a dask Array for one, a dask Series for a DataFrame; of data in this process at once."""
        check_is_fitted(self, "booster_")
        if not is_collection(X):
            return super().predict(X)
        ranker = dask.delayed(self.to_local())
        if isinstance(X, dd.DataFrame):
            self._check_features(X if QID in getattr(self, "feature_names_in_", ()) else split_qid(X, (), "")[0])
            return X.map_partitions(_scores_of_frame, ranker, meta=("score", np.float64))
        self._check_features(X)
        return X.map_blocks(_scores, ranker, drop_axis=1, dtype=np.float64, meta=np.empty(0))

    def score(self, X: Any, y: Any, qid: Any = None) -> float:
        """Mean NDCG@k over queries, also of queries that lie in several partitions; see the local ranker's `score`."""
        if not is_collection(X):
            return super().score(X, y, qid)
        _, qid = split_qid(X, qid, f"{type(self).__name__}.score")
        client, dcg = find_client(self.client), DCG(self.k, self.gain, self.discount)
        together = bring_together(client, self.predict(X), y, qid)
        sums = [
            client.submit(_ndcg_sum, part.rows, dcg, workers=[part.worker], allow_other_workers=True, pure=False)
            for part in together.parts
        ]
        return float(sum(client.gather(sums)) / together.n_queries)

    def to_local(self) -> BoostedRanker:
        """The local ranker with the same parameters and, if this one is fitted, the same model."""
        local = self._local(**self.get_params())
        local.__dict__.update({name: value for name, value in vars(self).items() if name.endswith("_")})
        return local

    def __copy__(self) -> Self:
        twin = type(self).__new__(type(self))
        twin.__dict__.update(self.__dict__)
        return twin

    def __getstate__(self) -> dict[str, Any]:
        """What a pickle holds: not the client, which belongs to this process."""
        return {name: value for name, value in super().__getstate__().items() if name != "_client"}

    def _set_native(self, native: dict[str, Any]) -> None:
        if "client" in native:
            # As LightGBM's Dask rankers take it; as a parameter it would be copied with them.
            native = dict(native)
            self.client = native.pop("client")
        super()._set_native(native)

    def _fit(self, X: Any, y: Any, qid: Any, sample_weight: Any, eval_set: Any) -> None:
        X, qid = split_qid(X, qid, f"{type(self).__name__}.fit")
        self._check_settings()
        self._check_watch(eval_set)
        client, dcg = find_client(self.client), DCG(self.k, self.gain, self.discount)
        random_state = check_random_state(self.random_state)
        per_document = sample_weight if _is_per_document(sample_weight, X) else None
        data = bring_together(client, X, y, qid, per_document)
        self._check_features(X, reset=True)
        weights = None
        if sample_weight is not None and per_document is None:
            weights = _query_weights(sample_weight, data.n_queries)
        kept, watched = None, [_shares(self._monitor(client, part)) for part in eval_set or []]
        if self.validation_fraction is not None:
            # The queries that the local ranker would hold out.
            hold_out = split_queries(np.arange(data.n_queries), self.validation_fraction, random_state)[1]
            kept = np.ones(data.n_queries, dtype=bool)
            kept[hold_out] = False
            watched = [_shares(data, ~kept)]
        order = self._order(dcg, self._parameters(random_state), bool(watched))
        trained = train_on_workers(client, order, _shares(data, kept, weights), watched)
        if self.refit:
            again = replace(order, n_rounds=trained.best_iteration, patience=None)
            booster = train_on_workers(client, again, _shares(data, None, weights), []).booster
            trained = trained._replace(booster=booster)
        self.booster_, self.best_iteration_, self.evals_result_ = trained

    def _order(self, dcg: DCG, parameters: dict[str, Any], watched: bool) -> Order:
        native = isinstance(self.objective, str) and self.objective in self._backend.NATIVE_OBJECTIVES
        return Order(
            backend=self._backend,
            objective=self.objective if native else partial(self._local(**self.get_params())._objective, dcg=dcg),
            dcg=dcg,
            parameters=parameters,
            n_rounds=self.n_estimators,
            patience=self.early_stopping_rounds if watched else None,
            door=self._door,
        )

    def _monitor(self, client: Client, part: Any) -> Partitions:
        if not isinstance(part, (tuple, list)) or len(part) not in (2, 3):
            raise ValueError(f"eval_set must be a list of (X, y, qid); got an element of type {type(part).__name__}")
        X, y, *rest = part
        X, qid = split_qid(X, rest[0] if rest else None, "eval_set")
        self._check_features(X)
        return bring_together(client, X, y, qid)

    def _check_features(self, X: Any, reset: bool = False) -> None:
        """Check number and names of the features, or note them."""
        if isinstance(X, dd.DataFrame):
            unknown = [name for name in X.select_dtypes("category").columns if not X[name].cat.known]
            if unknown:
                raise ValueError(
                    f"the categories of {unknown} are not known to Dask, and may differ: X.categorize() them"
                )
            self._validate(X._meta, reset=reset)
        elif getattr(X, "ndim", None) != 2:
            raise ValueError(f"X must be a dask Array or DataFrame of two dimensions; got {type(X).__name__}")
        else:
            validate_data(self, np.zeros((1, X.shape[1])), reset=reset)


def _shares(data: Partitions, chosen: Bools | None = None, weights: Floats | None = None) -> list[Share]:
    """What there is to do with the chosen queries."""
    shares = []
    for part in data.parts:
        mask = None if chosen is None else chosen[part.queries]
        if mask is None or mask.any():
            shares.append(Share(part, mask, None if weights is None else weights[part.queries]))
    return shares


def _is_per_document(weights: Any, X: Any) -> bool:
    """Whether these weights are partitioned as X is, so that they are weights of documents."""
    if not is_collection(weights):
        return False
    lengths = [values.shape[0] for values in (weights, X) if isinstance(values, da.Array)]
    if len(lengths) == 2 and not np.isnan(lengths).any():
        return bool(lengths[0] == lengths[1])
    return bool(weights.npartitions == X.npartitions)


def _query_weights(weights: Any, n_queries: int) -> Floats:
    """Weights of queries in order of first appearance, brought to this process."""
    given = flat(weights.compute() if is_collection(weights) else weights)
    if given.shape != (n_queries,):
        raise ValueError(
            f"sample_weight must have one weight per query ({n_queries}), or be a dask Array or Series of one per "
            f"document that is partitioned like X; got shape {given.shape}"
        )
    return document_weights(given, Queries.from_sizes(np.ones(n_queries, dtype=np.int64)), separable=True)


def _scores(X: NDArray[Any], ranker: BoostedRanker) -> NDArray[np.float64]:
    return ranker.predict(X) if X.shape[0] else np.empty(0)


def _scores_of_frame(X: Any, ranker: BoostedRanker) -> Any:
    import pandas as pd

    return pd.Series(_scores(X, ranker), index=X.index, name="score", dtype=np.float64)


def _ndcg_sum(part: Any, dcg: DCG) -> float:
    """Sum over the queries of a partition whose features are scores."""
    rows = Rows(*part)
    queries = Queries.from_qid(plain_ids(rows.qid))
    measure = get_measure("ndcg", k=dcg.k, gain=dcg.gain, discount=dcg.discount)
    metric = measure.bind(queries.group(check_relevance(flat(rows.relevance))), queries)
    return float(metric.per_query(queries.group(check_scores(flat(rows.X)))).sum())
