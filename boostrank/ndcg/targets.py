"""Targets of surrogates, which are made of labels.

A loss is a pair of a surrogate and a kind of target, and NDCG consistency is a property of the
pair. The minimizer of a consistent surrogate sorts documents like their expected targets. By Lemma
4 and Corollary 5 of Ravikumar, Tewari and Yang (AISTATS 2011), scores have the largest expected
NDCG if they sort documents like the expected normalized gains ``E[G / Z]``. These are the targets
of the normalization ``"dcg"``. The other normalizations give the original losses, which the paper
shows to be inconsistent.
"""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from boostrank.inputs.arrays import Floats
from boostrank.inputs.checks import check_choice
from boostrank.ndcg.dcg import DCG, reciprocal_or_zero
from boostrank.ndcg.gains import check_relevance
from boostrank.queries.segments import Segments

#: Kind of targets.
Normalize = Literal["dcg", "none", "l2", "sum", "softmax"]
NORMALIZATIONS: tuple[str, ...] = get_args(Normalize)
CONSISTENT_NORMALIZATION = "dcg"


def make_targets(
    relevance: ArrayLike, queries: Segments, dcg: DCG | None = None, normalize: Normalize = "dcg"
) -> Floats:
    """The targets of grouped labels, float64, shape (n_documents,).

    Parameters
    ----------
    relevance : array-like, shape (n_documents,)
        Labels, grouped by query: 0 or more, or any real numbers with the gain "rank".
    queries : Segments
        The documents of each query.
    dcg : DCG, optional
        Gain, discount and cutoff; the default is ``DCG()``.
    normalize : {"dcg", "none", "l2", "sum", "softmax"}, default "dcg"
        ======== ==================== ===========================================================
        name     target               surrogate with which it is a loss of the paper
        ======== ==================== ===========================================================
        dcg      ``G / Z_k``          squared, poisson, cosine: repaired losses of Section 3.3
        none     ``G``                squared: the original least squares
        l2       ``G / ||G||_2``      cosine: the original RankCosine
        sum      ``G / sum(G)``       none; with softmax: ListNet on gains in place of labels
        softmax  ``exp(y) / sum exp`` softmax: the original ListNet
        ======== ==================== ===========================================================

        ``y`` are the labels, ``G`` their gains, and ``Z_k`` the ideal DCG@k. Sums and norms are
        over the documents of a query. If all gains of a query are 0, its targets are 0. The targets
        of ``"softmax"`` do not depend on gains and are always positive.

    Raises
    ------
    ValueError
        If a label is not finite, negative or too large for the gain, or if `normalize` is unknown.

    References
    ----------
    Ravikumar, Tewari and Yang, "On NDCG consistency of listwise ranking methods", AISTATS 2011,
    Sections 3 and 3.3.

    Examples
    --------
    >>> import boostrank as br
    >>> br.make_targets([1, 0, 2], br.Queries.from_sizes([3]), br.DCG(k=1)).round(4).tolist()
    [0.3333, 0.0, 1.0]
    >>> queries = br.Queries.from_sizes([3])
    >>> br.make_targets([1, 0, 2], queries, normalize="softmax").round(4).tolist()
    [0.2447, 0.09, 0.6652]
    """
    if dcg is None:
        dcg = DCG()
    labels = check_relevance(relevance, signed=dcg.takes_negative)
    return targets_of(labels, queries, dcg, normalize)


def targets_of(labels: Floats, queries: Segments, dcg: DCG, normalize: Normalize) -> Floats:
    """As :func:`make_targets`, for labels that are checked already."""
    check_choice("normalize", normalize, NORMALIZATIONS)
    if normalize == "softmax":
        return queries.softmax(labels)
    gains = dcg.gains_of(labels, queries)
    if normalize == "none":
        return gains
    if normalize == "dcg":
        return dcg.normalized_gains(gains, queries)
    if normalize == "l2":
        # After the division by the largest gain of its query, the square of a gain does not
        # overflow.
        scaled = gains * queries.repeat(reciprocal_or_zero(queries.max(gains)))
        norms = np.sqrt(queries.sum(scaled**2))
        return scaled * queries.repeat(reciprocal_or_zero(norms))
    return gains * queries.repeat(reciprocal_or_zero(queries.sum(gains)))
