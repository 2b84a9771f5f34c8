"""NDCG consistency of losses (Ravikumar, Tewari and Yang, AISTATS 2011): minimizers, counterexamples, regret bounds."""

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

__all__ = [
    "PAPER_DISTRIBUTIONS",
    "PROPOSITION_7_COSINE",
    "PROPOSITION_7_CROSS_ENTROPY",
    "SECTION_3_2_1",
    "ConsistencyReport",
    "LabelDistribution",
    "StrongConvexity",
    "check_consistency",
    "discount_constant",
    "excess_loss",
    "low_noise_bound",
    "margin_moment",
    "minimizer",
    "ndcg_margin",
    "regret_bound",
    "strong_convexity",
]
