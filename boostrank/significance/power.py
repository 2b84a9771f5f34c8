"""Power analysis: the number of queries that show a difference of two rankers, by discount and cutoff of NDCG."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd
import scipy
from numpy.typing import ArrayLike

from boostrank.inputs.arrays import Floats, as_floats, check_lengths
from boostrank.inputs.checks import check_number
from boostrank.metrics import check_scores
from boostrank.queries.dcg import DCG, Gain, check_relevance, ratio_to_ideal
from boostrank.queries.discounts import (
    CUTOFFS,
    DISCOUNTS,
    Cutoff,
    DiscountedCutoff,
    Discounts,
    discounted_cutoffs,
    ranks_kept,
)
from boostrank.queries.queries import Queries
from boostrank.queries.rankings import RankedBlock, for_each_ranked
from boostrank.queries.segments import Segments
from boostrank.significance.differences import ROUNDING, standardized


def required_queries(effect: ArrayLike, *, power: float = 0.8, level: float = 0.05) -> Floats:
    """Number of queries with which a paired t-test detects a mean difference.

    For a two-sided test at `level`, and a mean difference of ``effect`` standard deviations over queries, the number is

        n = (z_{1 - level/2} + z_power)^2 / effect^2 + z_{1 - level/2}^2 / 2,

    rounded up, with quantiles ``z`` of the normal distribution. For a power of 80% at level 5%, it is
    ``7.85 / effect^2 + 1.92``. The second term is due to the standard deviation, which is estimated. For large effects,
    where a few queries suffice, the number may be one or two too small.

    Parameters
    ----------
    effect : array-like
        Mean difference divided by standard deviation; see :func:`boostrank.significance.effect_size`.
    power : float in (0, 1), default 0.8
        Probability that the test detects the difference; it must be larger than `level`.
    level : float in (0, 1), default 0.05
        Probability that the test rejects although there is no difference.

    Returns
    -------
    ndarray, the shape of `effect`
        At least 2; infinite where the effect is 0, NaN where it is NaN.

    Raises
    ------
    ValueError
        If `power` or `level` is out of range.

    References
    ----------
    Guenther, "Sample size formulas for normal theory t tests", The American Statistician 1981. Sakai, "Topic set size
    design", Information Retrieval Journal 2016.

    Examples
    --------
    >>> import boostrank as br
    >>> br.significance.required_queries([0.1, -0.5, 0.0]).tolist()
    [787.0, 34.0, inf]
    """
    check_number("level", level, above=0, below=1)
    check_number("power", power, above=level, below=1)
    rejected, detected = scipy.special.ndtri(1.0 - level / 2.0), scipy.special.ndtri(power)
    effects = np.abs(as_floats(effect, "effect", keep_shape=True))
    with np.errstate(divide="ignore"):
        return np.maximum(2.0, np.ceil(((rejected + detected) / effects) ** 2 + rejected**2 / 2.0))


def queries_needed(
    y: ArrayLike,
    scores_a: ArrayLike,
    scores_b: ArrayLike,
    qid: ArrayLike,
    *,
    discounts: Discounts = DISCOUNTS,
    ks: Iterable[Cutoff] = CUTOFFS,
    gain: Gain = "exp2",
    power: float = 0.8,
    level: float = 0.05,
) -> pd.DataFrame:
    """Number of queries with which a paired t-test shows the difference of two rankers, by discount and cutoff of NDCG.

    The number follows by :func:`required_queries` from the mean and standard deviation of ``NDCG(a) - NDCG(b)`` over
    the given queries, where queries without relevant documents have the difference 0. It is an estimate, which has a
    confidence interval: that of the effect by the noncentral t distribution. If the upper end of the interval is
    infinite, the given queries do not show that there is a difference.

    Do not choose the measure with the smallest number of queries and test with it on the same queries: false rejections
    are then more probable than `level`. Choose the measure on some queries, and test on other queries.

    Parameters
    ----------
    y : array-like, shape (n_documents,)
        Relevance.
    scores_a, scores_b : array-like, shape (n_documents,)
        Scores of the two rankers. Ties are averaged.
    qid : array-like, shape (n_documents,)
        Query ids.
    discounts : iterable of discounts
        As in :class:`boostrank.DCG`. The default is log2, rank^-0.5, 1/rank and 2^-rank.
    ks : iterable of int, float, ("power", a) or None
        Numbers of ranks, shares of the documents of a query, ``n^a`` for a query of n documents, or all ranks (None).
        The default is all ranks, 10, a fifth of the ranks, and the square root of their number.
    gain
        As in :class:`boostrank.DCG`.
    power, level
        As in :func:`required_queries`.

    Returns
    -------
    DataFrame
        One row for each discount and cutoff, sorted by increasing number of queries. The columns are discount, k,
        difference (mean over queries of a minus b), sd (standard deviation over queries), effect (difference / sd),
        queries (the number of queries), and low and high (the ends of its 95% confidence interval).

    Raises
    ------
    ValueError
        If an argument is invalid, or if there is only one query.

    References
    ----------
    Guenther, "Sample size formulas for normal theory t tests", The American Statistician 1981. Cumming and Finch, "A
    primer on the understanding, use, and calculation of confidence intervals that are based on central and noncentral
    distributions", Educational and Psychological Measurement 2001.

    Examples
    --------
    >>> import boostrank as br
    >>> X, y, qid, bayes = br.make_ranking(n_queries=300, random_state=0, return_bayes=True)
    >>> noisy = bayes + 0.1 * X[:, 9]
    >>> settings = {"discounts": ["log2", ("exponential", 2)], "ks": [None, 5]}
    >>> table = br.significance.queries_needed(y, bayes, noisy, qid, **settings)
    >>> table[["discount", "k", "difference", "sd", "queries"]].round(3)
      discount  k  difference     sd  queries
    0     log2  n       0.081  0.096     13.0
    1     log2  5       0.145  0.179     14.0
    2  2^-rank  n       0.138  0.209     20.0
    3  2^-rank  5       0.138  0.213     21.0
    """
    required_queries(1.0, power=power, level=level)
    cutoffs = discounted_cutoffs(discounts, ks)
    relevance, queries = check_relevance(y, "y"), Queries.from_qid(qid)
    first, second = check_scores(scores_a, "scores_a"), check_scores(scores_b, "scores_b")
    check_lengths(qid=queries.n_documents, y=len(relevance), scores_a=len(first), scores_b=len(second))
    gains = DCG(gain=gain).relative_gains_of(queries.group(relevance), queries)
    first, second = queries.group(first), queries.group(second)
    differences = np.nan_to_num(ndcg_differences(gains, first, second, queries, cutoffs))
    if queries.n_queries < 2:
        raise ValueError(f"a standard deviation over queries needs at least two of them; got {queries.n_queries}")
    mean, deviation = differences.mean(axis=1), differences.std(axis=1, ddof=1)
    effect = standardized(mean, deviation)
    weakest, strongest = _weakest_strongest(effect, differences.shape[1])
    names = {"discount": [cutoff.discount_name for cutoff in cutoffs], "k": [cutoff.k_name for cutoff in cutoffs]}
    table = pd.DataFrame({**names, "difference": mean, "sd": deviation, "effect": effect})
    for column, effects in {"queries": effect, "low": strongest, "high": weakest}.items():
        table[column] = required_queries(effects, power=power, level=level)
    return table.sort_values(["queries", "high"], kind="stable", ignore_index=True)


def ndcg_differences(
    gains: Floats, first: Floats, second: Floats, queries: Segments, cutoffs: list[DiscountedCutoff]
) -> Floats:
    """NDCG of `first` minus NDCG of `second`, by discount and cutoff; NaN in queries whose gains are all 0.

    Ties are averaged. Documents are sorted only once for each ranker, not for every discount and cutoff.

    Parameters
    ----------
    gains, first, second : ndarray, shape (n_documents,)
        Grouped.
    queries : Segments
    cutoffs : list of DiscountedCutoff

    Returns
    -------
    ndarray, shape (len(cutoffs), n_queries)
    """
    measures = [
        DCG(discount=cutoff.discount).per_block(gains, queries, "average", ranks_kept(cutoff.k, queries.sizes))
        for cutoff in cutoffs
    ]
    dcg = np.empty((3, len(cutoffs), queries.n_segments))
    for values, scores in zip(dcg, (first, second, gains), strict=True):

        def add_block(ranked: RankedBlock, values: Floats = values) -> None:
            values[:, ranked.segments] = [measure(ranked) for measure in measures]

        for_each_ranked(queries, scores, queries.sizes, add_block, stable=False)
    result = ratio_to_ideal(dcg[0], dcg[2]) - ratio_to_ideal(dcg[1], dcg[2])
    result[np.abs(result) < ROUNDING] = 0.0
    return result


def _weakest_strongest(effects: Floats, n: int) -> tuple[Floats, Floats]:
    """The smallest and the largest effect, as absolute values, in the 95% confidence interval of each effect."""
    # If the true effect is e, the t statistic has the noncentral t distribution with the noncentrality e sqrt(n).
    ends = scipy.special.nctdtrinc(n - 1.0, np.array([[0.975], [0.025]]), effects * np.sqrt(n)) / np.sqrt(n)
    low, high = np.where(np.isinf(effects), effects, ends)
    return np.where(low * high <= 0, 0.0, np.minimum(np.abs(low), np.abs(high))), np.maximum(np.abs(low), np.abs(high))
