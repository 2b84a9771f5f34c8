"""Measures of rankings, whose conventions are settings, and scorers for scikit-learn."""

from typing import TYPE_CHECKING

from boostrank.lazy_names import lazy_names

if TYPE_CHECKING:
    from boostrank.metrics.agreement import agreement_score
    from boostrank.metrics.auc import auc_score
    from boostrank.metrics.average_precision import average_precision_score
    from boostrank.metrics.base import BoundMeasure, Measure
    from boostrank.metrics.bpref import bpref_score
    from boostrank.metrics.click_dcg import ClickDCG
    from boostrank.metrics.err import err_score
    from boostrank.metrics.input_checks import check_scores
    from boostrank.metrics.interpolated_precision import iprec_score
    from boostrank.metrics.kendall_tau import kendall_tau_score
    from boostrank.metrics.library_table import CONVENTIONS
    from boostrank.metrics.mean_precision import mean_precision_score
    from boostrank.metrics.measure_classes import MEASURES
    from boostrank.metrics.ndcg import dcg_score, ndcg_score
    from boostrank.metrics.ndcg_by_cutoff import check_ks, ndcg_curve
    from boostrank.metrics.ndcg_by_rank import dcg_breakdown
    from boostrank.metrics.ndcg_by_ties import TieRange, tie_range
    from boostrank.metrics.ndcg_expectation import expected_ndcg
    from boostrank.metrics.precision import precision_score
    from boostrank.metrics.query_mean import EMPTY, Empty
    from boostrank.metrics.r_precision import rprec_score
    from boostrank.metrics.rbp import rbp_score
    from boostrank.metrics.recall import recall_score
    from boostrank.metrics.reciprocal_rank import reciprocal_rank_score
    from boostrank.metrics.reconciliation import Reconciliation, reconcile
    from boostrank.metrics.registry import evaluate, get_measure, named_measures
    from boostrank.metrics.scorers import RankingScorer, make_scorer
    from boostrank.metrics.success import success_score
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "agreement": ("agreement_score",),
            "auc": ("auc_score",),
            "average_precision": ("average_precision_score",),
            "base": ("BoundMeasure", "Measure"),
            "bpref": ("bpref_score",),
            "click_dcg": ("ClickDCG",),
            "err": ("err_score",),
            "ndcg_expectation": ("expected_ndcg",),
            "input_checks": ("check_scores",),
            "interpolated_precision": ("iprec_score",),
            "kendall_tau": ("kendall_tau_score",),
            "library_table": ("CONVENTIONS",),
            "mean_precision": ("mean_precision_score",),
            "measure_classes": ("MEASURES",),
            "ndcg": ("dcg_score", "ndcg_score"),
            "ndcg_by_cutoff": ("check_ks", "ndcg_curve"),
            "ndcg_by_rank": ("dcg_breakdown",),
            "ndcg_by_ties": ("TieRange", "tie_range"),
            "precision": ("precision_score",),
            "query_mean": ("EMPTY", "Empty"),
            "r_precision": ("rprec_score",),
            "rbp": ("rbp_score",),
            "recall": ("recall_score",),
            "reciprocal_rank": ("reciprocal_rank_score",),
            "reconciliation": ("Reconciliation", "reconcile"),
            "registry": ("evaluate", "get_measure", "named_measures"),
            "scorers": ("RankingScorer", "make_scorer"),
            "success": ("success_score",),
        },
    )

__all__ = [
    "CONVENTIONS",
    "EMPTY",
    "MEASURES",
    "BoundMeasure",
    "ClickDCG",
    "Empty",
    "Measure",
    "RankingScorer",
    "Reconciliation",
    "TieRange",
    "agreement_score",
    "auc_score",
    "average_precision_score",
    "bpref_score",
    "check_ks",
    "check_scores",
    "dcg_breakdown",
    "dcg_score",
    "err_score",
    "evaluate",
    "expected_ndcg",
    "get_measure",
    "iprec_score",
    "kendall_tau_score",
    "make_scorer",
    "mean_precision_score",
    "named_measures",
    "ndcg_curve",
    "ndcg_score",
    "precision_score",
    "rbp_score",
    "recall_score",
    "reciprocal_rank_score",
    "reconcile",
    "rprec_score",
    "success_score",
    "tie_range",
]
