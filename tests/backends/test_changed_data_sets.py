"""Custom objectives and metrics of a data set whose weights, labels or queries are changed after the first round."""

import lightgbm as lgb
import numpy as np
import pytest
import xgboost as xgb

import boostrank as br


def lightgbm_set(X, y, sizes, weights=None):
    return lgb.Dataset(X, y, group=sizes, weight=None if weights is None else np.repeat(weights, sizes)).construct()


def xgboost_set(X, y, sizes, weights=None):
    return xgb.DMatrix(X, y, group=sizes, weight=weights)


LIBRARIES = {
    "lightgbm": (lightgbm_set, br.lightgbm_objective, br.lightgbm_metric),
    "xgboost": (xgboost_set, br.xgboost_objective, br.xgboost_metric),
}


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("before", ["without weights", "with other weights"])
@pytest.mark.parametrize("kind", ["objective", "metric"])
def test_new_weights_are_noticed(library, before, kind, data):
    X, y, sizes = data
    make_set, make_objective, make_metric = LIBRARIES[library]
    weights = np.geomspace(0.1, 10.0, len(sizes))
    scores = np.random.default_rng(0).normal(size=len(y)).astype(np.float32)
    dataset = make_set(X, y, sizes, None if before == "without weights" else weights[::-1].copy())

    def make():
        return make_objective("softmax") if kind == "objective" else make_metric("ndcg@5")

    kept = make()
    first = np.array(kept(scores, dataset)[1])
    dataset.set_weight(np.repeat(weights, sizes) if library == "lightgbm" else weights)
    expected = make()(scores, make_set(X, y, sizes, weights))[1]
    np.testing.assert_array_equal(kept(scores, dataset)[1], expected)
    assert not np.allclose(first, expected) or kind == "metric"


@pytest.mark.parametrize("library", LIBRARIES)
def test_new_labels_and_new_queries_are_noticed(library, data):
    X, y, sizes = data
    make_set, make_objective, _ = LIBRARIES[library]
    scores = np.random.default_rng(0).normal(size=len(y)).astype(np.float32)
    dataset, kept = make_set(X, y, sizes), make_objective("softmax")
    first = kept(scores, dataset)[0].copy()
    labels = y.max() - y
    other = make_set(X, labels, sizes)
    relabelled = make_objective("softmax")(scores, other)[0].copy()
    # Of two data sets, each has its own gradients.
    np.testing.assert_array_equal(kept(scores, other)[0], relabelled)
    np.testing.assert_array_equal(kept(scores, dataset)[0], first)
    dataset.set_label(labels)
    np.testing.assert_array_equal(kept(scores, dataset)[0], relabelled)
    assert not np.allclose(first, relabelled)
    dataset.set_group([len(y)])
    one_query = make_objective("softmax")(scores, make_set(X, labels, [len(y)]))[0].copy()
    np.testing.assert_array_equal(kept(scores, dataset)[0], one_query)
    assert not np.allclose(relabelled, one_query)
