"""The papers' theory as tools: which losses are NDCG consistent, what they guarantee, what a metric can tell apart."""

from boostrank.theory.bounds import StrongConvexity, discount_constant, regret_bound, strong_convexity
from boostrank.theory.consistency import ConsistencyReport, check_consistency
from boostrank.theory.curves import ScoreCurve, estimate_curve
from boostrank.theory.decay import Decay, Feasibility, decay_of, effective_ranks, feasibility
from boostrank.theory.distributions import (
    PAPER_DISTRIBUTIONS,
    PROPOSITION_7_COSINE,
    PROPOSITION_7_CROSS_ENTROPY,
    SECTION_3_2_1,
    LabelDistribution,
    bayes_scores,
    expected_ndcg,
    ndcg_regret,
    optimal_ranking,
)
from boostrank.theory.finite_lists import pseudo_expectation
from boostrank.theory.limits import LeadingDifference, Limit, leading_difference, log_discount_rate, ndcg_limit
from boostrank.theory.low_noise import low_noise_bound, margin_moment, ndcg_margin
from boostrank.theory.minimizers import excess_loss, minimizer
from boostrank.theory.ordering import distinguishability
from boostrank.theory.populations import CurvePair, RankedData
from boostrank.theory.sample_size import queries_needed, required_queries

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
    "bayes_scores",
    "check_consistency",
    "decay_of",
    "discount_constant",
    "distinguishability",
    "effective_ranks",
    "estimate_curve",
    "excess_loss",
    "expected_ndcg",
    "feasibility",
    "leading_difference",
    "log_discount_rate",
    "low_noise_bound",
    "margin_moment",
    "minimizer",
    "ndcg_limit",
    "ndcg_margin",
    "ndcg_regret",
    "optimal_ranking",
    "pseudo_expectation",
    "queries_needed",
    "regret_bound",
    "required_queries",
    "strong_convexity",
]
