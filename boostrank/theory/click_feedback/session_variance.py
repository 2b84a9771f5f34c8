"""Variance of the unbiased targets of single sessions, and what the unknown normalizer costs.

Formula 5 of the text of :mod:`boostrank.clicks.click_targets`, which has the proof.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from boostrank.core.dcg import DCG
from boostrank.inputs.arrays import Floats, as_floats
from boostrank.inputs.checks import check_count
from boostrank.theory.consistency.regret_bounds import discounts_by_rank

# With more documents, rounding changes the last differences by more than a millionth.
MAX_RELEVANT = 30


class SessionVariance(NamedTuple):
    """Variance of the target of a relevant document in one session, given the relevances.

    Attributes
    ----------
    total : float
        ``Var(u_i(t) | r)``.
    known_normalizer : float
        The variance that ``t_i / Z`` would have with the true ``Z``: ``(1 / p_i - 1) / Z^2``.
    """

    total: float
    known_normalizer: float


def session_target_variance(
    propensity: float, others: ArrayLike = (), dcg: DCG | None = None, *, n_documents: int | None = None
) -> SessionVariance:
    """Variance of the unbiased target of a relevant document, in the position-based model.

    ``(1 / p) sum_l e_l (D^l h(n - 1 - l))^2 - h(n - 1)^2`` with ``n`` relevant documents, ``h(i) = 1 / Z(i + 1)``, its
    l-th differences ``D^l h``, and the elementary symmetric polynomials ``e_l`` of ``1 / p_j - 1`` of the other
    relevant documents. The variance of a mean over ``N`` sessions with the same relevances is this number divided by
    ``N``.

    Parameters
    ----------
    propensity : float in (0, 1]
        Of the document.
    others : array-like
        Propensities of the other relevant documents. Documents that are not relevant do not matter.
    dcg : DCG, optional
        Discount and cutoff; the default is ``DCG()``.
    n_documents : int, optional
        Number of documents of the query, for a cutoff that is a fraction; by default the number of relevant documents.

    Raises
    ------
    ValueError
        If a propensity is not in (0, 1], or if there are more than 30 relevant documents, for which the differences of
        ``h`` are lost by rounding.

    Examples
    --------
    Without a cutoff and with equal propensities of 1/2 or more, the unknown normalizer at most doubles the variance,
    for every number of relevant documents that this function takes. With small propensities, its cost grows
    exponentially:

    >>> variances = [session_target_variance(0.5, [0.5] * n) for n in (1, 4, 16)]
    >>> [round(total / known, 1) for total, known in variances]
    [1.8, 1.7, 1.2]
    >>> variances = [session_target_variance(0.2, [0.2] * n) for n in (1, 4, 8)]
    >>> [round(total / known, 1) for total, known in variances]
    [3.0, 61.2, 9072.7]

    If the document itself is always examined, all of its variance is that of the normalizer:

    >>> total, known = session_target_variance(1.0, [0.5])
    >>> round(total, 4), known
    (0.1497, 0.0)
    """
    check_count("n_documents", n_documents, optional=True)
    propensities = np.append(as_floats(propensity, "propensity"), as_floats(others, "others"))
    bad = ~((propensities > 0) & (propensities <= 1))
    if bad.any():
        raise ValueError(f"propensities must be in (0, 1]; got {propensities[bad][0]:g}")
    n = len(propensities)
    if n > MAX_RELEVANT:
        raise ValueError(f"at most {MAX_RELEVANT} relevant documents are possible, because of rounding; got {n}")
    h = 1.0 / np.cumsum(discounts_by_rank(n if n_documents is None else n_documents, DCG() if dcg is None else dcg))[:n]
    symmetric = np.poly(-(1.0 / propensities[1:] - 1.0)) if n > 1 else np.ones(1)
    # Entry l of the list is D^l h(n - 1 - l), the last entry of the l-th differences.
    differences: list[float] = []
    row: Floats = h
    for _ in range(n):
        differences.append(float(row[-1]))
        row = np.diff(row)
    p, mean = float(propensities[0]), float(h[-1])
    second_moment = float((symmetric * np.array(differences) ** 2).sum()) / p
    return SessionVariance(second_moment - mean**2, mean**2 * (1.0 / p - 1.0))
