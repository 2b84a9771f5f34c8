"""`fit`: what rankers learn, held-out queries, errors, and a real data set."""

import numpy as np
import pytest
import scipy.sparse as sp
from cases import for_each

import boostrank as br
from boostrank.queries.queries import Queries
from boostrank.surrogates import SURROGATES, Power

NATIVE = {
    br.LightGBMRanker: ["lambdarank", "rank_xendcg"],
    br.XGBoostRanker: ["rank:ndcg", "rank:pairwise", "rank:map"],
}
EVERY_OBJECTIVE = [
    (ranker_class, objective)
    for ranker_class, native in NATIVE.items()
    for objective in (*SURROGATES, Power(0), *native)
]


def small(ranker_class, objective="softmax", **parameters):
    return ranker_class(objective, **{"n_estimators": 6, "random_state": 0, "n_jobs": 1, **parameters})


@for_each(("ranker_class", "objective"), EVERY_OBJECTIVE)
def test_every_objective_learns(ranker_class, objective, data):
    X, y, qid = data
    y = np.minimum(y, 1) if objective == "rank:map" else y
    learned = small(ranker_class, objective, k=10).fit(X, y, qid).score(X, y, qid)
    chance = br.ndcg_score(y, np.random.default_rng(0).normal(size=len(y)), qid, k=10)
    assert learned > chance + 0.15


def test_permuting_the_rows_and_the_kind_of_qid_do_not_matter(ranker_class, data):
    X, y, qid = data
    expected = small(ranker_class).fit(X, y, qid).predict(X)
    # Interleave the queries without changing the order of their first appearance or the order within a query.
    positions = Queries.from_qid(qid).positions
    order = np.lexsort((qid, positions))
    ranker = small(ranker_class).fit(X[order], y[order], np.array([f"q{i}" for i in qid])[order])
    np.testing.assert_array_equal(ranker.predict(X), expected)


def test_the_same_seed_gives_the_same_model(ranker_class, data):
    X, y, qid = data
    sampled = {"subsample": 0.5, "colsample_bytree": 0.5}
    if ranker_class is br.LightGBMRanker:
        sampled["subsample_freq"] = 1
    first, again = (small(ranker_class, **sampled).fit(X, y, qid).predict(X) for _ in range(2))
    other = small(ranker_class, random_state=1, **sampled).fit(X, y, qid).predict(X)
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_missing_query_ids_are_an_error(ranker_class, data):
    X, y, qid = data
    with pytest.raises(ValueError, match="got no qid"):
        small(ranker_class).fit(X, y)
    with pytest.raises(ValueError, match="got no qid"):
        small(ranker_class).fit(X, y, qid).score(X, y)


def test_validation_fraction_holds_out_whole_queries(ranker_class, data):
    X, y, qid = data
    ranker = small(ranker_class, n_estimators=100, early_stopping_rounds=5, validation_fraction=0.3).fit(X, y, qid)
    assert 1 <= ranker.best_iteration_ < 100
    keep, hold_out = br.split_queries(qid, 0.3, random_state=np.random.RandomState(0))
    assert not set(qid[keep]) & set(qid[hold_out])
    assert ranker.score(X[hold_out], y[hold_out], qid[hold_out]) == pytest.approx(
        max(ranker.evals_result_["valid_0"]["ndcg"]), abs=1e-9
    )


def test_gains_of_native_objectives(data):
    X, y, qid = data
    with pytest.raises(ValueError, match="rank:ndcg"):
        small(br.XGBoostRanker, "rank:ndcg", gain=[0, 1, 2, 3, 4, 5]).fit(X, y, qid)
    assert small(br.LightGBMRanker, "lambdarank", gain="linear").fit(X, y * 10, qid).score(X, y, qid) > 0.6


@pytest.fixture(scope="module")
def example(shared_data):
    train = br.read_letor(shared_data / "lightgbm-example" / "rank.train")
    return train, br.read_letor(shared_data / "lightgbm-example" / "rank.test", n_features=train.X.shape[1])


def test_rankers_on_the_lightgbm_example_are_better_than_chance(example, ranker_class):
    (X, y, qid), test = example
    assert sp.issparse(X)
    assert (len(np.unique(qid)), len(y), len(np.unique(test.qid)), len(test.y)) == (201, 3005, 50, 768)
    ranker = ranker_class("softmax", n_estimators=20, random_state=0, n_jobs=1).fit(X, y, qid)
    assert ranker.score(*test) > 0.55
