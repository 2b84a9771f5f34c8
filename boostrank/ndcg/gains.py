"""Relevance of documents, and the gains of relevance."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from boostrank.inputs.arrays import Bools, Floats, as_floats
from boostrank.inputs.checks import did_you_mean, refuse, refuse_first
from boostrank.inputs.warnings import warn
from boostrank.queries.segments import Segments

Gain = (
    Literal["exp2", "linear", "log", "rank"]
    | Sequence[float]
    | NDArray[np.number]
    | Callable[[Floats], Floats]
)
#: Names of gains.
GAINS: tuple[str, ...] = ("exp2", "linear", "log", "rank")
#: LightGBM refuses larger labels with the gain 2^y - 1, which is hardly meant for 32 grades.
LARGEST_GRADE = 30

# Sums of 2^y over a query must be finite too: 2^1000 times 2^23 documents is.
MAX_EXP2_LABEL = 1000
# Gains of the usual labels, which are small integers; looking them up takes half of the time of
# computing them.
_EXP2_GAINS = np.exp2(np.arange(256.0)) - 1.0


def check_relevance(
    relevance: ArrayLike, name: str = "relevance", *, signed: bool = False
) -> Floats:
    """Labels as float64, shape (n_documents,); `name` is that of the argument in messages.

    Raises
    ------
    ValueError
        If `relevance` is empty or not one-dimensional, or if a label is not a finite number, or is
        negative and not `signed`.

    Examples
    --------
    >>> check_relevance([2, 0])
    array([2., 0.])
    """
    labels = as_floats(relevance, name)
    if labels.ndim != 1 or len(labels) == 0:
        expected = "a non-empty one-dimensional array, one label per document"
        refuse(name, labels, expected, got=f"shape {labels.shape}")
    # NaN is not in the range either.
    if labels.min() >= (-np.finfo(float).max if signed else 0) and labels.max() < np.inf:
        return labels
    advice = "is not finite; drop the document or give it a label"
    _refuse_labels(~np.isfinite(labels), labels, advice, name)
    advice = (
        "is negative; shift the labels so that 0 is the label of irrelevant documents, or give "
        "gain='rank', for which only the order of the labels of a query counts"
    )
    _refuse_labels(labels < 0, labels, advice, name)
    return labels


def check_gain(gain: Gain) -> None:
    """Raise ValueError if this is no gain."""
    if callable(gain):
        return
    if isinstance(gain, str):
        if gain not in GAINS:
            expected = "'exp2', 'linear', 'log', 'rank', a table of gains by label, or a function"
            refuse("gain", gain, expected, did_you_mean(gain, GAINS))
        return
    table = as_floats(gain, "gain")
    is_list = table.ndim == 1 and len(table) > 0
    if not is_list or not np.isfinite(table).all() or (np.diff(table) < 0).any():
        expected = "a non-empty list of finite gains that never decrease"
        refuse("a gain table", gain, expected)


def is_rank(gain: Gain) -> bool:
    """Whether this is the gain "rank", which takes labels of any real numbers."""
    return isinstance(gain, str) and gain == "rank"


def gains_of_labels(gain: Gain, labels: Floats, queries: Segments | None = None) -> Floats:
    """Gain of each label, for labels that :func:`check_relevance` has returned.

    `queries` are needed for the gain "rank", for labels that are grouped by query.

    Raises
    ------
    ValueError
        If a gain is not finite, is negative or is not in the table, and if there are no queries for
        the gain "rank".
    """
    if is_rank(gain):
        if queries is None:
            raise ValueError(
                "the gain 'rank' is that of a label among those of its query, and is not possible "
                "here, where there are labels without queries: give another gain"
            )
        # Imported on use: few trainings need it.
        from boostrank.ndcg.ranks import normalized_ranks

        return normalized_ranks(labels, queries)
    if isinstance(gain, str):
        # Finite and not negative, as the labels are.
        if gain == "linear":
            return labels
        return np.log1p(labels) / np.log(2.0) if gain == "log" else _exp2_gains(labels)
    if callable(gain):
        gains = call_vectorized(gain, labels, "gain")
    else:
        gains = _table_gains(labels, np.asarray(gain, dtype=np.float64))
    _refuse_labels(~np.isfinite(gains), labels, "has a gain that is not finite")
    _refuse_labels(gains < 0, labels, "has a negative gain; gains must be 0 or more")
    return gains


def warn_of_large_labels(labels: Floats, gain: Gain, name: str = "label") -> None:
    """Warn of labels above :data:`LARGEST_GRADE` with the gain 2^y - 1.

    One label of 70 among grades of 0 to 3 has all of the gain; so have the largest of labels that
    are counts or prices. `name` is that of a label in the message.
    """
    largest = labels.max()
    if not isinstance(gain, str) or gain != "exp2" or largest <= LARGEST_GRADE:
        return
    # The gains relative to the largest one, which may be too large for a sum.
    relative = np.exp2(labels - largest)
    are_largest = labels > largest - 1
    share = relative[are_largest].sum() / relative.sum()
    warn(
        f"the largest {name} is {largest:g}, and its gain is 2^{largest:g} - 1: "
        f"{np.count_nonzero(are_largest)} of {len(labels)} documents have {share:.1%} of the gain "
        "of all labels. Correct the label if it is a fault; if labels are no grades but numbers "
        "such as counts or prices, give gain='linear', or gain='log', which is log2(1 + y)"
    )


def call_vectorized(function: Callable[[Floats], Floats], values: Floats, name: str) -> Floats:
    """The results of a function that users give as `name`, whose shape is checked."""
    result = np.asarray(function(values), dtype=np.float64)
    if result.shape != values.shape:
        expected = f"vectorized, with a result of the shape of its argument, {values.shape}"
        refuse(name, function, expected, got=f"a result of shape {result.shape}")
    return result


def _exp2_gains(labels: Floats) -> Floats:
    if labels.max() < len(_EXP2_GAINS):
        codes = labels.astype(np.uint8)
        if (codes == labels).all():
            return _EXP2_GAINS[codes]
    advice = (
        f"overflows the gain 2^y - 1 (largest label: {MAX_EXP2_LABEL}); use gain='linear', "
        "gain='log' or a table of gains"
    )
    _refuse_labels(labels > MAX_EXP2_LABEL, labels, advice)
    gains = np.exp2(labels)
    gains -= 1.0
    # For labels near 0 the difference ``2^y - 1`` loses digits; for labels below 1e-16 it loses all
    # of them.
    fractions = (labels > 0.0) & (labels < 1.0)
    if fractions.any():
        gains[fractions] = np.expm1(labels[fractions] * np.log(2.0))
    return gains


def _table_gains(labels: Floats, table: Floats) -> Floats:
    advice = f"is not an integer from 0 to {len(table) - 1}, the labels of the gain table"
    _refuse_labels((labels != np.floor(labels)) | (labels >= len(table)), labels, advice)
    return table[labels.astype(np.int64)]


def _refuse_labels(bad: Bools, labels: Floats, fault: str, name: str = "relevance") -> None:
    """Raise ValueError for the first label that is bad; `fault` is the end of the sentence."""
    refuse_first(bad, lambda i: f"{name}[{i}] = {labels[i]:g} {fault}")
