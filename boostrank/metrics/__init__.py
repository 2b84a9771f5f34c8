"""Metrics of rankings over ragged queries, with every convention named, and scorers for scikit-learn."""

from boostrank.metrics.binary import mean_precision_score, precision_score, rbp_score, recall_score
from boostrank.metrics.breakdown import TieRange, dcg_breakdown, tie_range
from boostrank.metrics.conventions import CONVENTIONS
from boostrank.metrics.curves import ndcg_curve
from boostrank.metrics.disagreement import Agreement, agreement_score, disagreement_score
from boostrank.metrics.graded import err_score
from boostrank.metrics.inputs import check_scores
from boostrank.metrics.mean import EMPTY, Empty
from boostrank.metrics.ndcg import NDCG, dcg_score, ndcg_score
from boostrank.metrics.pairs import auc_score, kendall_tau_score
from boostrank.metrics.reconcile import Reconciliation, reconcile
from boostrank.metrics.retrieval import average_precision_score, reciprocal_rank_score
from boostrank.metrics.scorers import METRICS, RankingScorer, make_ndcg_scorer, make_scorer

__all__ = [
    "CONVENTIONS",
    "EMPTY",
    "METRICS",
    "NDCG",
    "Agreement",
    "Empty",
    "RankingScorer",
    "Reconciliation",
    "TieRange",
    "agreement_score",
    "auc_score",
    "average_precision_score",
    "check_scores",
    "dcg_breakdown",
    "dcg_score",
    "disagreement_score",
    "err_score",
    "kendall_tau_score",
    "make_ndcg_scorer",
    "make_scorer",
    "mean_precision_score",
    "ndcg_curve",
    "ndcg_score",
    "precision_score",
    "rbp_score",
    "recall_score",
    "reciprocal_rank_score",
    "reconcile",
    "tie_range",
]
