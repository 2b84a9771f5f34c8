"""The rooms of the boosting libraries: the only modules that know LightGBM or XGBoost.

Both have the same doors, which the rankers use: ``check_parameters``, ``native_parameters``, ``train``, ``predict``,
``importances``, ``save`` and ``load``. They also make the callables for users of the native libraries. The libraries
are imported on use.
"""
