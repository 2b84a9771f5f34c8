"""Adapters to the boosting libraries: the only modules that know LightGBM or XGBoost.

For the rankers each library has one module, `lightgbm` or `xgboost`, that fulfils the protocol
:class:`~boostrank.backends.base.Backend`. For users of the native libraries `lightgbm_callables` and
`xgboost_callables` make custom objectives and metrics. The libraries are imported on use.
"""
