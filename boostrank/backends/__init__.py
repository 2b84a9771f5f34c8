"""The boosting libraries: the only modules that use LightGBM or XGBoost, which they import when
they first need them.

The packages `lightgbm` and `xgboost` have a module `backend`, which fulfils the protocol
:class:`~boostrank.backends.base.Backend` for the rankers, and a module `callables`, which makes
custom objectives and metrics for users who train with the libraries themselves.
"""
