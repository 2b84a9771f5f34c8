"""Scorers for scikit-learn's model selection, which get the query ids."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, Self
from weakref import WeakKeyDictionary

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.pipeline import Pipeline
from sklearn.utils.metadata_routing import MetadataRequest

from boostrank.clicks import ClickLabels
from boostrank.inputs.frames import find_qid, require_qid
from boostrank.inputs.warnings import warn
from boostrank.metrics.base import Measure, QueryMeasure
from boostrank.metrics.registry import get_measure
from boostrank.queries.queries import Queries


@dataclass(frozen=True, repr=False)
class RankingScorer:
    """A scorer for scikit-learn that gets the query ids; :func:`make_scorer` makes it.

    Attributes
    ----------
    measure : Measure
    weights_request : bool or str, default False
        Whether scikit-learn's routing passes `sample_weight` to this scorer; see :meth:`set_score_request`.

    Examples
    --------
    >>> import boostrank as br
    >>> X, y, qid = br.make_ranking(n_queries=20, random_state=0)
    >>> ranker = br.LightGBMRanker(n_estimators=20).fit(X, y, qid)
    >>> scorer = make_scorer("ndcg@5")
    >>> scorer(ranker, X, y, qid) == br.ndcg_score(y, ranker.predict(X), qid, k=5)
    True
    """

    measure: Measure
    weights_request: bool | str = False

    def __call__(
        self, estimator: Any, X: Any, y: ArrayLike, qid: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> float:
        """Mean of the measure over the queries of `X`, at the scores ``estimator.predict(X)``.

        `sample_weight` has the weights of the queries in the mean: one for each query, or one for each document, equal
        within a query. Raises ValueError if there are no query ids.
        """
        _, found = find_qid(X, qid, y)
        found = require_qid(found, f"the scorer {self!r}")
        warn_of_training_data(estimator, found, y)
        return float(self.measure(y, estimator.predict(X), found, sample_weight=sample_weight))

    def __repr__(self) -> str:
        request = f".set_score_request(sample_weight={self.weights_request!r})" if self.weights_request else ""
        return f"make_scorer({self.measure.arguments()}){request}"

    def set_score_request(self, *, sample_weight: bool | str) -> Self:
        """Choose whether scikit-learn's metadata routing passes weights to this scorer, and return the scorer.

        Parameters
        ----------
        sample_weight : bool or str
            True for the weights that are passed as "sample_weight", which the estimator may request, too; a string for
            those that are passed under this name; False, as without this method, for a mean in which all queries count
            the same. scikit-learn divides weights of documents among folds, but not those of queries.

        Examples
        --------
        >>> make_scorer("ndcg@10").set_score_request(sample_weight="query_weight")
        make_scorer('ndcg@10').set_score_request(sample_weight='query_weight')
        """
        # As in scikit-learn, this scorer itself changes: a caller who ignores the result gets weighted means too.
        object.__setattr__(self, "weights_request", sample_weight)
        return self

    def get_metadata_routing(self) -> MetadataRequest:
        """The metadata that scikit-learn's routing passes to this scorer: `qid`, and weights if they are requested."""
        request = MetadataRequest(owner=self)
        request.score.add_request(param="qid", alias=True)
        if self.weights_request:
            request.score.add_request(param="sample_weight", alias=self.weights_request)
        return request


def make_scorer(measure: str | Measure | Callable[..., Any] = "ndcg@10", **settings: Any) -> RankingScorer:
    """Make a scorer for scikit-learn's model selection: the mean of a measure over the queries of the held-out rows.

    It gets `qid` from scikit-learn's metadata routing. If routing is not enabled, X must be a DataFrame with a column
    or an index level named "qid", or y a PreferenceGraph. Without query ids it raises an error.

    Parameters
    ----------
    measure, **settings
        As in :func:`boostrank.get_measure`.

    Raises
    ------
    ValueError, TypeError
        As :func:`boostrank.get_measure`, and ValueError for a measure that needs a run, such as "judged@10". The scorer
        raises ValueError if there are no query ids.

    Examples
    --------
    >>> make_scorer("ndcg", k=5, empty="skip")
    make_scorer('ndcg@5', empty='skip')
    >>> {name: make_scorer(name) for name in ("ndcg@1", "map")}
    {'ndcg@1': make_scorer('ndcg@1'), 'map': make_scorer('map')}
    """
    found = get_measure(measure, **settings)
    if isinstance(found, QueryMeasure):
        found.check_domain("arrays")
    return RankingScorer(found)


_TRAINED_ON: WeakKeyDictionary[Any, tuple[pd.Series, int | None]] = WeakKeyDictionary()


def remember_training_data(ranker: Any, queries: Queries, y: Any) -> None:
    """Store the sizes of the training queries and a hash of the clicks, as long as the ranker is in this process."""
    _TRAINED_ON[ranker] = pd.Series(queries.sizes, index=queries.ids), _hash_of_clicks(y)


def _hash_of_clicks(y: Any) -> int | None:
    """A number that is the same for equal clicks; None for other labels."""
    return hash(tuple(map(bytes, y.log.aggregate().columns))) if isinstance(y, ClickLabels) else None


def warn_of_training_data(estimator: Any, qid: ArrayLike, y: Any) -> None:
    """Warn of a score that says little about new data.

    That is one of the clicks that the model was trained on, or of queries of which it was trained on other documents,
    because a splitter cut them apart.
    """
    ranker = estimator[-1] if isinstance(estimator, Pipeline) else estimator
    # Rankers of CatBoost are not hashable. Others may not have been trained in this process.
    trained_on = _TRAINED_ON.get(ranker) if isinstance(ranker, Hashable) else None
    if trained_on is None:
        return
    train_sizes, hash_of_clicks = trained_on
    if hash_of_clicks is not None and hash_of_clicks == _hash_of_clicks(y):
        warn(
            "the ranker was trained on the clicks that score it, and follows their noise, so that the score is too "
            "good. Score it by the clicks of other sessions (log.select) or on other queries"
        )
    queries = Queries.from_qid(qid)
    if len(queries.ids) != len(train_sizes) and _are_numbered(queries.ids) and _are_numbered(train_sizes.index):
        # These are two data sets without ids of their own, of which each numbers its queries from 0. Parts of one data
        # set that a splitter cut practically never look like this.
        return
    known = train_sizes.reindex(queries.ids).to_numpy()
    cut = ~np.isnan(known) & (known != queries.sizes)
    if cut.any():
        warn(
            f"the ranker was trained on other documents of {cut.sum()} of the {len(cut)} scored queries, such as "
            f"{str(queries.ids[np.argmax(cut)])!r}. Splitters of rows (cv=5, KFold) cut queries apart: use "
            "cv=QueryKFold(5). If these are other queries with the same ids, give them different ids"
        )


def _are_numbered(ids: Any) -> bool:
    """Whether the ids are the numbers 0, 1, ..., n - 1 in some order."""
    ids = np.asarray(ids)
    return ids.dtype.kind in "iu" and np.array_equal(np.sort(ids), np.arange(len(ids)))
