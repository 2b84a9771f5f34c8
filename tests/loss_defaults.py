"""What the rankers train the losses of boostrank with, if the user sets nothing, by the names of
the libraries."""

from boostrank.backends.lightgbm import parameters as lightgbm
from boostrank.backends.xgboost import parameters as xgboost

#: Parameters of a ranker with which its trees do not depend on random numbers.
PLAIN_TREES = {"subsample_queries": 1.0, "colsample_bynode": 1.0}
#: The same, with the learning rate of objectives of the libraries.
PLAIN = {**PLAIN_TREES, "learning_rate": 0.1}
LIGHTGBM_DEFAULTS = {
    lightgbm.PARAMETERS[name]: value
    for name, value in {**lightgbm.LOSS_DEFAULTS, **lightgbm.TREE_SHAPE}.items()
}
XGBOOST_SHAPE = dict(xgboost.TREE_SHAPE)
XGBOOST_PENALTIES = {
    xgboost.PARAMETERS[name]: value for name, value in xgboost.LOSS_DEFAULTS.items()
}
XGBOOST_PENALTIES["seed_per_iteration"] = True
XGBOOST_DEFAULTS = {**XGBOOST_PENALTIES, **XGBOOST_SHAPE}
