"""The curve of the trade-off between objectives, its front, and the choice of weights."""

import numpy as np
import pytest
from sklearn.base import clone

import boostrank as br
from boostrank.objectives import TradeOff
from boostrank.objectives.trade_off import is_on_front

RANKER = br.LightGBMRanker(n_estimators=8, learning_rate=0.2, random_state=0, n_jobs=1)


@pytest.fixture(scope="module")
def data():
    X, clicks, qid = br.make_ranking(60, n_documents=(4, 9), random_state=0)
    order = np.random.default_rng(0).permutation(len(X))
    margin = np.maximum(X[:, 0] - X[:, 1], 0.0)
    margin[qid < 7] = np.nan
    X, clicks, margin, qid = (values[order] for values in (X, clicks, margin, qid))
    labels = br.MultipleLabels({"click": clicks, "margin": margin}, gain={"margin": "linear"})
    return X, labels, qid


@pytest.fixture(scope="module")
def result(data):
    return br.trade_off(RANKER, *data, weights=3, cv=3)


def made(values, weights):
    """A result with values of queries of shape (n_weights, n_queries, n_objectives)."""
    values = np.asarray(values, dtype=float)
    qid = np.arange(values.shape[1])
    return TradeOff(["a", "b"], "ndcg", np.array(weights, dtype=float), {"one model": values}, qid)


def test_values_are_those_of_models_that_are_trained_on_other_queries(data, result):
    X, labels, qid = data
    folds = list(br.QueryKFold(3).split(X, labels, qid))
    scores = np.zeros((3, len(X)))
    for row, weights in zip(scores, ([1, 0], [0.5, 0.5], [0, 1]), strict=True):
        for train, test in folds:
            weighted = labels[train].with_weights(weights)
            fitted = clone(RANKER).fit(X[train], weighted, qid[train])
            row[test] = fitted.predict(X[test])
    added = np.array([scores[0], (scores[0] + scores[2]) / 2, scores[2]])
    for method, rows in (("one model", scores), ("added scores", added)):
        table = result.table[result.table["method"] == method]
        for row, (_, found) in zip(rows, table.iterrows(), strict=True):
            values = br.evaluate(labels, row, qid, "weighted-ndcg@10", per_query=True)
            means = values.mean()
            assert list(found[["click", "margin"]]) == pytest.approx(list(means)[:2])
            weights = found[["weight of click", "weight of margin"]].to_numpy(float)
            assert found["weighted mean"] == pytest.approx(weights @ means.to_numpy()[:2])
            clicks = values.iloc[:, 0].to_numpy()
            low, high = br.significance.confidence_interval(clicks, np.zeros(len(clicks)))
            assert list(found[["low of click", "high of click"]]) == pytest.approx([low, high])
            assert values.iloc[:, 1].isna().sum() == 7
    assert result.weights.tolist() == [[1, 0], [0.5, 0.5], [0, 1]]
    assert np.isnan(result.values["one model"][:, :, 1]).sum() == 3 * 7
    assert "weighted-ndcg@10 over 60 queries" in repr(result)
    assert repr(result).count("added scores") == 3


def test_the_front_has_what_nothing_dominates():
    means = np.array([[3, 0], [2, 2], [2, 1], [0, 2], [2, 2], [1, 1]])
    assert is_on_front(means).tolist() == [True, True, False, False, True, False]


def test_choices_of_weights(data):
    X, labels, qid = data
    three = br.MultipleLabels({"a": X[:, 0] > 0, "b": X[:, 1] > 0, "c": X[:, 2] > 0})
    found = br.trade_off(RANKER, X, three, qid, weights=[[1, 1, 2], {"a": 1, "b": 0, "c": 0}], cv=2)
    assert found.weights.tolist() == [[0.25, 0.25, 0.5], [1, 0, 0], [0, 1, 0], [0, 0, 1]]
    assert found.table.columns[-2:].tolist() == ["weighted mean", "front"]
    for arguments, message in (
        ({"weights": 1}, "weights must be a number of at least 2 for two objectives"),
        ({"weights": [[1, -1]]}, "weights must be one number of 0 or more"),
        ({"measure": "ndgc"}, "did you mean 'ndcg'"),
        ({"cv": [(np.flatnonzero(qid > 9), np.flatnonzero(qid < 5))] * 2}, "in several folds"),
    ):
        with pytest.raises(ValueError, match=message):
            br.trade_off(RANKER, X, labels, qid, **{"weights": 2, "cv": 2} | arguments)
    with pytest.raises(ValueError, match=r"weights must be a number .*; got 11 for 3 objectives"):
        br.trade_off(RANKER, X, three, qid)
    with pytest.raises(ValueError, match="labels must be of at least two objectives"):
        br.trade_off(RANKER, X, {"a": X[:, 0] > 0}, qid)


def test_rankers_that_stop_early_and_folders_of_results(data, tmp_path):
    X, labels, qid = data
    stopping = clone(RANKER).set_params(early_stopping_rounds=2)
    first = br.trade_off(stopping, X, labels, qid, weights=2, cv=2, results=tmp_path)
    assert len(list(tmp_path.glob("*.json"))) == 4
    again = br.trade_off(stopping, X, labels, qid, weights=2, cv=2, results=tmp_path)
    np.testing.assert_array_equal(first.values["one model"], again.values["one model"])


def test_weights_are_picked_by_some_queries_and_tested_on_the_others():
    random = np.random.default_rng(0)
    of_queries = random.normal(size=(1, 400, 1)) + random.normal(size=(4, 400, 2)) / 50
    shift = np.array([[0.0, 0.0], [-0.05, 0.2], [-0.1, 0.4], [-0.5, 0.9]])
    weights = [[1, 0], [0.7, 0.3], [0.4, 0.6], [0, 1]]
    result = made(of_queries + shift[:, None, :], weights)
    for least, number in ((0.0, 0), (-0.08, 1), (-0.2, 2), (-9.0, 3)):
        pick = result.pick({"a": least})
        assert list(pick.weights.values()) == weights[number]
        assert (pick.best, pick.baseline, pick.n_queries) == ("b", "a", 200)
        assert pick.table["difference"].tolist() == pytest.approx(shift[number], abs=0.02)
        assert pick.table["allowed"]["a"] == least
        assert (pick.table["low"] <= pick.table["difference"]).all()
    assert pick.table["p_value"]["b"] < 0.001
    other = result.pick({"b": -0.6})
    assert list(other.weights.values()) == weights[2]
    # The queries of the test do not choose.
    _, testing = br.split_queries(np.arange(400), 0.5, 0)
    changed = result.values["one model"].copy()
    changed[2, testing] -= 7.0
    again = made(changed, weights).pick({"a": -0.2})
    assert list(again.weights.values()) == weights[2]
    assert again.table["difference"]["b"] == pytest.approx(0.4 - 7.0, abs=0.05)


def test_constraints_that_are_invalid():
    result = made(np.zeros((2, 10, 2)), [[1, 0], [0, 1]])
    for constraint, message in (
        ({}, "constraint must be a mapping"),
        ({"c": -0.1}, "a name in constraint must be one of a, b"),
        ({"a": 0.1}, r"constraint\['a'\] must be a finite number of at most 0"),
        ({"a": -0.1, "b": -0.1}, "best must be one of a, b"),
    ):
        with pytest.raises(ValueError, match=message):
            result.pick(constraint)
    values = np.zeros((2, 10, 2))
    values[0, :, 0] = values[1, :, 1] = 1.0
    with pytest.raises(ValueError, match="constraint must be such that some weights keep it"):
        made(values, [[1, 0], [0, 1]]).pick({"a": -0.1, "b": -0.1}, best="a")


def test_the_picture_has_the_curves_the_front_and_the_single_objectives(result):
    ax = pytest.importorskip("matplotlib.figure").Figure().subplots()
    display = result.plot(ax=ax)
    curves = {line.get_label(): line.get_xydata() for line in ax.lines}
    for method in ("one model", "added scores"):
        np.testing.assert_allclose(curves[method], result.means(method))
    n_front = sum(len(line.get_xdata()) for line in ax.lines if line.get_label()[0] == "_")
    assert n_front == result.table["front"].sum()
    assert [text.get_text().strip() for text in ax.texts] == ["click only", "margin only"]
    assert [len(lines.get_segments()) for lines in ax.collections] == [3, 3]
    assert (display.x, display.y, ax.get_ylabel()) == (
        "click",
        "margin",
        "margin: NDCG@10",
    )
    swapped = br.displays.TradeOffDisplay.from_result(result, "margin", "click", ax)
    assert swapped.ax_.get_xlabel() == "margin: NDCG@10"
    with pytest.raises(ValueError, match="x must be one of click, margin; got 'order'"):
        result.plot("order")


def test_groups_are_divided_by_no_fold_and_intervals_are_over_them(data):
    X, labels, qid = data
    users = qid // 3
    for ranker in (RANKER, clone(RANKER).set_params(early_stopping_rounds=3)):
        result = br.trade_off(ranker, X, labels, qid, weights=2, cv=2, groups=users)
        assert result.groups.tolist() == (result.qid // 3).tolist()
    first = result.table.iloc[0]
    clicks = result.values["one model"][0, :, 0]
    zeros = np.zeros(len(clicks))
    expected = br.significance.confidence_interval(clicks, zeros, groups=result.groups)
    assert list(first[["low of click", "high of click"]]) == pytest.approx(list(expected))
    alone = br.significance.confidence_interval(clicks, zeros)
    assert expected[0] != pytest.approx(alone[0], abs=1e-6)
    choosing, testing = result._divided(0.5, 0)
    assert not {*result.groups[choosing]} & {*result.groups[testing]}
    pick = result.pick({"click": -0.9})
    values, others = (
        result.values["one model"][number, testing, 0]
        for number in (np.argmax(result.weights[:, 0] == pick.weights["click"]), 0)
    )
    interval = br.significance.confidence_interval(values, others, groups=result.groups[testing])
    assert list(pick.table.loc["click", ["low", "high"]]) == pytest.approx(list(interval))
