"""Copies of a list under different ids: none is held out while another one is trained on."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.model_selection import GroupKFold

import boostrank as br


@pytest.fixture(scope="module")
def log():
    """Sixty lists, each of them three times in a log, with ids in another sequence."""
    X, y, qid = br.make_ranking(60, n_documents=6, random_state=0)
    number = np.concatenate([qid, qid + 60, qid + 120])
    ids = np.random.default_rng(0).permutation(180)[number]
    return np.vstack([X, X, X]), np.concatenate([y, y, y]), ids, number % 60


def is_cut(train, test, list_of_row):
    return bool(np.intersect1d(list_of_row[train], list_of_row[test]).size)


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("kind", [np.asarray, csr_array, pd.DataFrame])
def test_folds(log, shuffle, kind):
    X, y, qid, list_of_row = log
    seed = 0 if shuffle else None
    folds = list(br.QueryKFold(5, shuffle=shuffle, random_state=seed).split(kind(X), y, qid))
    assert not any(is_cut(train, test, list_of_row) for train, test in folds)
    assert [len(test) for _, test in folds] == [len(X) // 5] * 5
    other_labels = np.random.default_rng(1).random(len(y))
    folds = list(br.QueryKFold(5).split(kind(X), other_labels, qid))
    assert any(is_cut(train, test, list_of_row) for train, test in folds)


def test_folds_without_copies_are_those_of_scikit_learn():
    X, y, qid = br.make_ranking(30, random_state=0)
    for X_ in (X, pd.DataFrame(X), np.zeros_like(X), [[0.0]] * len(X), ["text"] * len(X)):
        folds = br.QueryKFold(3).split(X_, y, qid)
        for found, expected in zip(folds, GroupKFold(3).split(X, y, qid), strict=True):
            np.testing.assert_array_equal(found[1], expected[1])


def test_other_splitters_are_a_warning(log):
    X, y, qid, _ = log
    ranker = br.LightGBMRanker(n_estimators=2)
    with pytest.warns(UserWarning, match="have the documents and labels of queries to train on"):
        br.cross_validate(ranker, X, y, qid, cv=GroupKFold(3))


@pytest.mark.filterwarnings("error")
def test_few_copies_and_our_folds_are_no_warning(log):
    X, y, qid, _ = log
    ranker = br.LightGBMRanker(n_estimators=2)
    br.cross_validate(ranker, X, y, qid, cv=3)
    rows = np.r_[: len(X) // 3, len(X) // 3 : len(X) // 3 + 6]
    br.cross_validate(ranker, X[rows], y[rows], qid[rows], cv=GroupKFold(3))


@pytest.mark.parametrize("ranker", [br.LightGBMRanker, br.XGBoostRanker])
def test_validation_fraction_and_bags(log, ranker):
    X, y, qid, list_of_row = log
    settings = {"n_estimators": 300, "random_state": 0, "early_stopping_rounds": 5}
    fitted = ranker(validation_fraction=0.3, **settings).fit(X, y, qid)
    alone = ranker(validation_fraction=0.3, **settings).fit(X[:360], y[:360], list_of_row[:360])
    # With copies on both sides, the metric of the lists that are held out would be nearly 1.
    value = fitted.best_score_["valid_0"]["ndcg"]
    assert value == pytest.approx(alone.best_score_["valid_0"]["ndcg"], abs=0.03)
    assert value < 0.95
    bag = br.BaggedRanker(ranker(n_estimators=20, random_state=0), n_estimators=4, random_state=0)
    bag.fit(X, y, qid)
    queries = br.Queries.from_qid(qid)
    list_of_query = queries.group(list_of_row)[queries.starts]
    for drawn in bag.estimators_samples_:
        assert (np.bincount(list_of_query[drawn], minlength=60) % 3 == 0).all()
        assert 0 < len(drawn) < 180
