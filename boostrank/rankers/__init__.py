"""Rankers on LightGBM and XGBoost, and bagging: estimators in the style of scikit-learn, with ``fit(X, y, qid=...)``.

If all rows are one query where `qid` is not given, as in a subclass in ``tests/rankers/test_base.py``, rankers pass at
least 46 of the 48 checks of ``check_estimator`` of scikit-learn 1.9, and 45 with the libraries' own objectives. The
others repeat rows of a query, which changes its ideal DCG, or give them different weights.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
