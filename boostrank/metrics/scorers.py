"""Scorers for scikit-learn's model selection, which get the query ids."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol, Self

import sklearn
from numpy.typing import ArrayLike
from sklearn.pipeline import Pipeline
from sklearn.utils.metadata_routing import MetadataRequest, get_routing_for_object

from boostrank.inputs.arrays import as_floats
from boostrank.inputs.checks import refuse
from boostrank.metrics.base import Measure
from boostrank.metrics.registry import MeasureLike, get_measure
from boostrank.queries.queries import Features, find_qid, require_qid


class Estimator(Protocol):
    """An estimator of scikit-learn or in its style, such as a ranker or a Pipeline.

    It has `fit` too, whose arguments differ.
    """

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name."""

    def set_params(self, **parameters: object) -> object:
        """Change parameters."""


@dataclass(frozen=True, repr=False)
class RankingScorer:
    """A scorer for scikit-learn that gets the query ids; :func:`make_scorer` makes it.

    Attributes
    ----------
    measure : Measure
    weights_request, qid_request : bool or str, default False and True
        Whether scikit-learn's routing passes `sample_weight` and `qid` to this scorer, or the names
        under which it passes them; see :meth:`set_score_request`.

    Examples
    --------
    >>> import boostrank as br
    >>> X, y, qid = br.make_ranking(n_queries=20, random_state=0)
    >>> ranker = br.LightGBMRanker(n_estimators=20).fit(X, y, qid)
    >>> scorer = br.make_scorer("ndcg@5")
    >>> scorer(ranker, X, y, qid) == br.ndcg_score(y, ranker.predict(X), qid, k=5)
    True
    """

    measure: Measure
    weights_request: bool | str = False
    qid_request: bool | str = True

    def __call__(
        self,
        estimator: Estimator,
        X: Features,
        y: ArrayLike,
        qid: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> float:
        """Mean of the measure over the queries of `X`, at the scores ``estimator.predict(X)``.

        `sample_weight` has the weights of the queries in the mean: one for each query, or one for
        each document, equal within a query. If the ranker has ``lower_is_better=True``, the labels
        are negated as in its `fit`. Raises ValueError if there are no query ids.
        """
        _, ids = find_qid(X, qid, y)
        ids = require_qid(ids, f"the scorer {self!r}")
        ranker: Any = estimator[-1] if isinstance(estimator, Pipeline) else estimator
        warn_of_training_data = getattr(ranker, "_warn_of_training_data", None)
        if warn_of_training_data is not None:
            warn_of_training_data(X, ids, y)
        scores = call_with_qid(estimator, "predict", ids, X)
        labels = labels_as_read([estimator], y)
        return float(self.measure(labels, scores, ids, sample_weight=sample_weight))

    def __repr__(self) -> str:
        call = f"make_scorer({self.measure.arguments()})"
        requests = []
        if self.qid_request is not True:
            requests.append(f"qid={self.qid_request!r}")
        if self.weights_request:
            requests.append(f"sample_weight={self.weights_request!r}")
        if requests:
            call += f".set_score_request({', '.join(requests)})"
        return call

    def set_score_request(
        self, *, qid: bool | str = True, sample_weight: bool | str | None = False
    ) -> Self:
        """Choose what scikit-learn's metadata routing passes to this scorer, and return the scorer.

        Parameters
        ----------
        qid : True or str
            True for the query ids that are passed as "qid"; a string for those that are passed
            under this name.
        sample_weight : bool or str
            True for the weights that are passed as "sample_weight", which the estimator may
            request, too; a string for those that are passed under this name; False, as without this
            method, for a mean in which all queries count the same. scikit-learn divides weights of
            documents among folds, but not those of queries.

        Examples
        --------
        >>> import boostrank as br
        >>> br.make_scorer("ndcg@10").set_score_request(sample_weight="query_weight")
        make_scorer('ndcg@10').set_score_request(sample_weight='query_weight')
        """
        if qid is not True and not isinstance(qid, str):
            expected = (
                "True, or the name under which query ids are passed, "
                "without which there is no score"
            )
            refuse("qid", qid, expected)
        # As in scikit-learn, this scorer itself changes: a caller who ignores the result gets
        # weighted means too.
        object.__setattr__(self, "qid_request", qid)
        object.__setattr__(self, "weights_request", sample_weight)
        return self

    def get_metadata_routing(self) -> MetadataRequest:
        """The metadata that scikit-learn passes to this scorer: `qid`, and weights if requested."""
        request = MetadataRequest(owner=self)
        request.score.add_request(param="qid", alias=self.qid_request)
        if self.weights_request:
            request.score.add_request(param="sample_weight", alias=self.weights_request)
        return request


def labels_as_read(estimators: Iterable[Estimator], y: Any) -> Any:
    """The labels of which larger ones are better: negated if rankers have ``lower_is_better=True``.

    Raises ValueError if some rankers have it and others do not.
    """
    negated = set()
    for estimator in estimators:
        ranker: Any = estimator[-1] if isinstance(estimator, Pipeline) else estimator
        # The parameters of a bag are those of its ranker.
        ranker = getattr(ranker, "_parameters", ranker)
        negated.add(getattr(ranker, "lower_is_better", None) is True)
    if len(negated) > 1:
        raise ValueError(
            "some rankers have lower_is_better=True and others do not, so that the same labels are "
            "good for one and bad for another one: give all of them labels -y without it"
        )
    return -as_floats(y, "y") if negated == {True} else y


def call_with_qid(
    estimator: Estimator, method: str, qid: ArrayLike | None, *arguments: object
) -> Any:
    """Call a method of any estimator, with query ids if it, or a step of a Pipeline, takes them.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> ridge = Ridge().fit([[0.0], [1.0]], [0, 1])
    >>> call_with_qid(ridge, "predict", [7], [[0.5]])
    array([0.5])
    """
    with sklearn.config_context(enable_metadata_routing=True):
        call = getattr(estimator, method)
        if qid is not None and get_routing_for_object(estimator).consumes(method, ["qid"]):
            return call(*arguments, qid=qid)
        return call(*arguments)


def make_scorer(measure: MeasureLike = "ndcg@10", **settings: object) -> RankingScorer:
    """Make a scorer for scikit-learn's model selection: the mean of a measure over queries.

    The queries are those of the held-out rows. The scorer gets `qid` from scikit-learn's metadata
    routing. If routing is not enabled, X must be a DataFrame with a column or an index level named
    "qid", or y a PreferenceGraph. Without query ids it raises an error.

    Parameters
    ----------
    measure, **settings
        As in :func:`boostrank.get_measure`.

    Raises
    ------
    ValueError, TypeError
        As :func:`boostrank.get_measure`, and ValueError for a measure that needs a run, such as
        "numret". The scorer raises ValueError if there are no query ids.

    Examples
    --------
    >>> import boostrank as br
    >>> br.make_scorer("ndcg", k=5, empty="skip")
    make_scorer('ndcg@5', empty='skip')
    >>> {name: br.make_scorer(name) for name in ("ndcg@1", "map")}
    {'ndcg@1': make_scorer('ndcg@1'), 'map': make_scorer('map')}
    """
    ranking_measure = get_measure(measure, **settings)
    ranking_measure.check_domain("arrays")
    return RankingScorer(ranking_measure)
