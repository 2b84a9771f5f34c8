"""The boosting libraries: the only modules that train with LightGBM or XGBoost.

They import these when they first need them.

The packages `lightgbm` and `xgboost` have a module `backend`, which fulfils the protocol
:class:`~boostrank.backends.interface.Backend`.
"""
