"""NDCG in expectation over noisy labels, if the expected normalized gains are known."""

from __future__ import annotations

from numpy.typing import ArrayLike

from boostrank.core.dcg import DCG, check_relevance
from boostrank.core.queries import Queries
from boostrank.inputs.arrays import Floats, check_lengths
from boostrank.metrics.input_checks import check_scores, require_ids


def expected_ndcg(bayes: ArrayLike, scores: ArrayLike, qid: ArrayLike, k: int | float | None = None) -> Floats:
    """Expectation, over the noise of labels, of the NDCG of each query if it is ranked by `scores`.

    NDCG is linear in the normalized gains ``u``, so its expectation is ``sum_i E[u_i] d(rank_i)``. With `k` the sum is
    over the first `k` ranks. The ranking by ``scores=bayes`` has the largest value, and the difference of another
    ranking to this value is its regret. Ties are averaged.

    Parameters
    ----------
    bayes : array-like, shape (n_documents,)
        Expected normalized gains ``E[u]``, as :func:`boostrank.make_ranking` returns them with
        ``return_bayes=True``.
    scores : array-like, shape (n_documents,)
        Scores, finite.
    qid : array-like, shape (n_documents,)
        Query id of each row.
    k : int or float, optional
        Cutoff, as in :class:`boostrank.DCG`.

    Returns
    -------
    ndarray, shape (n_queries,)
        Expected NDCG of each query, in the sequence in which the queries first appear.

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
    queries = Queries.from_qid(require_ids(qid, "expected_ndcg"))
    expected, values = check_relevance(bayes, "bayes"), check_scores(scores)
    check_lengths(qid=queries.n_documents, bayes=len(expected), scores=len(values))
    return DCG(k).of_ranking(queries.group(expected), queries.group(values), queries)
