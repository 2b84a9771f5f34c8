"""Rankers on LightGBM and XGBoost, and bagging, in the style of scikit-learn.

They are fitted by ``fit(X, y, qid=...)``.

If all rows are one query where `qid` is not given, as in a subclass in
``tests/rankers/test_base.py``, rankers pass 46 of the 48 checks of ``check_estimator`` of
scikit-learn 1.9. The other two repeat rows of a query, which changes its ideal DCG.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
