"""The decay of discounts, and whether NDCG with a discount converges on long lists.

``n`` is the length of a list, ``s`` a normalized score in [0, 1], and a curve the expected gain of
a document given ``s`` (:mod:`boostrank.theory.score_curves`). NDCG converges if and only if the
effective number of ranks is unbounded,

    m(n) = (sum d(r))^2 / (sum d(r)^2),     r = 1, ..., k(n).

The page theory/long_lists of the guide has the theorems (Wang et al., "A theoretical analysis of
NDCG type ranking measures", COLT 2013), an addition to the paper and corrections.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, cast

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from boostrank.inputs.arrays import Ints, as_floats
from boostrank.inputs.checks import refuse
from boostrank.ndcg.dcg import DCG, Discount
from boostrank.ndcg.long_lists import Cutoff, is_constant, share_kept

Verdict = Literal["feasible", "boundary", "too fast"]


@dataclass(frozen=True)
class Feasibility:
    """The result of :func:`feasibility`, which says what the verdicts mean.

    Attributes
    ----------
    verdict : {"feasible", "boundary", "too fast"}
    reason : str
        Whole sentences that name theorems of the paper.

    Examples
    --------
    >>> import boostrank as br
    >>> result = br.theory.feasibility(("power", 0.5), k=10)
    >>> result.verdict
    'too fast'
    >>> result.reason.split(". ")[0]
    'With the constant cutoff k = 10 the sum of discounts is bounded'
    """

    verdict: Verdict
    reason: str

    def __str__(self) -> str:
        return f"{self.verdict}. {self.reason}"


def feasibility(discount: Discount = "log2", *, k: Cutoff = None) -> Feasibility:
    """Whether NDCG with a discount and a cutoff converges on long lists, and distinguishes rankers.

    The verdicts are:

    - "feasible": the discount decays slower than ``1/r``, and all ranks or a fixed share of the
      ranks count.
    - "boundary": the sum of discounts diverges, but NDCG depends on a vanishing share of the ranks,
      as with ``1/r``.
    - "too fast": the sum of discounts is bounded, and NDCG does not converge.

    Parameters
    ----------
    discount : {"log2", "zipf"}, ("power", beta) or ("exponential", base), default "log2"
    k : int, float, ("power", a) or None
        A number of ranks, a share of the ranks, ``n^a`` for lists of length n, or all ranks (None).

    Returns
    -------
    Feasibility
        Printing it gives the verdict and the reason.

    Raises
    ------
    ValueError
        If the discount or the cutoff is invalid, or the discount is a function.

    References
    ----------
    Wang et al., "A theoretical analysis of NDCG type ranking measures", COLT 2013, Sections 3.2 and
    3.3.

    Examples
    --------
    >>> import boostrank as br
    >>> [
    ...     br.theory.feasibility(discount).verdict
    ...     for discount in ("log2", "zipf", ("exponential", 2))
    ... ]
    ['feasible', 'boundary', 'too fast']
    >>> [br.theory.feasibility("log2", k=k).verdict for k in (10, 0.2)]
    ['too fast', 'feasible']
    """
    return Feasibility(*_judge(decay_power(discount), k, share_kept(k)))


def decay_power(discount: Discount) -> float:
    """The power ``beta`` of a discount that decays like ``r^-beta``.

    It is 0 for log2, and infinite for exponentials.

    Raises
    ------
    ValueError
        If the discount is invalid, or if it is a function, whose decay is not known.

    Examples
    --------
    >>> import boostrank as br
    >>> [br.theory.decay_power(discount) for discount in ("log2", "zipf", ("power", 0.5))]
    [0.0, 1.0, 0.5]
    """
    DCG(discount=discount)
    if callable(discount):
        expected = "'log2', 'zipf', ('power', beta) or ('exponential', base), whose decay is known"
        refuse("discount", discount, expected, got=f"the function {discount!r}")
    if discount == "log2":
        return 0.0
    if isinstance(discount, str):
        return 1.0
    name, parameter = discount
    return float(parameter) if name == "power" else np.inf


def lengths_of_lists(n: ArrayLike) -> Ints:
    """Lengths of lists as an array of the shape of `n`.

    Raises
    ------
    ValueError
        If they are not whole numbers of at least 1.
    """
    lengths = as_floats(n, "n", keep_shape=True)
    are_valid = (lengths >= 1) & (lengths < 2.0**63) & (lengths % 1 == 0)
    if lengths.size == 0 or not are_valid.all():
        refuse("n", n, "lengths of lists, whole numbers of at least 1 and below 2^63")
    return lengths.astype(np.int64)


def bounded_sums(discount: Discount, k: Cutoff) -> tuple[float, float]:
    """Limits of the sums of ``d`` and of ``d^2`` for long lists, if that of ``d`` is bounded."""
    if is_constant(k):
        discounts = DCG(discount=discount).discounts(k)  # type: ignore[arg-type]
        return float(discounts.sum()), float((discounts**2).sum())
    name, parameter = cast("tuple[str, float]", discount)
    if name == "power":
        return float(special.zeta(parameter)), float(special.zeta(2 * parameter))
    return 1.0 / (parameter - 1.0), 1.0 / (parameter**2 - 1.0)


def _judge(power: float, k: Cutoff, share: float) -> tuple[Verdict, str]:
    """The verdict and its reason."""
    if is_constant(k):
        return "too fast", (
            f"With the constant cutoff k = {k} the sum of discounts is bounded. NDCG depends on at "
            f"most {k} documents, does not converge, and does not distinguish any two rankers "
            "consistently (Theorem 10, Section 3.3)."
        )
    if power > 1:
        return "too fast", (
            "The sum of discounts converges. NDCG depends on the first few ranks of lists of any "
            "length. It does not converge, and does not distinguish any two rankers consistently "
            "(Theorem 10)."
        )
    if share == 0 or power == 1:
        theorem = "Theorem 9" if share > 0 else "Theorems 11 and 15"
        otherwise = "it depends on their curves near s = 1"
        if power == 1:
            otherwise = (
                "it does not, unless the labels at s = 1 are certain, or both rank the same "
                "documents first"
            )
        return "boundary", (
            "The sum of discounts diverges, but NDCG depends on a vanishing share of the ranks: it "
            f"converges to the expected gain at s = 1 divided by the largest gain ({theorem}). It "
            "distinguishes two rankers consistently if their expected gains at s = 1 differ. If "
            f"these are equal, {otherwise}; the paper leaves this open."
        )
    if power == 0 and share == 1:
        return "feasible", (
            "The discount decays slower than any power. NDCG tends to 1 for every ranker, with "
            "log2 at the rate 1 / log n (Theorem 4), but distinguishes any two rankers with "
            "different curves consistently (Theorem 6)."
        )
    theorems = "7, 8 and 14"
    if share < 1:
        theorems = "12 and 16" if power == 0 else "13 and 17"
    return "feasible", (
        "The discount decays slower than 1/r. NDCG converges to a limit that depends on the "
        "ranker, and distinguishes two rankers with different limits consistently (Theorems "
        f"{theorems})."
    )
