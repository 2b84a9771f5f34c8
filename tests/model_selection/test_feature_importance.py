"""Importance of features: decreases by permutation within queries, and shares of what the library
counts."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse as sp
from sklearn.base import clone

import boostrank as br
from boostrank.model_selection import feature_importance
from boostrank.model_selection.permutation_importance import permutation_within
from boostrank.queries.queries import Queries

RANKER = br.LightGBMRanker("softmax", n_estimators=6, min_child_samples=2, n_jobs=1, random_state=0)


@pytest.fixture(scope="module")
def data():
    """Feature 0 decides, feature 1 is constant within queries, features 2 to 4 are noise; rows are
    not grouped."""
    random = np.random.default_rng(0)
    qid = random.permutation(np.repeat(np.arange(40), 6))
    X = random.normal(size=(240, 5))
    X[:, 1] = qid % 5
    y = np.clip(np.round(X[:, 0] + X[:, 1]), 0, 4)
    return X, y, qid


def test_permutations_stay_within_queries():
    qid, random = np.random.default_rng(0).integers(0, 9, 80), np.random.RandomState(0)
    rows = permutation_within(Queries.from_qid(qid), random)
    assert sorted(rows) == list(range(80))
    np.testing.assert_array_equal(qid[rows], qid)
    # Each row of a query is equally likely at each place.
    small = Queries.from_qid(["a", "b", "a", "a"])
    places = np.array([permutation_within(small, random) for _ in range(3000)])
    assert (places[:, 1] == 1).all()
    counts = np.array([(places[:, i] == j).sum() for i in (0, 2, 3) for j in (0, 2, 3)])
    assert (abs(counts - 1000) < 120).all()


@pytest.mark.parametrize("query_features", [None, "rank"])
def test_decreases_are_those_of_a_plain_loop(data, query_features):
    X, y, qid = data
    ranker = clone(RANKER).set_params(query_features=query_features)
    found = feature_importance(
        ranker, X, y, qid, cv=3, measure="ndcg@3", n_repeats=2, random_state=4
    )
    random, scorer = np.random.RandomState(4), br.make_scorer("ndcg@3")
    for fold, (train, test) in enumerate(br.QueryKFold(3).split(X, y, qid)):
        fitted = ranker.fit(X[train], y[train], qid[train])
        X_test, labels = X[test], (y[test], qid[test])
        permutations = [permutation_within(Queries.from_qid(qid[test]), random) for _ in range(2)]
        for j in range(5):
            scores = []
            for rows in permutations:
                changed = X_test.copy()
                changed[:, j] = X_test[rows, j]
                scores.append(scorer(fitted, changed, *labels))
            assert found.loc[fold, j] == pytest.approx(
                scorer(fitted, X_test, *labels) - np.mean(scores), abs=1e-12
            )
    assert (found[0] > 0.1).all()
    assert (found[1] == 0).all()
    assert found[[2, 3, 4]].to_numpy().max() < 0.05


def test_forms_of_features(data):
    X, y, qid = data
    frame = pd.DataFrame(X, columns=list("vwxyz"), index=np.arange(len(y)) * 3)
    tables = [
        feature_importance(RANKER, features, y, *ids, cv=2, n_repeats=2)
        for features, *ids in (
            (X, qid),
            (sp.csr_matrix(X), qid),
            (frame, qid),
            (frame.assign(qid=qid),),
        )
    ]
    assert [list(table) for table in tables] == [list(range(5))] * 2 + [list("vwxyz")] * 2
    for table in tables[1:]:
        np.testing.assert_allclose(table, tables[0], atol=1e-12)


def test_categories_keep_their_type(data):
    X, y, qid = data
    frame = pd.DataFrame(X[:, 1:], columns=list("wxyz"))
    frame.insert(0, "v", pd.Categorical(np.digitize(X[:, 0], [-1, 0, 1])))
    ranker = br.LightGBMRanker(**RANKER.get_params(), min_data_per_group=1, cat_smooth=1)
    found = feature_importance(ranker, frame, y, qid, cv=2)
    assert (found["v"] > 0.1).all()


def test_bad_input_is_named(data):
    for settings, error, message in (
        ({"n_repeats": 0}, ValueError, "n_repeats must be"),
        ({"measure": "x"}, ValueError, "measure must be"),
        ({"scoring": "mrr"}, TypeError, "multiple values for keyword argument 'scoring'"),
    ):
        with pytest.raises(error, match=message):
            feature_importance(RANKER, *data, cv=2, **settings)
    with pytest.raises(ValueError, match="feature_importance got no qid"):
        feature_importance(RANKER, *data[:2])
