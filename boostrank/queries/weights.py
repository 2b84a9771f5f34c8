"""Weights of queries and of documents, and weighted means."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from boostrank.inputs.arrays import Floats, Ints, as_floats
from boostrank.inputs.checks import refuse, refuse_first
from boostrank.inputs.table import is_pandas
from boostrank.queries.queries import Queries, id_index

#: Differences below this share of the largest value are rounding errors, and count as 0.
ROUNDING = 1e-12
#: Advice for losses and objectives that take only weights of queries.
DOCUMENT_WEIGHTS = (
    "Weights of documents are for losses with a term for each, such as the default and 'softmax'"
)

#: The largest mean of weights that :func:`scale_weights` may keep.
MAX_ORDINARY_MEAN = 2.0**20


def document_weights(
    sample_weight: ArrayLike, queries: Queries, may_differ: bool, *, grouped: bool = True
) -> Floats:
    """Check weights of queries or documents, and return the weight of each grouped document.

    Parameters
    ----------
    sample_weight : array-like, shape (n_queries,) or (n_documents,)
        Weights of queries, or of documents. A pandas Series with the query ids as index is aligned
        by it; see :func:`index_has_ids`.
    queries : Queries
    may_differ : bool
        Whether the weights of documents may differ within a query, because the loss has a term for
        each document.
    grouped : bool, default True
        Whether weights of documents are grouped by query. False: they belong to the original rows.

    Returns
    -------
    ndarray, shape (n_documents,)

    Raises
    ------
    ValueError
        If there is neither one weight per query nor one per document, if a weight is negative or
        not finite, if all weights are zero, if they differ within a query although `may_differ` is
        False, or if the index of a Series of weights of queries is neither that of the query ids
        nor 0, 1, ..., or may be both with different meanings.

    Examples
    --------
    >>> document_weights([2.0, 1.0], Queries.from_sizes([2, 1]), may_differ=False).tolist()
    [2.0, 2.0, 1.0]
    """
    weights = as_floats(sample_weight, "sample_weight")
    if is_pandas(sample_weight) and weights.shape == (queries.n_queries,):
        series: Any = sample_weight
        weights = _aligned(weights, series, queries)
    if weights.shape not in {(queries.n_queries,), (queries.n_documents,)}:
        lengths = f"per query ({queries.n_queries}) or per document ({queries.n_documents})"
        refuse("sample_weight", weights, f"one weight {lengths}", got=f"shape {weights.shape}")
    check_weights(weights)
    if len(weights) == queries.n_queries:
        return queries.repeat(weights)
    if not grouped:
        weights = queries.group(weights)
    if not may_differ:
        require_equal_weights(weights, queries, DOCUMENT_WEIGHTS)
    return weights


def check_weights(weights: Floats) -> Floats:
    """Raise ValueError unless weights are finite, not negative and not all 0; return them."""
    if not np.isfinite(weights).all() or (weights < 0).any() or not weights.any():
        raise ValueError("sample_weight must be finite, not negative, and not zero everywhere")
    return weights


def _aligned(weights: Floats, series: pd.Series, queries: Queries) -> Floats:
    """The weights of queries in their sequence, found by the query ids in the index of a Series."""
    if not index_has_ids(series, queries, "sample_weight"):
        return weights
    if series.index.is_unique:
        rows = series.index.get_indexer(id_index(queries.ids))
        if rows.min() >= 0:
            return weights[rows]
    raise ValueError(
        f"sample_weight is a Series of one weight per query, but its index, "
        f"{series.index[:3].tolist()}, does not have the query ids, such as "
        f"{queries.ids[:3].tolist()}. If the weights are in the sequence in which the "
        "queries first appear, pass sample_weight.to_numpy()"
    )


def index_has_ids(series: pd.Series, queries: Queries, name: str) -> bool:
    """Whether the index of a Series of values of queries has the query ids.

    Otherwise it has the numbers 0, 1, ... of rows. Where 0, 1, ... are the query ids too, an index
    with a name has ids.

    Raises
    ------
    ValueError
        If an index without a name may be both, and the values of queries would differ. `name` is
        that of the argument.
    """
    if not series.index.equals(pd.RangeIndex(len(series))):
        return True
    rows = series.index.get_indexer(id_index(queries.ids))
    if rows.min() < 0:
        return False
    if series.index.name is None and not _is_same_by_rows(series, rows):
        raise ValueError(
            f"{name} is a Series whose index 0, 1, ... may be the query ids, or the sequence in "
            f"which queries first appear, {queries.ids[:3].tolist()}, ...: pass "
            f"{name}.rename_axis('qid') if it has the ids, and {name}.to_numpy() if the values are "
            f"in this sequence"
        )
    return True


def _is_same_by_rows(series: pd.Series, rows: Ints) -> bool:
    """Whether the values are in the same sequence by the numbers of their rows."""
    if len(rows) != len(series):
        return True
    return series.iloc[rows].reset_index(drop=True).equals(series)


def unit_mean(weights: Floats, *, keep_ordinary: bool = False) -> Floats:
    """Divide weights by their mean over the documents whose weight is not 0.

    With `keep_ordinary`, only very small or very large weights are divided; see
    :func:`scale_weights`.

    Raises
    ------
    ValueError
        If all weights are zero.

    Examples
    --------
    >>> unit_mean(np.array([0.0, 10.0, 30.0])).tolist()
    [0.0, 0.5, 1.5]
    """
    return scale_weights(weights, weights.sum(), float(np.count_nonzero(weights)), keep_ordinary)


def scale_weights(
    weights: Floats, total: float, n_documents: float, keep_ordinary: bool = False
) -> Floats:
    """Divide weights by a mean, ``total / n_documents``.

    With `keep_ordinary`, weights with a mean between 1 / 2**20 and 2**20 stay as they are: the
    libraries take them so, in float32. Raises ValueError if `n_documents` is 0.
    """
    if not n_documents:
        raise ValueError("sample_weight is zero for all queries to train on")
    factor = n_documents / total
    if keep_ordinary and 1 / MAX_ORDINARY_MEAN <= factor <= MAX_ORDINARY_MEAN:
        return weights
    return weights * factor


def query_weights(
    sample_weight: ArrayLike | None, queries: Queries, *, grouped: bool = True
) -> Floats:
    """Check weights of queries or documents, and return the weight of each query.

    Parameters
    ----------
    sample_weight : array-like, shape (n_queries,) or (n_documents,), or None
        Weights of queries, or of documents, which must then be equal within a query. None: each
        query has weight 1.
    queries : Queries
    grouped : bool, default True
        As in :func:`document_weights`.

    Returns
    -------
    ndarray, shape (n_queries,)

    Raises
    ------
    ValueError
        As :func:`document_weights`, and if weights differ within a query.

    Examples
    --------
    >>> query_weights([2.0, 1.0, 2.0], Queries.from_qid(["a", "b", "a"]), grouped=False).tolist()
    [2.0, 1.0]
    """
    if sample_weight is None:
        return np.ones(queries.n_queries)
    weights = document_weights(sample_weight, queries, may_differ=True, grouped=grouped)
    require_equal_weights(weights, queries)
    return weights[queries.starts]


def require_equal_weights(weights: Floats, queries: Queries, advice: str = "") -> None:
    """Raise ValueError if weights of grouped documents differ within a query.

    `advice` is a sentence that is added to the message.
    """
    text = f": give one weight per query. {advice}".rstrip()
    differs = queries.max(weights) != queries.min(weights)
    refuse_first(
        differs, lambda i: f"sample_weight differs within query {str(queries.ids[i])!r}{text}"
    )


class WeightedMeans(NamedTuple):
    """Means of groups, as :func:`weighted_means` returns them: one number for each group.

    Attributes
    ----------
    n_values : ndarray of int64
        Number of values that count: those that are not NaN and whose weight is not 0.
    mean : ndarray
        NaN where no value counts.
    standard_error : ndarray
        Standard error of the mean; NaN for fewer than two values.
    """

    n_values: Ints
    mean: Floats
    standard_error: Floats

    def margin(self, level: float = 0.95) -> Floats:
        """Half the width of Student's confidence interval of each mean.

        It is NaN for fewer than two values.
        """
        import scipy

        degrees = np.maximum(self.n_values - 1, 1)
        return scipy.special.stdtrit(degrees, (1.0 + level) / 2.0) * self.standard_error


def weighted_means(
    values: Floats, weights: Floats, groups: Ints | None = None, n_groups: int = 1
) -> WeightedMeans:
    """Weighted mean of the values of each group, and its standard error.

    The mean is ``m = sum(w x) / sum(w)``. Its standard error is that of the jackknife, by the means
    that are left without each of the n values: ``sqrt((n - 1) / n sum((w (x - m) / (sum(w) -
    w))^2))``. It is ``s / sqrt(n)`` if all weights are equal.

    Parameters
    ----------
    values : ndarray, shape (n,)
        NaN is left out.
    weights : ndarray, shape (n,)
        Not negative.
    groups : ndarray of int64, shape (n,), optional
        Number of the group of each value; by default there is one group.
    n_groups : int, default 1

    References
    ----------
    Cochran, "Sampling techniques", 1977, sections 6.3 and 6.17 (the variance of a ratio).

    Examples
    --------
    >>> means = weighted_means(np.array([1.0, 2.0, 6.0]), np.ones(3))
    >>> means.n_values.tolist(), means.mean.tolist(), means.standard_error.round(4).tolist()
    ([3], [3.0], [1.5275])
    >>> means.margin().round(4).tolist()
    [6.5724]
    """
    counts = ~np.isnan(values) & (weights > 0)
    if groups is None:
        groups = np.zeros(len(values), dtype=np.int64)
    codes = groups[counts]
    values = values[counts]
    weights = weights[counts]
    n_values = np.bincount(codes, minlength=n_groups)
    total = np.bincount(codes, weights, minlength=n_groups)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = np.bincount(codes, weights * values, minlength=n_groups) / total
        shifts = weights * (values - mean[codes]) / (total[codes] - weights)
        squares = np.bincount(codes, shifts**2, minlength=n_groups)
        error = np.sqrt(squares * (n_values - 1) / n_values)
    error[n_values < 2] = np.nan
    return WeightedMeans(n_values, mean, error)
