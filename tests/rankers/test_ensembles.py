"""Ensembles of losses: one training gives the mean of the models that separate trainings of the losses give."""

import pickle

import numpy as np
import pytest
from loss_defaults import PLAIN_TREES
from rankers.small_rankers import small

import boostrank as br
from boostrank.training.losses import DEFAULT_LOSS, get_loss

LOSSES_OF_THREE = ("consistent-lambdarank", br.surrogates.Squared(), br.surrogates.Power(1))
FEW = {"n_jobs": 1, "random_state": 0, "k": 5, **PLAIN_TREES}


#: Scores of XGBoost are float32, and what a round adds is rounded to units of their last places.
TOLERANCE = {br.LightGBMRanker: 1e-9, br.XGBoostRanker: 1e-3}


def mean_of_trainings(ranker_class, losses, data, rate, n_rounds, **fit):
    """Mean of the predictions of separate trainings, whose steps are as many times as long as there are losses."""
    X, y, qid = data
    settings = {**FEW, "learning_rate": rate * len(losses), "n_estimators": n_rounds}
    return np.mean([ranker_class(one, **settings).fit(X, y, qid, **fit).predict(X) for one in losses], axis=0)


@pytest.mark.parametrize("losses", [LOSSES_OF_THREE, LOSSES_OF_THREE[:2], ("softmax", "softmax")], ids=len)
def test_an_ensemble_is_the_mean_of_separate_trainings(ranker_class, data, losses):
    X, y, qid = data
    ranker = ranker_class(br.LossEnsemble(losses), **FEW, learning_rate=0.1, n_estimators=4 * len(losses))
    expected = mean_of_trainings(ranker_class, losses, data, 0.1, 4)
    np.testing.assert_allclose(ranker.fit(X, y, qid).predict(X), expected, atol=TOLERANCE[ranker_class])
    # The models of the losses differ, so that their sequence matters where one has a round more.
    ranker = ranker.set_params(n_estimators=4 * len(losses) - 1).fit(X, y, qid)
    assert not np.allclose(ranker.predict(X), expected, atol=1e-2)


def test_weights_and_initial_scores_reach_all_losses(ranker_class, data):
    X, y, qid = data
    random = np.random.default_rng(0)
    fit = {"sample_weight": random.random(len(np.unique(qid))), "init_score": random.normal(size=len(y))}
    losses = LOSSES_OF_THREE[:2]
    ranker = ranker_class(br.LossEnsemble(losses), **FEW, learning_rate=0.1, n_estimators=6).fit(X, y, qid, **fit)
    expected = mean_of_trainings(ranker_class, losses, data, 0.1, 3, **fit)
    np.testing.assert_allclose(ranker.predict(X), expected, atol=TOLERANCE[ranker_class])


def test_the_default_is_an_ensemble_of_consistent_losses(ranker_class, data):
    default = get_loss(ranker_class().objective)
    assert default == br.LossEnsemble(("consistent-lambdarank", "softmax"))
    assert all(one.consistent for one in default.losses)
    models = [small(ranker_class, objective).fit(*data) for objective in (DEFAULT_LOSS, default)]
    np.testing.assert_array_equal(*(model.predict(data[0]) for model in models))


def test_with_dart_all_losses_have_the_scores_of_the_mean(ranker_class, data):
    name = "boosting" if ranker_class is br.LightGBMRanker else "booster"
    settings = {**FEW, name: "dart", "n_estimators": 6, "learning_rate": 0.3}
    # Both losses are the same, so that the ensemble is one training of it.
    losses = br.LossEnsemble(("softmax", br.surrogates.Power(0, max_step=1)))
    first, second = (ranker_class(one, **settings).fit(*data).predict(data[0]) for one in (losses, "softmax"))
    np.testing.assert_array_equal(first, second)


def test_ensembles_are_pickled_compared_and_searched(ranker_class, data):
    ensemble = br.LossEnsemble(("softmax", "squared"))
    assert ensemble == br.LossEnsemble((get_loss("softmax"), br.surrogates.Squared()))
    assert ensemble != br.LossEnsemble(("squared", "softmax"))
    assert pickle.loads(pickle.dumps(ensemble)) == ensemble
    search = br.grid_search(ranker_class(n_estimators=4), {"objective": [ensemble, "softmax"]}, *data, cv=2)
    assert {repr(one) for one in search.cv_results_["param_objective"]} == {repr(ensemble), "'softmax'"}
