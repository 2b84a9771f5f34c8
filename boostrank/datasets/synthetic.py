"""Synthetic data whose Bayes-optimal ranking is known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy

from boostrank.datasets.dataset import Dataset
from boostrank.inputs.arrays import Floats
from boostrank.inputs.checks import (
    EstimatorSeed,
    as_random_state,
    check_count,
    check_flag,
    check_number,
    is_count,
    refuse,
)
from boostrank.ndcg.targets import make_targets
from boostrank.queries.queries import Queries

# Fraction of the documents that have the label 0, 1, 2, ...
USUAL_FRACTIONS = np.array([0.55, 0.25, 0.15, 0.05])
RARE_FRACTIONS = np.array([0.50, 0.10, 0.10, 0.10, 0.12, 0.08])


def make_ranking(
    n_queries: int = 200,
    *,
    n_documents: int | tuple[int, int] = (10, 40),
    n_features: int = 10,
    noise: float = 0.3,
    random_state: EstimatorSeed = None,
    return_bayes: bool = False,
) -> Any:
    """Make synthetic queries with two kinds of labels: a usual one, and a rare one of large gains.

    Each document has two qualities, which are functions of its features. With probability ``1 -
    noise`` a query has the usual kind of labels: 0 to 3, determined by the first quality. Otherwise
    it has the rare kind: 0 to 5, determined by the second quality, with gains ``2^y - 1`` that are
    several times larger. This is the example of Section 3.2.1 of Ravikumar, Tewari and Yang
    (AISTATS 2011) on a larger scale: the rare, large gains dominate the expected gain ``E[G]`` and
    mislead losses that do not normalize by the ideal DCG. They do not dominate ``E[G / Z]``, and
    the NDCG-optimal ranking sorts by ``E[G / Z]``.

    Parameters
    ----------
    n_queries : int, default 200
    n_documents : int or (low, high), default (10, 40)
        Documents per query: a number, or a range (both ends included) from which it is drawn
        uniformly.
    n_features : int, default 10
        Number of features, at least 5. They are standard normal, and only the first five influence
        the labels.
    noise : float in [0, 1), default 0.3
        Probability of the rare kind of labels. With 0 the labels are a function of the features.
    random_state : int, RandomState or None
    return_bayes : bool, default False

    Returns
    -------
    Dataset or tuple
        ``(X, y, qid)``: X is float64 of shape (n_documents, n_features), y float64 and qid int64.
        With ``return_bayes=True`` it is the tuple ``(X, y, qid, bayes)``, where `bayes`, shape
        (n_documents,), is the exact ``E[G / Z | X]`` for the default gain and discount of NDCG: no
        scores have a larger expected NDCG. The function :func:`boostrank.expected_ndcg` computes
        the expected NDCG of any scores.

    Raises
    ------
    ValueError
        If an argument is out of its range.

    Examples
    --------
    >>> import boostrank as br
    >>> X, y, qid, bayes = br.make_ranking(
    ...     n_queries=2, n_documents=5, random_state=0, return_bayes=True
    ... )
    >>> X.shape, y.tolist()
    ((10, 10), [3.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0])
    """
    check_count("n_queries", n_queries)
    check_count("n_features", n_features, smallest=5)
    check_number("noise", noise, smallest=0, below=1)
    limits: Sequence[int]
    if isinstance(n_documents, (tuple, list)):
        limits = n_documents
    else:
        limits = (n_documents, n_documents)
    if len(limits) != 2 or not all(map(is_count, limits)) or not 1 <= limits[0] <= limits[1]:
        refuse(
            "n_documents",
            n_documents,
            "an integer of at least 1, or integers (low, high) with 1 <= low <= high",
        )
    check_flag("return_bayes", return_bayes)
    random = as_random_state(random_state)
    low, high = limits
    queries = Queries.from_sizes(random.randint(low, high + 1, size=n_queries))
    X = random.standard_normal((queries.n_documents, n_features))
    usual_quality = (X[:, 0] + 0.5 * X[:, 1] * X[:, 0] + 0.5 * X[:, 2]) / np.sqrt(1.5)
    usual = _labels(usual_quality, USUAL_FRACTIONS)
    rare_quality = (X[:, 3] + 0.5 * np.abs(X[:, 4]) - 0.4) / np.sqrt(1.1)
    rare = _labels(rare_quality, RARE_FRACTIONS)
    is_rare = queries.repeat(random.random_sample(n_queries) < noise)
    y = np.where(is_rare, rare, usual)
    qid = queries.repeat(np.arange(n_queries))
    if not return_bayes:
        return Dataset(X, y, qid)
    bayes = (1.0 - noise) * make_targets(usual, queries) + noise * make_targets(rare, queries)
    return X, y, qid, bayes


def _labels(quality: Floats, fractions: Floats) -> Floats:
    """Labels of standard normal qualities; label ``i`` has the probability ``fractions[i]``."""
    limits = np.cumsum(fractions)[:-1]
    return np.searchsorted(limits, scipy.special.ndtr(quality)).astype(np.float64)
