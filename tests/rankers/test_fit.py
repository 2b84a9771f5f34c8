"""`fit`: what rankers learn, query ids and sizes, weights, held-out queries, and errors."""

import numpy as np
import pandas as pd
import pytest
from cases import for_each
from loss_defaults import PLAIN_TREES
from rankers.small_rankers import small
from sklearn.base import clone

import boostrank as br
from boostrank.preferences import EDGE_LOSSES
from boostrank.surrogates import SURROGATES, Power

polars = pytest.importorskip("polars")

NATIVE = {
    br.LightGBMRanker: ["lambdarank", "rank_xendcg"],
    br.XGBoostRanker: ["rank:ndcg", "rank:pairwise", "rank:map"],
}
EVERY_OBJECTIVE = [
    (ranker_class, objective)
    for ranker_class, native in NATIVE.items()
    for objective in (*SURROGATES, *EDGE_LOSSES, Power(0), *native)
]


@for_each(("ranker_class", "objective"), EVERY_OBJECTIVE)
def test_every_objective_learns(ranker_class, objective, data):
    X, y, qid = data
    y = np.minimum(y, 1) if objective == "rank:map" else y
    learned = small(ranker_class, objective, k=10).fit(X, y, qid).score(X, y, qid)
    chance = br.ndcg_score(y, np.random.default_rng(0).normal(size=len(y)), qid, k=10)
    assert learned > chance + 0.15


def test_random_numbers_are_those_of_random_state(ranker_class, data):
    X, y, qid = data

    def scores(state):
        return small(ranker_class, random_state=state).fit(X, y, qid).predict(X)

    np.testing.assert_array_equal(scores(0), scores(0))
    assert not np.array_equal(scores(0), scores(1))
    # From a RandomState, each fit draws another seed, and the sequence of fits can be repeated.
    (first, second), (again, _) = (
        [scores(state) for _ in "ab"] for state in map(np.random.RandomState, (0, 0))
    )
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, second)


def test_gains_of_native_objectives(data):
    X, y, qid = data
    with pytest.raises(ValueError, match="rank:ndcg"):
        small(br.XGBoostRanker, "rank:ndcg", gain=[0, 1, 2, 3, 4, 5]).fit(X, y, qid)
    assert (
        small(br.LightGBMRanker, "lambdarank", gain="linear").fit(X, y * 10, qid).score(X, y, qid)
        > 0.6
    )


# Queries


@for_each(
    ("queries", "message"),
    [
        (
            {"group": [3, 4]},
            r"integers of at least 1 whose sum is the number of rows, 777.*got \[3 4\]",
        ),
        ({"group": [0, 777]}, r"got \[  0 777\]"),
        ({"group": [400.5, 376.5]}, r"got \[400.5 376.5\]"),
        ({"group": 777}, "group must"),
        (
            {"qid": np.arange(777) // 2, "group": [777]},
            "group and qid contradict each other: row 2",
        ),
        ({"qid": np.linspace(0.5, 2, 777)}, "Weights are given as sample_weight="),
        ({"qid": "query"}, r"a column of X, of \[\]"),
        ({}, "got no qid"),
    ],
)
def test_queries_that_are_unclear_are_errors(ranker_class, data, queries, message):
    X, y, _ = data
    with pytest.raises(ValueError, match=message):
        small(ranker_class).fit(X, y, **queries)


def test_numbers_that_make_one_query_of_many_documents_may_be_weights(ranker_class):
    """The third argument of LGBMRanker.fit has weights, and equal ones would make one query."""
    X, y, _ = br.make_ranking(n_queries=1, n_documents=1001, random_state=0)
    for weights in (np.ones(1001), [1] * 1001):
        with pytest.raises(
            ValueError, match=r"sample_weight=; if the rows are one query, give group=\[1001\]"
        ):
            small(ranker_class).fit(X, y, weights)
    expected = small(ranker_class).fit(X, y, group=[1001]).predict(X)
    for qid in ([1001], ["all"] * 1001):
        np.testing.assert_array_equal(small(ranker_class).fit(X, y, qid).predict(X), expected)
    small(ranker_class).fit(X[:1000], y[:1000], np.ones(1000))


@pytest.mark.parametrize("kind", [pd.DataFrame, polars.DataFrame])
def test_a_column_of_any_name_has_the_query_ids(ranker_class, data, kind):
    X, y, qid = data
    columns = {f"x{i}": X[:, i] for i in range(X.shape[1])}
    expected = small(ranker_class).fit(kind(columns), y, qid).predict(kind(columns))
    frame = kind({"query_id": qid, **columns})
    ranker = small(ranker_class).fit(frame, y, qid="query_id")
    assert ranker.feature_names_in_.tolist() == list(columns)
    np.testing.assert_array_equal(ranker.predict(frame), expected)
    assert (
        ranker.score(frame, y)
        == ranker.score(frame, y, "query_id")
        == ranker.score(kind(columns), y, qid)
    )


# Weights


@pytest.mark.parametrize("objective", ["squared", "cosine"])
def test_integer_weights_repeat_queries(ranker_class, objective, data):
    X, y, qid = data
    # Few distinct values, so that repeating rows does not change the bins; leaves limited by their
    # Hessian and not by their number of rows, because weights multiply the Hessian.
    X = np.round(X)
    options = (
        {"num_leaves": 7, "min_child_samples": 0}
        if ranker_class is br.LightGBMRanker
        else {"max_depth": 3}
    )
    weights = np.random.default_rng(0).integers(0, 4, 30)
    counted = weights[qid][weights[qid] > 0]
    # Weights are relative: a document of mean weight has the Hessian 1, and so has every copy of a
    # document.
    limits = {"min_child_weight": 5.0, "reg_lambda": 2.0}
    options |= PLAIN_TREES
    ranker = small(ranker_class, objective, **limits, **options)
    relative = {name: limit / counted.mean() for name, limit in limits.items()}
    weighted = (
        small(ranker_class, objective, **relative, **options)
        .fit(X, y, qid, sample_weight=weights)
        .predict(X)
    )
    copies = [(np.flatnonzero(qid == q), c) for q in range(30) for c in range(weights[q])]
    rows = np.concatenate([part for part, _ in copies])
    again = np.concatenate([qid[part] + 30 * c for part, c in copies])
    repeated = clone(ranker).fit(X[rows], y[rows], again).predict(X)
    np.testing.assert_allclose(weighted, repeated, rtol=1e-4, atol=1e-5)
    assert np.ptp(weighted) > 0.1


@pytest.mark.parametrize("objective", [None, "softmax"])
def test_queries_of_weight_0_are_left_out(ranker_class, objective, data):
    X, y, qid = data
    # Enough documents that some would change the bins and the smallest leaves.
    weights = np.where(np.arange(30) % 3, 2.0, 0.0)
    kept = weights[qid] > 0
    ranker = small(ranker_class, objective, n_estimators=20)
    expected = clone(ranker).fit(X[kept], y[kept], qid[kept]).predict(X)
    weighted = ranker.fit(X, y, qid, sample_weight=weights).predict(X)
    # The library's objective takes the weight 2 as it is.
    np.testing.assert_allclose(weighted, expected, rtol=0 if objective else 1e-9)
    assert not np.allclose(clone(ranker).fit(X, y, qid).predict(X), expected)


def test_a_series_of_query_weights_is_aligned_by_its_index(ranker_class, data):
    X, y, qid = data
    names = np.array([f"query {i}" for i in qid])
    weights = np.random.default_rng(0).integers(1, 5, 30).astype(float)
    series = pd.Series(weights, index=[f"query {i}" for i in range(30)]).sample(
        frac=1, random_state=0
    )
    expected, aligned, unaligned = (
        small(ranker_class).fit(X, y, names, sample_weight=given).predict(X)
        for given in (weights, series, series.to_numpy())
    )
    np.testing.assert_array_equal(aligned, expected)
    assert not np.array_equal(unaligned, expected)
    with pytest.raises(ValueError, match=r"its index.*does not have the query ids"):
        small(ranker_class).fit(X, y, qid, sample_weight=series)


def test_score_weighs_queries(ranker_class, data):
    weights = np.random.default_rng(0).uniform(0.5, 2, 30)
    for ranker in (small(ranker_class), br.BaggedRanker(small(ranker_class), 1, random_state=0)):
        expected = br.ndcg_score(
            data[1], ranker.fit(*data).predict(data[0]), data[2], sample_weight=weights
        )
        assert (
            ranker.score(*data, sample_weight=weights)
            == pytest.approx(expected)
            != ranker.score(*data)
        )


@pytest.mark.parametrize(("objective", "validation_fraction"), [("squared", None), ("native", 0.3)])
def test_weights_follow_the_first_appearance_of_the_ids(
    ranker_class, lambdamart, objective, validation_fraction, data
):
    order = np.random.default_rng(0).permutation(len(data[1]))
    X, y, qid = (values[order] for values in data)
    # Ids in descending sequence where the queries first appear.
    appearance = pd.factorize(qid)[0]
    weights = np.geomspace(0.1, 100.0, 30)
    objective = lambdamart if objective == "native" else objective
    ranker = small(ranker_class, objective, validation_fraction=validation_fraction)
    per_query, per_row, other = (
        ranker.fit(X, y, 30 - appearance, sample_weight=given).predict(X)
        for given in (weights, weights[appearance], weights[::-1])
    )
    np.testing.assert_array_equal(per_query, per_row)
    assert not np.allclose(per_query, other)


@pytest.mark.parametrize("library", ["pandas", "polars"])
@pytest.mark.parametrize("argument", ["group", "qid", "eval_group"])
def test_sizes_counted_by_a_key_of_rows_that_are_not_sorted(library, argument):
    """``frame.groupby(key).size()`` are the sizes of adjacent rows only if the rows are sorted."""
    X, y, _ = br.make_ranking(6, random_state=0)
    frame = pd.DataFrame(X).rename(columns=str)
    frame["day"] = np.arange(len(X)) % 6
    sizes = frame.groupby("day").size()
    by_day = frame.sort_values("day", kind="stable")
    y_by_day = y[by_day.index]
    if library == "polars":
        polars = pytest.importorskip("polars")
        frame, by_day = polars.from_pandas(frame), polars.from_pandas(by_day)
    ranker = br.LightGBMRanker(n_estimators=2)
    fitted = {"eval_set": [(by_day, y_by_day)], "eval_group": [sizes], "group": sizes}
    ranker.fit(by_day, y_by_day, **fitted)
    ranker.fit(by_day, y_by_day, qid=sizes)
    message = "and 'day' of X contradict each other: row 1 is"
    wrong = {"group": (frame, y, None, sizes), "qid": (frame, y, sizes, None)}
    X, y, qid, group = wrong.get(argument, (by_day, y_by_day, None, sizes))
    fitted = {}
    if argument == "eval_group":
        fitted = {"eval_set": [(frame, y_by_day)], "eval_group": [sizes]}
    with pytest.raises(ValueError, match=message):
        ranker.fit(X, y, qid=qid, group=group, **fitted)


def test_sizes_counted_by_two_index_levels():
    X, y, _ = br.make_ranking(6, random_state=0)
    rows = np.arange(len(X))
    frame = pd.DataFrame(X, index=[rows % 2, rows % 3]).rename_axis(["week", "user"])
    sizes = frame.groupby(["week", "user"]).size()
    with pytest.raises(ValueError, match="group and 'week', 'user' of X contradict each other"):
        br.LightGBMRanker(n_estimators=2).fit(frame, y, group=sizes)
    ordered = frame.assign(y=y).sort_index()
    br.LightGBMRanker(n_estimators=2).fit(ordered.drop(columns="y"), ordered["y"], group=sizes)
    unknown = sizes.rename_axis(["month", "user"])
    br.LightGBMRanker(n_estimators=2).fit(frame, y, group=unknown)
