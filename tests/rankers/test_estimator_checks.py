"""scikit-learn's own checks of estimators, over both rankers."""

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import _num_samples

import boostrank as br

ROW_WEIGHTS = "the check weights rows of one query differently, which only a sum over documents can honour"
NO_EQUIVALENCE = (
    "the check repeats and removes rows of one query: that changes its ideal DCG, the bins of its features and the "
    "number of documents in a leaf, which weights do not; repeating whole queries is tested in test_rankers.py"
)
EQUIVALENCE = dict.fromkeys(
    ["check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data"], NO_EQUIVALENCE
)
EXPECTED_FAILURES = {
    "squared": EQUIVALENCE,
    "softmax": EQUIVALENCE | {"check_sample_weights_not_overwritten": ROW_WEIGHTS},
}


class OneQuery:
    """The checks call ``fit(X, y)`` and ``score(X, y)``, which rankers refuse: here all rows are one query then."""

    def fit(self, X, y, qid=None, *, sample_weight=None):
        qid = np.zeros(_num_samples(X)) if qid is None else qid
        return super().fit(X, y, qid, sample_weight=sample_weight)

    def score(self, X, y, qid=None):
        return super().score(X, y, np.zeros(_num_samples(X)) if qid is None else qid)


class LightGBMRanker(OneQuery, br.LightGBMRanker):
    pass


class XGBoostRanker(OneQuery, br.XGBoostRanker):
    pass


# The checks' data are small: with 20 documents in a leaf, LightGBM's default, nothing could be split.
ESTIMATORS = [
    ranker
    for objective in ("softmax", "squared")
    for ranker in (
        LightGBMRanker(objective, n_estimators=5, n_jobs=1, min_child_samples=1),
        XGBoostRanker(objective, n_estimators=5, n_jobs=1),
    )
]


@pytest.mark.filterwarnings("ignore:no tree has a split")
@parametrize_with_checks(ESTIMATORS, expected_failed_checks=lambda ranker: EXPECTED_FAILURES[ranker.objective])
def test_estimator(estimator, check):
    check(estimator)
