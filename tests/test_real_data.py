"""Rankers train on real data sets; the tests are skipped if these are not beside the repository."""

import numpy as np
import pytest
import scipy.sparse as sp

import boostrank as br

both = pytest.mark.parametrize("ranker_class", [br.LightGBMRanker, br.XGBoostRanker])


@pytest.fixture(scope="module", params=["MQ2008", "ClueWeb09"])
def fold(request, shared_data):
    return br.read_letor_folds(shared_data / request.param)[0]


@pytest.fixture(scope="module")
def example(shared_data):
    train = br.read_letor(shared_data / "lightgbm-example" / "rank.train")
    return train, br.read_letor(shared_data / "lightgbm-example" / "rank.test", n_features=train.X.shape[1])


@both
def test_rankers_on_a_fold_are_better_than_chance(fold, ranker_class):
    ranker = ranker_class("softmax", k=10, n_estimators=10, random_state=0, n_jobs=1).fit(*fold.train)
    random = br.ndcg_score(fold.test.y, np.random.default_rng(0).normal(size=len(fold.test.y)), fold.test.qid, k=10)
    assert ranker.score(*fold.test) > random + 0.05


@both
def test_rankers_on_the_lightgbm_example_are_better_than_chance(example, ranker_class):
    (X, y, qid), test = example
    assert sp.issparse(X)
    assert (len(np.unique(qid)), len(y), len(np.unique(test.qid)), len(test.y)) == (201, 3005, 50, 768)
    ranker = ranker_class("softmax", n_estimators=20, random_state=0, n_jobs=1).fit(X, y, qid)
    assert ranker.score(*test) > 0.55


def test_comparison_of_a_consistent_pair_with_lambdarank(shared_data):
    folds = br.read_letor_folds(shared_data / "MQ2008")[:2]
    settings = {"n_estimators": 25, "learning_rate": 0.2, "num_leaves": 7, "random_state": 0, "n_jobs": 1}
    rankers = {name: br.LightGBMRanker(name, **settings) for name in ("lambdarank", "centered-squared")}
    table = br.compare(rankers, folds, measures=["ndcg@10"]).table.set_index("ranker")
    assert abs(table.loc["centered-squared", "difference"]) < 0.03
    assert (table["mean"] > 0.4).all()
