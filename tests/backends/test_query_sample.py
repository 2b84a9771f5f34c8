"""Rounds that draw some of the queries: what `QuerySample` draws, and what the queries that are
left out say."""

import lightgbm
import numpy as np
import pytest
import xgboost
from bound_losses import bind_loss

import boostrank as br
from boostrank.backends import rounds
from boostrank.backends.left_out_queries import (
    FIXED_TOTAL_STEP,
    MIN_TOTAL_STEP,
    QuerySample,
    best_round,
)
from boostrank.backends.records import GroupedData, TrainingSpecification
from boostrank.ndcg.dcg import DCG
from boostrank.ndcg.labels import Relevance
from boostrank.queries.queries import Queries
from boostrank.training.losses import get_loss

X, Y, QID = br.make_ranking(n_queries=60, random_state=0)
QUERIES = Queries.from_qid(QID)
SMALL = {
    "n_estimators": 8,
    "learning_rate": 0.3,
    "random_state": 5,
    "n_jobs": 1,
    "colsample_bynode": 1.0,
}


def rounds_of(ranker_class, total_step):
    """The number of rounds that take this step in all at the default rate."""
    return round(total_step / ranker_class._backend.parameters.LOSS_LEARNING_RATE)


def scores(ranker_class, objective="softmax", y=Y, **parameters):
    return ranker_class(objective, **{**SMALL, **parameters}).fit(X, y, QID).predict(X)


def squares(y, scores, weight):
    return weight * (scores - y), weight


@pytest.mark.parametrize(
    "objective", ["softmax", "edge-logistic", squares], ids=["softmax", "edges", "function"]
)
def test_the_rounds_are_those_of_gradients_that_are_zero_outside_of_the_sample(
    ranker_class, objective
):
    weights, random = (
        np.random.default_rng(1).uniform(1, 2, 60),
        np.random.default_rng(SMALL["random_state"]),
    )
    by_row = weights[QID]
    bound = None if objective is squares else bind_loss(objective, Y, QUERIES, weights=weights)

    def by_hand(y, scores, weight):
        gradient, hessian = (
            squares(y, scores, weight) if bound is None else bound.gradient_hessian(scores)
        )
        drawn = QUERIES.repeat(np.isin(np.arange(60), random.permutation(60)[:18]))
        return np.where(drawn, gradient, 0), np.where(drawn, hessian, 0)

    settings = {**SMALL, "reg_lambda": 5.0, "min_child_weight": 1.0, "max_depth": 3}
    settings |= (
        {"num_leaves": 8}
        if ranker_class is br.LightGBMRanker
        else {"max_leaves": 0, "grow_policy": "depthwise"}
    )
    expected = ranker_class(by_hand, **settings).fit(X, Y, QID, sample_weight=by_row).predict(X)
    ranker = ranker_class(objective, **settings, subsample_queries=0.3).fit(
        X, Y, QID, sample_weight=by_row
    )
    np.testing.assert_array_equal(ranker.predict(X), expected)
    assert np.ptp(expected) > 0.1
    # A sample has at least one query.
    assert (
        np.ptp(scores(ranker_class, objective if bound else "softmax", subsample_queries=0.001)) > 0
    )


def test_native_objectives_take_no_samples_of_queries(ranker_class, lambdamart):
    with pytest.raises(
        ValueError, match=f"subsample_queries=0.5 is not for '{lambdamart}'.*set subsample"
    ):
        scores(ranker_class, lambdamart, subsample_queries=0.5)
    found = scores(ranker_class, lambdamart, subsample_queries=1)
    np.testing.assert_array_equal(found, scores(ranker_class, lambdamart))


@pytest.mark.parametrize("objective", ["softmax", squares])
def test_bagging_by_query_is_for_the_objectives_of_lightgbm(objective):
    with pytest.raises(
        ValueError, match=r"'bagging_by_query' cannot be used.*set subsample_queries"
    ):
        scores(br.LightGBMRanker, objective, bagging_by_query=True, subsample=0.5, subsample_freq=1)


def test_an_objective_for_lightgbm_refuses_bagging_by_query():
    parameters = {
        "objective": br.lightgbm_objective("softmax"),
        "metric": "None",
        "verbosity": -1,
        "num_threads": 1,
    }

    def scores_with(**sampling):
        dataset = lightgbm.Dataset(X, Y, group=QUERIES.sizes)
        return lightgbm.train(
            {**parameters, "bagging_by_query": "true", **sampling}, dataset, 2
        ).predict(X)

    for sampling in (
        {"bagging_fraction": 0.5, "bagging_freq": 1},
        {"subsample": 0.5, "subsample_freq": 1},
    ):
        with pytest.raises(ValueError, match="bagging_by_query"):
            scores_with(**sampling)
    for sampling in (
        {},
        {"subsample": 0.5},
        {"subsample_freq": 1},
        {"bagging_by_query": False, "subsample": 0.5},
    ):
        assert np.ptp(scores_with(**sampling)) > 0


def test_rounds_that_are_added_to_a_model_draw_other_queries(ranker_class, monkeypatch):
    samples, model = [], None

    class Recorded(QuerySample):
        def next_round(self, scores):
            gradient, hessian = super().next_round(scores)
            samples.append(frozenset(QID[hessian > 0].tolist()))
            return gradient, hessian

    monkeypatch.setattr(rounds, "QuerySample", Recorded)
    for _ in range(3):
        model = ranker_class(squares, **{**SMALL, "n_estimators": 2}, subsample_queries=0.5).fit(
            X, Y, QID, sample_weight=np.ones(60), init_model=model
        )
    assert len(set(samples)) == 6


# What left-out queries say


def left_out(n_rounds, share=0.5, seed=SMALL["random_state"]):
    """A mask of the documents that each round leaves out, shape (n_rounds, n_documents)."""
    random, n_drawn = np.random.default_rng((seed, 0)), round(share * 60)
    return [
        QUERIES.repeat(~np.isin(np.arange(60), random.permutation(60)[:n_drawn]))
        for _ in range(n_rounds)
    ]


def test_the_improvement_is_the_decrease_of_the_loss_of_left_out_queries(ranker_class):
    weights = np.random.default_rng(1).uniform(0, 2, 60)
    settings = {**SMALL, "n_estimators": 20, "subsample_queries": 0.5}
    ranker = ranker_class("squared", **settings).fit(X, Y, QID, sample_weight=weights)
    bound = bind_loss("squared", Y, QUERIES, weights=weights)
    stages = [np.zeros(len(Y)), *ranker.staged_predict(X)]
    # The loss is quadratic, so that the mean of two gradients gives its decrease exactly.
    losses = [
        bound.scale * weights[QID] * (scores + bound.offset - bound.targets) ** 2 / 2
        for scores in stages
    ]
    decreases = [(losses[i] - losses[i + 1])[rows].mean() for i, rows in enumerate(left_out(19))]
    np.testing.assert_allclose(ranker.oob_improvement_, decreases, rtol=1e-3, atol=1e-6)
    assert max(decreases) > 10 * 1e-6


def test_the_best_round_is_that_of_the_smoothed_sum():
    assert best_round([1.0]) == best_round([1.0, -1.0]) == 1
    assert best_round([-1.0] * 90) == 10
    assert best_round([1.0] * 50 + [-1.0] * 50) == 50
    # A single round does not decide.
    assert best_round([1.0] * 50 + [-1.0] * 30 + [35.0, -35.0] + [-1.0] * 18) == 50


@pytest.mark.parametrize("objective", ["consistent-lambdarank", "softmax"])
def test_training_ends_at_twice_the_round_of_the_largest_sum(ranker_class, objective):
    ranker = ranker_class(objective, random_state=0, n_jobs=1).fit(X, Y, QID)
    n_rounds = ranker.best_iteration_
    assert len(ranker.oob_improvement_) == n_rounds - 1
    ends = [
        n
        for n in range(rounds_of(ranker_class, MIN_TOTAL_STEP), n_rounds + 1)
        if n >= 2 * best_round(ranker.oob_improvement_[: n - 1])
    ]
    assert rounds_of(ranker_class, MIN_TOTAL_STEP) < n_rounds == ends[0]
    # The sum is about to be largest there, without the smoothing.
    sums = np.cumsum(ranker.oob_improvement_)
    assert sums[best_round(ranker.oob_improvement_) - 1] > 0.95 * sums.max() > 0


def test_copies_of_a_list_under_other_ids_are_drawn_with_it(ranker_class):
    labels = np.clip(np.round(Y + np.random.default_rng(3).normal(size=len(Y))), 0, 4)
    X_three, y_three, qid_three = (np.concatenate([values] * 3) for values in (X, labels, QID))
    ids = 1000 * np.repeat(np.arange(3), len(QID)) + qid_three
    ranker = ranker_class(random_state=0, n_jobs=1)
    # Lists with other labels are no copies. If those of left-out queries are in the samples, each
    # round looks useful.
    rounds = ranker.fit(X_three, y_three + 0.001 * (ids // 1000), ids).best_iteration_
    assert (
        ranker.fit(X_three, y_three, ids).best_iteration_
        < 2 * rounds_of(ranker_class, MIN_TOTAL_STEP) + 20
        < rounds / 5
    )


def test_noise_ends_early_and_features_that_decide_end_late(ranker_class):
    random, ranker = np.random.default_rng(0), ranker_class(random_state=0, n_jobs=1)
    noise = random.permutation(Y)
    assert ranker.fit(X, noise, QID).best_iteration_ == rounds_of(ranker_class, MIN_TOTAL_STEP)
    assert (
        ranker_class(learning_rate=0.1, random_state=0, n_jobs=1).fit(X, noise, QID).best_iteration_
        == 40
    )
    assert ranker.fit(
        X, np.digitize(X[:, 0] * X[:, 1] + X[:, 2], [0, 1, 2]), QID
    ).best_iteration_ > 2 * rounds_of(ranker_class, FIXED_TOTAL_STEP)


def test_where_no_query_is_left_out_the_number_of_rounds_is_fixed(ranker_class):
    one = (
        {"min_child_samples": 1} if ranker_class is br.LightGBMRanker else {"min_child_weight": 0.1}
    )
    dart = {"boosting": "dart"} if ranker_class is br.LightGBMRanker else {"booster": "dart"}
    for n_queries, settings in ((1, one), (60, {"subsample_queries": 1}), (3, {**one, **dart})):
        rows = [values[n_queries > QID] for values in (X, Y, QID)]
        ranker = ranker_class("softmax", random_state=0, n_jobs=1, **settings).fit(*rows)
        assert (ranker._best_round, len(ranker.oob_improvement_)) == (
            rounds_of(ranker_class, FIXED_TOTAL_STEP),
            0,
        )


def test_other_labels_and_models_choose_rounds_too(ranker_class):
    ranker = ranker_class(random_state=0, n_jobs=1)
    graph = br.PreferenceGraph.from_grades(Y, QID)
    first = ranker_class(n_estimators=5, random_state=0, n_jobs=1).fit(X, Y, QID)
    fits = {
        "preferences": lambda: ranker_class("edge-logistic", random_state=0, n_jobs=1).fit(
            X, graph
        ),
        "weights": lambda: ranker.fit(X, Y, QID, sample_weight=np.arange(60)),
        "model": lambda: ranker.fit(X, Y, QID, init_model=first),
    }
    for name, fit in fits.items():
        fitted = fit()
        expected = 2 * best_round(fitted.oob_improvement_)
        assert (
            rounds_of(ranker_class, MIN_TOTAL_STEP)
            <= fitted._best_round
            <= max(rounds_of(ranker_class, MIN_TOTAL_STEP), expected + 1)
        ), name
        assert fitted.best_iteration_ == fitted._best_round + (5 if name == "model" else 0)


def test_stopping_by_validation_sets_comes_before_left_out_queries(ranker_class):
    stopping = (
        lightgbm.early_stopping(400, verbose=False)
        if ranker_class is br.LightGBMRanker
        else xgboost.callback.EarlyStopping(rounds=400)
    )
    test = br.make_ranking(n_queries=20, random_state=1)
    by_callback = ranker_class(random_state=0, n_jobs=1).fit(
        X, Y, QID, eval_set=[test], callbacks=[stopping]
    )
    by_parameter = ranker_class(random_state=0, n_jobs=1, early_stopping_rounds=400).fit(
        X, Y, QID, eval_set=[test]
    )
    assert by_callback.best_iteration_ == by_parameter.best_iteration_
    # Left-out queries would have stopped earlier.
    (values,), (others,) = (
        list(ranker.evals_result_["valid_0"].values()) for ranker in (by_callback, by_parameter)
    )
    assert len(values) == len(others) > 400
    # Recording is no stopping.
    recording = (
        lightgbm.record_evaluation({})
        if ranker_class is br.LightGBMRanker
        else xgboost.callback.TrainingCallback()
    )
    plain = ranker_class(random_state=0, n_jobs=1).fit(X, Y, QID)
    recorded = ranker_class(random_state=0, n_jobs=1).fit(
        X, Y, QID, eval_set=[test], callbacks=[recording]
    )
    np.testing.assert_array_equal(recorded.predict(X), plain.predict(X))


def test_verbose_says_how_many_rounds_were_chosen_and_why(ranker_class, capsys):
    ranker = ranker_class(random_state=0, n_jobs=1).fit(X, Y, QID, verbose=True)
    best = best_round(ranker.oob_improvement_)
    rounds_and_best = (
        f"{ranker.best_iteration_} rounds; "
        f"the loss of left-out queries was least after round {best}\n"
    )
    assert capsys.readouterr().out.endswith(rounds_and_best)
    ranker_class(random_state=0, n_jobs=1).fit(
        X, np.random.default_rng(0).permutation(Y), QID, verbose=True
    )
    assert (
        f"{rounds_of(ranker_class, MIN_TOTAL_STEP)} rounds, the least number; the loss"
        in capsys.readouterr().out
    )


def test_lists_with_the_same_id_are_drawn_together():
    ids = np.repeat(np.arange(30), 2)
    queries = Queries.from_sizes(np.full(60, 3), ids)
    X_lists = np.random.default_rng(0).normal(size=(180, 2))
    labels = np.tile([0.0, 1.0, 2.0], 60)
    data = GroupedData(X_lists, Relevance(labels), queries)
    specification = TrainingSpecification(
        get_loss("squared"), DCG(), "dcg", {}, n_rounds=10, query_share=0.5
    )
    sample = QuerySample(bind_loss("squared", labels, queries), specification, data, False)
    for _ in range(5):
        hessian = sample.next_round(np.zeros(180))[1]
        is_drawn = queries.sum(hessian) > 0
        assert is_drawn.sum() == 30
        np.testing.assert_array_equal(is_drawn[::2], is_drawn[1::2])
