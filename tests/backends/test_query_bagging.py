"""Bagging of whole queries with the losses of boostrank, in the ranker and in LightGBM itself."""

import lightgbm
import numpy as np
import pytest

import boostrank as br
from boostrank.backends.lightgbm.parameters import samples_queries
from boostrank.backends.lightgbm.rounds import QueryBagging, without_bagging
from boostrank.core.queries import Queries

X, Y, QID = br.make_ranking(n_queries=60, random_state=0)
BAGGING = {"subsample": 0.5, "subsample_freq": 1, "bagging_by_query": True}
SMALL = {"n_estimators": 20, "random_state": 0, "n_jobs": 1, "k": 10}
NATIVE = {"bagging_by_query": True, "bagging_fraction": 0.5, "bagging_freq": 1}


def test_samples_are_whole_queries_that_change_every_period():
    queries = Queries.from_sizes([3, 1, 4, 2, 5, 3])
    bagging = QueryBagging(
        lambda scores: (np.ones(18, np.float32), np.full(18, 2, np.float32)), queries, {**NATIVE, "bagging_freq": 2}
    )
    samples = []
    for _ in range(8):
        gradient, hessian = bagging(np.zeros(18))
        np.testing.assert_array_equal(hessian, 2 * gradient)
        samples.append(queries.max(gradient))
        np.testing.assert_array_equal(queries.repeat(samples[-1]), gradient)
        assert samples[-1].sum() == 3
    for first, second in zip(samples[::2], samples[1::2], strict=True):
        np.testing.assert_array_equal(first, second)
    assert len({tuple(sample) for sample in samples}) > 2


def test_a_sample_has_at_least_one_query():
    queries = Queries.from_sizes([3, 2])
    bagging = QueryBagging(
        lambda scores: (np.ones(5, np.float32), np.ones(5, np.float32)), queries, {**NATIVE, "bagging_fraction": 0.01}
    )
    assert bagging(np.zeros(5))[0].any()


def test_only_parameters_that_sample_count():
    assert samples_queries(NATIVE)
    assert samples_queries({**NATIVE, "bagging_by_query": "true"})
    for change in ({"bagging_by_query": False}, {"bagging_fraction": 1.0}, {"bagging_freq": 0}):
        assert not samples_queries({**NATIVE, **change})
    assert without_bagging({**NATIVE, "min_data_in_leaf": 5, "num_leaves": 7}) == {
        "min_data_in_leaf": 10,
        "num_leaves": 7,
    }


def test_a_ranker_learns_from_samples_of_queries():
    valid = br.make_ranking(n_queries=60, random_state=1)
    valid = valid.X, valid.y, valid.qid + 1000
    ranker = br.LightGBMRanker("softmax", **SMALL, **BAGGING).fit(X, Y, QID)
    plain = br.LightGBMRanker("softmax", **SMALL).fit(X, Y, QID)
    assert ranker.score(*valid) > plain.score(*valid) - 0.05
    again = br.LightGBMRanker("softmax", **SMALL, **BAGGING).fit(X, Y, QID)
    np.testing.assert_array_equal(ranker.predict(X), again.predict(X))
    for change in ({"random_state": 1}, {"bagging_seed": 7}, {"subsample_freq": 3}, {"subsample": 0.7}):
        other = br.LightGBMRanker("softmax", **{**SMALL, **BAGGING, **change}).fit(X, Y, QID)
        assert not np.array_equal(ranker.predict(X), other.predict(X))


def test_the_first_tree_depends_on_the_sampled_queries_only():
    queries, ones = Queries.from_qid(QID), np.ones(len(Y), np.float32)
    bagging = QueryBagging(lambda scores: (ones, ones.copy()), queries, {**NATIVE, "bagging_seed": 5})
    sampled = bagging(np.zeros(len(Y)))[0].astype(bool)
    reversed_labels = np.concatenate([Y[query == QID][::-1] for query in queries.ids])
    parameters = {**SMALL, "n_estimators": 1, "min_child_samples": 4, **BAGGING, "bagging_seed": 5}
    trees = [
        br.LightGBMRanker("softmax", **parameters).fit(X, labels, QID).predict(X)
        for labels in (Y, np.where(sampled, Y, reversed_labels), np.where(sampled, reversed_labels, Y))
    ]
    np.testing.assert_array_equal(trees[0], trees[1])
    assert not np.array_equal(trees[0], trees[2])


@pytest.mark.parametrize("change", [{"subsample": 1.0}, {"subsample_freq": 0}])
def test_bagging_by_query_without_a_sample_changes_nothing(change):
    parameters = {**SMALL, **{name: value for name, value in BAGGING.items() if name != "bagging_by_query"}, **change}
    plain = br.LightGBMRanker("softmax", **parameters).fit(X, Y, QID)
    ranker = br.LightGBMRanker("softmax", **parameters, bagging_by_query=True).fit(X, Y, QID)
    np.testing.assert_array_equal(ranker.predict(X), plain.predict(X))


def test_an_objective_for_lightgbm_refuses_bagging_by_query():
    sizes = np.unique(QID, return_counts=True)[1]
    parameters = {"objective": br.lightgbm_objective("softmax"), "metric": "None", "verbosity": -1, "num_threads": 1}
    for names in (NATIVE, {"bagging_by_query": True, "subsample": 0.5, "subsample_freq": 1}):
        with pytest.raises(ValueError, match="bagging_by_query"):
            lightgbm.train({**parameters, **names}, lightgbm.Dataset(X, Y, group=sizes), 2)
    booster = lightgbm.train({**parameters, "bagging_by_query": True}, lightgbm.Dataset(X, Y, group=sizes), 2)
    assert np.ptp(booster.predict(X)) > 0
