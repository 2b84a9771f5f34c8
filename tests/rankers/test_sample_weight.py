"""The parameter `sample_weight` of `fit`: weights of queries and of documents, in the sequence of the queries."""

import numpy as np
import pandas as pd
import pytest
from loss_defaults import PLAIN_TREES
from sklearn.base import clone

import boostrank as br


def small(ranker_class, objective="softmax", **parameters):
    return ranker_class(objective, **{"n_estimators": 8, "random_state": 0, "n_jobs": 1, **parameters})


@pytest.mark.parametrize("objective", ["squared", "cosine"])
def test_integer_weights_repeat_queries(ranker_class, objective, data):
    X, y, qid = data
    # Few distinct values, so that repeating rows does not change the bins; leaves limited by their Hessian and not by
    # their number of rows, because weights multiply the Hessian.
    X = np.round(X)
    options = {"num_leaves": 7, "min_child_samples": 0} if ranker_class is br.LightGBMRanker else {"max_depth": 3}
    weights = np.random.default_rng(0).integers(0, 4, 30)
    counted = weights[qid][weights[qid] > 0]
    # Weights are relative: a document of mean weight has the Hessian 1, and so has every copy of a document.
    limits = {"min_child_weight": 5.0, "reg_lambda": 2.0}
    options |= PLAIN_TREES
    ranker = small(ranker_class, objective, **limits, **options)
    relative = {name: limit / counted.mean() for name, limit in limits.items()}
    weighted = small(ranker_class, objective, **relative, **options).fit(X, y, qid, sample_weight=weights).predict(X)
    copies = [(np.flatnonzero(qid == q), c) for q in range(30) for c in range(weights[q])]
    rows = np.concatenate([part for part, _ in copies])
    again = np.concatenate([qid[part] + 30 * c for part, c in copies])
    repeated = clone(ranker).fit(X[rows], y[rows], again).predict(X)
    np.testing.assert_allclose(weighted, repeated, rtol=1e-4, atol=1e-5)
    assert np.ptp(weighted) > 0.1


def test_row_weights_need_a_term_for_each_document(ranker_class, data):
    X, y, qid = data
    weights = np.random.default_rng(0).uniform(0.5, 2, len(y))
    for objective in ("squared", "poisson", "logistic", "softmax", "pairwise-exponential"):
        plain = small(ranker_class, objective).fit(X, y, qid).predict(X)
        assert not np.allclose(small(ranker_class, objective).fit(X, y, qid, sample_weight=weights).predict(X), plain)
    for objective in ("cosine", "centered-squared", "lambdarank" if ranker_class is br.LightGBMRanker else "rank:ndcg"):
        with pytest.raises(ValueError, match="differs within query"):
            small(ranker_class, objective).fit(X, y, qid, sample_weight=weights)


def test_zero_weight_leaves_a_query_out_of_the_loss(ranker_class, data):
    X, y, qid = data
    weights = (qid < 20).astype(float)
    first = small(ranker_class).fit(X, y, qid, sample_weight=weights).predict(X)
    second = small(ranker_class).fit(X, np.where(qid < 20, y, y.max() - y), qid, sample_weight=weights).predict(X)
    np.testing.assert_array_equal(first, second)


def test_a_series_of_query_weights_is_aligned_by_its_index(ranker_class, data):
    X, y, qid = data
    names = np.array([f"query {i}" for i in qid])
    weights = np.random.default_rng(0).integers(1, 5, 30).astype(float)
    expected = small(ranker_class).fit(X, y, names, sample_weight=weights).predict(X)
    series = pd.Series(weights, index=[f"query {i}" for i in range(30)]).sample(frac=1, random_state=0)
    np.testing.assert_array_equal(small(ranker_class).fit(X, y, names, sample_weight=series).predict(X), expected)
    unaligned = small(ranker_class).fit(X, y, names, sample_weight=series.to_numpy()).predict(X)
    assert not np.array_equal(unaligned, expected)
    assert br.ndcg_score(y, expected, names, sample_weight=series) == br.ndcg_score(
        y, expected, names, sample_weight=weights
    )
    with pytest.raises(ValueError, match=r"its index.*does not have the query ids"):
        small(ranker_class).fit(X, y, qid, sample_weight=series)


def test_score_weighs_queries(ranker_class, data):
    X, y, qid = data
    weights = np.random.default_rng(0).uniform(0.5, 2, 30)
    ranker = small(ranker_class).fit(X, y, qid)
    expected = br.ndcg_score(y, ranker.predict(X), qid, sample_weight=weights)
    assert ranker.score(X, y, qid, sample_weight=weights) == pytest.approx(expected)
    assert ranker.score(X, y, qid) != pytest.approx(expected)
    bag = br.BaggedRanker(ranker, 1, random_state=0).fit(X, y, qid)
    assert bag.score(X, y, qid, sample_weight=weights) == pytest.approx(
        br.ndcg_score(y, bag.predict(X), qid, sample_weight=weights)
    )


@pytest.mark.parametrize(("objective", "validation_fraction"), [("softmax", None), ("squared", 0.3), ("native", 0.3)])
def test_weights_follow_the_first_appearance_of_the_ids(ranker_class, objective, validation_fraction, data):
    order = np.random.default_rng(0).permutation(len(data[1]))
    X, y, qid = (values[order] for values in data)
    # Ids in descending sequence where the queries first appear.
    appearance = pd.factorize(qid)[0]
    weights = np.geomspace(0.1, 100.0, 30)
    native = "lambdarank" if ranker_class is br.LightGBMRanker else "rank:ndcg"
    objective = native if objective == "native" else objective
    ranker = small(ranker_class, objective, validation_fraction=validation_fraction)
    per_query, per_row, other = (
        ranker.fit(X, y, 30 - appearance, sample_weight=given).predict(X)
        for given in (weights, weights[appearance], weights[::-1])
    )
    np.testing.assert_array_equal(per_query, per_row)
    assert not np.allclose(per_query, other)
    grouped = np.argsort(appearance, kind="stable")
    together = ranker.fit(X[grouped], y[grouped], 30 - appearance[grouped], sample_weight=weights[appearance[grouped]])
    np.testing.assert_array_equal(together.predict(X), per_row)
