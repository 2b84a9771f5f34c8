"""Labels of several objectives: their targets, and rankers that are trained on them."""

import numpy as np
import pandas as pd
import pytest
from bound_losses import bind_loss
from sklearn.base import clone

import boostrank as br

SMALL = {"n_estimators": 8, "learning_rate": 0.1, "random_state": 0, "n_jobs": 1}


@pytest.fixture(scope="module")
def data():
    """Features of shuffled rows, clicks, real numbers of 0 or more, and query ids."""
    X, clicks, qid = br.make_ranking(60, n_documents=(3, 9), random_state=0)
    random = np.random.default_rng(0)
    margin = np.maximum(X[:, 0] + random.normal(size=len(X)), 0.0)
    order = random.permutation(len(X))
    return X[order], clicks[order], margin[order], qid[order]


def labels_of(data, weights=(0.7, 0.3), **settings):
    return br.MultipleLabels({"click": data[1], "margin": data[2]}, weights, **settings)


def without(values, qid, queries):
    """A copy of labels that are missing for some of the queries."""
    return np.where(np.isin(qid, queries), np.nan, values)


def test_targets_are_the_weighted_mean_with_gain_and_cutoff_of_each_objective(data):
    _, clicks, margin, qid = data
    queries = br.Queries.from_qid(qid)
    labels = labels_of(data, (7, 3), gain={"margin": "linear"}, k={"click": 2})
    targets = labels.group(queries).targets("softmax", queries, br.DCG(k=5))
    of_clicks = br.make_targets(queries.group(clicks), queries, br.DCG(k=2))
    of_margin = br.make_targets(queries.group(margin), queries, br.DCG(k=5, gain="linear"))
    np.testing.assert_allclose(targets, 0.7 * of_clicks + 0.3 * of_margin, rtol=1e-14)
    assert not np.allclose(of_clicks, of_margin)
    # One gain and one cutoff for all objectives, and None: every rank counts.
    for settings in ({"gain": "log", "k": 2}, {"gain": {"click": "log", "margin": "log"}, "k": 2}):
        found = labels_of(data, (0, 1), **settings).group(queries).targets("", queries, br.DCG())
        expected = br.make_targets(queries.group(margin), queries, br.DCG(2, "log"))
        np.testing.assert_array_equal(found, expected)
    whole = labels_of(data, (1, 0), k={"click": None}).group(queries)
    expected = br.make_targets(queries.group(clicks), queries)
    np.testing.assert_array_equal(whole.targets("", queries, br.DCG(k=1)), expected)


@pytest.mark.parametrize("objective", ["softmax", "consistent-lambdarank", "squared"])
def test_with_all_weight_on_one_objective_it_is_its_model_bit_for_bit(
    data, ranker_class, objective
):
    X, clicks, margin, qid = data
    ranker = ranker_class(objective, **SMALL, k=4)
    for weights, y, gain in (((1, 0), clicks, "exp2"), ((0, 2), margin, "linear")):
        labels = labels_of(data, weights, gain={"margin": "linear"})
        expected = clone(ranker).set_params(gain=gain).fit(X, y, qid).predict(X)
        np.testing.assert_array_equal(clone(ranker).fit(X, labels, qid).predict(X), expected)
        assert len(np.unique(expected)) > 5


def test_lists_with_equal_features_are_drawn_as_for_one_objective(data, ranker_class):
    # Copies of lists are drawn together if their labels are equal.
    X, clicks, margin, qid = data
    copied = np.concatenate([X, X]), np.concatenate([clicks, clicks.max() - clicks])
    ids = np.concatenate([qid, qid + 1000])
    labels = br.MultipleLabels({"click": copied[1], "margin": np.tile(margin, 2)}, (1, 0))
    first, second = (
        ranker_class(**SMALL).fit(copied[0], y, ids).predict(X) for y in (copied[1], labels)
    )
    np.testing.assert_array_equal(first, second)


def test_missing_labels_give_the_model_on_the_queries_that_have_them(data, ranker_class):
    X, clicks, margin, qid = data
    some = without(clicks, qid, range(20))
    labels = br.MultipleLabels({"click": some, "margin": margin}, (1, 0))
    rows = ~np.isnan(some)
    expected = ranker_class(**SMALL).fit(X[rows], clicks[rows], qid[rows]).predict(X)
    np.testing.assert_array_equal(ranker_class(**SMALL).fit(X, labels, qid).predict(X), expected)
    everything = ranker_class(**SMALL).fit(X, clicks, qid).predict(X)
    assert not np.allclose(everything, expected)


# All losses but this one are affine in the targets.
@pytest.mark.parametrize("loss", sorted({*br.surrogates.SURROGATES} - {"centered-logistic"}))
def test_the_loss_is_the_weighted_mean_of_the_means_over_queries_that_have_labels(data, loss):
    _, clicks, margin, qid = data
    queries = br.Queries.from_qid(qid)
    some = {"click": without(clicks, qid, range(25)), "margin": without(margin, qid, range(20, 50))}
    labels = br.MultipleLabels(some, (0.6, 0.4), gain="linear").group(queries)
    scores = np.random.default_rng(1).normal(size=len(qid))
    surrogate = br.surrogates.SURROGATES[loss]

    def gradient(y):
        targets = br.make_targets(queries.group(y), queries, br.DCG(gain="linear"))
        return surrogate.gradient_hessian(scores, targets, queries)[0]

    grouped = queries.group(qid)
    expected = np.where(grouped >= 25, 0.6 / 35 * gradient(clicks), 0.0)
    expected += np.where((grouped < 20) | (grouped >= 50), 0.4 / 30 * gradient(margin), 0.0)
    bound = bind_loss(surrogate, labels, queries)
    # No loss here has another offset than 0 that is not common to all objectives.
    found = bound.gradient_hessian(scores - bound.offset)[0] / bound.scale
    factor = found @ expected / (expected @ expected)
    np.testing.assert_allclose(found, factor * expected, atol=1e-5 * np.abs(found).max())
    assert factor == pytest.approx(60, rel=1e-4)  # The mean over all queries is 1.


def test_queries_without_any_objective_are_left_out(data, ranker_class):
    X, clicks, margin, qid = data
    labels = br.MultipleLabels(
        {"click": without(clicks, qid, range(20)), "margin": without(margin, qid, range(30))}
    )
    rows = qid >= 20
    expected = ranker_class(**SMALL).fit(X[rows], labels[rows], qid[rows]).predict(X)
    np.testing.assert_array_equal(ranker_class(**SMALL).fit(X, labels, qid).predict(X), expected)


def test_a_query_with_some_labels_has_no_part_and_a_warning(data):
    X, clicks, margin, qid = data
    partial = clicks.copy()
    partial[[np.flatnonzero(qid == query)[0] for query in (3, 4)]] = np.nan
    labels = br.MultipleLabels({"click": partial, "margin": margin}, (1, 0))
    ranker = br.LightGBMRanker(**SMALL)
    with pytest.warns(UserWarning, match="2 of 60 queries have labels of 'click' for some of"):
        found = clone(ranker).fit(X, labels, qid).predict(X)
    rows = ~np.isin(qid, [3, 4])
    expected = clone(ranker).fit(X[rows], clicks[rows], qid[rows]).predict(X)
    np.testing.assert_array_equal(found, expected)
    # Filled by 0, it is a label. With None as with NaN, all of the labels may be missing.
    filled = br.MultipleLabels({"click": np.nan_to_num(partial), "margin": margin}, (1, 0))
    assert not np.allclose(clone(ranker).fit(X, filled, qid).predict(X), expected)
    missing = np.where(rows, clicks, None)
    labels = br.MultipleLabels({"click": missing, "margin": margin}, (1, 0))
    np.testing.assert_array_equal(clone(ranker).fit(X, labels, qid).predict(X), expected)


def test_a_frame_makes_them_and_weights_may_be_a_series(data):
    frame = pd.DataFrame({"click": data[1], "margin": data[2]}, index=data[3])
    weights = pd.Series({"margin": 1.0, "click": 3.0})
    labels = br.MultipleLabels(frame, weights)
    assert labels.weights == {"click": 0.75, "margin": 0.25}
    assert len(labels) == len(labels[np.arange(5)]) + len(data[1]) - 5
    np.testing.assert_array_equal(labels[:5].find("margin").labels.values, data[2][:5])
    assert br.MultipleLabels(frame).weights == {"click": 0.5, "margin": 0.5}


@pytest.mark.parametrize(
    ("arguments", "settings", "message"),
    [
        (({},), {}, "labels must be a mapping or a DataFrame"),
        (([1, 2],), {}, "labels must be a mapping or a DataFrame .*; got list"),
        (({"a": [1, 0], "b": [1]},), {}, "b has 1 values for the 2 rows of a"),
        (({"a": [1, -1]},), {}, r"the labels of 'a'\[1\] = -1 is negative"),
        (({"a": [1, np.inf]},), {}, r"the labels of 'a'\[1\] = inf is not finite"),
        (({"a": [1, 0], "b": [0, 1]}, (0, 0)), {}, "weights must be one number of 0 or more"),
        (({"a": [1, 0], "b": [0, 1]}, (1, -1)), {}, "weights must be one number of 0 or more"),
        (({"a": [1, 0], "b": [0, 1]}, (1,)), {}, "weights must be one number .* of 'a', 'b'"),
        (({"a": [1, 0], "b": [0, 1]}, {"a": 1}), {}, "weights must be one number .* of 'a', 'b'"),
        (({"order": [1, 0]}, {"ordr": 1}), {}, r"did you mean 'order'\?"),
        (({"order": [1, 0]},), {"gain": {"ordr": "linear"}}, "gain has 'ordr', which is no"),
        (({"order": [1, 0]},), {"gain": "lin"}, "gain must be"),
        (({"order": [1, 0]},), {"k": {"order": 0}}, "k must be"),
    ],
)
def test_invalid_arguments_are_errors(arguments, settings, message):
    with pytest.raises(ValueError, match=message):
        br.MultipleLabels(*arguments, **settings)


def test_trainings_that_need_other_labels_are_errors(data):
    X, clicks, _, qid = data
    labels = labels_of(data)
    for ranker in (br.LightGBMRanker("lambdarank"), br.LightGBMRanker("edge-logistic")):
        with pytest.raises(ValueError, match=r"needs relevance labels.*MultipleLabels use a surr"):
            ranker.fit(X, labels, qid)
    none = br.MultipleLabels({"click": clicks, "order": np.full(len(X), np.nan)})
    with pytest.raises(ValueError, match="no query has labels of the objective 'order'"):
        br.LightGBMRanker().fit(X, none, qid)
    graph = br.PreferenceGraph.from_grades(clicks, qid)
    with pytest.raises(ValueError, match="needs relevance labels"):
        br.LightGBMRanker().fit(X, br.MultipleLabels({"a": graph, "b": clicks}), qid)
    with pytest.raises(ValueError, match="got MultipleLabels: give the labels of one objective"):
        np.asarray(labels)


def test_large_labels_warn_by_the_gain_of_their_objective(data):
    X, clicks, margin, qid = data
    labels = {"click": clicks, "margin": 100.0 * margin}
    ranker = br.LightGBMRanker(**SMALL)
    with pytest.warns(UserWarning, match="the largest label of 'margin' is .*linear"):
        ranker.fit(X, br.MultipleLabels(labels), qid)
    ranker.fit(X, br.MultipleLabels(labels, gain={"margin": "linear"}), qid)
    ranker.fit(X, br.MultipleLabels(labels, (1, 0)), qid)


def test_labels_that_are_all_equal_warn_with_the_names_of_the_objectives(data):
    X, _, _, qid = data
    ones = np.ones(len(X))
    with pytest.warns(UserWarning, match="click: all labels are 1; .*order: all labels are 1"):
        br.LightGBMRanker(**SMALL).fit(X, br.MultipleLabels({"click": ones, "order": ones}), qid)


def test_targets_as_labels_are_the_same_training(data, ranker_class):
    # The way to clusters, which take one number as label.
    X, clicks, margin, qid = data
    queries = br.Queries.from_qid(qid)
    some = {"click": without(clicks, qid, range(20)), "margin": margin}
    labels = br.MultipleLabels(some, (0.6, 0.4), k={"margin": 3})
    grouped = labels.group(queries)
    ranker = ranker_class(**SMALL, k=5)
    expected = clone(ranker).fit(X, labels, qid).predict(X)
    targets = queries.ungroup(grouped.targets("softmax", queries, br.DCG(k=5)))
    weights = queries.ungroup(grouped.weighted(None, queries))
    by_hand = clone(ranker).set_params(gain="linear", normalize="none")
    by_hand.fit(X, targets, qid, sample_weight=weights)
    np.testing.assert_array_equal(by_hand.predict(X), expected)


def test_rankers_stop_early_and_hold_out_queries_by_the_weighted_mean(data, ranker_class):
    X, clicks, margin, qid = data
    labels = br.MultipleLabels({"click": clicks, "margin": without(margin, qid, range(0, 60, 7))})
    train, test = br.split_queries(qid, 0.3, random_state=0)
    settings = SMALL | {"n_estimators": 30, "early_stopping_rounds": 3, "k": 5}
    ranker = ranker_class(**settings)
    ranker.fit(X[train], labels[train], qid[train], eval_set=[(X[test], labels[test], qid[test])])
    values = ranker.evals_result_["valid_0"]["weighted-ndcg@5"]
    scores = ranker.predict(X[test])
    best = ranker.best_iteration_
    assert values[best - 1] == pytest.approx(max(values))
    assert ranker.score(X[test], labels[test], qid[test]) == pytest.approx(values[best - 1])
    expected = 0.5 * br.ndcg_score(clicks[test], scores, qid[test], k=5)
    rows = test[~np.isin(qid[test], range(0, 60, 7))]
    expected += 0.5 * br.ndcg_score(margin[rows], ranker.predict(X[rows]), qid[rows], k=5)
    assert values[best - 1] == pytest.approx(expected)
    named = ranker_class(**settings, validation_fraction=0.3)
    named.fit(X, labels, qid, eval_metric=["ndcg(objective=margin)", "ndcg@3"], eval_at=[2])
    assert list(named.evals_result_["valid_0"]) == ["ndcg(objective=margin)@2", "ndcg@3"]
    # Without a number of rounds, left-out queries choose it.
    chosen = ranker_class(random_state=0, n_jobs=1, learning_rate=0.5).fit(X, labels, qid)
    assert len(chosen.oob_improvement_) > 8


def test_bags_searches_and_comparisons_take_them(data):
    X, clicks, margin, qid = data
    labels = br.MultipleLabels({"click": clicks, "margin": without(margin, qid, range(9))})
    ranker = br.LightGBMRanker(**SMALL)
    bag = br.BaggedRanker(ranker, n_estimators=3, random_state=0).fit(X, labels, qid)
    assert bag.score(X, labels, qid) > 0.6
    names = ["ndcg@10", "ndcg(objective=margin)@10"]
    folds = br.cross_validate(ranker, X, labels, qid, cv=3, scoring=names)
    assert (folds["test_ndcg@10"] != folds["test_ndcg(objective=margin)@10"]).all()
    by_default = br.cross_validate(ranker, X, labels, qid, cv=3)["test_score"]
    np.testing.assert_allclose(by_default, folds["test_ndcg@10"])
    search = br.grid_search(ranker, {"num_leaves": [3, 9]}, X, labels, qid, cv=2)
    assert search.score(X, labels, qid=qid) > 0.6
    rankers = {"default": ranker, "squared": clone(ranker).set_params(objective="squared")}
    result = br.compare(rankers, X, labels, qid, cv=3, measures="ndcg@5", n_permutations=100)
    assert result.measures == ["ndcg(objective=click)@5", "ndcg(objective=margin)@5", "ndcg@5"]
    means = result.table.groupby("metric")["p_value"].last()
    assert means.between(0, 1).all()
    assert list(result.per_query.isna().sum()[result.measures]) == [0, 18, 0]
    saved = br.compare(rankers, X, labels, qid, cv=3, n_permutations=100)
    assert "weighted-ndcg(objective=margin)@10" in saved.measures


def test_one_objective_may_be_clicks(data, ranker_class):
    X, grades, margin, qid = data
    log = br.simulate_clicks(grades, X[:, 1], qid, depth=None, n_sessions=3000, random_state=0).log
    clicks = br.ClickLabels(log, ("power", 1.0), shrink="auto")
    ranker = ranker_class(**SMALL)
    expected = clone(ranker).fit(X, clicks).predict(X)
    only = br.MultipleLabels({"click": clicks, "margin": margin}, (1, 0))
    np.testing.assert_array_equal(clone(ranker).fit(X, only).predict(X), expected)
    both = only.with_weights((0.5, 0.5))
    fitted = clone(ranker).fit(X, both)
    scores = fitted.predict(X)
    values = br.evaluate(both, scores, measures="weighted-ndcg@5")
    parts = [
        br.get_measure("click-dcg@5")(clicks, scores), br.ndcg_score(margin, scores, qid, k=5)
    ]  # fmt: skip
    assert list(values.values()) == pytest.approx([*parts, np.mean(parts)])
    of_queries = br.get_measure("weighted-ndcg@5")(both, scores, per_query=True)
    assert of_queries.mean() == pytest.approx(np.mean(parts))
    with pytest.warns(UserWarning, match="trained on the clicks that score it"):
        fitted.score(X, both)
    with pytest.raises(ValueError, match="the objective 'click': ndcg@5 needs relevance labels"):
        br.evaluate(both, scores, measures="ndcg@5")
    other = br.MultipleLabels({"click": clicks, "margin": margin})
    with pytest.raises(ValueError, match="qid differs from the query ids"):
        clone(ranker).fit(X, other, qid + 1)


def test_sample_weights_multiply_those_of_the_objectives(data, ranker_class):
    X, clicks, margin, qid = data
    labels = br.MultipleLabels({"click": without(clicks, qid, range(20)), "margin": margin})
    queries = br.Queries.from_qid(qid)
    weights = np.random.default_rng(3).uniform(size=60)
    found = ranker_class(**SMALL).fit(X, labels, qid, sample_weight=weights).predict(X)
    grouped = labels.group(queries)
    both = queries.repeat(weights) * grouped.weighted(None, queries)
    targets = queries.ungroup(grouped.targets("softmax", queries, br.DCG()))
    by_hand = ranker_class(**SMALL, gain="linear", normalize="none")
    by_hand.fit(X, targets, qid, sample_weight=queries.ungroup(both))
    np.testing.assert_array_equal(by_hand.predict(X), found)
    assert not np.allclose(ranker_class(**SMALL).fit(X, labels, qid).predict(X), found)


def test_features_of_lists_and_their_cut_copies_take_them(data):
    X, clicks, margin, qid = data
    features = br.QueryFeatures(["rank"], cut_copies=1)
    ranker = br.LightGBMRanker(**SMALL, query_features=features)
    labels = br.MultipleLabels({"click": clicks, "margin": without(margin, qid, range(9))}, (1, 0))
    expected = clone(ranker).fit(X, clicks, qid).predict(X, qid=qid)
    found = clone(ranker).fit(X, labels, qid).predict(X, qid=qid)
    np.testing.assert_array_equal(found, expected)
    both = clone(ranker).fit(X, labels.with_weights((1, 1)), qid)
    assert len(np.unique(both.predict(X, qid=qid))) > 5
