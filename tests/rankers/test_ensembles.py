"""Ensembles of losses: one training gives the mean of the models that separate trainings of the losses give."""

import pickle

import numpy as np
import pytest
from loss_defaults import PLAIN_TREES
from sklearn.base import clone

import boostrank as br
from boostrank.queries.labels import as_labels
from boostrank.queries.queries import Queries
from boostrank.training.losses import DEFAULT_LOSS, LOSSES, bind, get_loss

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
    assert ranker_class().objective == DEFAULT_LOSS
    members = get_loss(DEFAULT_LOSS).losses
    assert members == (br.surrogates.SURROGATES["consistent-lambdarank"], br.surrogates.SURROGATES["softmax"])
    assert all(one.consistent for one in members)
    by_name, by_instance = (
        ranker_class(one, n_jobs=1, random_state=0, n_estimators=4).fit(*data).predict(data[0])
        for one in (DEFAULT_LOSS, br.LossEnsemble(("consistent-lambdarank", "softmax")))
    )
    np.testing.assert_array_equal(by_name, by_instance)


def boosting_function(losses, y, sizes, has_one_model=False):
    bound = bind(br.LossEnsemble(losses), as_labels(y), Queries.from_sizes(sizes))
    return bound.boosting_function(has_one_model), [one.gradient_hessian for one in bound.members]


def test_each_training_starts_anew_and_reused_arrays_of_scores_do_no_harm():
    y, start = np.array([0.0, 2.0, 1.0, 0.0, 1.0]), np.array([0.3, 0.1, 0.0, -1.0, 2.0])
    bound = bind(br.LossEnsemble(("softmax", "squared")), as_labels(y), Queries.from_sizes([3, 2]))
    steps = np.random.default_rng(0).normal(size=(5, 5))
    for _ in range(2):
        boost = bound.boosting_function(has_one_model=False)
        scores, models = start.copy(), [start.copy(), start.copy()]
        for turn, step in enumerate(steps):
            found, expected = boost(scores), bound.members[turn % 2].gradient_hessian(models[turn % 2])
            for one, other in zip(found, expected, strict=True):
                np.testing.assert_allclose(one, other, rtol=1e-6)
            scores += step
            models[turn % 2] += 2 * step


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_scores_that_are_not_finite_are_errors_in_the_same_round(bad, kind):
    boost, _ = boosting_function(("consistent-lambdarank", "softmax"), np.array([0.0, 1.0, 2.0]), [1, 2])
    boost(np.zeros(3, kind))
    # The second round is that of the other loss.
    with pytest.raises(FloatingPointError, match="document 2 of query '1'; its scores are not finite"):
        boost(np.array([0.0, 1.0, bad], kind))


def test_with_dart_all_losses_have_the_scores_of_the_mean(ranker_class, data):
    y, random = np.array([0.0, 2.0, 1.0]), np.random.default_rng(0)
    boost, members = boosting_function(("softmax", "squared"), y, [3], has_one_model=True)
    for turn in range(5):
        scores = random.normal(size=3)
        np.testing.assert_array_equal(boost(scores)[0], members[turn % 2](scores)[0])
    name = "boosting" if ranker_class is br.LightGBMRanker else "booster"
    losses = br.LossEnsemble(("softmax", br.surrogates.Power(0, max_step=1)))
    settings = {**FEW, name: "dart", "n_estimators": 6, "learning_rate": 0.3}
    # Both losses are the same, so that the ensemble is one training of it.
    first, second = (ranker_class(one, **settings).fit(*data).predict(data[0]) for one in (losses, "softmax"))
    np.testing.assert_array_equal(first, second)


def test_ensembles_are_cloned_pickled_compared_and_searched(ranker_class, data):
    ensemble = br.LossEnsemble(("softmax", "squared"))
    assert ensemble == br.LossEnsemble((LOSSES["softmax"], br.surrogates.Squared()))
    assert ensemble != br.LossEnsemble(("squared", "softmax"))
    assert pickle.loads(pickle.dumps(ensemble)) == ensemble
    ranker = ranker_class(ensemble, n_estimators=4, n_jobs=1)
    assert clone(ranker).objective == ensemble
    search = br.grid_search(ranker, {"objective": [ensemble, "softmax"]}, *data, cv=2)
    assert {repr(one) for one in search.cv_results_["param_objective"]} == {repr(ensemble), "'softmax'"}


def test_errors():
    for losses in ((), ("softmax",), "softmax", br.surrogates.Power()):
        with pytest.raises(ValueError, match="losses must be a tuple of at least two losses"):
            br.LossEnsemble(losses)
    with pytest.raises(ValueError, match=r"unknown objective 'softmx' \(did you mean 'softmax'"):
        br.LossEnsemble(("softmax", "softmx"))
    for nested in (DEFAULT_LOSS, br.LossEnsemble(("softmax", "squared"))):
        with pytest.raises(ValueError, match="is an ensemble, which only rankers train: give one of its losses"):
            br.LossEnsemble(("softmax", nested))
        for make in (br.lightgbm_objective, br.xgboost_objective):
            with pytest.raises(ValueError, match="is an ensemble"):
                make(nested)
