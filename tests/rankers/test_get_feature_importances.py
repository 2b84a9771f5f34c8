"""`get_feature_importances`, and SHAP values of the booster."""

import numpy as np
import pytest

import boostrank as br


def test_importances_are_sorted_and_carry_the_names_of_features(ranker_class, fitted, frame):
    ranker = fitted(ranker_class, named=True)
    series = ranker.get_feature_importances()
    assert series.is_monotonic_decreasing
    np.testing.assert_array_equal(series[frame.columns], ranker.feature_importances_)
    assert list(fitted(ranker_class).get_feature_importances().index) != list(series.index)


def test_kinds_of_importance_are_those_of_the_parameter(ranker_class, data, frame):
    other = "gain" if ranker_class is br.LightGBMRanker else "weight"
    ranker = ranker_class("softmax", n_estimators=5, n_jobs=1).fit(frame, *data[1:])
    default, changed = ranker.get_feature_importances(), ranker.get_feature_importances(other)
    assert not np.array_equal(default[frame.columns], changed[frame.columns])
    np.testing.assert_array_equal(changed[frame.columns], ranker.set_params(importance_type=other).feature_importances_)


@pytest.mark.slow
@pytest.mark.parametrize("objective", ["softmax", "squared", "native"])
def test_shap_values_sum_to_the_scores(ranker_class, objective, fitted, data):
    import shap  # takes a second

    native = "lambdarank" if ranker_class is br.LightGBMRanker else "rank:ndcg"
    ranker = fitted(ranker_class, native if objective == "native" else objective)
    explainer = shap.TreeExplainer(ranker.booster_)
    total = explainer.shap_values(data[0]).sum(axis=1) + explainer.expected_value
    np.testing.assert_allclose(total, ranker.predict(data[0]), atol=1e-5)
