"""Contributions of features to differences of scores: they add up, and belong to the right
documents and features."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.linear_model import LinearRegression

import boostrank as br
from boostrank.rankers.explanations import Explanation, explain

SETTINGS = {"n_estimators": 6, "n_jobs": 1, "random_state": 0}


@pytest.fixture(scope="module")
def data():
    """Shuffled queries, in which a feature is missing in places."""
    X, y, qid = br.make_ranking(n_queries=12, n_features=6, random_state=0)
    random = np.random.default_rng(0)
    X[random.random(len(X)) < 0.2, 2] = np.nan
    rows = random.permutation(len(y))
    return X[rows], y[rows], qid[rows]


MODELS = {
    "lightgbm": br.LightGBMRanker(**SETTINGS),
    "xgboost dart": br.XGBoostRanker(booster="dart", rate_drop=0.5, **SETTINGS),
    "bag": br.BaggedRanker(br.LightGBMRanker(**SETTINGS), n_estimators=2, random_state=0),
}


@pytest.fixture(scope="module")
def ranker(data):
    return br.LightGBMRanker(**SETTINGS).fit(*data)


@pytest.mark.parametrize("name", MODELS)
def test_differences_add_up_to_that_of_the_scores(name, data):
    X, y, qid = data
    model = MODELS[name].fit(X, y, qid)
    scores, rows = model.predict(X), np.flatnonzero(qid == 3)
    ranking = rows[np.argsort(-scores[rows], kind="stable")]
    last = len(rows)
    for ranks in ((1, 2), (1, last), (last, 2)):
        found = explain(model, X, qid, query=3, ranks=ranks)
        a, b = (ranking[rank - 1] for rank in ranks)
        assert (found.query, found.ranks, found.rows) == (3, ranks, (a, b))
        np.testing.assert_allclose(found.scores, scores[[a, b]], rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(found.difference, scores[a] - scores[b], rtol=1e-5, atol=2e-6)
        for n_features in (2, 100):
            summary = found.summary(n_features)
            np.testing.assert_allclose(summary["difference"].sum(), found.difference, atol=1e-12)
            assert len(summary) <= n_features + 1
        np.testing.assert_array_equal(found.ranking["row"], ranking)
    single = explain(model, X, [("q", i) for i in qid], query=("q", 3), ranks=last)
    np.testing.assert_allclose(
        single.expected_score + single.difference, scores[ranking[-1]], rtol=1e-5, atol=1e-6
    )
    assert single.table["contribution_b"].eq(0).all()


def test_the_table_has_values_and_contributions_of_each_feature(ranker, data):
    X, _, qid = data
    found = explain(ranker, X, qid, query=3, ranks=(2, 4))
    contributions = ranker.predict(X, pred_contrib=True)
    a, b = found.rows
    for row in found.table.itertuples():
        np.testing.assert_equal((row.value_a, row.value_b), (X[a, row.feature], X[b, row.feature]))
        expected = contributions[a, row.feature], contributions[b, row.feature]
        assert (row.contribution_a, row.contribution_b) == expected
        assert row.difference == expected[0] - expected[1]
    assert sorted(found.table["feature"]) == list(range(6))
    assert np.all(np.diff(found.table["difference"].abs()) <= 0)
    assert found.expected_score == contributions[a, -1]
    as_sparse, as_array = (
        explain(ranker, form(np.nan_to_num(X)), qid, query=3).table
        for form in (sparse.csr_matrix, np.asarray)
    )
    pd.testing.assert_frame_equal(as_sparse, as_array)


def test_names_categories_and_text_ids_of_data_frames(data):
    X, y, qid = data
    shop = pd.Categorical(np.array(["red", "blue"])[y.astype(int) % 2])
    frame = pd.DataFrame(X[:, :5], columns=list("vwxyz")).assign(shop=shop)
    ids = np.array([f"q {i}" for i in qid])
    ranker = br.LightGBMRanker(**SETTINGS).fit(frame, y, ids)
    found = explain(ranker, frame.assign(qid=ids), query="q 5")
    row = found.table.set_index("feature").loc["shop"]
    assert [row["value_a"], row["value_b"]] == [frame["shop"].iloc[i] for i in found.rows]
    scores = ranker.predict(frame)
    np.testing.assert_allclose(
        found.difference, scores[found.rows[0]] - scores[found.rows[1]], atol=1e-5
    )
    with pytest.raises(
        ValueError, match=r"no query 'q 55' among the 12 queries \(did you mean 'q 5'\?\)"
    ):
        explain(ranker, frame, ids, query="q 55")


def test_a_query_of_one_document_is_explained_from_the_expected_score(ranker, data):
    found = explain(ranker, data[0][:1])
    assert (found.ranks, found.rows) == ((1,), (0,))
    assert found.head.startswith("Query 0: A, the document at rank 1, has the score ")
    rows = found.text_rows(2)
    assert rows[0] == ["feature", "value", "contribution"]
    assert [row[0] for row in rows[-3:]] == ["4 other features", "expected score", "score"]


def test_the_printed_table():
    table = pd.DataFrame(
        [
            ["price", 9.5, None, 0.25, -0.5, 0.75],
            ["shop", "a", "b", 0.0, 0.5, -0.5],
            [3, 1.0, 1.0, 0.1, 0.1, 0.0],
        ],
        columns=["feature", "value_a", "value_b", "contribution_a", "contribution_b", "difference"],
    )
    table["value_b"] = [np.nan, "b", 1.0]
    ranking = pd.DataFrame(
        {"rank": range(1, 5), "row": [7, 0, 1, 2], "score": [1.35, 1.3, 1.2, 1.1]}
    )
    found = Explanation("red shoe", (1, 4), (7, 2), table, 1.0, ranking)
    assert repr(found).splitlines() == [
        "Query red shoe: A, the document at rank 1, has the score 1.350; B, at rank 4, has 1.100. "
        "The difference is +0.250.",
        "feature          value A  value B  adds to A  adds to B  difference",
        "───────────────────────────────────────────────────────────────────",
        "price                9.5  missing      0.250     -0.500      +0.750",
        "shop                   a        b      0.000      0.500      -0.500",
        "1 other feature                        0.100      0.100      +0.000",
        "expected score                         1.000      1.000",
        "score                                  1.350      1.100      +0.250",
    ]
    assert "<td" in found._repr_html_()


def test_bad_input(ranker, data):
    X, y, qid = data
    for settings, message in (
        ({}, "there are 12 queries; query must be the id"),
        ({"query": 99}, "no query 99 among the 12 queries \\(did you mean '9'"),
        ({"query": 1, "ranks": (0, 2)}, "of the ranks 1 to 25 of query 1; got"),
        ({"query": 1, "ranks": (2, 2)}, "two different ones"),
    ):
        with pytest.raises(ValueError, match=message):
            explain(ranker, X, qid, **settings)
    with pytest.raises(TypeError, match="LinearRegression has no contributions"):
        explain(LinearRegression().fit(np.nan_to_num(X), y), np.nan_to_num(X), qid, query=1)


def test_equal_scores_are_said_to_be_ranked_by_row():
    X, y, qid = (
        np.tile([[0.0], [1.0], [1.0], [0.0]], (10, 1)),
        np.tile([0, 1, 1, 0], 10),
        np.repeat(range(10), 4),
    )
    ranker = br.LightGBMRanker(
        n_estimators=3, min_child_samples=2, min_child_weight=1.0, n_jobs=1
    ).fit(X, y, qid)
    note = "Documents of equal score are ranked in the sequence of their rows."
    assert explain(ranker, X, qid, query=2).head.endswith(f"The difference is +0.00000. {note}")
    assert note not in explain(ranker, X, qid, query=2, ranks=(2, 3)).head
