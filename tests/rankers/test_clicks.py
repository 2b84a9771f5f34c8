"""Rankers that are trained on clicks, evaluated by them, and stopped by them."""

import functools
from dataclasses import replace

import numpy as np
import pytest
from bound_losses import bind_loss
from loss_defaults import PLAIN_TREES
from sklearn.base import clone
from sklearn.model_selection import cross_validate

import boostrank as br
from boostrank.clicks import ClickDCG, PositionBased, TrustBias, evaluate
from boostrank.queries.dcg import DCG

RANKERS = [
    br.LightGBMRanker(n_estimators=8, num_leaves=7, random_state=0, n_jobs=1),
    br.XGBoostRanker(n_estimators=6, max_depth=3, random_state=0, n_jobs=1),
]
by_ranker = pytest.mark.parametrize("ranker", RANKERS, ids=lambda ranker: type(ranker).__name__)
MODEL = TrustBias(("power", 1.0), click_relevant=0.9, click_irrelevant=("power", 1.0, 0.3))


def relevance_of(labels):
    return np.array([0.02, 0.15, 0.4, 0.7, 0.9, 1.0])[labels.astype(int)]


@functools.cache
def data(seed=0, n_queries=40, n_sessions=4000, model=("power", 1.0)):
    """Features of shuffled rows, their relevance labels, and a log of all of them, ranked by the last feature.

    The last feature has nothing to do with relevance. The two last queries have no sessions.
    """
    X, y, qid = br.make_ranking(n_queries, n_documents=(5, 12), noise=0.0, random_state=seed)
    order = np.random.default_rng(seed).permutation(len(y))
    X, y, qid = X[order], y[order], qid[order] + n_queries * seed
    sessions = np.full(n_queries, n_sessions // n_queries)
    sessions[::2] *= 2
    sessions[-2:] = 0
    drawn = br.simulate_clicks(
        y, X[:, -1], qid, model=PositionBased(model) if isinstance(model, tuple) else model, depth=None,
        n_sessions=sessions, policy=("swap", 0.2), relevance=relevance_of, random_state=seed,
    )  # fmt: skip
    return X, y, qid, drawn


def clicks(seed=0, **settings):
    return br.ClickLabels(data(seed)[3].log, ("power", 1.0), **settings)


@by_ranker
@pytest.mark.parametrize(
    ("objective", "normalize"),
    [("consistent-lambdarank", "independent"), ("softmax", "none"), ("squared", "sessions")],
)
def test_it_is_the_training_on_targets_with_sessions_as_weights(ranker, objective, normalize):
    X, _, qid, _ = data()
    labels, ranker = clicks(normalize=normalize), clone(ranker).set_params(objective=objective, k=3)
    scores = clone(ranker).fit(X, labels).predict(X)
    # Of targets as labels with a linear gain, the targets without a normalization are these labels.
    by_hand = clone(ranker).set_params(normalize="none", gain="linear")
    by_hand.fit(X, labels.targets(dcg=DCG(3)), qid, sample_weight=labels.query_weights)
    np.testing.assert_array_equal(by_hand.predict(X), scores)
    np.testing.assert_array_equal(clone(ranker).fit(X, labels, qid).predict(X), scores)
    assert len(np.unique(scores)) > 5


@by_ranker
def test_shrunk_targets_have_a_prior_from_the_clicks_on_other_queries(ranker):
    X, _, qid, _ = data()
    rows = np.argsort(qid, kind="stable")
    X, qid, labels = X[rows], qid[rows], clicks(shrink="auto")[rows]
    # Without samples of queries, and so that the folds are known: of the 38 queries with clicks, and then the others.
    ranker = clone(ranker).set_params(objective="softmax", **PLAIN_TREES)
    found = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(br.ClickLabels, "with_prediction", lambda self, logs: found.append(logs) or self)
        fitted = clone(ranker).fit(X, labels)
    np.testing.assert_array_equal(fitted.predict(X), clone(ranker).fit(X, replace(labels, shrink=None)).predict(X))
    (logs,) = found
    relevance, weights, queries = np.maximum(labels.relevance, 0), labels.evidence, labels.queries
    by_rounds = np.full((120, len(X)), np.nan)
    settings = {"n_estimators": 120, "learning_rate": fitted.learning_rate_, "reg_lambda": 1.0, "gain": "linear"}
    regression = clone(ranker).set_params(objective="poisson", normalize="none", **settings)
    is_clicked, order = queries.sum(relevance) > 0, np.random.default_rng((0, 0)).permutation(40)
    order = np.append(order[is_clicked[order]], order[~is_clicked[order]])
    for number in range(3):
        part = np.isin(np.arange(40), order[number::3])
        rest = ~queries.repeat(part)
        trained = clone(regression).fit(X[rest], relevance[rest], qid[rest], sample_weight=weights[rest])
        start = np.log(np.average(relevance[rest], weights=weights[rest]))
        for number, scores in enumerate(trained.staged_predict(X[~rest])):
            by_rounds[number, ~rest] = start + scores
    losses = (np.exp(by_rounds) - relevance * by_rounds) @ weights
    best = int(np.argmin(losses))
    assert 0 < best < 99  # Otherwise the number of rounds is not tested.
    np.testing.assert_allclose(logs, by_rounds[best], atol=1e-5)
    # The whole training is that with the prior of these predictions.
    expected = clone(ranker).fit(X, labels.with_prediction(by_rounds[best])).predict(X)
    np.testing.assert_allclose(clone(ranker).fit(X, labels).predict(X), expected, atol=1e-5)


@by_ranker
def test_weights_multiply_the_numbers_of_sessions(ranker):
    X, _, _, drawn = data()
    labels, of_queries = clicks(), np.random.default_rng(0).uniform(1, 2, 40)
    scores = clone(ranker).fit(X, labels, sample_weight=of_queries).predict(X)
    _, sessions = np.unique(drawn.log.query[drawn.log.sessions.starts], return_counts=True)
    equal = clicks(average="queries")
    product = of_queries * np.append(sessions, [1, 1])  # Of the queries without sessions, no weight matters.
    # The weights of these clicks are equal, up to those of queries without sessions.
    np.testing.assert_allclose(clone(ranker).fit(X, equal, sample_weight=product).predict(X), scores, atol=1e-5)
    assert np.abs(clone(ranker).fit(X, equal).predict(X) - scores).max() > 1e-3


def test_queries_without_sessions_have_no_gradient():
    labels = clicks()
    queries = labels.queries
    grouped = labels[queries.permutation]
    gradient, hessian = bind_loss("softmax", grouped, grouped.queries).gradient_hessian(np.arange(len(labels)) / 10)
    is_last = grouped.queries.repeat(np.arange(40) >= 38)
    assert not gradient[is_last].any()
    assert not hessian[is_last].any()
    assert hessian[~is_last].all()
    # The mean Hessian of the other documents is 1 where boosting starts.
    hessian = bind_loss("softmax", grouped, grouped.queries).gradient_hessian(np.zeros(len(labels)))[1]
    assert hessian[~is_last].mean() == pytest.approx(1.0, rel=1e-5)


@pytest.mark.slow
def test_many_clicks_teach_what_relevance_teaches_and_naive_clicks_do_not():
    X, _, qid, drawn = data(n_queries=60, n_sessions=60_000)
    trust = data(n_queries=60, n_sessions=60_000, model=MODEL)[3].log
    fresh, fresh_y, fresh_qid, _ = data(seed=1)
    ranker = clone(RANKERS[0]).set_params(n_estimators=40, learning_rate=0.2)

    def quality(*arguments, **settings):
        scores = clone(ranker).set_params(**settings).fit(X, *arguments).predict(fresh)
        return br.ndcg_score(fresh_y, scores, fresh_qid, k=5)

    best = quality(drawn.relevance, qid, gain="linear")
    for kind in ("none", "independent", "sessions"):
        assert quality(br.ClickLabels(drawn.log, ("power", 1.0), normalize=kind)) > best - 0.015
    assert quality(br.ClickLabels(trust, MODEL)) > best - 0.015
    assert quality(br.ClickLabels(drawn.log, 1.0)) < best - 0.04
    assert quality(br.ClickLabels(trust, 1.0)) < best - 0.3
    # Propensities do not correct trust bias.
    assert quality(br.ClickLabels(trust, ("power", 1.0))) < best - 0.05


@by_ranker
def test_a_score_by_the_clicks_of_the_training_is_too_good_and_warns(ranker):
    X, _, _, drawn = data(n_sessions=400)
    odd = np.arange(drawn.log.n_sessions) % 2 == 1
    seen, fresh = (
        br.ClickLabels(drawn.log.select(part), ("power", 1.0), not_shown="irrelevant") for part in (odd, ~odd)
    )
    fitted = clone(ranker).set_params(**PLAIN_TREES).fit(X, seen)
    by_others = fitted.score(X, fresh)
    # Of the same clicks as counts, and with another click model.
    again = br.ClickLabels(seen.log.aggregate(), ("power", 0.9), not_shown="irrelevant")
    for score in (fitted.score, functools.partial(br.make_scorer("click-dcg"), fitted)):
        with pytest.warns(UserWarning, match="trained on the clicks that score it, and follows their noise"):
            assert score(X, again) > by_others + 0.1


@by_ranker
def test_score_and_early_stopping_are_counterfactual_estimates(ranker):
    X, _, _, _ = data()
    fresh, _, _, drawn = data(seed=1)
    settings = {"early_stopping_rounds": 5, "n_estimators": 60, "k": 5}
    fitted = clone(ranker).set_params(**settings).fit(X, clicks(), eval_set=[(fresh, clicks(1, average="queries"))])
    history = fitted.evals_result_["valid_0"]["click-dcg@5"]
    assert fitted.best_iteration_ == np.argmax(history) + 1
    expected = evaluate(
        drawn.log, fitted.predict(fresh), ("power", 1.0), measure="dcg@5", average="queries", not_shown="irrelevant"
    ).value
    assert max(history) == pytest.approx(expected, abs=1e-6)
    assert fitted.score(fresh, clicks(1, average="queries")) == pytest.approx(expected, rel=1e-12)
    auto = clone(ranker).set_params(n_estimators="auto", early_stopping_rounds=5, cv=3)
    assert list(auto.fit(X, clicks()).evals_result_["fold_0"]) == ["click-dcg"]


@by_ranker
def test_validation_sets_may_have_relevance_labels(ranker):
    X, _, _, _ = data()
    fresh, fresh_y, fresh_qid, _ = data(seed=1)
    sets = {"clicks": (fresh, clicks(1)), "labels": (fresh, fresh_y, fresh_qid)}
    fitted = clone(ranker).set_params(early_stopping_rounds=3, n_estimators=20).fit(X, clicks(), eval_set=sets)
    assert [list(fitted.evals_result_[name]) for name in sets] == [["click-dcg"], ["ndcg"]]
    by_labels = clone(ranker).fit(X, clicks(), eval_set=[sets["labels"]], eval_metric="ndcg@5")
    last = by_labels.evals_result_["valid_0"]["ndcg@5"][-1]
    assert last == pytest.approx(br.ndcg_score(fresh_y, by_labels.predict(fresh), fresh_qid, k=5), abs=1e-6)


@pytest.mark.slow
@by_ranker
def test_cross_validation_slices_the_log(ranker):
    X, _, qid, _ = data()
    labels, folds = clicks(), list(br.QueryKFold(3).split(X, groups=qid))
    expected = [
        ClickDCG(10)(labels[test], clone(ranker).fit(X[train], labels[train]).predict(X[test])) for train, test in folds
    ]
    np.testing.assert_allclose(br.cross_validate(ranker, X, labels, cv=3)["test_score"], expected, rtol=1e-12)
    # This works without metadata routing, because ClickLabels have the query ids.
    done = cross_validate(ranker, X, labels, cv=br.QueryKFold(3), scoring=br.make_scorer(ClickDCG(10)))
    np.testing.assert_allclose(done["test_score"], expected, rtol=1e-12)
    weighted = br.cross_validate(ranker, X, labels, cv=3, params={"sample_weight": np.arange(1.0, 41)})
    assert np.abs(weighted["test_score"] - expected).max() > 0


@by_ranker
def test_misuse_is_an_error(ranker):
    X, y, qid, drawn = data()
    labels = clicks()
    fit = clone(ranker).fit
    with pytest.raises(ValueError, match=r"y is a ClickLog.*pass boostrank.ClickLabels"):
        fit(X, drawn.log)
    with pytest.raises(ValueError, match="qid differs from the query ids of the click log"):
        fit(X, labels, qid[::-1])
    with pytest.raises(ValueError, match=f"y has {len(X)} values for the 10 rows of X"):
        fit(X[:10], labels)
    with pytest.raises(ValueError, match="set normalize of the ClickLabels"):
        clone(ranker).set_params(normalize="none").fit(X, labels)
    native = "lambdarank" if isinstance(ranker, br.LightGBMRanker) else "rank:ndcg"
    for objective in (native, lambda y, s: (s, s + 1)):
        with pytest.raises(ValueError, match=r"needs relevance labels.*for ClickLabels use a surrogate"):
            clone(ranker).set_params(objective=objective).fit(X, labels)
    with pytest.raises(ValueError, match=r"needs relevance labels.*got ClickLabels.*'click-dcg"):
        fit(X, labels, eval_set=[(X, labels)], eval_metric="ndcg")
    with pytest.raises(ValueError, match="click-dcg needs ClickLabels; got Relevance"):
        fit(X, labels, eval_set=[(X, y, qid)], eval_metric=ClickDCG())
    few = br.simulate_clicks(y, X[:, -1], qid, n_sessions=300, depth=None, relevance=relevance_of, random_state=0).log
    few_clicks = br.ClickLabels(few, ("power", 1.0), normalize="sessions", not_shown="irrelevant")
    with pytest.raises(ValueError, match=r"needs targets in \[0, 1\].*normalize='independent' of ClickLabels"):
        clone(ranker).set_params(objective="logistic").fit(X, few_clicks)


@by_ranker
@pytest.mark.filterwarnings("ignore:no tree has a split")
def test_a_held_out_part_or_a_member_of_a_bag_without_impressions_or_clicks_is_named(ranker):
    X, _, qid, drawn = data()
    log = drawn.log
    lonely = qid[log.row] == 2
    shown = br.ClickLabels(br.ClickLog(qid, log.row[lonely], log.position[lonely], log.clicks[lonely]), 1.0)
    clicked = br.ClickLabels(br.ClickLog(qid, log.row, log.position, np.where(lonely, log.clicks, 0)), 1.0)
    stopping = clone(ranker).set_params(early_stopping_rounds=2)
    two_held_out = clone(stopping).set_params(validation_fraction=0.05)
    for labels, fault in ((shown, "the log has no impression"), (clicked, "click-dcg is not defined .*documents is 0")):
        with pytest.raises(ValueError, match=f"^the queries that validation_fraction holds out: {fault}"):
            clone(two_held_out).fit(X, labels)
        with pytest.raises(ValueError, match=rf"^member \d of the bag.*: {fault}"):
            br.BaggedRanker(stopping, n_estimators=8, random_state=0).fit(X, labels)
    with pytest.raises(ValueError, match=r"^validation set 'late': click-dcg is not defined"):
        clone(ranker).fit(X, shown, eval_set={"late": (X[qid == 3], clicked[qid == 3])})


def test_a_fold_without_impressions_or_clicks_is_named_before_the_first_training():
    X, _, qid, drawn = data()
    log, folds = drawn.log, [(np.flatnonzero(qid % 4 != i), np.flatnonzero(qid % 4 == i)) for i in range(4)]
    of_third = qid[log.row] % 4 == 2
    few, only = (
        br.ClickLog(qid, log.row[chosen], log.position[chosen], log.clicks[chosen]) for chosen in (~of_third, of_third)
    )
    silent = br.ClickLog(qid, log.row, log.position, np.where(of_third, 0, log.clicks))
    never_trained = br.LightGBMRanker(n_estimators=-1)
    for one, message in (
        (few, "fold 2 of cv, counted from 0, the rows to test on: the log has no impression"),
        (silent, "fold 2 of cv, .* to test on: click-dcg@10 is not defined for .*documents is 0"),
    ):
        labels = br.ClickLabels(one, 1.0, not_shown="irrelevant")
        for search in (br.cross_validate, functools.partial(br.grid_search, grid={"num_leaves": [3, 7]})):
            with pytest.raises(ValueError, match=message):
                search(never_trained, X=X, y=labels, cv=folds)
    lonely = br.ClickLabels(only, 1.0, not_shown="irrelevant")
    with pytest.raises(ValueError, match=r"fold 0 of cv, counted from 0, the rows to train on: the log has no impr"):
        br.cross_validate(never_trained, X, lonely, cv=folds[2:])
