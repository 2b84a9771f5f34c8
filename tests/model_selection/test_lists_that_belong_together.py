"""Copies of a list and lists of one group: none is held out while another one is trained on."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy.sparse import csr_array
from sklearn.model_selection import GridSearchCV, GroupKFold

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


@pytest.fixture(scope="module")
def users():
    """Sixty queries of twelve users, with rows that are not sorted."""
    X, y, qid = br.make_ranking(60, n_documents=6, random_state=0)
    permutation = np.random.default_rng(0).permutation(len(qid))
    X, y, qid = X[permutation], y[permutation], qid[permutation]
    return X, y, qid, np.array([f"user {q % 12}" for q in qid])


@pytest.mark.parametrize("shuffle", [False, True])
def test_folds_divide_no_group(users, shuffle):
    X, y, qid, user = users
    folds = br.QueryKFold(4, shuffle=shuffle, random_state=0 if shuffle else None)
    frame = pd.DataFrame(X, columns=list(map(str, range(X.shape[1])))).assign(qid=qid)
    of_queries = pd.Series(user).groupby(qid, sort=False).first().to_numpy()
    found = [test.tolist() for _, test in folds.split(X, y, user, qid)]
    assert [test.tolist() for _, test in folds.split(frame, y, user)] == found
    assert [test.tolist() for _, test in folds.split(X, y, of_queries, qid)] == found
    assert sorted(np.concatenate(found)) == list(range(len(X)))
    for test in found:
        assert len(test) == 90
        assert len(set(user[test])) == 3
    with pytest.raises(ValueError, match=r"4 folds need at least 4 queries that may be in dif.*3"):
        list(folds.split(X, y, qid % 3, qid))


def test_split_queries_by_group(users):
    _, _, qid, user = users
    keep, hold_out = br.split_queries(qid, 0.25, random_state=0, groups=user)
    assert len(set(user[hold_out])) == 3
    assert not set(user[hold_out]) & set(user[keep])
    assert len(keep) + len(hold_out) == len(qid)


class Recording(br.LightGBMRanker):
    """A ranker that keeps the groups that its fit gets."""

    def fit(self, X, y, qid=None, *, groups=None, **settings):
        """Keep the groups, and train."""
        super().fit(X, y, qid, groups=groups, **settings)
        self.groups_ = groups
        return self


def test_cross_validation_by_group(users):
    X, y, qid, user = users
    ranker = Recording(n_estimators=2)
    of_queries = pd.Series(user).groupby(qid, sort=False).first()
    for groups in (user, of_queries.to_numpy()):
        result = br.cross_validate(ranker, X, y, qid, cv=4, groups=groups, return_estimator=True)
        assert [len(fitted.groups_) for fitted in result["estimator"]] == [270] * 4
        assert [len(set(fitted.groups_)) for fitted in result["estimator"]] == [9] * 4
    plain = br.cross_validate(ranker, X, y, qid, cv=4, return_estimator=True)
    assert plain["estimator"][0].groups_ is None
    search = br.grid_search(ranker, {"k": [5, 10]}, X, y, qid, cv=4, groups=user)
    assert len(set(search.best_estimator_.groups_)) == 12
    curve = br.model_selection.learning_curve(
        ranker, X, y, qid, train_sizes=[0.5, 1.0], cv=3, groups=user
    )
    assert len(curve) == 6


def test_folds_that_divide_a_group_are_an_error(users):
    X, y, qid, user = users
    ranker = br.LightGBMRanker(n_estimators=2)
    folds = list(br.QueryKFold(5).split(X, y, qid))
    with pytest.raises(ValueError, match=r"fold 1 of cv divides a group: it trains on query"):
        br.cross_validate(ranker, X, y, qid, cv=folds, groups=user)
    with pytest.raises(ValueError, match="is in the groups 'user"):
        br.cross_validate(ranker, X, y, qid, cv=4, groups=user[::-1])


@pytest.mark.filterwarnings("error")
def test_scikit_learns_search_by_group(users):
    X, y, qid, user = users
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(
            Recording(n_estimators=2).set_fit_request(groups=True),
            {"k": [5, 10]},
            cv=br.QueryKFold(4),
            scoring=br.make_scorer("ndcg@10"),
        )
        search.fit(X, y, qid=qid, groups=user)
        assert len(set(search.best_estimator_.groups_)) == 12
        search.fit(X, y, qid=qid)
        assert search.best_estimator_.groups_ is None
