"""NDCG-consistent ranking losses for LightGBM and XGBoost."""

from boostrank import metrics, preferences, surrogates, theory
from boostrank.backends.lightgbm_callables import lightgbm_metric, lightgbm_objective
from boostrank.backends.xgboost_callables import xgboost_metric, xgboost_objective
from boostrank.comparison import Comparison, compare
from boostrank.datasets import Dataset, Fold, make_ranking, read_letor, read_letor_folds, write_letor
from boostrank.dcg import DCG
from boostrank.metrics import (
    agreement_score,
    auc_score,
    average_precision_score,
    dcg_score,
    err_score,
    evaluate,
    expected_ndcg,
    get_measure,
    kendall_tau_score,
    make_scorer,
    mean_precision_score,
    ndcg_score,
    precision_score,
    rbp_score,
    recall_score,
    reciprocal_rank_score,
    reconcile,
)
from boostrank.model_selection import QueryKFold, cross_validate, grid_search, query_folds, split_queries
from boostrank.objective import Objective, is_consistent
from boostrank.preferences import EdgeLoss, PreferenceGraph, aggregate, read_preferences, write_preferences
from boostrank.queries import Queries
from boostrank.rankers import LightGBMRanker, XGBoostRanker
from boostrank.significance import bootstrap_interval, effect_size, holm, permutation_test, t_test
from boostrank.targets import make_targets

__version__ = "0.1.0"

__all__ = [
    "DCG",
    "Comparison",
    "Dataset",
    "EdgeLoss",
    "Fold",
    "LightGBMRanker",
    "Objective",
    "PreferenceGraph",
    "Queries",
    "QueryKFold",
    "XGBoostRanker",
    "aggregate",
    "agreement_score",
    "auc_score",
    "average_precision_score",
    "bootstrap_interval",
    "compare",
    "cross_validate",
    "dcg_score",
    "effect_size",
    "err_score",
    "evaluate",
    "expected_ndcg",
    "get_measure",
    "grid_search",
    "holm",
    "is_consistent",
    "kendall_tau_score",
    "lightgbm_metric",
    "lightgbm_objective",
    "make_ranking",
    "make_scorer",
    "make_targets",
    "mean_precision_score",
    "metrics",
    "ndcg_score",
    "permutation_test",
    "precision_score",
    "preferences",
    "query_folds",
    "rbp_score",
    "read_letor",
    "read_letor_folds",
    "read_preferences",
    "recall_score",
    "reciprocal_rank_score",
    "reconcile",
    "split_queries",
    "surrogates",
    "t_test",
    "theory",
    "write_letor",
    "write_preferences",
    "xgboost_metric",
    "xgboost_objective",
]
