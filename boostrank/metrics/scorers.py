"""Scorers for scikit-learn's model selection, which get the query ids."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from numpy.typing import ArrayLike
from sklearn.utils.metadata_routing import MetadataRequest

from boostrank.frames import find_qid, require_qid
from boostrank.metrics.base import Measure, QueryMeasure
from boostrank.metrics.registry import get_measure
from boostrank.metrics.training_queries import warn_of_cut_queries


@dataclass(frozen=True, repr=False)
class RankingScorer:
    """A scorer for scikit-learn that gets the query ids; :func:`make_scorer` makes it.

    Attributes
    ----------
    measure : Measure
    """

    measure: Measure

    def __call__(self, estimator: Any, X: Any, y: ArrayLike, qid: ArrayLike | None = None) -> float:
        """Mean of the measure over the queries of `X`, at the scores ``estimator.predict(X)``.

        Raises ValueError if there are no query ids.
        """
        _, found = find_qid(X, qid, y)
        found = require_qid(found, f"the scorer {self!r}")
        warn_of_cut_queries(estimator, found)
        return float(self.measure(y, estimator.predict(X), found))

    def __repr__(self) -> str:
        return f"make_scorer({self.measure.arguments()})"

    def get_metadata_routing(self) -> MetadataRequest:
        """The metadata that scikit-learn's routing passes to this scorer: `qid`."""
        request = MetadataRequest(owner=self)
        request.score.add_request(param="qid", alias=True)
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
