"""Estimators: gradient boosted rankers with ``fit(X, y, qid=...)`` on LightGBM and on XGBoost."""

from boostrank.rankers.lightgbm import LightGBMRanker
from boostrank.rankers.xgboost import XGBoostRanker

__all__ = ["LightGBMRanker", "XGBoostRanker"]
