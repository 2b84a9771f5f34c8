"""Calibration curves: what was predicted, and how often it happened, in bins of probabilities."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from boostrank.calibration.first_place import shares_of_first
from boostrank.calibration.measures import checked_probabilities
from boostrank.inputs.arrays import Floats, Ints, check_lengths
from boostrank.inputs.checks import check_choice, check_count, check_number
from boostrank.metrics.labels import require_ids
from boostrank.ndcg.labels import as_labels
from boostrank.queries.queries import Queries

#: What is counted in a bin.
UNITS = ("document", "query")
#: How the probabilities are divided into bins.
STRATEGIES = ("quantile", "uniform")


class _Cases(NamedTuple):
    """Predictions with what happened, and the number of the query of each."""

    predicted: Floats
    happened: Floats
    query: Ints


def calibration_curve(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    qid: ArrayLike | None = None,
    *,
    threshold: float | None = None,
    unit: str = "document",
    n_bins: int = 10,
    strategy: str = "quantile",
    level: float = 0.95,
) -> pd.DataFrame:
    """Compare probabilities with how often the event happened, in bins of probabilities.

    Parameters
    ----------
    y_true, qid
        As in :func:`boostrank.ndcg_score`.
    y_proba : array-like, shape (n_documents,)
        The probability of each document to be the first of its list; with `threshold`, that its
        label is at least this.
    threshold : float, optional
        None: the event is the first place of the list, which ties share, and lists whose labels are
        all equal are left out. A number: the event is a label of at least this number.
    unit : {"document", "query"}, default "document"
        "document": each document is a case. "query": each list is a case. It is then the document
        with the largest probability and whether it is the first; with `threshold`, the mean
        probability of the list and its share of relevant documents.
    n_bins : int, default 10
    strategy : {"quantile", "uniform"}, default "quantile"
        Bins with about equally many cases, or of equal width.
    level : float in (0, 1), default 0.95

    Returns
    -------
    DataFrame
        One row for each bin with cases, with the columns:

        predicted, observed
            Mean probability, and share of cases in which the event happened.
        low, high
            Confidence interval of `observed`, clipped to [0, 1]. Cases of one query depend on each
            other: the queries are the independent units. NaN if the bin has cases of one query
            only.
        n_cases, n_queries
            Number of cases, and of queries that have them.

    Raises
    ------
    ValueError
        For probabilities that are none, and if no list says which document is first.

    Examples
    --------
    >>> import boostrank as br
    >>> curve = br.calibration.calibration_curve(
    ...     [1, 0, 0, 1, 1, 0], [0.8, 0.2, 0.3, 0.7, 0.6, 0.4], [1, 1, 2, 2, 3, 3], n_bins=2
    ... )
    >>> curve[["predicted", "observed", "n_cases"]].round(2)
       predicted  observed  n_cases
    0        0.3       0.0        3
    1        0.7       1.0        3
    """
    check_choice("unit", unit, UNITS)
    check_choice("strategy", strategy, STRATEGIES)
    check_count("n_bins", n_bins)
    check_number("level", level, above=0, below=1)
    check_number("threshold", threshold, optional=True)
    cases = _cases(y_true, y_proba, qid, threshold, unit)
    bins = _bins(cases.predicted, n_bins, strategy)
    return _table(cases, bins, level)


def calibration_error(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    qid: ArrayLike | None = None,
    *,
    threshold: float | None = None,
    unit: str = "document",
    n_bins: int = 10,
    strategy: str = "quantile",
) -> float:
    """The expected calibration error: mean distance of probabilities and shares over bins.

    ``sum_b n_b / n |observed_b - predicted_b|``. By chance alone it is above 0, and more so with
    more bins and fewer queries.

    Parameters
    ----------
    y_true, y_proba, qid, threshold, unit, n_bins, strategy
        As in :func:`calibration_curve`.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        As :func:`calibration_curve`.

    References
    ----------
    Naeini, Cooper and Hauskrecht, "Obtaining well calibrated probabilities using Bayesian binning",
    AAAI 2015.

    Examples
    --------
    >>> import boostrank as br
    >>> value = br.calibration.calibration_error(
    ...     [1, 0, 0, 1, 1, 0], [0.8, 0.2, 0.3, 0.7, 0.6, 0.4], [1, 1, 2, 2, 3, 3], n_bins=2
    ... )
    >>> round(value, 2)
    0.3
    """
    curve = calibration_curve(
        y_true,
        y_proba,
        qid,
        threshold=threshold,
        unit=unit,
        n_bins=n_bins,
        strategy=strategy,
    )
    distances = (curve["observed"] - curve["predicted"]).abs()
    return float((distances * curve["n_cases"]).sum() / curve["n_cases"].sum())


def _cases(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    qid: ArrayLike | None,
    threshold: float | None,
    unit: str,
) -> _Cases:
    """The cases of a curve."""
    relevance = as_labels(y_true, "y_true").require_relevance_to_measure("calibration_curve")
    probabilities = checked_probabilities(y_proba)
    queries = Queries.from_qid(require_ids(qid, "calibration_curve"))
    check_lengths(y_true=len(relevance), y_proba=len(probabilities), qid=queries.n_documents)
    relevance = queries.group(relevance)
    probabilities = queries.group(probabilities)
    numbers = np.arange(queries.n_queries)
    if threshold is not None:
        happened = (relevance >= threshold).astype(np.float64)
        if unit == "query":
            return _Cases(queries.mean(probabilities), queries.mean(happened), numbers)
        return _Cases(probabilities, happened, queries.repeat(numbers))
    shares = shares_of_first(relevance, queries)
    counts = queries.max(relevance) > queries.min(relevance)
    if not counts.any():
        raise ValueError(
            "no list says which document is first: in each, all labels are equal or there is one "
            "document"
        )
    if unit == "query":
        best = queries.sort(probabilities)[queries.starts][counts]
        return _Cases(probabilities[best], shares[best], numbers[counts])
    rows = queries.rows_of(counts)
    return _Cases(probabilities[rows], shares[rows], queries.repeat(numbers)[rows])


def _bins(predicted: Floats, n_bins: int, strategy: str) -> Ints:
    """The number of the bin of each case; cases with equal probabilities are in one bin."""
    if strategy == "uniform":
        edges = np.linspace(0.0, 1.0, n_bins + 1)
    else:
        edges = np.quantile(predicted, np.linspace(0.0, 1.0, n_bins + 1))
    return np.searchsorted(edges[1:-1], predicted, side="right").astype(np.int64)


def _table(cases: _Cases, bins: Ints, level: float) -> pd.DataFrame:
    """Means of the bins, with intervals in which the queries are the independent units."""
    import scipy

    frame = pd.DataFrame({"bin": bins, **cases._asdict()})
    by_bin = frame.groupby("bin")
    table = by_bin.agg(
        predicted=("predicted", "mean"),
        observed=("happened", "mean"),
        n_cases=("happened", "size"),
        n_queries=("query", "nunique"),
    )
    # The variance of a ratio of sums over queries (Cochran, 1977, chapter 6).
    frame["residual"] = frame["happened"] - frame["bin"].map(table["observed"])
    of_queries = frame.groupby(["bin", "query"])["residual"].sum()
    squares = (of_queries**2).groupby("bin").sum()
    n = table["n_queries"]
    with np.errstate(divide="ignore", invalid="ignore"):
        error = np.sqrt(squares * n / (n - 1.0)) / table["n_cases"]
    error = error.where(n > 1)
    degrees = np.maximum(n - 1.0, 1.0)
    margin = error * scipy.special.stdtrit(degrees, (1.0 + level) / 2.0)
    table.insert(2, "low", (table["observed"] - margin).clip(lower=0.0))
    table.insert(3, "high", (table["observed"] + margin).clip(upper=1.0))
    return table.reset_index(drop=True)
