"""Rankers on LightGBM and XGBoost: estimators in the style of scikit-learn, with ``fit(X, y, qid=...)``.

If all rows are one query where `qid` is not given, as in a subclass in ``tests/rankers/test_base.py``, rankers pass 45
of the 48 checks of ``check_estimator`` of scikit-learn 1.9, and those with a sum over documents such as "squared" at
least 46. The others weight rows of a query differently, or repeat them, which changes the ideal DCG of the query.
"""

from boostrank.rankers.lightgbm import LightGBMRanker
from boostrank.rankers.xgboost import XGBoostRanker

__all__ = ["LightGBMRanker", "XGBoostRanker"]
