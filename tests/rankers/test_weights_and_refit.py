"""What `fit` passes on to training: weights in the right sequence of queries and rows, and all queries for `refit`."""

import numpy as np
import pytest

import boostrank as br

NATIVE = {br.LightGBMRanker: "lambdarank", br.XGBoostRanker: "rank:ndcg"}


def small(ranker_class, objective, **parameters):
    return ranker_class(objective, **{"n_estimators": 5, "random_state": 0, "n_jobs": 1, **parameters})


@pytest.fixture(scope="module")
def shuffled(data):
    """Rows that are not grouped by query; ids are in descending sequence where the queries first appear."""
    X, y, qid = data
    rows = np.random.default_rng(0).permutation(len(y))
    _, first, number = np.unique(qid[rows], return_index=True, return_inverse=True)
    appearance = np.argsort(np.argsort(first))[number]
    return X[rows], y[rows], appearance.max() - appearance, appearance


@pytest.mark.parametrize("validation_fraction", [None, 0.3])
@pytest.mark.parametrize("objective", ["softmax", "squared", "native"])
def test_weights_of_queries_follow_the_first_appearance_of_their_ids(
    ranker_class, objective, validation_fraction, shuffled
):
    X, y, qid, appearance = shuffled
    weights = np.geomspace(0.1, 100.0, appearance.max() + 1)
    objective = NATIVE[ranker_class] if objective == "native" else objective
    ranker = small(ranker_class, objective, validation_fraction=validation_fraction)
    per_query = ranker.fit(X, y, qid, sample_weight=weights).predict(X)
    per_row = ranker.fit(X, y, qid, sample_weight=weights[appearance]).predict(X)
    np.testing.assert_array_equal(per_query, per_row)
    assert not np.allclose(per_query, ranker.fit(X, y, qid, sample_weight=weights[::-1]).predict(X))


@pytest.mark.parametrize("objective", ["squared", "native"])
def test_weights_of_rows_that_are_not_grouped_belong_to_their_rows(ranker_class, objective, shuffled):
    X, y, _, appearance = shuffled
    weights = np.geomspace(0.1, 100.0, appearance.max() + 1)[appearance]
    if objective == "squared":
        weights = weights * np.random.default_rng(1).uniform(0.5, 2.0, len(y))
    else:
        objective = NATIVE[ranker_class]
    ranker, grouped = small(ranker_class, objective), np.argsort(appearance, kind="stable")
    scattered = ranker.fit(X, y, appearance, sample_weight=weights).predict(X)
    together = ranker.fit(X[grouped], y[grouped], appearance[grouped], sample_weight=weights[grouped]).predict(X)
    np.testing.assert_array_equal(scattered, together)


def test_native_objectives_are_trained_with_weights(ranker_class, data):
    X, y, qid = data
    ranker, weights = small(ranker_class, NATIVE[ranker_class]), np.geomspace(0.1, 100.0, 30)
    unweighted = ranker.fit(X, y, qid).predict(X)
    assert not np.allclose(ranker.fit(X, y, qid, sample_weight=weights).predict(X), unweighted)


def test_refit_returns_the_trees_of_all_queries_in_the_number_of_rounds_that_was_found(ranker_class, data):
    X, y, qid = data
    options = {"early_stopping_rounds": 5, "validation_fraction": 0.3}
    ranker = small(ranker_class, "softmax", n_estimators=100, **options)
    held_out = ranker.fit(X, y, qid)
    rounds, scores = held_out.best_iteration_, held_out.predict(X)
    again = ranker.set_params(refit=True).fit(X, y, qid)
    assert again.best_iteration_ == rounds < 100
    plain = small(ranker_class, "softmax", n_estimators=rounds).fit(X, y, qid).predict(X)
    np.testing.assert_array_equal(again.predict(X), plain)
    assert not np.allclose(plain, scores)
