"""What XGBoostRanker trains the losses of boostrank with, if the user sets nothing, by XGBoost's names."""

#: The shape of the trees.
XGBOOST_SHAPE = {"grow_policy": "lossguide", "max_leaves": 31, "max_depth": 0}
XGBOOST_PENALTIES = {"lambda": 50.0, "min_child_weight": 20.0, "colsample_bynode": 0.7, "seed_per_iteration": True}
XGBOOST_DEFAULTS = {**XGBOOST_PENALTIES, **XGBOOST_SHAPE}
