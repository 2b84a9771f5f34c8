"""Synthetic rankings whose Bayes-optimal ranking is known."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr
from sklearn.utils import check_random_state

from boostrank.queries import Queries
from boostrank.segments import Floats
from boostrank.targets import make_targets

# Shares of documents, from the least to the most relevant, with each label.
USUAL_GRADES = np.array([0.55, 0.25, 0.15, 0.05])
RARE_GRADES = np.array([0.50, 0.10, 0.10, 0.10, 0.12, 0.08])


def make_ranking(
    n_queries: int = 200,
    *,
    n_documents: int | tuple[int, int] = (10, 40),
    n_features: int = 10,
    noise: float = 0.3,
    random_state: Any = None,
    return_bayes: bool = False,
) -> tuple[NDArray[np.float64], Floats, NDArray[np.int64]] | tuple[Any, ...]:
    """Synthetic queries with two kinds of labels: a usual kind, and a rare kind with large gains.

    Each document has two qualities, which are functions of its features. With probability ``1 - noise`` a query has
    the usual kind of labels: 0 to 3, by the first quality. Otherwise it has the rare kind: 0 to 5, by the second
    quality, with gains ``2^y - 1`` that are several times larger. This enlarges the example of Section 3.2.1 of
    Ravikumar, Tewari and Yang (AISTATS 2011): the rare, large gains dominate the expected gain ``E[G]``, and mislead
    losses that do not normalize by the ideal DCG. They do not dominate ``E[G / Z]``, by which the NDCG-optimal ranking
    sorts.

    Parameters
    ----------
    n_queries : int, default 200
    n_documents : int or (low, high), default (10, 40)
        Documents per query: a number, or a range, both ends included, to draw from uniformly.
    n_features : int, default 10
        Standard normal; at least 5, of which the first five matter.
    noise : float in [0, 1), default 0.3
        Probability of the rare kind of labels. With 0 the labels are a function of the features.
    random_state : int, RandomState or None
    return_bayes : bool, default False

    Returns
    -------
    X : ndarray, shape (n_documents, n_features)
    y : ndarray of float64, shape (n_documents,)
    qid : ndarray of int64, shape (n_documents,)
    bayes : ndarray of float64, shape (n_documents,), only with `return_bayes`
        ``E[G / Z | X]`` for NDCG's usual gain and discount, exact: no scores have a larger expected NDCG. The
        expected NDCG of any scores is :func:`boostrank.expected_ndcg`.

    Raises
    ------
    ValueError
        If a setting is out of its range.

    Examples
    --------
    >>> X, y, qid, bayes = make_ranking(n_queries=2, n_documents=5, random_state=0, return_bayes=True)
    >>> X.shape, y.tolist()
    ((10, 10), [3.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0])
    """
    low, high = (n_documents, n_documents) if isinstance(n_documents, int) else n_documents
    if n_queries < 1 or low < 1 or high < low:
        raise ValueError(f"need n_queries >= 1 and 1 <= low <= high; got {n_queries=} and {n_documents=}")
    if n_features < 5:
        raise ValueError(f"n_features must be at least 5; got {n_features}")
    if not 0 <= noise < 1:
        raise ValueError(f"noise must be in [0, 1); got {noise}")
    random = check_random_state(random_state)
    queries = Queries.from_sizes(random.randint(low, high + 1, size=n_queries))
    X = random.standard_normal((queries.n_documents, n_features))
    usual = _grade((X[:, 0] + 0.5 * X[:, 1] * X[:, 0] + 0.5 * X[:, 2]) / np.sqrt(1.5), USUAL_GRADES)
    rare = _grade((X[:, 3] + 0.5 * np.abs(X[:, 4]) - 0.4) / np.sqrt(1.1), RARE_GRADES)
    is_rare = queries.repeat(random.random_sample(n_queries) < noise)
    y = np.where(is_rare, rare, usual)
    qid = queries.repeat(np.arange(n_queries))
    if not return_bayes:
        return X, y, qid
    bayes = (1.0 - noise) * make_targets(usual, queries) + noise * make_targets(rare, queries)
    return X, y, qid, bayes


def _grade(quality: Floats, shares: Floats) -> Floats:
    """Label of a standard normal quality, such that labels have these shares."""
    return np.searchsorted(np.cumsum(shares)[:-1], ndtr(quality)).astype(np.float64)
