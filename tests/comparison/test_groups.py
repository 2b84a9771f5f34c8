"""Comparisons of queries that belong together: folds and validation data with whole groups, tests
by group, texts, and errors."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator
from sklearn.model_selection import GroupKFold

import boostrank as br
from boostrank.comparison import Comparison
from boostrank.significance import confidence_interval, effect_size, holm

N_USERS = 24
DATA = br.Dataset(*br.make_ranking(n_queries=3 * N_USERS, n_documents=6, random_state=0))
#: The user of each query, three queries each, that are not next to each other.
NUMBERS = np.random.default_rng(0).permutation(np.repeat(np.arange(N_USERS), 3))
USERS = {query: f"user {number}" for query, number in enumerate(NUMBERS)}
OF_ROWS = np.array([USERS[query] for query in DATA.qid], dtype=object)
SETTINGS = {"cv": 4, "measures": ["ndcg@3", "map"], "n_permutations": 500}


class Recorder(BaseEstimator):
    """Predicts a feature, and keeps the query ids that it was trained on."""

    trained: list = []  # noqa: RUF012
    validated: list = []  # noqa: RUF012

    def __init__(self, feature=0, early_stopping_rounds=None):
        self.feature, self.early_stopping_rounds = feature, early_stopping_rounds

    def fit(self, X, y, qid=None, eval_set=None):
        self.trained.append(set(qid))
        for _, _, validation_qid in eval_set or ():
            self.validated.append(set(validation_qid))
        return self

    def predict(self, X):
        return np.asarray(X)[:, self.feature]


RANKERS = {"first": Recorder(), "second": Recorder(1), "third": Recorder(2)}


@pytest.fixture(autouse=True)
def _forget():
    Recorder.trained.clear()
    Recorder.validated.clear()


@pytest.fixture(scope="module")
def comparison():
    return br.compare(RANKERS, *DATA, groups=USERS, **SETTINGS)


def test_tests_intervals_and_effects_are_those_of_groups(comparison):
    rows = comparison.per_query
    assert rows["group"].tolist() == [USERS[query] for query in rows["query"]]
    assert list(rows)[:4] == ["ranker", "fold", "query", "group"]
    values = {name: part.reset_index() for name, part in rows.groupby("ranker")}
    groups = values["first"]["group"]
    for row in comparison.table[comparison.table["ranker"] != "first"].itertuples():
        pair = values[row.ranker][row.metric], values["first"][row.metric]
        test = br.permutation_test(*pair, groups=groups, n_permutations=500)
        assert (row.difference, row.p_value, row.skewness) == (test[0], test[1], test[5])
        assert row.wins + row.ties + row.losses == N_USERS
        assert row.mean == pytest.approx(pair[0].mean())
        assert (row.low, row.high) == confidence_interval(*pair, groups=groups)
        assert row.effect == effect_size(*pair, groups=groups)
        assert row.effect != effect_size(*pair)
    for _, part in comparison.table.groupby("metric"):
        np.testing.assert_array_equal(part["p_holm"], holm(part["p_value"]))
    pairs = comparison.pairwise("map")
    of_baseline = comparison.rows_of("map")["p_value"][["second", "third"]]
    assert pairs["p_value"][:2].tolist() == of_baseline.tolist()


def test_groups_are_whole_in_folds(comparison):
    folds = comparison.per_query.drop_duplicates(["query"])
    assert (folds.groupby("group")["fold"].nunique() == 1).all()
    plain = br.compare(RANKERS, *DATA, **SETTINGS).per_query
    assert (
        plain.assign(group=plain["query"].map(USERS)).groupby("group")["fold"].nunique() > 1
    ).any()


def test_a_training_gets_no_query_of_a_group_that_is_tested_or_validated():
    rankers = {"stopping": Recorder(early_stopping_rounds=2)}
    result = br.compare(rankers, *DATA, groups=OF_ROWS, **SETTINGS)
    assert len(Recorder.trained) == 4
    folds = result.per_query.groupby("fold", sort=False)["group"].unique()
    parts = zip(Recorder.trained, Recorder.validated, folds, strict=True)
    for trained, validated, tested in parts:
        users = [{USERS[query] for query in part} for part in (trained, validated)]
        assert set.union(*users, tested) == {*USERS.values()}
        # A fifth of the eighteen groups that are not tested, each of them whole.
        assert [len(part) for part in users] == [14, 4]
        assert [len(part) for part in (trained, validated)] == [3 * 14, 3 * 4]


def test_all_forms_of_groups_are_the_same(comparison):
    frame = pd.DataFrame(DATA.X).add_prefix("x")
    forms = [
        (DATA.X, OF_ROWS),
        (DATA.X, list(USERS.values())),
        (DATA.X, pd.Series(USERS).rename_axis("qid").sort_index(ascending=False)),
        (DATA.X, pd.DataFrame({"qid": USERS.keys(), "user": USERS.values()})),
        (frame.assign(user=OF_ROWS), "user"),
    ]
    for X, groups in forms:
        result = br.compare(RANKERS, X, DATA.y, DATA.qid, groups=groups, **SETTINGS)
        pd.testing.assert_frame_equal(
            result.table.drop(columns="seconds"), comparison.table.drop(columns="seconds")
        )
    # The names of groups do not matter.
    numbers = {query: float(user.removeprefix("user ")) for query, user in USERS.items()}
    result = br.compare(RANKERS, *DATA, groups=numbers, **SETTINGS)
    np.testing.assert_array_equal(result.table["p_value"], comparison.table["p_value"])


def test_a_column_of_groups_is_no_feature():
    class Counter(Recorder):
        def fit(self, X, y, qid=None):
            assert list(X) == [f"x{i}" for i in range(DATA.X.shape[1])]
            return self

    frame = pd.DataFrame(DATA.X).add_prefix("x").assign(user=OF_ROWS, qid=DATA.qid)
    br.compare({"one": Counter()}, frame, DATA.y, groups="user", measures="map")


def test_groups_of_one_query_change_no_test():
    plain = br.compare(RANKERS, *DATA, **SETTINGS)
    result = br.compare(RANKERS, *DATA, groups=DATA.qid, **SETTINGS)
    pd.testing.assert_frame_equal(
        result.table.drop(columns="seconds"), plain.table.drop(columns="seconds"), check_exact=True
    )


def test_texts_say_groups(comparison, tmp_path):
    assert comparison.test == ("paired randomization test", "groups")
    assert comparison.counts == "72 queries in 24 groups"
    assert "Means over 72 queries in 24 groups, the best one bold" in comparison.to_markdown()
    better = comparison.per_query.assign(
        map=comparison.per_query["map"] + 0.5 * (comparison.per_query["ranker"] == "second")
    )
    significant = Comparison(better, ["map"], "first")
    assert "The tests are over groups, not over trainings." in repr(significant)
    comparison.save_html(tmp_path / "report.html")
    report = (tmp_path / "report.html").read_text("utf-8")
    assert "72 queries in 24 groups" in report
    assert "paired randomization test over all groups" in report
    assert "w/t/l: groups won, tied and lost" in report
    differences = comparison.plot("map").table.set_index("ranker")
    row = comparison.rows_of("map").loc["second"]
    assert differences.loc["second", ["low", "high"]].tolist() == [row["low"], row["high"]]
    assert len(comparison.plot_queries("second", "map").table) == 72


def test_few_groups_are_doubtful_where_many_queries_are_not():
    queries = [f"{i}" for i in range(150)]
    differences = np.repeat([0.0] * 4 + [0.01] * 10 + [0.5], 10)
    parts = [
        pd.DataFrame({"run": name, "query": queries, "AP": factor * differences})
        for name, factor in (("base", 0), ("other", 1))
    ]
    rows = pd.concat(parts)
    plain = Comparison(rows, ["AP"], "base", "run")
    assert "skewed" not in plain.caveats()
    grouped = Comparison(rows.assign(group=np.tile(np.arange(150) // 10, 2)), ["AP"], "base", "run")
    assert "fewer than 100 groups with skewed differences" in grouped.caveats()


def test_repeated_folds_keep_groups_whole_and_are_tested_over_folds():
    result = br.compare(
        RANKERS, *DATA, groups=USERS, cv=3, repeats=2, measures="map", random_state=1
    )
    rows = result.per_query[result.per_query["ranker"] == "first"]
    for _, part in rows.groupby("repetition"):
        assert (part.groupby("group")["fold"].nunique() == 1).all()
        assert sorted(part["query"]) == list(USERS)
    assert result.test[1] == "folds"
    assert (result.table["wins"] + result.table["ties"] + result.table["losses"] == 6).all()
    assert "Means over 72 queries in 24 groups" in result.to_markdown()
    assert len(result.plot_queries().table) == 72


def test_folds_that_are_given_have_groups_by_query_id():
    folds = br.query_folds(DATA, 3)
    message = r"Fold1 has queries of the group 'user \d+' \(and \d+ others\) on both sides"
    with pytest.warns(UserWarning, match=message) as caught:
        result = br.compare(RANKERS, folds, groups=USERS, measures="map")
    assert len(caught) == 1
    assert result.counts == "72 queries in 24 groups"
    of_fold = NUMBERS[DATA.qid] % 3
    rows = [np.flatnonzero(of_fold == i) for i in range(3)]
    whole = [
        br.datasets.Fold(
            f"Fold{i}", DATA.take(rows[(i + 1) % 3]), DATA.take(rows[(i + 2) % 3]), DATA.take(test)
        )
        for i, test in enumerate(rows)
    ]
    result = br.compare(RANKERS, whole, groups=USERS, measures="map")
    assert result.counts == "72 queries in 24 groups"
    with pytest.raises(TypeError, match="groups must be a dict, a Series or a DataFrame"):
        br.compare(RANKERS, folds, groups=OF_ROWS)
    missing = {query: user for query, user in USERS.items() if query != 7}
    with pytest.raises(ValueError, match=r"groups must have a value for each query; .* for 7"):
        br.compare(RANKERS, folds, groups=missing)


def test_saved_comparisons_keep_groups(comparison):
    for loaded in (pickle.loads(pickle.dumps(comparison)), copy.deepcopy(comparison)):
        assert repr(loaded) == repr(comparison)
        assert loaded.test == comparison.test
    # The rows of a table are enough for the same comparison.
    again = Comparison(comparison.per_query, comparison.measures, "first", n_permutations=500)
    pd.testing.assert_frame_equal(again.table, comparison.table)


def two_groups(query):
    changed = OF_ROWS.copy()
    changed[np.flatnonzero(DATA.qid == query)[-1]] = "another"
    return changed


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"groups": two_groups(5)}, "groups differs within query '5': give one group per query"),
        ({"groups": OF_ROWS[:-1]}, r"groups must have one value per query \(72\) or per document"),
        ({"groups": {0: "a"}}, "groups must have a value for each query; it has none for"),
        ({"groups": {**USERS, 99: "x"}}, "groups must have only queries that the data have"),
        ({"groups": [None, *OF_ROWS[1:]]}, r"groups must have no missing values; groups\[0\]"),
        ({"groups": "user"}, "groups must be the name of a column of X, .*; got 'user'"),
        ({"groups": dict.fromkeys(USERS, "a")}, "groups must be at least two; all 72 queries"),
        ({"cv": 25}, "25 folds need at least 25 queries that may be in different folds; got 24"),
        ({"cv": br.QueryKFold(25)}, "25 folds need at least 25 queries that may be .*; got 24"),
        ({"cv": 1}, "requires at least one train/test split"),
    ],
)
def test_bad_arguments_are_named(changed, message):
    with pytest.raises(ValueError, match=message):
        br.compare(RANKERS, *DATA, **{"groups": USERS, **SETTINGS, **changed})


def test_folds_that_divide_a_group_are_refused():
    splitter = list(br.QueryKFold(4).split(DATA.X, groups=DATA.qid))
    message = r"fold 1 of cv divides a group: it trains on query '\d+', and tests on another query"
    with pytest.raises(ValueError, match=message):
        br.compare(RANKERS, *DATA, groups=USERS, **{**SETTINGS, "cv": splitter})
    whole = GroupKFold(4)
    assert br.compare(RANKERS, *DATA, groups=USERS, **{**SETTINGS, "cv": whole}).counts


def test_query_ids_in_an_index_and_in_labels_are_not_mistaken_for_groups(comparison):
    frame = pd.DataFrame(DATA.X).set_index(pd.Index(DATA.qid, name="qid"))
    result = br.compare(RANKERS, frame, DATA.y, groups=USERS, **SETTINGS)
    pd.testing.assert_frame_equal(
        result.table.drop(columns="seconds"), comparison.table.drop(columns="seconds")
    )
    log = br.simulate_clicks(DATA.y, DATA.X[:, 0], DATA.qid, random_state=0).log
    clicks = br.ClickLabels(log, model=("power", 1.0))
    result = br.compare(RANKERS, DATA.X, clicks, groups=USERS, cv=4)
    assert result.counts == "72 queries in 24 groups"
    assert (result.per_query.groupby("group")["fold"].nunique() == 1).all()


def test_the_time_of_folds_is_no_feature_beside_groups():
    """Each user has queries at one time only, so that folds in time divide no group."""
    time = np.array([int(user.split()[1]) for user in OF_ROWS])
    X = pd.DataFrame(DATA.X).add_prefix("x")
    cv = br.QueryTimeSplit(2, time="time")
    timed = pd.concat([pd.Series(time, name="time"), X], axis=1)
    found = br.compare(RANKERS, timed, *DATA[1:], groups=OF_ROWS, cv=cv).table
    plain = br.QueryTimeSplit(2, time=time)
    expected = br.compare(RANKERS, X, *DATA[1:], groups=OF_ROWS, cv=plain).table
    pd.testing.assert_frame_equal(found.assign(seconds=1.0), expected.assign(seconds=1.0))
