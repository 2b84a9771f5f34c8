"""Rankers on LightGBM and XGBoost: estimators in the style of scikit-learn, with ``fit(X, y, qid=...)``."""

from boostrank.rankers.lightgbm import LightGBMRanker
from boostrank.rankers.xgboost import XGBoostRanker

__all__ = ["LightGBMRanker", "XGBoostRanker"]
