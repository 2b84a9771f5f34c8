"""NDCG on long lists (Wang et al., COLT 2013): limits, suitable discounts, and how well NDCG distinguishes rankers."""

from boostrank.theory.long_lists.decay import Decay, Feasibility, decay_of, effective_ranks, feasibility
from boostrank.theory.long_lists.finite_lists import pseudo_expectation
from boostrank.theory.long_lists.limits import (
    LeadingDifference,
    Limit,
    leading_difference,
    log_discount_rate,
    ndcg_limit,
)
from boostrank.theory.long_lists.populations import CurvePair, RankedData
from boostrank.theory.long_lists.score_curves import ScoreCurve, estimate_curve
from boostrank.theory.long_lists.simulation import distinguishability

__all__ = [
    "CurvePair",
    "Decay",
    "Feasibility",
    "LeadingDifference",
    "Limit",
    "RankedData",
    "ScoreCurve",
    "decay_of",
    "distinguishability",
    "effective_ranks",
    "estimate_curve",
    "feasibility",
    "leading_difference",
    "log_discount_rate",
    "ndcg_limit",
    "pseudo_expectation",
]
