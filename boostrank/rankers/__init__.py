"""Rankers on LightGBM and XGBoost, and bagging: estimators in the style of scikit-learn, with ``fit(X, y, qid=...)``.

If all rows are one query where `qid` is not given, as in a subclass in ``tests/rankers/test_base.py``, rankers pass at
least 46 of the 48 checks of ``check_estimator`` of scikit-learn 1.9, and 45 with the libraries' own objectives. The
others repeat rows of a query, which changes its ideal DCG, or give them different weights.
"""

from typing import TYPE_CHECKING

from boostrank.lazy_names import lazy_names

if TYPE_CHECKING:
    from boostrank.rankers.bagging import BaggedRanker
    from boostrank.rankers.lightgbm import LightGBMRanker
    from boostrank.rankers.xgboost import XGBoostRanker
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "bagging": ("BaggedRanker",),
            "lightgbm": ("LightGBMRanker",),
            "xgboost": ("XGBoostRanker",),
        },
    )

__all__ = ["BaggedRanker", "LightGBMRanker", "XGBoostRanker"]
