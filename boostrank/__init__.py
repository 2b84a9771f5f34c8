"""NDCG-consistent ranking losses for LightGBM and XGBoost.

Layers
------
Modules and packages, from the lowest layer to the highest. Each imports only from the lines above its own; modules
that share a line do not import each other. A test reads this list and checks it.

    segments                 runs of rows that belong together, and reductions over them
    files                    files that are written atomically
    frames                   query ids and features of DataFrames
    queries                  segments with query ids, grouped and ungrouped
    dcg                      gain, discount, cutoff, ideal DCG and normalized gains
    targets                  normalizations of gains, the targets of surrogates
    weights                  weights of queries and documents
    margins                  convex functions of the difference of two scores
    significance             paired tests, intervals, effect sizes and corrections for many comparisons
    datasets                 data sets, LETOR files and synthetic data
    preferences              labels that are preferences between documents, and losses of their edges
    surrogates               surrogate losses
    metrics                  metrics of rankings, and scorers for scikit-learn
    theory                   consistency of losses, and NDCG on long lists
    objective                a loss bound to data: gradient and Hessian of every boosting round
    model_selection          splits and folds by query, cross-validation and grid search
    backends                 LightGBM and XGBoost, the only modules that import these libraries
    rankers                  estimators in the style of scikit-learn
    comparison               comparison of rankers by paired tests over queries
    displays, dask           pictures with matplotlib; rankers on a Dask cluster
    reports                  comparisons as text, tables and files
    cli                      the command line
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from boostrank import datasets, metrics, model_selection, preferences, significance, surrogates, theory
from boostrank.backends.lightgbm import lightgbm_metric, lightgbm_objective
from boostrank.backends.xgboost import xgboost_metric, xgboost_objective
from boostrank.comparison import Comparison, compare
from boostrank.datasets import Dataset, Fold, make_ranking, read_letor, read_letor_folds, write_letor
from boostrank.dcg import DCG
from boostrank.metrics import (
    agreement_score,
    auc_score,
    average_precision_score,
    dcg_score,
    disagreement_score,
    err_score,
    kendall_tau_score,
    make_ndcg_scorer,
    make_scorer,
    mean_precision_score,
    ndcg_score,
    precision_score,
    rbp_score,
    recall_score,
    reciprocal_rank_score,
    reconcile,
)
from boostrank.metrics.expected_ndcg import expected_ndcg
from boostrank.model_selection import QueryKFold, cross_validate, grid_search, query_folds, split_queries
from boostrank.objective import Objective, is_consistent
from boostrank.preferences import EdgeLoss, PreferenceGraph, aggregate, read_preferences, write_preferences
from boostrank.queries import Queries
from boostrank.rankers import LightGBMRanker, XGBoostRanker
from boostrank.significance import bootstrap_interval, effect_size, holm, permutation_test, t_test
from boostrank.targets import make_targets

if TYPE_CHECKING:
    from boostrank import dask as dask
    from boostrank import displays as displays

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
    "datasets",
    "dcg_score",
    "disagreement_score",
    "effect_size",
    "err_score",
    "expected_ndcg",
    "grid_search",
    "holm",
    "is_consistent",
    "kendall_tau_score",
    "lightgbm_metric",
    "lightgbm_objective",
    "make_ndcg_scorer",
    "make_ranking",
    "make_scorer",
    "make_targets",
    "mean_precision_score",
    "metrics",
    "model_selection",
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
    "significance",
    "split_queries",
    "surrogates",
    "t_test",
    "theory",
    "write_letor",
    "write_preferences",
    "xgboost_metric",
    "xgboost_objective",
]

# Imported when they are first used: they need libraries that not everybody installs.
_OPTIONAL_MODULES = ("dask", "displays")

if not TYPE_CHECKING:  # For type checkers a module that has __getattr__ has every attribute.

    def __getattr__(name: str) -> object:
        if name not in _OPTIONAL_MODULES:
            raise AttributeError(f"module 'boostrank' has no attribute {name!r}")
        try:
            return importlib.import_module(f"boostrank.{name}")
        except ImportError as error:
            raise AttributeError(f"module 'boostrank.{name}' cannot be imported: {error}", name=name) from error


def __dir__() -> list[str]:
    return sorted([*__all__, *_OPTIONAL_MODULES, "__version__"])
