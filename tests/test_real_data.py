"""Real data sets load and train; skipped where they are not beside the repository."""

import numpy as np
import pytest
import scipy.sparse as sp

import boostrank as br


@pytest.mark.parametrize("name", ["MQ2008", "ClueWeb09"])
@pytest.mark.parametrize("ranker_class", [br.LightGBMRanker, br.XGBoostRanker])
def test_folds_load_and_train(shared_data, name, ranker_class):
    fold = br.read_letor_folds(shared_data / name)[0]
    ranker = ranker_class("softmax", k=10, n_estimators=20, random_state=0).fit(*fold.train)
    random = br.ndcg_score(fold.test.y, np.random.default_rng(0).normal(size=len(fold.test.y)), fold.test.qid, k=10)
    assert ranker.score(*fold.test) > random + 0.05


@pytest.mark.parametrize("ranker_class", [br.LightGBMRanker, br.XGBoostRanker])
def test_lightgbm_example_loads_and_trains(shared_data, ranker_class):
    X, y, qid = br.read_letor(shared_data / "lightgbm-example" / "rank.train")
    test = br.read_letor(shared_data / "lightgbm-example" / "rank.test", n_features=X.shape[1])
    assert sp.issparse(X)
    assert (len(np.unique(qid)), len(y), len(np.unique(test.qid)), len(test.y)) == (201, 3005, 50, 768)
    ranker = ranker_class("softmax", n_estimators=30, random_state=0).fit(X, y, qid)
    assert ranker.score(*test) > 0.55


def test_comparison_of_a_consistent_pair_with_lambdarank(shared_data):
    folds = br.read_letor_folds(shared_data / "MQ2008")[:2]
    rankers = {
        name: br.LightGBMRanker(name, n_estimators=100, early_stopping_rounds=20, num_leaves=15, random_state=0)
        for name in ("lambdarank", "centered-squared")
    }
    table = br.compare(rankers, folds, measures=["ndcg@10"]).table.set_index("ranker")
    assert abs(table.loc["centered-squared", "difference"]) < 0.03
    assert (table["mean"] > 0.4).all()
