"""Theory of NDCG from two papers: consistency of losses, and NDCG on long lists.

The two parts are the packages :mod:`boostrank.theory.consistency` and :mod:`boostrank.theory.long_lists`. Their
public names are imported here.
"""

from boostrank.theory.consistency.consistency_report import ConsistencyReport
from boostrank.theory.consistency.counterexample_search import check_consistency
from boostrank.theory.consistency.label_distributions import (
    PAPER_DISTRIBUTIONS,
    PROPOSITION_7_COSINE,
    PROPOSITION_7_CROSS_ENTROPY,
    SECTION_3_2_1,
    LabelDistribution,
)
from boostrank.theory.consistency.low_noise import low_noise_bound, margin_moment, ndcg_margin
from boostrank.theory.consistency.minimizers import excess_loss, minimizer
from boostrank.theory.consistency.regret_bounds import (
    StrongConvexity,
    discount_constant,
    regret_bound,
    strong_convexity,
)
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
    "PAPER_DISTRIBUTIONS",
    "PROPOSITION_7_COSINE",
    "PROPOSITION_7_CROSS_ENTROPY",
    "SECTION_3_2_1",
    "ConsistencyReport",
    "CurvePair",
    "Decay",
    "Feasibility",
    "LabelDistribution",
    "LeadingDifference",
    "Limit",
    "RankedData",
    "ScoreCurve",
    "StrongConvexity",
    "check_consistency",
    "decay_of",
    "discount_constant",
    "distinguishability",
    "effective_ranks",
    "estimate_curve",
    "excess_loss",
    "feasibility",
    "leading_difference",
    "log_discount_rate",
    "low_noise_bound",
    "margin_moment",
    "minimizer",
    "ndcg_limit",
    "ndcg_margin",
    "pseudo_expectation",
    "regret_bound",
    "strong_convexity",
]
