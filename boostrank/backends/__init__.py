"""The boosting libraries: the only modules that use LightGBM or XGBoost, which they import when they first need them.

The modules `lightgbm` and `xgboost` train for the rankers; both fulfil the protocol
:class:`~boostrank.backends.base.Backend`. The modules `lightgbm_callables` and `xgboost_callables` make custom
objectives and metrics for users who train with the libraries themselves.
"""
