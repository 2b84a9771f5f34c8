"""Splits and folds of whole queries, cross-validation and grid search: no query is both trained and tested on."""

from boostrank.model_selection.cross_validation import QueryGridSearchCV, cross_validate, grid_search
from boostrank.model_selection.splits import QueryKFold, query_folds, split_queries, with_validation

__all__ = [
    "QueryGridSearchCV",
    "QueryKFold",
    "cross_validate",
    "grid_search",
    "query_folds",
    "split_queries",
    "with_validation",
]
