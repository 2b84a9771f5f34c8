"""Lists of one group are drawn, left out and held out together."""

import numpy as np
import pandas as pd
import pytest
from cases import for_each

import boostrank as br
from boostrank.queries.groups import joined, numbers_of_groups

RANKERS = [br.LightGBMRanker, br.XGBoostRanker]


@pytest.fixture(scope="module")
def sessions():
    """Five sessions of each of 40 query texts: the same documents with other noise."""
    random = np.random.default_rng(0)
    n_texts, n_sessions, n_documents = 40, 5, 8
    X = random.normal(size=(n_texts, 1, n_documents, 6))
    X = np.repeat(X, n_sessions, axis=1)
    X[..., 5] = random.normal(size=X.shape[:3])
    quality = X[..., 0] + random.normal(size=(n_texts, 1, n_documents))
    y = np.digitize(
        quality + 0.3 * random.normal(size=(n_texts, n_sessions, n_documents)), [0.5, 1.5]
    )
    qid = np.repeat(np.arange(n_texts * n_sessions), n_documents)
    text = np.repeat([f"text {i}" for i in range(n_texts)], n_sessions * n_documents)
    permutation = random.permutation(len(qid))
    return (
        X.reshape(-1, 6)[permutation],
        y.ravel()[permutation],
        qid[permutation],
        text[permutation],
    )


@for_each(
    ("groups", "expected"),
    [
        (["a", "a", "b", "a"], [0, 1, 0]),
        ([1.5, 2.0, 1.5], [0, 1, 0]),
        (pd.Series(["x", "y", "y"]), [0, 1, 1]),
        (pd.to_datetime(["2020-01-01", "2020-01-02", "2020-01-01"]), [0, 1, 0]),
    ],
)
def test_numbers_of_groups(groups, expected):
    queries = br.Queries.from_qid([7, 7, 8, 9])
    assert numbers_of_groups(groups, queries).tolist() == expected


def test_groups_of_rows_that_are_not_sorted_by_query():
    queries = br.Queries.from_qid([3, 1, 3, 2, 1])
    assert numbers_of_groups(["a", "b", "a", "a", "b"], queries).tolist() == [0, 1, 0]


@for_each(
    ("groups", "message"),
    [
        (["a", "b"], "groups must be one value for each of the 4 rows, or for each of the 3 q"),
        (["a", None, "b"], r"groups must not be missing; groups\[1\]"),
        ([0, 0, np.nan, 1], r"groups must not be missing; groups\[2\]"),
        (["a", "b", "b", "a"], "but query '7' is in the groups 'a' and 'b'"),
    ],
)
def test_wrong_groups(groups, message):
    with pytest.raises(ValueError, match=message):
        numbers_of_groups(groups, br.Queries.from_qid([7, 7, 8, 9]))
    with pytest.raises(ValueError, match=message):
        br.LightGBMRanker(n_estimators=1).fit(np.eye(4), [0, 1, 0, 1], [7, 7, 8, 9], groups=groups)


def test_joined_partitions():
    random = np.random.default_rng(0)
    for n_partitions in (1, 2, 3):
        partitions = [random.integers(0, 30, 40) for _ in range(n_partitions)]
        numbers = joined(*partitions)
        # The oracle joins until nothing changes.
        expected = np.arange(40)
        for _ in range(40):
            for one in partitions:
                for part in np.unique(one):
                    expected[one == part] = expected[one == part].min()
        same = expected[:, None] == expected
        np.testing.assert_array_equal(numbers[:, None] == numbers, same)
        assert sorted(set(numbers.tolist())) == list(range(numbers.max() + 1))


@pytest.mark.parametrize("ranker", RANKERS)
def test_a_group_is_trained_on_or_held_out(sessions, ranker):
    X, y, qid, text = sessions
    # The whole part of a label is the number of its text.
    labels = np.unique(text, return_inverse=True)[1] + (y > 0) / 2
    seen = []

    def metric(labels, scores, weight, group):
        seen.append(np.unique(np.floor(labels), return_counts=True)[1].tolist())
        return "n", float(len(group)), True

    settings = {"n_estimators": 1, "gain": "linear", "random_state": 0}
    ranker(validation_fraction=0.25, **settings).fit(
        X, labels, qid, groups=text, eval_metric=metric
    )
    # Ten of the forty texts, each with five sessions of eight documents.
    assert seen[0] == [40] * 10


@pytest.mark.parametrize("ranker", RANKERS)
def test_rounds_are_those_of_new_texts(sessions, ranker):
    """Left-out sessions of texts that are trained on let the training go on for too long."""
    X, y, qid, text = sessions
    fitted = ranker(random_state=0).fit(X, y, qid, groups=text)
    without = ranker(random_state=0).fit(X, y, qid)
    assert fitted.best_iteration_ < 0.7 * without.best_iteration_
    named = pd.DataFrame(X, columns=list("abcdef")).assign(text=text)
    by_name = ranker(random_state=0).fit(named, y, qid, groups="text")
    by_level = ranker(random_state=0).fit(named.set_index("text"), y, qid, groups="text")
    of_queries = pd.Series(text).groupby(qid, sort=False).first().to_numpy()
    by_query = ranker(random_state=0).fit(X, y, qid, groups=of_queries)
    for other in (by_name, by_level, by_query):
        np.testing.assert_array_equal(other.oob_improvement_, fitted.oob_improvement_)
    assert by_name.feature_names_in_.tolist() == list("abcdef")
    np.testing.assert_array_equal(by_name.predict(named), fitted.predict(X))
    with pytest.raises(ValueError, match="groups must be the name of a column or an index level"):
        ranker().fit(named, y, qid, groups="user")


@pytest.mark.parametrize("ranker", RANKERS)
def test_bags_draw_whole_groups(sessions, ranker):
    X, y, qid, text = sessions
    bag = br.BaggedRanker(ranker(n_estimators=20, random_state=0), 4, random_state=0)
    bag.fit(X, y, qid, groups=text)
    queries = br.Queries.from_qid(qid)
    number = numbers_of_groups(text, queries)
    for drawn in bag.estimators_samples_:
        assert set(np.bincount(number[drawn], minlength=40)) == {0, 5}
    without = br.BaggedRanker(ranker(n_estimators=20, random_state=0), 4, random_state=0)
    without.fit(X, y, qid)
    assert bag.oob_score_ < without.oob_score_


@pytest.mark.parametrize("ranker", RANKERS)
def test_a_group_for_each_query_changes_nothing(ranker):
    X, y, qid = br.make_ranking(40, random_state=0)
    settings = {"random_state": 0, "n_estimators": 20}
    expected = ranker(**settings).fit(X, y, qid).predict(X)
    np.testing.assert_array_equal(
        ranker(**settings).fit(X, y, qid, groups=qid).predict(X), expected
    )
