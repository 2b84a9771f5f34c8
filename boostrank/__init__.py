"""NDCG-consistent ranking losses for LightGBM and XGBoost.

Layers
------
Modules and packages, from the lowest layer to the highest. Each imports only from the lines above its own; modules
that share a line do not import each other. A test reads this list and checks it.

    user_warnings            warnings that name the line of the user
    threads                  threads of this process that work on blocks of queries
    segments                 runs of rows that belong together, and reductions over them
    device_segments          segments in the memory of a GPU
    compiled                 compiled functions for what NumPy is too slow for
    rankings, gain_counts    documents of queries, ranked by their scores; counts of documents by their gain
    arrays                   arrays from the arguments of public functions, without silent conversions
    html_tables              HTML tables of results, for notebooks
    table_texts              tables for the terminal, in Markdown and in LaTeX
    lazy_names               public names of packages, imported when they are first used
    setting_checks           checks of counts, numbers in a range, names out of a list, and numbers in files
    random_states            generators of random numbers from the arguments random_state
    files                    files that are written atomically, or read although they are compressed
    frames                   query ids and features of DataFrames
    exponential              the exponential function, continued so that it does not overflow
    rank_sums                sums of functions of ranks, up to any rank
    queries                  segments with query ids, grouped and ungrouped
    query_values             weights and groups of queries that are given by query id
    dcg                      gain, discount, cutoff, ideal DCG and normalized gains
    discounts                names of discounts and cutoffs, and cutoffs that grow slower than the list
    targets                  normalizations of gains, the targets of surrogates
    weights                  weights of queries and documents
    margins                  convex functions of the difference of two scores
    datasets                 data sets, LETOR and TREC files, features in files, and synthetic data
    preferences              labels that are preferences between documents, and losses of their edges
    surrogates               surrogate losses of NDCG
    losses                   all losses by name
    clicks                   click logs, click models, and what clicks say about relevance
    metrics                  measures of rankings, and scorers for scikit-learn
    runs                     measures of retrieved documents, given relevance judgments
    significance             paired tests, intervals, corrections for many comparisons, and power analysis
    theory                   consistency of losses, and NDCG on long lists
    labels                   relevance, preferences or clicks: one interface for all kinds of labels
    bound_loss               the base class of losses that are bound to data
    objective                a loss bound to data: gradient and Hessian of every boosting round
    device_objective         an objective on a GPU
    estimators               rankers of LightGBM, XGBoost and CatBoost, which take query ids, and other estimators
    explanations             why a document is ranked above another one
    model_selection          splits and folds by query, cross-validation and grid search
    backends                 LightGBM and XGBoost, the only modules that import these libraries
    rankers                  estimators in the style of scikit-learn
    displays, dask           pictures with matplotlib; rankers on a Dask cluster
    comparison               comparison of rankers and of runs by paired tests over queries
    cli                      the command line
"""

from __future__ import annotations

import importlib
from threading import RLock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from boostrank import clicks as clicks
    from boostrank import dask as dask
    from boostrank import datasets as datasets
    from boostrank import displays as displays
    from boostrank import metrics as metrics
    from boostrank import model_selection as model_selection
    from boostrank import preferences as preferences
    from boostrank import significance as significance
    from boostrank import surrogates as surrogates
    from boostrank import theory as theory
    from boostrank.backends.lightgbm_callables import lightgbm_metric, lightgbm_objective
    from boostrank.backends.xgboost_callables import xgboost_metric, xgboost_objective
    from boostrank.clicks import ClickLabels, ClickLog, simulate_clicks
    from boostrank.comparison import compare, compare_runs
    from boostrank.datasets import (
        Dataset,
        FeatureFiles,
        make_ranking,
        read_letor,
        read_letor_folds,
        read_qrels,
        read_run,
        write_letor,
        write_run,
    )
    from boostrank.explanations import explain
    from boostrank.metrics import evaluate, get_measure, make_scorer, ndcg_score
    from boostrank.metrics.ndcg_expectation import expected_ndcg
    from boostrank.metrics.reconciliation import reconcile
    from boostrank.model_selection import QueryKFold, cross_validate, grid_search, query_folds, split_queries
    from boostrank.preferences import PreferenceGraph
    from boostrank.rankers import BaggedRanker, LightGBMRanker, XGBoostRanker
    from boostrank.runs import evaluate_run
    from boostrank.significance import permutation_test

__version__ = "0.1.0"

__all__ = [
    "BaggedRanker",
    "ClickLabels",
    "ClickLog",
    "Dataset",
    "FeatureFiles",
    "LightGBMRanker",
    "PreferenceGraph",
    "QueryKFold",
    "XGBoostRanker",
    "clicks",
    "compare",
    "compare_runs",
    "cross_validate",
    "datasets",
    "displays",
    "evaluate",
    "evaluate_run",
    "expected_ndcg",
    "explain",
    "get_measure",
    "grid_search",
    "lightgbm_metric",
    "lightgbm_objective",
    "make_ranking",
    "make_scorer",
    "metrics",
    "model_selection",
    "ndcg_score",
    "permutation_test",
    "preferences",
    "query_folds",
    "read_letor",
    "read_letor_folds",
    "read_qrels",
    "read_run",
    "reconcile",
    "significance",
    "simulate_clicks",
    "split_queries",
    "surrogates",
    "theory",
    "write_letor",
    "write_run",
    "xgboost_metric",
    "xgboost_objective",
]

# Modules are imported when their names are first used: all of them together take a tenth of the time of scikit-learn.
_MODULES = {
    "backends.lightgbm_callables": ("lightgbm_metric", "lightgbm_objective"),
    "backends.xgboost_callables": ("xgboost_metric", "xgboost_objective"),
    "clicks": ("ClickLabels", "ClickLog", "simulate_clicks"),
    "comparison": ("compare", "compare_runs"),
    "datasets": (
        "Dataset",
        "FeatureFiles",
        "make_ranking",
        "read_letor",
        "read_letor_folds",
        "read_qrels",
        "read_run",
        "write_letor",
        "write_run",
    ),
    "explanations": ("explain",),
    "metrics": ("evaluate", "get_measure", "make_scorer", "ndcg_score"),
    "metrics.ndcg_expectation": ("expected_ndcg",),
    "metrics.reconciliation": ("reconcile",),
    "model_selection": ("QueryKFold", "cross_validate", "grid_search", "query_folds", "split_queries"),
    "preferences": ("PreferenceGraph",),
    "rankers": ("BaggedRanker", "LightGBMRanker", "XGBoostRanker"),
    "runs": ("evaluate_run",),
    "significance": ("permutation_test",),
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}
# Threads that import modules of scikit-learn or NumPy in different sequences may get unfinished ones. So only one
# thread at a time imports what a public name needs. Modules of boostrank import no public name from here: a thread that
# imports such a module would wait for this lock, and the owner of the lock for that module.
_public_import = RLock()

if not TYPE_CHECKING:  # For type checkers a module that has __getattr__ has every attribute.

    def __getattr__(name: str) -> object:
        module = f"boostrank.{_MODULE_OF.get(name, name)}"
        if name.startswith("_"):
            raise AttributeError(f"module 'boostrank' has no attribute {name!r}")
        try:
            if name in __all__:
                with _public_import:
                    found = importlib.import_module(module)
                    # Packages, too, import the module of a public name when it is first used.
                    value = getattr(found, name) if name in _MODULE_OF else found
            else:
                value = importlib.import_module(module)
        except ImportError as error:
            if isinstance(error, ModuleNotFoundError) and error.name == module:
                raise AttributeError(f"module 'boostrank' has no attribute {name!r}") from None
            raise AttributeError(f"module {module!r} cannot be imported: {error}", name=name) from error
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*__all__, "dask", "__version__"})
