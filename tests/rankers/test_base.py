"""Rankers as estimators: the checks of scikit-learn, texts, pipelines, and attributes that users of
others read.

LightGBM and XGBoost run the checks on classifiers and regressors only, because their rankers need
groups."""

import numpy as np
import pytest
from rankers.small_rankers import small
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import _num_samples

import boostrank as br

NO_EQUIVALENCE = (
    "the check repeats and removes rows of one query: that changes its ideal DCG, the bins of its "
    "features and the number of documents in a leaf, which weights do not; repeating whole queries "
    "is tested in test_fit.py"
)
EQUIVALENCE = dict.fromkeys(
    [
        "check_sample_weight_equivalence_on_dense_data",
        "check_sample_weight_equivalence_on_sparse_data",
    ],
    NO_EQUIVALENCE,
)


class OneQuery:
    """The checks call ``fit(X, y)`` and ``score(X, y)``, which rankers refuse: here all rows are
    one query then."""

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


# The data of the checks are so small that no leaf could be split with the defaults of both rankers,
# 20 documents.
ESTIMATORS = [
    LightGBMRanker(n_estimators=3, n_jobs=1, min_child_samples=1),
    XGBoostRanker(n_estimators=3, n_jobs=1, min_child_weight=1.0),
    # Bagging is the same for both rankers.
    BaggedRanker(
        br.LightGBMRanker(n_estimators=2, n_jobs=1, min_child_samples=1), 2, random_state=0
    ),
]


@pytest.mark.filterwarnings("ignore:no tree has a split")
@parametrize_with_checks(ESTIMATORS, expected_failed_checks=lambda ranker: EQUIVALENCE)
def test_ranker_passes_the_checks_of_scikit_learn(estimator, check):
    check(estimator)


def test_pipelines_pass_the_queries_to_a_ranker(ranker_class, data):
    X, y, qid = data
    pipeline = make_pipeline(StandardScaler(), ranker_class(n_estimators=5, n_jobs=1))
    pipeline.fit(X, y, **{f"{ranker_class.__name__.lower()}__qid": qid})
    alone = ranker_class(n_estimators=5, n_jobs=1).fit(StandardScaler().fit_transform(X), y, qid)
    np.testing.assert_array_equal(
        pipeline.predict(X), alone.predict(StandardScaler().fit_transform(X))
    )


def test_the_objective_is_that_of_the_training(ranker_class, data):
    loss = br.surrogates.Cosine(epsilon=2.0)
    ranker = small(ranker_class, loss).fit(*data)
    assert ranker.set_params(objective="squared").objective_ is loss
    with pytest.raises(ValueError, match="objective must be"):
        ranker.set_params(objective="typo").fit(*data)
    assert ranker.objective_ is loss


def test_attributes_of_models_of_files(ranker_class, fitted, data, tmp_path):
    ranker = fitted(ranker_class)
    ranker.save_model(tmp_path / "model.json")
    loaded = small(ranker_class, "squared").fit(*data).load_model(tmp_path / "model.json")
    assert (loaded.best_iteration_, loaded.n_features_in_) == (ranker.best_iteration_, 10)
    assert loaded.best_score_ == {}
    with pytest.raises(ValueError, match="A model that was read from a file has none"):
        loaded.evals_result()
    assert not hasattr(loaded, "objective_")
    assert loaded.fit(*data).objective_ == "squared"


def test_tools_take_the_booster_and_its_results(ranker_class, fitted, data):
    import shap  # It takes seconds.

    ranker, X = fitted(ranker_class), data[0][:50]
    explainer, contributions = (
        shap.TreeExplainer(ranker.booster_),
        ranker.predict(X, pred_contrib=True),
    )
    np.testing.assert_allclose(explainer.shap_values(X), contributions[:, :-1], atol=1e-5)
    np.testing.assert_allclose(explainer.expected_value, contributions[0, -1], atol=1e-5)
    name = "valid_0" if ranker_class is br.LightGBMRanker else "validation_0"
    assert ranker.evals_result() == {name: ranker.evals_result_["valid_0"]}


def test_importances_are_sorted_and_of_the_kind_that_the_parameter_names(ranker_class, data, frame):
    other = "gain" if ranker_class is br.LightGBMRanker else "weight"
    ranker = small(ranker_class).fit(frame, *data[1:])
    default, changed = ranker.get_feature_importances(), ranker.get_feature_importances(other)
    for series, values in (
        (default, ranker.feature_importances_),
        (changed, ranker.set_params(importance_type=other).feature_importances_),
    ):
        assert series.is_monotonic_decreasing
        np.testing.assert_array_equal(series[frame.columns], values)
    assert not np.array_equal(default[frame.columns], changed[frame.columns])
    assert set(small(ranker_class).fit(*data).get_feature_importances().index) == set(range(10))
    with pytest.raises(ValueError, match=r"importance_type must be one of .*gain"):
        ranker.get_feature_importances("foo")
