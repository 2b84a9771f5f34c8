"""Labels, scores and query ids of measures: checks, and what several measures compute of them."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from numbers import Number
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from boostrank.inputs.arrays import Floats, as_array, as_floats, check_lengths
from boostrank.inputs.checks import refuse_first
from boostrank.inputs.warnings import warn
from boostrank.ndcg.dcg import DCG, LevelCounts, count_levels
from boostrank.ndcg.gains import Gain
from boostrank.ndcg.labels import Labels, as_labels
from boostrank.queries.queries import Queries, require_qid
from boostrank.queries.segments import Segments

#: Relevance, grouped by query, or other labels, if the measure takes them.
CheckedLabels = Floats | Labels


def labels_scores_queries(
    y_true: ArrayLike | Labels,
    y_score: ArrayLike,
    qid: ArrayLike | None,
    measure: str,
    *,
    signed: bool = False,
) -> tuple[Floats, Floats, Queries]:
    """Check labels, scores and query ids, and group them; returns relevance, scores and queries.

    If `qid` is None, it raises ValueError, in which `measure` is the name of the function that got
    no query ids. Relevance may be negative only if `signed`.
    """
    labels = as_labels(y_true, "y_true", signed=signed)
    relevance = labels.require_relevance_to_measure(measure, signed=signed)
    scores = check_scores(y_score, "y_score")
    queries = Queries.from_qid(require_ids(qid, measure))
    check_lengths(y_true=len(relevance), y_score=len(scores), qid=queries.n_documents)
    return queries.group(relevance), queries.group(scores), queries


def require_ids(qid: ArrayLike | None, measure: str) -> ArrayLike:
    """Return the query ids; for None, raise ValueError that says how to pass them to `measure`."""
    advice = (
        "Pass qid=, the query id of each row. If all rows belong to one query, "
        "pass qid=numpy.zeros(len(y))."
    )
    return require_qid(qid, measure, advice)


def check_scores(scores: ArrayLike, name: str = "scores") -> Floats:
    """Convert scores to float64 numbers that rank the documents in the same way.

    Parameters
    ----------
    scores : array-like, shape (n_documents,) or (n_documents, 1)
    name : str, default "scores"
        The name of the argument in error messages.

    Returns
    -------
    ndarray of float64, shape (n_documents,)
        The scores. If float64 does not have all of them, such as integers above 2^53, it is the
        index of each score in the sorted list of different scores.

    Raises
    ------
    ValueError
        If a score is not a finite number, or the array is not one-dimensional.

    Examples
    --------
    >>> import boostrank as br
    >>> br.metrics.check_scores([2**53, 2**53 + 1]).tolist()
    [0.0, 1.0]
    """
    array = as_array(scores, name)
    if array.ndim != 1:
        raise ValueError(
            f"{name} must be one-dimensional, one per document; got shape {array.shape}"
        )
    floats = as_floats(array, name)
    not_finite = ~np.isfinite(floats)
    refuse_first(not_finite, lambda i: f"{name} must be finite; {name}[{i}] is {array[i]}")
    if array.dtype.kind in "iuO" or array.dtype.itemsize > floats.dtype.itemsize:
        with np.errstate(invalid="ignore"):
            is_exact = (floats.astype(array.dtype) == array).all()
        if not is_exact and all(isinstance(score, Number) for score in array):
            return np.unique(array, return_inverse=True)[1].astype(np.float64)
    return floats


class FractionalLabelsWarning(UserWarning):
    """Labels are above 0 and below 1, where a measure counts those of 1 or more as relevant."""


def warn_of_fractions(measures: Iterable[object], labels: CheckedLabels) -> None:
    """Warn of labels between 0 and 1, if a measure with the threshold 1 does not count them.

    Another threshold was chosen by the user.
    """
    names = [str(measure) for measure in measures if getattr(measure, "threshold", None) == 1]
    if not names or not isinstance(labels, np.ndarray):
        return
    n_fractions = np.count_nonzero((labels > 0) & (labels < 1))
    if n_fractions:
        warn(
            f"{n_fractions} labels are above 0 and below 1, and {names[0]} counts only labels of "
            "at least 1 as relevant: name the smallest label that is relevant, such as 0.5, as in "
            "'map(threshold=0.5)' or in 'AP(rel=0.5)' of ir_measures",
            FractionalLabelsWarning,
        )


@contextmanager
def fractions_are_named() -> Iterator[None]:
    """Ignore this warning, because a warning for several evaluations together was given."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FractionalLabelsWarning)
        yield


class GroupedLabels:
    """Checked labels, grouped by query.

    What is computed from them is computed once for all measures.

    Parameters
    ----------
    values : ndarray of float64, shape (n_documents,), or other labels, if the measure takes them
    queries : Segments
    judgments : ndarray of float64, shape (n_documents,), optional
        Relevance of each document as it was judged, for the documents of a run: NaN for documents
        without a judgment, and below 0 for those that were in the pool of documents to judge, but
        were not judged. `values` has 0 for both. The default is `values`: all documents were
        judged.
    """

    def __init__(
        self, values: CheckedLabels, queries: Segments, judgments: Floats | None = None
    ) -> None:
        #: Relevance for all measures except those that take other labels, which know their class.
        self.values: Any = values
        self.queries = queries
        self.judgments: Any = values if judgments is None else judgments
        self._gains: tuple[Gain, Floats, LevelCounts | None] | None = None

    def binary(self, threshold: float) -> tuple[Floats, Floats]:
        """Gain of each document, 1 for a label of at least `threshold`, else 0; sums of queries."""
        gains = (self.values >= threshold).astype(np.float64)
        return gains, self.queries.sum(gains)

    def gains_and_ideal(self, dcg: DCG) -> tuple[Floats, Floats]:
        """Gain of each document, computed once for all cutoffs, and ideal DCG of each query."""
        if self._gains is None or self._gains[0] != dcg.gain:
            gains = dcg.gains_of(self.values, self.queries)
            self._gains = (dcg.gain, gains, count_levels(gains, self.queries))
        _, gains, counts = self._gains
        return gains, dcg.ideal(gains, self.queries, counts)
