"""Attributes that users of LGBMRanker and XGBRanker read, and tools of both libraries that take a model."""

import lightgbm as lgb
import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import boostrank as br


def make(ranker_class, **parameters):
    return ranker_class(**{"objective": "softmax", "n_estimators": 5, "random_state": 0, "n_jobs": 1, **parameters})


@pytest.fixture(scope="module")
def validated(data):
    """Rankers that stopped early, with two validation sets, by class; no test may change them."""
    X, y, qid = data
    cut = qid < 20
    sets = [(X[rows], y[rows], qid[rows]) for rows in (cut, ~cut)]

    def fit(ranker_class):
        ranker = make(ranker_class, n_estimators=30, learning_rate=0.3, early_stopping_rounds=3)
        return ranker.fit(X[cut], y[cut], qid[cut], eval_set=sets, eval_metric="ndcg@5")

    return {ranker_class: fit(ranker_class) for ranker_class in (br.LightGBMRanker, br.XGBoostRanker)}


# Values


def test_before_fit_every_attribute_is_an_error(ranker_class):
    ranker = ranker_class()
    for name in ("best_score_", "objective_", "feature_importances_", "evals_result_"):
        assert not hasattr(ranker, name)
    with pytest.raises(NotFittedError):
        ranker.evals_result()


def test_best_scores_are_the_values_of_the_model(ranker_class, validated, data):
    ranker, (X, y, qid) = validated[ranker_class], data
    assert 1 < ranker.best_iteration_ < len(ranker.evals_result_["valid_1"]["ndcg@5"])
    cut = qid < 20
    expected = {
        name: {"ndcg@5": pytest.approx(br.ndcg_score(y[rows], ranker.predict(X[rows]), qid[rows], k=5))}
        for name, rows in {"valid_0": cut, "valid_1": ~cut}.items()
    }
    assert ranker.best_score_ == expected
    assert ranker.best_score_["valid_1"]["ndcg@5"] == max(ranker.evals_result_["valid_1"]["ndcg@5"])
    own_names = {"valid_0": "validation_0", "valid_1": "validation_1"} if ranker_class is br.XGBoostRanker else {}
    results = {own_names.get(name, name): values for name, values in ranker.evals_result_.items()}
    assert ranker.evals_result() == results


def test_the_objective_is_that_of_the_training(ranker_class, data):
    loss = br.surrogates.Cosine(epsilon=2.0)
    ranker = make(ranker_class, objective=loss).fit(*data)
    assert ranker.set_params(objective="squared").objective_ is loss
    with pytest.raises(ValueError, match="objective must be"):
        ranker.set_params(objective="typo").fit(*data)
    assert ranker.objective_ is loss


def test_attributes_of_models_of_files(ranker_class, validated, data, tmp_path):
    ranker = validated[ranker_class]
    ranker.save_model(tmp_path / "model.json")
    loaded = make(ranker_class, objective="squared").fit(*data).load_model(tmp_path / "model.json")
    assert (loaded.best_iteration_, loaded.n_features_in_) == (ranker.best_iteration_, 10)
    assert loaded.best_score_ == {}
    with pytest.raises(ValueError, match="A model that was read from a file has none"):
        loaded.evals_result()
    assert not hasattr(loaded, "objective_")
    assert loaded.fit(*data).objective_ == "squared"


# Importances, and tools that take a model, as the README says


def test_shap_explains_the_booster(ranker_class, validated, data):
    # The import takes a second.
    import shap

    ranker, X = validated[ranker_class], data[0][:50]
    explainer = shap.TreeExplainer(ranker.booster_)
    contributions = ranker.predict(X, pred_contrib=True)
    np.testing.assert_allclose(explainer.shap_values(X), contributions[:, :-1], atol=1e-5)
    np.testing.assert_allclose(explainer.expected_value, contributions[0, -1], atol=1e-5)


def test_lightgbm_plots_the_results(validated):
    from matplotlib.figure import Figure

    results, axes = validated[br.LightGBMRanker].evals_result_, Figure().subplots()
    lgb.plot_metric(results, metric="ndcg@5", ax=axes)
    assert [line.get_ydata().tolist() for line in axes.lines] == [values["ndcg@5"] for values in results.values()]


def test_importances_are_sorted_and_carry_the_names_of_features(ranker_class, fitted, frame):
    ranker = fitted(ranker_class, named=True)
    series = ranker.get_feature_importances()
    assert series.is_monotonic_decreasing
    np.testing.assert_array_equal(series[frame.columns], ranker.feature_importances_)
    assert list(fitted(ranker_class).get_feature_importances().index) != list(series.index)


def test_kinds_of_importance_are_those_of_the_parameter(ranker_class, data, frame):
    other = "gain" if ranker_class is br.LightGBMRanker else "weight"
    ranker = make(ranker_class).fit(frame, *data[1:])
    default, changed = ranker.get_feature_importances(), ranker.get_feature_importances(other)
    assert not np.array_equal(default[frame.columns], changed[frame.columns])
    np.testing.assert_array_equal(changed[frame.columns], ranker.set_params(importance_type=other).feature_importances_)
    with pytest.raises(ValueError, match=r"importance_type must be one of .*gain"):
        ranker.get_feature_importances("foo")
