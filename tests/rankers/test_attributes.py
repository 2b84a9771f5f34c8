"""Attributes that users of LGBMRanker and XGBRanker read, and tools of both libraries that take a model."""

import warnings

import lightgbm as lgb
import matplotlib
import numpy as np
import pytest
import xgboost as xgb
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
    assert ranker.evals_result() is ranker.evals_result_


def test_without_early_stopping_the_last_round_is_the_best(ranker_class, data):
    X, y, qid = data
    ranker = make(ranker_class).fit(*data, eval_set=[(X.copy(), y, qid)], eval_metric="map")
    assert ranker.best_score_ == {"valid_0": {"map": ranker.evals_result_["valid_0"]["map"][-1]}}


def test_best_scores_of_continued_training_are_those_of_its_own_rounds(ranker_class, data, tmp_path):
    X, y, qid = data
    first = make(ranker_class).fit(*data)
    settings = {"n_estimators": 30, "learning_rate": 0.5, "early_stopping_rounds": 3}
    ranker = make(ranker_class, **settings).fit(*data, eval_set=[(X.copy(), y, qid)], init_model=first)
    assert ranker.best_iteration_ > 6
    assert ranker.best_score_ == {"valid_0": {"ndcg": pytest.approx(ranker.score(*data))}}
    ranker.save_model(tmp_path / "model.json")
    assert ranker.load_model(tmp_path / "model.json").best_score_ == {}
    ranker.fit(*data, eval_set=[(X.copy(), y, qid)])
    assert ranker.best_score_ == {"valid_0": {"ndcg": pytest.approx(ranker.score(*data))}}


def test_without_validation_sets_there_are_no_results(ranker_class, data):
    ranker = make(ranker_class).fit(*data)
    assert ranker.best_score_ == ranker.evals_result_ == {}
    with pytest.raises(ValueError, match="no results of validation sets: give eval_set to fit"):
        ranker.evals_result()


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


# Tools of both libraries, as the README says


@pytest.fixture
def axes():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        matplotlib.use("Agg")
        import matplotlib.pyplot as plt

    yield plt.subplots()[1]
    plt.close("all")


def test_lightgbm_plots_the_booster_and_the_results(validated, axes):
    ranker = validated[br.LightGBMRanker]
    lgb.plot_importance(ranker.booster_, ax=axes)
    assert len(axes.patches) == np.count_nonzero(ranker.feature_importances_)
    lgb.plot_metric(ranker.evals_result_, metric="ndcg@5", ax=axes)
    lines = [line.get_ydata().tolist() for line in axes.lines]
    assert lines == [values["ndcg@5"] for values in ranker.evals_result_.values()]
    assert "Column_" in lgb.create_tree_digraph(ranker.booster_, tree_index=1).source


def test_xgboost_plots_the_booster(validated, axes):
    ranker = validated[br.XGBoostRanker]
    xgb.plot_importance(ranker.booster_, importance_type="gain", ax=axes)
    assert len(axes.patches) == np.count_nonzero(ranker.feature_importances_)
    assert "f0" in xgb.to_graphviz(ranker.booster_, tree_idx=1).source


def test_shap_explains_the_booster(ranker_class, validated, data):
    # The import takes a second.
    import shap

    ranker, X = validated[ranker_class], data[0][:50]
    explainer = shap.TreeExplainer(ranker.booster_)
    contributions = ranker.predict(X, pred_contrib=True)
    np.testing.assert_allclose(explainer.shap_values(X), contributions[:, :-1], atol=1e-5)
    np.testing.assert_allclose(explainer.expected_value, contributions[0, -1], atol=1e-5)
