"""Splits, folds, cross-validation, search, curves and importances: no query is both trained and tested on."""

from typing import TYPE_CHECKING

from boostrank.lazy_names import lazy_names

if TYPE_CHECKING:
    from boostrank.model_selection.cross_validation import QueryGridSearchCV, cross_validate, grid_search
    from boostrank.model_selection.curves import learning_curve, validation_curve
    from boostrank.model_selection.permutation_importance import feature_importance
    from boostrank.model_selection.splits import QueryKFold, query_folds, split_queries, with_validation
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "cross_validation": ("QueryGridSearchCV", "cross_validate", "grid_search"),
            "curves": ("learning_curve", "validation_curve"),
            "permutation_importance": ("feature_importance",),
            "splits": ("QueryKFold", "query_folds", "split_queries", "with_validation"),
        },
    )

__all__ = [
    "QueryGridSearchCV",
    "QueryKFold",
    "cross_validate",
    "feature_importance",
    "grid_search",
    "learning_curve",
    "query_folds",
    "split_queries",
    "validation_curve",
    "with_validation",
]
