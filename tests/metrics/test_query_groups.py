"""Means by group of queries: those of `evaluate` on the queries of a group alone, and intervals
against scipy."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import boostrank as br
from boostrank.metrics.query_groups import ALL_QUERIES
from boostrank.queries.queries import Queries

MEASURES = ["ndcg@3", "map", "auc"]


@pytest.fixture(scope="module")
def data():
    """Labels, scores and shuffled ids of 40 queries; the last ones have no relevant document."""
    random = np.random.default_rng(0)
    qid = random.permutation(np.repeat(np.arange(100, 140), random.integers(2, 9, 40)))
    labels = random.integers(0, 3, len(qid)) * (qid < 137)
    return labels, random.integers(0, 6, len(qid)) / 6.0, qid


@pytest.fixture(scope="module")
def by(data):
    """Group by query id; the last group has one query."""
    return {
        query: "only" if query == 139 else ["short", "long", "mid"][query % 3]
        for query in np.unique(data[2])
    }


def evaluate_subset(data, by, group, measures, weights=None, **settings):
    """`evaluate` on the documents of the queries of a group."""
    labels, scores, qid = data
    rows = np.array([group in (by[query], ALL_QUERIES) for query in qid])
    if weights is not None:
        settings["sample_weight"] = np.array([weights[query] for query in qid])[rows]
    return br.evaluate(labels[rows], scores[rows], qid[rows], measures, **settings)


@pytest.mark.parametrize("weighted", [False, True])
def test_means_are_those_of_the_queries_of_the_group_alone(data, by, weighted):
    labels, scores, qid = data
    random = np.random.default_rng(1)
    weights = {query: random.integers(0, 4) + (query == 139) for query in by} if weighted else None
    given = None if weights is None else np.array([weights[query] for query in qid])
    table = br.evaluate(labels, scores, qid, MEASURES, sample_weight=given, by=by)
    assert list(table) == ["group", "metric", "queries", "mean", "low", "high"]
    groups = ["long", "mid", "only", "short", ALL_QUERIES]
    assert table[["group", "metric"]].to_numpy().tolist() == [
        [group, name] for group in groups for name in MEASURES
    ]
    for group, rows in table.groupby("group"):
        measures = MEASURES if group != "only" else ["ndcg@3", "map"]
        expected = evaluate_subset(data, by, group, measures, weights)
        means = rows.set_index("metric")["mean"]
        np.testing.assert_allclose(
            means[measures], [expected[name] for name in measures], rtol=0, atol=1e-14
        )
        values = evaluate_subset(data, by, group, measures, weights, per_query=True)
        of_query = (
            np.ones(len(values))
            if weights is None
            else np.array([weights[query] for query in values.index])
        )
        counts = (values.notna().to_numpy() & (of_query > 0)[:, None]).sum(axis=0)
        assert rows["queries"].tolist()[: len(measures)] == counts.tolist()
    # The labels of this query are all equal, so that the AUC is undefined, and it is left out.
    nothing = table[(table["group"] == "only") & (table["metric"] == "auc")].iloc[0]
    assert nothing["queries"] == 0
    assert nothing[["mean", "low", "high"]].isna().all()


def test_intervals_are_those_of_student(data, by):
    table = br.evaluate(*data, ["ndcg@3", "map"], by=by)
    values = br.evaluate(*data, ["ndcg@3", "map"], by=by, per_query=True)
    for row in table.itertuples():
        of_group = values[row.metric][(values["group"] == row.group) | (row.group == ALL_QUERIES)]
        if len(of_group) == 1:
            assert np.isnan([row.low, row.high]).all()
            continue
        expected = stats.t.interval(0.95, len(of_group) - 1, of_group.mean(), stats.sem(of_group))
        np.testing.assert_allclose([row.low, row.high], expected, rtol=0, atol=1e-12)


def test_all_forms_of_groups_are_the_same(data, by):
    labels, scores, qid = data
    expected = br.evaluate(labels, scores, qid, by=by)
    ids = Queries.from_qid(qid).ids
    of_queries = [by[query] for query in ids]
    forms = [
        of_queries,
        np.array(of_queries),
        [by[query] for query in qid],
        pd.Series([by[query] for query in qid], index=np.arange(len(qid)) + 5),
        pd.Series(of_queries),
        pd.Series(by).sort_values(),
        pd.DataFrame({"qid": list(by), "kind": list(by.values())}),
    ]
    for form in forms:
        pd.testing.assert_frame_equal(br.evaluate(labels, scores, qid, by=form), expected)


def test_groups_are_sorted_or_in_the_sequence_of_their_categories():
    arguments = [1, 1, 1, 1], [1.0, 2.0, 3.0, 4.0], [1, 2, 3, 4]
    assert br.evaluate(*arguments, "mrr", by=[10, 9, 10, 2])["group"].tolist() == [
        2,
        9,
        10,
        ALL_QUERIES,
    ]
    sizes = pd.Categorical(["big", "small", "big", "mid"], ["small", "mid", "none", "big"])
    assert br.evaluate(*arguments, "mrr", by=sizes)["group"].tolist() == [
        "small",
        "mid",
        "big",
        ALL_QUERIES,
    ]
    by_id = pd.Series(sizes, index=[1, 2, 3, 4])
    assert br.evaluate(*arguments, "mrr", by=by_id)["group"].tolist() == [
        "small",
        "mid",
        "big",
        ALL_QUERIES,
    ]
    mixed = br.evaluate(*arguments, "mrr", by={1: "b", 2: 1, 3: "b", 4: 1})
    assert mixed["group"].tolist() == [1, "b", ALL_QUERIES]
    assert br.evaluate(*arguments, "mrr", by=[True, False, True, True])["queries"].tolist() == [
        1,
        3,
        4,
    ]


def test_preferences_and_functions_have_groups():
    graph = br.PreferenceGraph([7, 7, 8, 8], winner=[0, 3], loser=[1, 2])
    table = br.evaluate(graph, [2.0, 1.0, 2.0, 1.0], None, "agreement", by={7: "x", 8: "y"})
    assert table["mean"].tolist() == [1.0, 0.0, 0.5]

    def first(y_true, y_score, qid, per_query=False):
        return np.array([0.25, 0.75]) if per_query else 0.5

    table = br.evaluate([1, 0], [1, 2], ["a", "b"], {"first": first}, by=["x", "y"])
    assert table["mean"].tolist() == [0.25, 0.75, 0.5]


QID = ["a", "a", "b", "c"]


@pytest.mark.parametrize(
    ("by", "message"),
    [
        (
            ["x", "y"],
            r"by must have one value per query \(3\) or per document \(4\), .*; got 2 values",
        ),
        (["x", "y", "x", "x"], "by differs within query 'a'"),
        (["x", None, "x"], r"by must have no missing values; by\[1\] is missing"),
        (
            {"a": 1, "b": 2},
            r"by must have a value for each query; it has none for 'c' \(1 of 3 queries\)",
        ),
        (
            {"a": 1, "b": 2, "c": 2, "d": 3},
            r"only queries that the data have; it also has 'd' \(1 of 4\)",
        ),
        (
            pd.DataFrame({"qid": ["a", "b", "c", "a"], "x": [1, 1, 1, 2]}),
            "different values for the query 'a'",
        ),
        (np.ones((3, 2)), "1-dimensional"),
    ],
)
def test_bad_groups_are_named(by, message):
    for per_query in (False, True):
        with pytest.raises(ValueError, match=message):
            br.evaluate([1, 0, 1, 1], [1, 2, 3, 4], QID, "map", by=by, per_query=per_query)


def test_a_query_without_value_is_an_error_where_the_measure_says_so(data, by):
    with pytest.raises(ValueError, match=r"query '1\d\d' has no relevant document"):
        br.evaluate(*data, {"map": br.get_measure("map", empty="raise")}, by=by)


def users_of(qid):
    """A user of each query, by id; the last one has a single query."""
    return {query: "single" if query == 139 else f"user {query % 7}" for query in np.unique(qid)}


@pytest.mark.parametrize("weighted", [False, True])
def test_intervals_by_group_are_those_of_the_values_of_queries(data, by, weighted):
    qid = data[2]
    users = users_of(qid)
    weights = None
    if weighted:
        random = np.random.default_rng(1)
        weights = random.integers(0, 4, 40)[qid - 100] + (qid == 139)
    table = br.evaluate(*data, MEASURES, sample_weight=weights, by=by, groups=users)
    plain = br.evaluate(*data, MEASURES, sample_weight=weights, by=by)
    pd.testing.assert_frame_equal(table.iloc[:, :4], plain.iloc[:, :4])
    values = br.evaluate(*data, MEASURES, per_query=True)
    of_query = np.ones(len(values))
    if weights is not None:
        of_query = pd.Series(weights).groupby(qid).first()[values.index].to_numpy()
    for row in table.itertuples():
        is_meant = [row.group in (by[query], ALL_QUERIES) for query in values.index]
        counted = is_meant & values[row.metric].notna().to_numpy() & (of_query > 0)
        chosen = values[row.metric][counted]
        names = [users[query] for query in chosen.index]
        if len(set(names)) < 2:
            assert np.isnan([row.low, row.high]).all()
            continue
        given = {"sample_weight": of_query[counted], "groups": names}
        expected = br.significance.confidence_interval(chosen, 0 * chosen, **given)
        np.testing.assert_allclose([row.low, row.high], expected, atol=1e-12)


def test_groups_alone_have_the_rows_of_all_queries(data, by):
    users = users_of(data[2])
    table = br.evaluate(*data, MEASURES, by=by, groups=users)
    expected = table[table["group"] == ALL_QUERIES].reset_index(drop=True)
    forms = [users, [users[query] for query in data[2]], pd.Series(users)]
    for form in forms:
        pd.testing.assert_frame_equal(br.evaluate(*data, MEASURES, groups=form), expected)
    single = br.evaluate(*data, MEASURES, groups=data[2])
    plain = br.evaluate(*data, MEASURES, by=40 * ["all"]).iloc[len(MEASURES) :]
    pd.testing.assert_frame_equal(single, plain.reset_index(drop=True))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"groups": ["x", "y", "x", "x"]}, "groups differs within query 'a'"),
        (
            {"groups": ["x", None, "x"]},
            r"groups must have no missing values; groups\[1\] is missing",
        ),
        ({"groups": ["x", "x", "x"]}, "groups must be at least two; all 3 queries are in the"),
        ({"groups": ["x", "y", "x"], "per_query": True}, "groups are for intervals, which the"),
        ({"groups": {"a": 1}}, "groups must have a value for each query; it has none for 'b', 'c'"),
    ],
)
def test_bad_groups_of_intervals_are_named(settings, message):
    with pytest.raises(ValueError, match=message):
        br.evaluate([1, 0, 1, 1], [1, 2, 3, 4], QID, "map", **settings)
