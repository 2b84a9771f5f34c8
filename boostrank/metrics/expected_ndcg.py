"""Expected NDCG over noisy labels whose expected normalized gains are known."""

from __future__ import annotations

from numpy.typing import ArrayLike

from boostrank.dcg import DCG, check_relevance
from boostrank.metrics.input_checks import check_lengths, check_scores
from boostrank.queries import Queries
from boostrank.segments import Floats


def expected_ndcg(bayes: ArrayLike, scores: ArrayLike, qid: ArrayLike, k: int | None = None) -> Floats:
    """Expected NDCG of each query over the noise of its labels, when ranked by `scores`; ties are averaged.

    NDCG is linear in the normalized gains, so its expectation is ``sum_i E[u_i] d(rank_i)``. With `k` the sum is over
    the first `k` ranks only. The largest value over all rankings is that of ``scores=bayes``; the difference to it is
    the regret.

    Parameters
    ----------
    bayes : array-like, shape (n_documents,)
        ``E[u]``, such as :func:`boostrank.make_ranking` returns.
    scores : array-like, shape (n_documents,)
    qid : array-like, shape (n_documents,)
    k : int, optional

    Returns
    -------
    ndarray, shape (n_queries,)

    Raises
    ------
    ValueError
        If a value of `bayes` is negative or not finite, a score is not finite, an id is missing, or lengths differ.

    Examples
    --------
    >>> from boostrank.datasets import make_ranking
    >>> X, y, qid, bayes = make_ranking(n_queries=3, random_state=0, return_bayes=True)
    >>> bool((expected_ndcg(bayes, bayes, qid) >= expected_ndcg(bayes, X[:, 0], qid)).all())
    True
    """
    queries, expected, values = Queries.from_qid(qid), check_relevance(bayes, "bayes"), check_scores(scores)
    check_lengths(qid=queries.n_documents, bayes=len(expected), scores=len(values))
    return DCG(k).of_ranking(queries.group(expected), queries.group(values), queries)
