"""The learning rate that rankers choose if the user does not give it."""

import numpy as np
import pytest
from bound_losses import make_objective
from numpy.testing import assert_array_equal

import boostrank as br
from boostrank.backends.base import GroupedData
from boostrank.core.queries import Queries
from boostrank.objectives.labels import as_labels
from boostrank.rankers import learning_rate as module
from boostrank.rankers.learning_rate import draw_halves, learning_rate

RANKERS = {"lightgbm": br.LightGBMRanker, "xgboost": br.XGBoostRanker}
PARAMETERS = {"n_estimators": 50, "n_jobs": 1}


def make_data(noise, n_queries=60, n_documents=20):
    random = np.random.default_rng(0)
    X = random.standard_normal((n_queries * n_documents, 5))
    quality = X[:, 0] + np.abs(X[:, 1]) + noise * random.standard_normal(len(X))
    return X, np.digitize(quality, [0.5, 1.5, 2.5]), np.repeat(np.arange(n_queries), n_documents)


STRONG, NOISY = make_data(0.0), make_data(30.0)
X, Y, QID = STRONG
both = pytest.mark.parametrize("make", RANKERS.values(), ids=RANKERS)


def transfer_by_hand(make, X, y, qid, init_score):
    """Gains of rounds 8 to 15 on the queries of the other half, divided by those on the queries of the half itself."""
    data = GroupedData(X, as_labels(y), Queries.from_qid(qid))
    halves = [np.isin(qid, half.queries.ids) for half in draw_halves(data, np.arange(60))]
    gains = {True: 0.0, False: 0.0}
    for one in halves:
        ranker = make("logistic", n_estimators=15, learning_rate=0.3, n_jobs=1)
        ranker.fit(X[one], y[one], qid[one], init_score=init_score[one])
        for other in halves:
            objective = make_objective("logistic", y[other], Queries.from_qid(qid[other]))
            before, *after = list(ranker.staged_predict(X[other]))[6:]
            for scores in after:
                gradient = objective.gradient_hessian(before + init_score[other])[0] / objective.scale
                gains[other is one] -= sum(g * (b - a) for g, a, b in zip(gradient, before, scores, strict=True))
                before = scores
    return gains[False] / gains[True]


@both
def test_transfer_is_that_of_two_rankers(make, monkeypatch):
    found = []

    def record(transfer, ratio, n_rounds):
        found.append((transfer, ratio, n_rounds))
        return 0.17

    monkeypatch.setattr(module, "learning_rate", record)
    init_score = 3.0 * np.random.default_rng(1).standard_normal(len(QID))
    ranker = make("logistic", **PARAMETERS).fit(*STRONG, init_score=init_score)
    ((transfer, ratio, n_rounds),) = found
    assert transfer == pytest.approx(transfer_by_hand(make, *STRONG, init_score), rel=1e-4)
    assert 0.1 < transfer < 1.1
    assert (ratio, n_rounds, ranker.learning_rate_) == (2.0, 50, 0.17)


@both
def test_rate_is_larger_for_strong_features_than_for_noise(make):
    strong, noisy = (make(**PARAMETERS).fit(*data).learning_rate_ for data in (STRONG, NOISY))
    assert strong > 0.2
    assert noisy == pytest.approx(0.1, abs=0.005)


def test_formula():
    # The noise of 4 times as many queries is a quarter: 1 / (1 + (1 / 0.5 - 1) / 4) = 0.8.
    assert learning_rate(0.5, 4.0, 100) == round(0.1 * (1 + 2 * 0.8**6), 3)
    assert learning_rate(0.5, 4.0, 60) == learning_rate(0.5, 4.0, 100)
    assert learning_rate(0.5, 4.0, 120) == round(0.1 * (1 + 2 * 0.8**6) / 1.2, 3)
    assert learning_rate(1.0, 2.0, 100) == learning_rate(1.2, 2.0, 100) == 0.3
    for nothing in (0.0, -0.3, float("nan")):
        assert learning_rate(nothing, 2.0, 100) == 0.1
    assert learning_rate(1.0, 2.0, 1000) == 0.1


SETTINGS = {
    "few rounds": ({"n_estimators": 49}, {}),
    "many rounds": ({"n_estimators": 300, "max_depth": 1}, {}),
    "early stopping": ({"early_stopping_rounds": 5, "validation_fraction": 0.2}, {}),
    "validation set": ({"early_stopping_rounds": 5}, {"eval_set": [STRONG]}),
    "rounds by folds": ({"n_estimators": "auto", "early_stopping_rounds": 2, "cv": 2}, {}),
    "a function": ({"objective": lambda y, scores: (scores - y, np.ones(len(y)))}, {}),
}


@both
@pytest.mark.parametrize(("parameters", "arguments"), SETTINGS.values(), ids=SETTINGS)
def test_base_rate_where_the_choice_does_not_apply(make, parameters, arguments, monkeypatch):
    monkeypatch.setattr(module, "transfer", lambda *_: pytest.fail("there must be no short training"))
    assert make(**{**PARAMETERS, **parameters}).fit(*STRONG, **arguments).learning_rate_ == 0.1


NATIVE = [
    br.LightGBMRanker("lambdarank", **PARAMETERS),
    br.XGBoostRanker(booster="dart", **PARAMETERS),
]


@pytest.mark.parametrize("ranker", NATIVE, ids=str)
def test_base_rate_of_native_objectives_and_other_boosting(ranker, monkeypatch):
    monkeypatch.setattr(module, "transfer", lambda *_: pytest.fail("there must be no short training"))
    assert ranker.fit(*STRONG).learning_rate_ == 0.1


def test_queries_that_are_held_out_do_not_take_part(monkeypatch):
    taken = []
    monkeypatch.setattr(module, "draw_halves", lambda data, informative: taken.extend(informative))
    ranker = br.LightGBMRanker(validation_fraction=0.25, random_state=0, **PARAMETERS)
    ranker.fit(*STRONG)
    assert len(taken) == 45
    assert_array_equal(taken, np.sort(br.split_queries(np.arange(60), 0.25, random_state=0)[0]))


@pytest.mark.slow
def test_candidates_of_auto_have_rates_of_their_own(monkeypatch):
    monkeypatch.setattr(br.LightGBMRanker, "_candidates", ({}, {"objective": "lambdarank"}))
    ranker = br.LightGBMRanker("auto", **PARAMETERS, random_state=0).fit(*STRONG)
    fixed = br.LightGBMRanker("auto", learning_rate=0.1, **PARAMETERS, random_state=0).fit(*STRONG)
    native = [objective == "lambdarank" for objective in ranker.cv_results_["objective"]]
    curves, before = ranker.cv_results_["mean_curve"], fixed.cv_results_["mean_curve"]
    assert curves[native.index(True)].tolist() == before[native.index(True)].tolist()
    assert curves[0].tolist() != before[0].tolist()
    best = br.LightGBMRanker(**{**PARAMETERS, **ranker.best_params_}, random_state=0).fit(*STRONG)
    assert ranker.learning_rate_ == best.learning_rate_
    assert_array_equal(ranker.predict(X), best.predict(X))
