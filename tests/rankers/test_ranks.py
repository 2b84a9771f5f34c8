"""Labels of which only the order counts: the gain "rank", places, and the last queries held out."""

import numpy as np
import pandas as pd
import pytest
from cases import for_each
from scipy.stats import rankdata
from sklearn.exceptions import NotFittedError

import boostrank as br
from boostrank.clusters.driver import checked_settings
from boostrank.surrogates import SURROGATES

RANKERS = [br.LightGBMRanker, br.XGBoostRanker]
SETTINGS = {"n_estimators": 20, "learning_rate": 0.1, "random_state": 0, "n_jobs": 1}


@pytest.fixture(scope="module")
def returns():
    """Features, labels of both signs, and query ids of lists of 1 to 9 documents."""
    random = np.random.default_rng(0)
    qid = np.repeat(np.arange(80), random.integers(1, 10, 80))
    X = random.normal(size=(len(qid), 4))
    return X, (X[:, 0] - X[:, 1] + random.normal(size=len(qid))).round(1), qid


def ranks_of(y, qid):
    """The gains by definition: shares of smaller labels, where equal ones count as a half."""
    gains = np.empty(len(y))
    for one in np.unique(qid):
        of_list = y[qid == one]
        gains[qid == one] = (rankdata(of_list) - 1) / max(len(of_list) - 1, 1)
    return gains


def test_the_gain_is_the_rank_within_the_query(returns):
    _, y, qid = returns
    queries = br.Queries.from_qid(qid)
    gains = br.DCG(gain="rank").gains(y, queries)
    np.testing.assert_allclose(gains, ranks_of(y, qid), atol=1e-15)
    assert gains[queries.starts[queries.sizes == 1]].max(initial=0) == 0
    for normalize in ("dcg", "none", "l2", "sum"):
        targets = br.make_targets(y, queries, br.DCG(5, "rank"), normalize)
        expected = br.make_targets(gains, queries, br.DCG(5, "linear"), normalize)
        np.testing.assert_allclose(targets, expected)
    with pytest.raises(ValueError, match=r"without queries: give another gain"):
        br.DCG(gain="rank").gains(y)


def test_ndcg_has_the_gain(returns):
    X, y, qid = returns
    expected = br.ndcg_score(ranks_of(y, qid), X[:, 0], qid, k=5, gain="linear")
    assert br.ndcg_score(y, X[:, 0], qid, k=5, gain="rank") == pytest.approx(expected)
    assert br.evaluate(y, X[:, 0], qid, "ndcg(gain=rank)@5") == {
        "ndcg(gain=rank)@5": pytest.approx(expected)
    }
    dcg = br.get_measure("dcg(gain=rank)@5")(y, X[:, 0], qid)
    assert dcg == pytest.approx(
        br.get_measure("dcg(gain=linear)@5")(ranks_of(y, qid), X[:, 0], qid)
    )


@for_each("make", RANKERS)
@for_each("objective", ["softmax", "squared", "consistent-lambdarank", "pairwise-logistic"])
def test_a_training_is_that_of_ranks_with_the_linear_gain(returns, make, objective):
    X, y, qid = returns
    assert objective in SURROGATES
    rank = make(objective, gain="rank", k=5, **SETTINGS)
    rank.fit(X, y, qid, eval_set=[(X[:200], y[:200], qid[:200])])
    linear = make(objective, gain="linear", k=5, **SETTINGS)
    gains = ranks_of(y, qid)
    linear.fit(X, gains, qid, eval_set=[(X[:200], gains[:200], qid[:200])])
    np.testing.assert_allclose(rank.predict(X), linear.predict(X), rtol=1e-6, atol=1e-9)
    assert rank.score(X, y, qid) == pytest.approx(linear.score(X, gains, qid))
    assert list(rank.evals_result_["valid_0"]) == ["ndcg(gain=rank)@5"]
    assert rank.best_score_["valid_0"]["ndcg(gain=rank)@5"] == pytest.approx(
        linear.best_score_["valid_0"]["ndcg(gain=linear)@5"]
    )


@for_each("make", RANKERS)
@for_each("scale", [1e-30, 1e30])
def test_only_the_order_counts(returns, make, scale):
    X, y, qid = returns
    ranker = make(gain="rank", validation_fraction=0.2, **SETTINGS)
    plain = ranker.fit(X, y, qid).predict(X)
    changed = ranker.fit(X, scale * np.sinh(y), qid).predict(X)
    np.testing.assert_array_equal(changed, plain)


@for_each("make", RANKERS)
def test_negative_labels_without_the_gain_are_an_error_that_names_it(returns, make):
    X, y, qid = returns
    row = int(np.argmax(y < 0))
    message = rf"relevance\[{row}\] = {y[row]:g} is negative.*gain='rank'"
    with pytest.raises(ValueError, match=message):
        make(**SETTINGS).fit(X, y, qid)
    with pytest.raises(ValueError, match=r"valid_0.*is negative.*gain='rank'"):
        make(**SETTINGS).fit(X, abs(y), qid, eval_set=[(X, y, qid)])
    ranker = make(gain="rank", **SETTINGS)
    with pytest.raises(ValueError, match=r"map@5 needs relevance of 0 or more.*smallest label"):
        ranker.fit(X, y, qid, eval_set=[(X, y, qid)], eval_metric="map@5")
    with pytest.raises(NotFittedError):
        ranker.predict(X)


def test_objectives_of_the_libraries_without_such_a_gain_say_so(returns):
    X, y, qid = returns
    y = abs(y).round()
    with pytest.raises(ValueError, match=r"lambdarank.*gain 'rank'"):
        br.LightGBMRanker("lambdarank", gain="rank", **SETTINGS).fit(X, y, qid)
    with pytest.raises(ValueError, match="rank:ndcg knows only the gains 'exp2' and 'linear'"):
        br.XGBoostRanker("rank:ndcg", gain="rank", **SETTINGS).fit(X, y, qid)


def test_pairwise_of_xgboost_takes_the_gain_for_its_score(returns):
    X, y, qid = returns
    ranker = br.XGBoostRanker("rank:pairwise", gain="rank", **SETTINGS)
    ranker.fit(X, y, qid, eval_set=[(X, y, qid)], eval_metric=["ndcg", "ic"])
    assert ranker.best_score_["training"]["ic"] > 0.5
    assert ranker.score(X, y, qid) == br.ndcg_score(y, ranker.predict(X), qid, gain="rank")


@pytest.fixture(scope="module")
def races():
    """Features, places 1 to n, and query ids of races of 5 to 9; the first feature is slowness."""
    random = np.random.default_rng(1)
    qid = np.repeat(np.arange(60), random.integers(5, 10, 60))
    X = random.normal(size=(len(qid), 3))
    times = pd.Series(X[:, 0] + 0.3 * random.normal(size=len(qid)))
    return X, times.groupby(qid).rank().to_numpy(), qid


def bag(**settings):
    return br.BaggedRanker(br.LightGBMRanker(**settings), 2, random_state=0)


@for_each("make", [*RANKERS, bag])
def test_places_are_trained_and_scored_with_the_first_as_the_best(races, make):
    X, places, qid = races
    ranker = make(gain="rank", lower_is_better=True, **SETTINGS).fit(X, places, qid)
    negated = make(gain="rank", **SETTINGS).fit(X, -places, qid)
    np.testing.assert_array_equal(ranker.predict(X), negated.predict(X))
    assert ranker.score(X, places, qid) == negated.score(X, -places, qid) > 0.9
    scorer = br.make_scorer("spearman")
    assert scorer(ranker, X, places, qid) == scorer(negated, X, -places, qid) > 0.7
    curve = br.displays.NDCGCurveDisplay.from_estimator
    means = [
        curve(fitted, X, labels, qid, gain="rank", ks=[3]).table["mean"][0]
        for fitted, labels in ((ranker, places), (negated, -places))
    ]
    assert means[0] == means[1]
    with pytest.raises(ValueError, match="some rankers have lower_is_better=True"):
        curve({"a": ranker, "b": negated}, X, places, qid, gain="rank")
    with pytest.raises(ValueError, match=r"lower_is_better=True.*negative labels, y=-y"):
        br.compare({"a": ranker, "b": negated}, X, places, qid, cv=2)


def test_importance_is_that_of_places_with_the_first_as_the_best(races):
    X, places, qid = races
    frame = pd.DataFrame(X).add_prefix("x").assign(race=qid)
    importances = []
    for lower, labels in ((True, places), (None, -places)):
        ranker = br.LightGBMRanker(gain="rank", lower_is_better=lower, **SETTINGS)
        settings = {"cv": br.QueryTimeSplit(2, time="race"), "measure": "spearman", "n_repeats": 2}
        found = br.feature_importance(ranker, frame, labels, qid, random_state=0, **settings)
        assert found.columns.tolist() == ["x0", "x1", "x2"]
        importances.append(found)
    pd.testing.assert_frame_equal(*importances)
    assert importances[0]["x0"].min() > 0.3


def test_theory_takes_the_gain():
    labels = np.array([[0, 1, 2], [2, 0, 1], [3, 0, 0]])
    distribution = br.theory.LabelDistribution(labels, [0.4, 0.3, 0.3])
    ranks = np.array([ranks_of(one, np.zeros(3)) for one in labels])
    of_ranks = br.theory.LabelDistribution(ranks, [0.4, 0.3, 0.3])
    found = br.theory.minimizer("softmax", distribution, dcg=br.DCG(gain="rank"))
    expected = br.theory.minimizer("softmax", of_ranks, dcg=br.DCG(gain="linear"))
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_the_default_score_of_negative_labels_has_the_gain(returns):
    X, y, qid = returns
    ranker = br.LightGBMRanker(gain="rank", **SETTINGS)
    found = br.cross_validate(ranker, X, y, qid, cv=3)["test_score"]
    of_rank = br.cross_validate(ranker, X, y, qid, cv=3, scoring="ndcg(gain=rank)@10")
    np.testing.assert_array_equal(found, of_rank["test_score"])


@for_each("make", RANKERS)
def test_validation_sets_have_places_too(races, make):
    X, places, qid = races
    ranker = make(gain="rank", lower_is_better=True, **SETTINGS)
    ranker.fit(X, places, qid, eval_set=[(X[:99], places[:99], qid[:99])], eval_metric="spearman")
    expected = br.evaluate(-places[:99], ranker.predict(X[:99]), qid[:99], "spearman")
    assert ranker.best_score_["valid_0"] == pytest.approx(expected, abs=1e-6)


@for_each("gain", ["exp2", "linear"])
def test_lower_is_better_needs_the_gain(races, gain):
    with pytest.raises(ValueError, match=r"needs gain='rank'.*got gain="):
        br.LightGBMRanker(gain=gain, lower_is_better=True).fit(*races)


def test_lower_is_better_needs_numbers(races):
    X, places, qid = races
    graph = br.PreferenceGraph.from_grades(places, qid)
    ranker = br.LightGBMRanker("edge-logistic", gain="rank", lower_is_better=True)
    with pytest.raises(ValueError, match=r"labels that are numbers; got PreferenceGraph"):
        ranker.fit(X, graph)


@for_each("make", RANKERS)
def test_places_that_are_trained_the_wrong_way_round_are_a_warning(races, make):
    X, places, qid = races
    with pytest.warns(UserWarning, match=r"60 of 60 queries are the numbers 1 to n.*lower_is_b"):
        make(**SETTINGS).fit(X, places, qid)
    # A race with two second places.
    places = places.copy()
    places[:5] = [1, 2, 2, 4, 5]
    with pytest.warns(UserWarning, match=r"59 of 60 queries are the numbers 1 to n"):
        make(**SETTINGS).fit(X, places, qid)


def test_other_labels_are_no_warning(races):
    X, places, qid = races
    settings = {**SETTINGS, "n_estimators": 2}
    for parameters in (
        {"lower_is_better": False},
        {"gain": "rank"},
        {"gain": "rank", "lower_is_better": True},
    ):
        br.LightGBMRanker(**parameters, **settings).fit(X, places, qid)
    random = np.random.default_rng(0)
    two = qid < 2
    for y, rows in (
        (places - 1, slice(None)),
        (places.clip(max=4), slice(None)),
        (random.integers(1, 5, len(qid)), slice(None)),
        # Two lists, and lists of two documents, are places by chance.
        (places, two),
        (1 + np.arange(len(qid)) % 2, np.arange(len(qid)) < 40),
    ):
        ids = np.arange(len(qid)) // 2 if y is not places and len(set(y)) == 2 else qid
        br.LightGBMRanker(**settings, min_child_samples=1).fit(X[rows], y[rows], ids[rows])


@for_each("make", RANKERS)
def test_the_last_queries_are_held_out(returns, make):
    X, y, qid = returns
    # Rows of a query need not be adjacent: queries have the sequence of their first rows.
    order = np.random.default_rng(0).permutation(len(qid))
    X, y, qid = X[order], y[order], qid[order]
    ids = pd.unique(qid)
    last = np.isin(qid, ids[-20:])
    settings = {"gain": "rank", **SETTINGS}
    ranker = make(validation_fraction=0.25, validation="last", **settings).fit(X, y, qid)
    expected = make(**settings).fit(
        X[~last], y[~last], qid[~last], eval_set=[(X[last], y[last], qid[last])]
    )
    np.testing.assert_array_equal(ranker.predict(X), expected.predict(X))
    assert ranker.evals_result_ == expected.evals_result_


def test_copies_of_the_last_queries_are_held_out_too():
    X = np.random.default_rng(0).normal(size=(60, 2))
    y, qid = np.arange(60) % 2, np.repeat(np.arange(30), 2)
    X[2:4] = X[58:]
    settings = {**SETTINGS, "min_child_samples": 1, "n_estimators": 3}
    ranker = br.LightGBMRanker(validation_fraction=0.03, validation="last", **settings)
    ranker.fit(X, y, qid)
    kept = ~np.isin(qid, [1, 29])
    expected = br.LightGBMRanker(**settings).fit(X[kept], y[kept], qid[kept])
    np.testing.assert_array_equal(ranker.predict(X), expected.predict(X))
    twice = np.vstack([X[:50], X[:50]]), np.tile(y[:50], 2), np.repeat(np.arange(50), 2)
    with pytest.raises(ValueError, match="leaves no query to train on"):
        ranker.set_params(validation_fraction=0.5).fit(*twice)


@for_each(
    ("parameters", "message"),
    [
        ({"validation": "first", "validation_fraction": 0.2}, "validation must be one of random"),
        ({"validation": "last"}, "says which queries validation_fraction holds out"),
        ({"lower_is_better": "yes"}, "lower_is_better must be True or False"),
    ],
)
def test_settings_without_a_meaning_are_errors(races, parameters, message):
    for make in RANKERS:
        with pytest.raises(ValueError, match=message):
            make(**parameters).fit(*races)


@for_each(
    ("parameters", "message"),
    [
        ({"validation": "last", "validation_fraction": 0.2}, "rows have no sequence"),
        ({"gain": "rank", "lower_is_better": True}, "lower_is_better=True is not possible"),
    ],
)
def test_what_a_cluster_cannot_do_is_an_error(parameters, message):
    with pytest.raises(ValueError, match=message):
        checked_settings(br.LightGBMRanker(**parameters), None)
