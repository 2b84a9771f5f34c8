from .bagging import BaggedRanker as BaggedRanker
from .explanations import Explanation as Explanation
from .explanations import explain as explain
from .lightgbm import LightGBMRanker as LightGBMRanker
from .xgboost import XGBoostRanker as XGBoostRanker
from .xgboost import load_model as load_model
