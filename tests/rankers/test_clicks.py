"""Rankers that are trained on clicks, evaluated by them, and stopped by them."""

import functools
from dataclasses import replace

import numpy as np
import pytest
from loss_defaults import PLAIN_TREES
from sklearn.base import clone
from sklearn.model_selection import cross_validate

import boostrank as br
from boostrank.clicks import ClickDCG, PositionBased, TrustBias, evaluate
from boostrank.ndcg.dcg import DCG

SMALL = {"n_estimators": 6, "learning_rate": 0.1, "max_depth": 3, "random_state": 0, "n_jobs": 1}
RELEVANCE = np.array([0.02, 0.15, 0.4, 0.7, 0.9, 1.0])
MODEL = TrustBias(("power", 1.0), click_relevant=0.9, click_irrelevant=("power", 1.0, 0.3))


@pytest.fixture
def ranker(ranker_class):
    return ranker_class(**SMALL)


@functools.cache
def data(seed=0, n_queries=40, n_sessions=4000, model=("power", 1.0)):
    """Features of shuffled rows, their relevance labels, and a log of all of them, ranked by the
    last feature.

    The last feature has nothing to do with relevance. The two last queries have no sessions.
    """
    X, y, qid = br.make_ranking(n_queries, n_documents=(5, 12), noise=0.0, random_state=seed)
    order = np.random.default_rng(seed).permutation(len(y))
    X, y, qid = X[order], y[order], qid[order] + n_queries * seed
    sessions = np.full(n_queries, n_sessions // n_queries)
    sessions[::2] *= 2
    sessions[-2:] = 0
    if isinstance(model, tuple):
        model = PositionBased(model)
    drawn = br.simulate_clicks(
        y, X[:, -1], qid, model=model, depth=None, n_sessions=sessions, policy=("swap", 0.2),
        relevance=lambda y: RELEVANCE[y.astype(int)], random_state=seed,
    )  # fmt: skip
    return X, y, qid, drawn


def clicks(seed=0, **settings):
    return br.ClickLabels(data(seed)[3].log, ("power", 1.0), **settings)


@pytest.mark.parametrize(
    ("objective", "normalize"), [("consistent-lambdarank", "independent"), ("squared", "none")]
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


def test_shrunk_targets_have_a_prior_from_the_clicks_on_other_queries(ranker):
    X, _, qid, _ = data()
    # Without the two queries that have no sessions, which a ranker leaves out.
    rows, labels = np.argsort(qid, kind="stable"), clicks(shrink="auto")
    rows = rows[labels[rows].queries.repeat(labels[rows].query_weights > 0)]
    X, qid, labels = X[rows], qid[rows], labels[rows]
    # Without samples of queries, and so that the folds are known: of the queries with clicks, and
    # then the others.
    ranker = clone(ranker).set_params(objective="softmax", **PLAIN_TREES)
    fitted = clone(ranker).fit(X, labels)
    relevance, weights, queries = np.maximum(labels.relevance, 0), labels.evidence, labels.queries
    by_rounds = np.full((120, len(X)), np.nan)
    settings = {"n_estimators": 120, "reg_lambda": 1.0, "gain": "linear"}
    regression = clone(ranker).set_params(objective="poisson", normalize="none", **settings)
    is_clicked, order = queries.sum(relevance) > 0, np.random.default_rng((0, 0)).permutation(38)
    order = np.append(order[is_clicked[order]], order[~is_clicked[order]])
    for number in range(3):
        part = np.isin(np.arange(38), order[number::3])
        rest = ~queries.repeat(part)
        trained = clone(regression).fit(
            X[rest], relevance[rest], qid[rest], sample_weight=weights[rest]
        )
        start = np.log(np.average(relevance[rest], weights=weights[rest]))
        for number, scores in enumerate(trained.staged_predict(X[~rest])):
            by_rounds[number, ~rest] = start + scores
    losses = (np.exp(by_rounds) - relevance * by_rounds) @ weights
    best = int(np.argmin(losses))
    assert 0 < best < 99  # Otherwise the number of rounds is not tested.
    expected = clone(ranker).fit(X, labels.with_prediction(by_rounds[best])).predict(X)
    np.testing.assert_allclose(fitted.predict(X), expected, atol=1e-5)
    # Early stopping is not for the trainings that predict.
    stopped = (
        clone(ranker).set_params(early_stopping_rounds=1).fit(X, labels, eval_set=[(X, labels)])
    )
    last = list(fitted.staged_predict(X))[stopped.best_iteration_ - 1]
    np.testing.assert_allclose(stopped.predict(X), last, atol=1e-7)
    # Nor do queries that they leave out decide on their rounds.
    chosen = clone(ranker).set_params(n_estimators=None, subsample_queries=0.5).fit(X, labels)
    given = clone(chosen).set_params(n_estimators=chosen.best_iteration_).fit(X, labels)
    np.testing.assert_allclose(chosen.predict(X), given.predict(X), atol=1e-8)
    assert not np.allclose(
        expected, clone(ranker).fit(X, replace(labels, shrink=None)).predict(X), atol=1e-3
    )


@pytest.mark.slow
def test_many_clicks_teach_what_relevance_teaches_and_naive_clicks_do_not():
    X, _, qid, drawn = data(n_queries=60, n_sessions=30_000)
    trust = data(n_queries=60, n_sessions=30_000, model=MODEL)[3].log
    fresh, fresh_y, fresh_qid, _ = data(seed=1)
    ranker = br.LightGBMRanker(**{**SMALL, "n_estimators": 40, "learning_rate": 0.2})

    def quality(*arguments, **settings):
        scores = clone(ranker).set_params(**settings).fit(X, *arguments).predict(fresh)
        return br.ndcg_score(fresh_y, scores, fresh_qid, k=5)

    best, propensities = quality(drawn.relevance, qid, gain="linear"), ("power", 1.0)
    for kind in ("none", "independent"):
        assert quality(br.ClickLabels(drawn.log, propensities, normalize=kind)) > best - 0.015
    assert quality(br.ClickLabels(trust, MODEL)) > best - 0.015
    # Propensities do not correct trust bias.
    for log, model, loss in (
        (drawn.log, 1.0, 0.04),
        (trust, 1.0, 0.3),
        (trust, propensities, 0.05),
    ):
        assert quality(br.ClickLabels(log, model)) < best - loss


def test_a_score_by_the_clicks_of_the_training_is_too_good_and_warns(ranker):
    X, _, _, drawn = data(n_sessions=400)
    odd = np.arange(drawn.log.n_sessions) % 2 == 1
    seen, fresh = (
        br.ClickLabels(drawn.log.select(part), ("power", 1.0), not_shown="irrelevant")
        for part in (odd, ~odd)
    )
    fitted = clone(ranker).set_params(**PLAIN_TREES).fit(X, seen)
    by_others = fitted.score(X, fresh)
    # Of the same clicks as counts, and with another click model.
    again = br.ClickLabels(seen.log.aggregate(), ("power", 0.9), not_shown="irrelevant")
    for score in (fitted.score, functools.partial(br.make_scorer("click-dcg"), fitted)):
        with pytest.warns(
            UserWarning, match="trained on the clicks that score it, and follows their noise"
        ):
            assert score(X, again) > by_others + 0.1


def test_score_and_early_stopping_are_counterfactual_estimates(ranker):
    X, (fresh, fresh_y, fresh_qid, drawn) = data()[0], data(seed=1)
    watched = clicks(1, average="queries")
    fitted = clone(ranker).set_params(early_stopping_rounds=5, n_estimators=60, k=5)
    fitted.fit(
        X, clicks(), eval_set={"labels": (fresh, fresh_y, fresh_qid), "clicks": (fresh, watched)}
    )
    history = fitted.evals_result_["clicks"]["click-dcg@5"]
    assert fitted.best_iteration_ == np.argmax(history) + 1
    settings = {"k": 5, "average": "queries", "not_shown": "irrelevant"}
    expected = evaluate(drawn.log, fitted.predict(fresh), ("power", 1.0), **settings).value
    assert max(history) == pytest.approx(expected, abs=1e-6)
    assert fitted.score(fresh, watched) == pytest.approx(expected, rel=1e-12)
    of_labels = {"ndcg@5": pytest.approx(fitted.score(fresh, fresh_y, fresh_qid), abs=1e-6)}
    assert fitted.best_score_["labels"] == of_labels


@pytest.mark.slow
def test_cross_validation_slices_the_log(ranker):
    X, _, qid, _ = data()
    labels, folds, measure = clicks(), list(br.QueryKFold(3).split(X, groups=qid)), ClickDCG(10)
    expected = [
        measure(labels[test], clone(ranker).fit(X[train], labels[train]).predict(X[test]))
        for train, test in folds
    ]
    # The second works without metadata routing, because ClickLabels have the query ids.
    of_scikit_learn = cross_validate(
        ranker, X, labels, cv=br.QueryKFold(3), scoring=br.make_scorer(measure)
    )
    for done in (br.cross_validate(ranker, X, labels, cv=3), of_scikit_learn):
        np.testing.assert_allclose(done["test_score"], expected, rtol=1e-12)


def test_misuse_is_an_error(ranker, lambdamart):
    X, y, qid, drawn = data()
    labels, no_relevance = clicks(), r"needs relevance labels.*for ClickLabels use a surrogate"
    by_labels, by_clicks = {"eval_set": [(X, y, qid)]}, {"eval_set": [(X, labels)]}
    for arguments, settings, fit, message in (
        ((X, drawn.log), {}, {}, r"y is a ClickLog.*pass boostrank.ClickLabels"),
        ((X, labels, qid[::-1]), {}, {}, "qid differs from the query ids of ClickLabels"),
        ((X[:10], labels), {}, {}, f"y has {len(X)} values for the 10 rows of X"),
        ((X, labels), {"normalize": "none"}, {}, "set normalize of the ClickLabels"),
        ((X, labels), {"objective": lambdamart}, {}, no_relevance),
        ((X, labels), {"objective": lambda y, s: (s, s + 1)}, {}, no_relevance),
        (
            (X, labels),
            {},
            {**by_clicks, "eval_metric": "ndcg"},
            "needs relevance labels.*got ClickLabels.*'click-dcg",
        ),
        (
            (X, labels),
            {},
            {**by_labels, "eval_metric": ClickDCG()},
            "click-dcg needs ClickLabels; got Relevance",
        ),
    ):
        with pytest.raises(ValueError, match=message):
            clone(ranker).set_params(**settings).fit(*arguments, **fit)


@pytest.mark.filterwarnings("ignore:no tree has a split")
def test_a_held_out_part_or_a_member_of_a_bag_without_impressions_or_clicks_is_named(ranker):
    X, _, qid, drawn = data()
    log, stopping = drawn.log, clone(ranker).set_params(early_stopping_rounds=2)
    lonely = qid[log.row] == 2
    shown = br.ClickLabels(
        br.ClickLog(qid, log.row[lonely], log.position[lonely], log.clicks[lonely]), 1.0
    )
    clicked = br.ClickLabels(
        br.ClickLog(qid, log.row, log.position, np.where(lonely, log.clicks, 0)), 1.0
    )
    for labels, fault in (
        (shown, "the log has no impression"),
        (clicked, "click-dcg is not defined .*documents is 0"),
    ):
        # A query without impressions is no query to hold out.
        held_out = (
            "at least two queries are needed"
            if labels is shown
            else f"^the queries that .* holds out: {fault}"
        )
        with pytest.raises(ValueError, match=held_out):
            clone(stopping).set_params(validation_fraction=0.05).fit(X, labels)
        with pytest.raises(ValueError, match=rf"^member \d of the bag.*: {fault}"):
            br.BaggedRanker(stopping, n_estimators=8, random_state=0).fit(X, labels)
    with pytest.raises(ValueError, match=r"^validation set 'late': click-dcg is not defined"):
        clone(ranker).fit(X, shown, eval_set={"late": (X[qid == 3], clicked[qid == 3])})
