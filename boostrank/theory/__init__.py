"""Theory of NDCG: consistency of losses, what clicks change, and NDCG on long lists.

The parts are the packages :mod:`boostrank.theory.consistency` and :mod:`boostrank.theory.long_lists`, each about one
paper, and :mod:`boostrank.theory.click_feedback`. Their public names are imported here.
"""

from boostrank.theory.click_feedback.feedback import ClickFeedback, is_affine
from boostrank.theory.click_feedback.normalizer_bound import dcg_ranking_bound
from boostrank.theory.click_feedback.session_variance import SessionVariance, session_target_variance
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
    "ClickFeedback",
    "ConsistencyReport",
    "CurvePair",
    "Decay",
    "Feasibility",
    "LabelDistribution",
    "LeadingDifference",
    "Limit",
    "RankedData",
    "ScoreCurve",
    "SessionVariance",
    "StrongConvexity",
    "check_consistency",
    "dcg_ranking_bound",
    "decay_of",
    "discount_constant",
    "distinguishability",
    "effective_ranks",
    "estimate_curve",
    "excess_loss",
    "feasibility",
    "is_affine",
    "leading_difference",
    "log_discount_rate",
    "low_noise_bound",
    "margin_moment",
    "minimizer",
    "ndcg_limit",
    "ndcg_margin",
    "pseudo_expectation",
    "regret_bound",
    "session_target_variance",
    "strong_convexity",
]
