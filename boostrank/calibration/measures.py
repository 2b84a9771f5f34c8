"""How good probabilities of the first place are: log loss and Brier score.

The functions take probabilities, and smaller values are better, as in scikit-learn. The measures of
:func:`boostrank.get_measure` take scores, the softmax of which are the probabilities, and have the
opposite sign, because measures are larger for what is better.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from boostrank.calibration.first_place import shares_of_first
from boostrank.inputs.arrays import Floats, as_floats, check_lengths
from boostrank.inputs.checks import refuse_first
from boostrank.metrics.base import Domain, Prepared, QueryMeasure
from boostrank.metrics.labels import GroupedLabels, require_ids
from boostrank.metrics.summaries import Empty
from boostrank.queries.queries import Queries
from boostrank.queries.segments import Segments

#: Sums of the probabilities of a list may differ from 1 by rounding.
TOLERANCE = 1e-4


class _FirstPlaceMeasure(QueryMeasure):
    """A measure of the softmax of the scores of a list against the event of the first place."""

    domain: ClassVar[Domain] = "arrays"
    reason: ClassVar[str] = "has no first document, because all labels are equal,"
    empty: Empty = "skip"

    def prepare(self, labels: GroupedLabels) -> Prepared:
        queries = labels.queries
        shares = shares_of_first(labels.values, queries)
        undefined = queries.max(labels.values) == queries.min(labels.values)

        def values(scores: Floats) -> Floats:
            return self._of_logs(
                scores - queries.repeat(queries.logsumexp(scores)), shares, queries
            )

        return Prepared(undefined, values)

    def _of_logs(self, logs: Floats, shares: Floats, queries: Segments) -> Floats:
        """The value of each query at the logarithms of probabilities."""
        raise NotImplementedError


class NegativeLogLoss(_FirstPlaceMeasure):
    """Minus the log loss of the first place, a mean over queries: ``sum_i share_i log p_i``.

    ``p`` is the softmax of the scores of the list, and ``share_i`` is 1 for the document with the
    largest label, divided among those that tie for it. A perfect value is 0 without ties.

    Parameters
    ----------
    empty : {"zero", "one", "skip", "raise"}, default "skip"
        Value of a list whose labels are all equal.

    Examples
    --------
    >>> import numpy as np
    >>> import boostrank as br
    >>> measure = br.get_measure("neg-first-log-loss")
    >>> round(measure([0, 1, 0], np.log([0.2, 0.5, 0.3]), [7, 7, 7]), 4)  # log 0.5
    -0.6931
    """

    name: ClassVar[str] = "neg-first-log-loss"

    def _of_logs(self, logs: Floats, shares: Floats, queries: Segments) -> Floats:
        counted = np.where(shares > 0.0, logs, 0.0)
        return queries.sum(shares * counted)


class NegativeBrierScore(_FirstPlaceMeasure):
    """Minus the Brier score of the first place, a mean over queries: ``-sum_i (p_i - share_i)^2``.

    All is as in :class:`NegativeLogLoss`.

    Parameters
    ----------
    empty : {"zero", "one", "skip", "raise"}, default "skip"
        Value of a list whose labels are all equal.

    References
    ----------
    Brier, "Verification of forecasts expressed in terms of probability", 1950.

    Examples
    --------
    >>> import numpy as np
    >>> import boostrank as br
    >>> measure = br.get_measure("neg-first-brier")
    >>> round(measure([0, 1, 0], np.log([0.2, 0.5, 0.3]), [7, 7, 7]), 4)  # .04 + .25 + .09
    -0.38
    """

    name: ClassVar[str] = "neg-first-brier"

    def _of_logs(self, logs: Floats, shares: Floats, queries: Segments) -> Floats:
        return -queries.sum((np.exp(logs) - shares) ** 2)


def log_loss(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    qid: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    per_query: bool = False,
) -> Any:
    """Log loss of the probabilities of the first place; smaller is better.

    ``-sum_i share_i log p_i``, a mean over queries, with the share 1 of the document with the
    largest label, divided among those that tie for it. Lists whose labels are all equal are left
    out; with `per_query` their value is NaN.

    Parameters
    ----------
    y_true, qid, sample_weight, per_query
        As in :func:`boostrank.ndcg_score`.
    y_proba : array-like, shape (n_documents,)
        Probabilities, which sum to 1 in each list.

    Returns
    -------
    float, or ndarray of shape (n_queries,)

    Raises
    ------
    ValueError
        If numbers are no probabilities of lists.

    Examples
    --------
    >>> import boostrank as br
    >>> value = br.calibration.log_loss([0, 1, 0], [0.2, 0.5, 0.3], [7, 7, 7])
    >>> round(value, 4)
    0.6931
    """
    return _of_probabilities(NegativeLogLoss(), y_true, y_proba, qid, sample_weight, per_query)


def brier_score(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    qid: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    per_query: bool = False,
) -> Any:
    """Brier score of the probabilities of the first place; smaller is better.

    ``sum_i (p_i - share_i)^2``, a mean over queries. All is as in :func:`log_loss`.

    Parameters
    ----------
    y_true, y_proba, qid, sample_weight, per_query
        As in :func:`log_loss`.

    Returns
    -------
    float, or ndarray of shape (n_queries,)

    Raises
    ------
    ValueError
        If numbers are no probabilities of lists.

    Examples
    --------
    >>> import boostrank as br
    >>> round(br.calibration.brier_score([0, 1, 0], [0.2, 0.5, 0.3], [7, 7, 7]), 4)
    0.38
    """
    return _of_probabilities(NegativeBrierScore(), y_true, y_proba, qid, sample_weight, per_query)


def _of_probabilities(
    measure: QueryMeasure,
    y_true: ArrayLike,
    y_proba: ArrayLike,
    qid: ArrayLike | None,
    sample_weight: ArrayLike | None,
    per_query: bool,
) -> Any:
    """The measure of probabilities in place of scores, with the opposite sign."""
    ids = require_ids(qid, f"{measure}, of which this is the function,")
    probabilities = checked_probabilities(y_proba)
    queries = Queries.from_qid(ids)
    check_lengths(y_proba=len(probabilities), qid=queries.n_documents)
    sums = queries.sum(queries.group(probabilities))
    refuse_first(
        np.abs(sums - 1.0) > TOLERANCE,
        lambda i: (
            f"y_proba must sum to 1 in each list; in query {str(queries.ids[i])!r} the sum is "
            f"{sums[i]:g}. Measures of scores are get_measure({measure.name!r})"
        ),
    )
    scores = np.log(np.maximum(probabilities, np.finfo(np.float64).tiny))
    return -measure(y_true, scores, ids, sample_weight=sample_weight, per_query=per_query)


def checked_probabilities(y_proba: ArrayLike) -> Floats:
    """Probabilities as float64; ValueError for other numbers."""
    probabilities = as_floats(y_proba, "y_proba")
    if probabilities.ndim != 1:
        raise ValueError(f"y_proba must be one-dimensional; got shape {probabilities.shape}")
    is_none = ~((probabilities >= 0.0) & (probabilities <= 1.0))
    refuse_first(
        is_none, lambda i: f"y_proba must be in [0, 1]; y_proba[{i}] is {probabilities[i]:g}"
    )
    return probabilities
