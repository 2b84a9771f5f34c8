from .bagging import BaggedRanker as BaggedRanker
from .lightgbm import LightGBMRanker as LightGBMRanker
from .xgboost import XGBoostRanker as XGBoostRanker
