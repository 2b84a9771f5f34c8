r"""The NDCG regret of the DCG-optimal ranking, bounded by the variation of the ideal DCG.

Clicks give unbiased estimates of gains ``G``, but not of ``G / Z``, because the ideal DCG ``Z`` of a session depends on
relevances that are not observed. A learner that ignores ``Z`` ranks by ``E[G]``. How much NDCG does that cost?

**Theorem.** Let ``s`` sort like ``E[G]``, and let ``Z`` be the ideal DCG@k. For every ``z > 0``, the regret of ``s`` in
expected NDCG@k is at most

    E[|1 - z Z|]        over the outcomes with Z > 0.

*Proof.* Let ``D(r)`` and ``D*(r)`` be the DCG of an outcome in the ranking by ``s`` and in the NDCG-optimal one.
Outcomes with ``Z = 0`` have no gains and add nothing; leave them out. Then

    regret = E[(D* - D) / Z] = E[(D* - D) (1/Z - z)] + z E[D* - D] <= E[|D* - D| |1/Z - z|],

because the ranking by ``E[G]`` has the largest expected DCG, so that ``E[D* - D] <= 0``. Both are between 0 and ``Z``.
So ``|D* - D| <= Z``, and ``Z |1/Z - z| = |1 - z Z|``. For tied scores, ``D`` is a mean over rankings, and the proof
holds with it.

**Consequences.** With ``z = 1 / E[Z | Z > 0]``, the bound is the mean absolute deviation of ``Z`` divided by its mean,
which is at most its coefficient of variation. It is 0 if ``Z`` is constant: then the ranking is NDCG-optimal. The bound
is convex and piecewise linear in ``z``, so that it is least at ``z = 1 / Z`` for one of the values of ``Z``.
:func:`dcg_ranking_bound` computes this minimum. With binary relevance, ``Z`` grows only like ``n / log n`` with the
number ``n`` of relevant documents, and is constant for ``n >= k``: for NDCG@1 the bound is 0.

It is a bound for dependent relevances and for graded ones too. If *binary* relevances are independent given the
features, the regret is 0 although ``Z`` varies (:mod:`boostrank.clicks.click_targets`, 2). With grades it may be
positive: let document 1 always have the gain 1, and document 2 the gain 2.2 or 0 with equal probability. Then ``E[G] =
(1, 1.1)``, but ``E[u] = (0.68, 0.39)``.
"""

from __future__ import annotations

import numpy as np

from boostrank.core.dcg import DCG
from boostrank.core.segments import Segments
from boostrank.theory.consistency.label_distributions import LabelDistribution


def dcg_ranking_bound(distribution: LabelDistribution, dcg: DCG | None = None) -> float:
    """An upper bound of the NDCG regret of the ranking by the expected gains ``E[G]``, which is DCG-optimal.

    It is the least ``E[|1 - z Z|]`` of all ``z > 0``, over the outcomes with a positive ideal DCG ``Z``. The text of
    the module :mod:`boostrank.theory.click_feedback.normalizer_bound` has the proof.

    Parameters
    ----------
    distribution : LabelDistribution
    dcg : DCG, optional
        Gain, discount and cutoff; the default is ``DCG()``.

    Returns
    -------
    float
        In [0, 1].

    Examples
    --------
    >>> distribution = LabelDistribution([[1, 0, 0, 0], [0, 1, 1, 1]], [0.4, 0.6])
    >>> expected_gains = distribution.probabilities @ distribution.labels
    >>> round(distribution.ndcg_regret(expected_gains), 4), round(dcg_ranking_bound(distribution), 4)
    (0.0674, 0.2123)
    >>> dcg_ranking_bound(distribution, DCG(k=1))
    0.0
    """
    dcg, labels = DCG() if dcg is None else dcg, distribution.labels
    outcomes = Segments.from_sizes(np.full(len(labels), labels.shape[1]))
    ideal = dcg.ideal(dcg.gains_of(labels.ravel()), outcomes)
    counted = (ideal > 0) & (distribution.probabilities > 0)
    if not counted.any():
        return 0.0
    ideal, probabilities = ideal[counted], distribution.probabilities[counted]
    deviations = np.abs(1.0 - ideal[:, None] / ideal[None, :])
    return float((probabilities @ deviations).min())
