"""Trainings that go on round by round: after n rounds they have the model and the scores of one training with n."""

from dataclasses import replace

import numpy as np
import pytest
from loss_defaults import PLAIN_TREES
from sklearn.base import clone

import boostrank as br
from boostrank.backends.base import Training, ValidationSet
from boostrank.backends.objectives.labels import as_labels
from boostrank.rankers.features import TrainingFeatures
from boostrank.rankers.fit_arguments import group_data
from boostrank.rankers.settings import FitOptions

N_ROUNDS = 8
# XGBoost has one stream of random numbers for all boosters. In a training by rounds, each round has its own seed.
SEEDS = {"seed_per_iteration": True}
RANKERS = {
    "lightgbm": br.LightGBMRanker(),
    "random trees": br.LightGBMRanker(extra_trees=True, colsample_bytree=0.5, subsample=0.6, subsample_freq=1),
    "queries": br.LightGBMRanker("lambdarank", subsample=0.5, subsample_freq=2, bagging_by_query=True),
    "lambdarank": br.LightGBMRanker("lambdarank"),
    "plain trees": br.LightGBMRanker(**PLAIN_TREES),
    "dart": br.LightGBMRanker(boosting="dart", drop_rate=0.5),
    "xgboost": br.XGBoostRanker(),
    "samples": br.XGBoostRanker(subsample=0.5, colsample_bytree=0.4),
    "rank:ndcg": br.XGBoostRanker("rank:ndcg"),
    "xgboost dart": br.XGBoostRanker(booster="dart", rate_drop=0.5),
}


@pytest.fixture(scope="module")
def parts():
    X, y, qid = br.make_ranking(n_queries=40, random_state=0)
    data = group_data(X, as_labels(y), qid)
    held_out = np.arange(40) % 3 == 0
    return data.take(~held_out), data.take(held_out)


def _specification(ranker, n_features):
    settings, features = ranker.set_params(n_jobs=1, random_state=1)._settings(), TrainingFeatures()
    features.n_features_in_ = n_features
    return replace(
        settings.for_features(features).specification(settings.random_state(), FitOptions()), n_rounds=N_ROUNDS
    )


def _train(backend, specification, data):
    return backend.train(Training(specification, data, specification.bind(data), []))


def _start(backend, specification, data, held_out, binned=None):
    validation = [ValidationSet("fold", held_out, [])]
    return backend.start(Training(specification, data, specification.bind(data), validation), binned)


@pytest.mark.slow
@pytest.mark.parametrize("continued", [False, True])
@pytest.mark.parametrize("name", RANKERS)
def test_rounds_are_those_of_one_training(parts, name, continued):
    ranker, (data, held_out) = RANKERS[name], parts
    backend, specification = ranker._backend, _specification(ranker, data.X.shape[1])
    if continued:
        if name == "xgboost dart":
            pytest.skip("two trainings of XGBoost's DART that continue a model differ")
        model = _train(backend, replace(specification, n_rounds=3), data).booster
        specification = replace(specification, init_model=model)
    whole = specification
    if isinstance(ranker, br.XGBoostRanker):
        whole = replace(specification, parameters={**specification.parameters, **SEEDS})
    # The rounds of two trainings alternate, and neither changes the other.
    runs = [_start(backend, specification, data, held_out), _start(backend, specification, held_out, data)]
    scores = []
    for _ in range(N_ROUNDS):
        after_round, _ = [run.next_round() for run in runs]
        scores.append(after_round)
    for n in (1, 5, N_ROUNDS):
        expected = backend.predict(_train(backend, replace(whole, n_rounds=n), data).booster, held_out.X)
        # DART rescales its trees, in another sequence than predictions add them up.
        np.testing.assert_allclose(scores[n - 1], expected, rtol=0, atol=1e-12 if "dart" in name else 0)
    assert len({tuple(one) for one in scores}) == N_ROUNDS


def test_callbacks_get_the_rounds_of_the_whole_training(parts):
    lightgbm, xgboost = pytest.importorskip("lightgbm"), pytest.importorskip("xgboost")
    data, held_out = parts
    rates = [0.3 / (i + 1) for i in range(N_ROUNDS)]
    lightgbm_rate = lightgbm.reset_parameter(learning_rate=rates)
    xgboost_rate = xgboost.callback.LearningRateScheduler(lambda i: rates[i])
    for ranker, callback in ((br.LightGBMRanker(), lightgbm_rate), (br.XGBoostRanker(), xgboost_rate)):
        backend = ranker._backend
        plain = _specification(ranker, data.X.shape[1])
        specification = replace(plain, callbacks=(callback,))
        run = _start(backend, specification, data, held_out)
        scores = [run.next_round() for _ in range(N_ROUNDS)][-1]
        np.testing.assert_array_equal(scores, backend.predict(_train(backend, specification, data).booster, held_out.X))
        assert (scores != backend.predict(_train(backend, plain, data).booster, held_out.X)).any()


def test_callbacks_of_lightgbm_are_called_in_its_sequence(parts):
    data, held_out = parts
    seen = []

    def make(name, order, before):
        def callback(environment):
            seen.append((name, environment.iteration, environment.end_iteration - environment.begin_iteration))

        callback.order, callback.before_iteration = order, before
        return callback

    callbacks = (make("c", 3, False), make("b", 2, False), make("a", 1, True))
    ranker = br.LightGBMRanker()
    specification = replace(_specification(ranker, data.X.shape[1]), callbacks=callbacks)
    run = _start(ranker._backend, specification, data, held_out)
    run.next_round()
    run.next_round()
    assert seen == [(name, i, N_ROUNDS) for i in (0, 1) for name in "abc"]


def test_callbacks_must_not_end_a_training(parts):
    lightgbm, xgboost = pytest.importorskip("lightgbm"), pytest.importorskip("xgboost")
    data, held_out = parts

    def stop(environment):
        if environment.iteration == 1:
            raise lightgbm.callback.EarlyStopException(0, [])

    class Stop(xgboost.callback.TrainingCallback):
        def after_iteration(self, model, epoch, evals_log):
            return epoch == 1

    for ranker, callback in ((br.LightGBMRanker(), stop), (br.XGBoostRanker(), Stop())):
        specification = replace(_specification(ranker, data.X.shape[1]), callbacks=(callback,))
        run = _start(ranker._backend, specification, data, held_out)
        run.next_round()
        with pytest.raises(ValueError, match="ended the training on a fold"):
            run.next_round()


SHARING = {
    "lightgbm": [
        br.LightGBMRanker(),
        br.LightGBMRanker("lambdarank"),
        br.LightGBMRanker("pairwise-exponential", extra_trees=True, num_leaves=7, max_depth=3, reg_alpha=0.1),
        br.LightGBMRanker(min_child_samples=3),
        br.LightGBMRanker(max_bin=15),
    ],
    "xgboost": [
        br.XGBoostRanker(),
        br.XGBoostRanker("rank:ndcg"),
        br.XGBoostRanker("pairwise-exponential", max_depth=3, colsample_bynode=0.5, reg_alpha=0.1, max_leaves=5),
        br.XGBoostRanker(max_bin=15),
        br.XGBoostRanker(tree_method="approx"),
        br.XGBoostRanker(tree_method="exact"),
    ],
}
# Groups of trainings with the same binned data; only weights of an objective of the library are in the data.
N_SHARED = {("lightgbm", False): 3, ("lightgbm", True): 4, ("xgboost", False): 2, ("xgboost", True): 3}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", SHARING)
def test_trainings_that_share_binned_data_do_not_change_each_other(parts, name, weighted):
    data, held_out = parts
    if weighted:
        weights = data.queries.repeat(np.random.default_rng(0).uniform(0.1, 9, data.queries.n_queries))
        data = replace(data, weights=weights)
    rankers, binned = SHARING[name], {}
    specifications = [_specification(clone(ranker), data.X.shape[1]) for ranker in rankers]
    backend = rankers[0]._backend
    shared = [_start(backend, one, data, held_out, binned) for one in specifications]
    assert len(binned) == N_SHARED[name, weighted]
    alone = [_start(backend, one, data, held_out) for one in specifications]
    for _ in range(N_ROUNDS):
        for run, expected in zip(shared, alone, strict=True):
            np.testing.assert_array_equal(run.next_round(), expected.next_round())
    assert len({tuple(run.next_round()) for run in shared}) == len(rankers)


@pytest.mark.parametrize("name", ["lightgbm", "xgboost"])
def test_trainings_that_continue_a_model_share_no_binned_data(parts, name):
    ranker, (data, held_out), binned = RANKERS[name], parts, {}
    backend, specification = ranker._backend, _specification(ranker, data.X.shape[1])
    model = _train(backend, replace(specification, n_rounds=3), data).booster
    runs = [_start(backend, replace(specification, init_model=model), data, held_out, binned) for _ in range(2)]
    assert not binned
    np.testing.assert_array_equal(runs[0].next_round(), runs[1].next_round())
