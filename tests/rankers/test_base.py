"""Rankers as estimators of scikit-learn: its own checks, clones, texts and pipelines.

LightGBM and XGBoost run the checks on classifiers and regressors only, because their rankers need groups.
"""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import estimator_html_repr
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import _num_samples

import boostrank as br

NO_EQUIVALENCE = (
    "the check repeats and removes rows of one query: that changes its ideal DCG, the bins of its features and the "
    "number of documents in a leaf, which weights do not; repeating whole queries is tested in test_sample_weight.py"
)
EQUIVALENCE = dict.fromkeys(
    ["check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data"], NO_EQUIVALENCE
)


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


class BaggedRanker(OneQuery, br.BaggedRanker):
    pass


# The data of the checks are so small that no leaf could be split with the defaults of both rankers, 20 documents.
ESTIMATORS = [
    LightGBMRanker(n_estimators=3, n_jobs=1, min_child_samples=1),
    XGBoostRanker(n_estimators=3, n_jobs=1, min_child_weight=1.0),
    # Bagging is the same for both rankers.
    BaggedRanker(br.LightGBMRanker(n_estimators=2, n_jobs=1, min_child_samples=1), 2, random_state=0),
]


@pytest.mark.filterwarnings("ignore:no tree has a split")
@parametrize_with_checks(ESTIMATORS, expected_failed_checks=lambda ranker: EQUIVALENCE)
def test_ranker_passes_the_checks_of_scikit_learn(estimator, check):
    check(estimator)


def test_texts_show_the_settings(ranker_class, fitted):
    for shown in (fitted(ranker_class), clone(fitted(ranker_class))):
        assert ranker_class.__name__ in estimator_html_repr(shown)
        assert "validation_fraction=0.3" in repr(shown)


def test_pipelines_pass_the_queries_to_a_ranker(ranker_class, data):
    X, y, qid = data
    pipeline = make_pipeline(StandardScaler(), ranker_class(n_estimators=5, n_jobs=1))
    pipeline.fit(X, y, **{f"{ranker_class.__name__.lower()}__qid": qid})
    alone = ranker_class(n_estimators=5, n_jobs=1).fit(StandardScaler().fit_transform(X), y, qid)
    np.testing.assert_array_equal(pipeline.predict(X), alone.predict(StandardScaler().fit_transform(X)))
