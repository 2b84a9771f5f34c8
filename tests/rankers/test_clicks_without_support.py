"""Rows that were never shown, left out by ClickLabels: the same as training and evaluating on the other rows."""

import functools
import warnings

import numpy as np
import pytest
from loss_defaults import PLAIN_TREES
from rankers.test_clicks import RANKERS, by_ranker
from sklearn.base import clone

import boostrank as br
from boostrank.clicks import Cascade, ClickDCG
from boostrank.queries.dcg import DCG

MODEL = ("power", 1.0)


@functools.cache
def data():
    """Shuffled rows of 30 queries of which at most five rows are shown; queries 0 and 29 have no sessions."""
    X, y, qid = br.make_ranking(30, n_documents=(4, 15), random_state=0)
    order = np.random.default_rng(0).permutation(len(y))
    X, y, qid = X[order], y[order], qid[order]
    sessions = np.full(30, 60)
    sessions[[0, -1]] = 0
    log = br.simulate_clicks(y, X[:, 0], qid, depth=5, n_sessions=sessions, random_state=0).log
    assert 0.3 < log.shown.mean() < 0.8  # Otherwise nothing is tested.
    return X, qid, log


def dropped():
    return br.ClickLabels(data()[2], MODEL, not_shown="drop")


def of_shown_rows():
    log = data()[2]
    return br.ClickLabels(log[log.shown], MODEL)


@by_ranker
def test_it_is_the_training_on_the_rows_that_were_shown(ranker):
    X, qid, log = data()
    # Other samples would be drawn from fewer queries.
    ranker = clone(ranker).set_params(**PLAIN_TREES)
    weights = np.random.default_rng(0).uniform(1, 2, 30)
    by_id = dict(zip(log.queries.ids, weights, strict=True))
    of_shown = [by_id[one] for one in of_shown_rows().queries.ids]
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # Of queries that were cut apart.
        labels = dropped()
        all_rows = clone(ranker).fit(X, labels, sample_weight=weights, eval_set=[(X, labels), (X, dropped())])
    expected = clone(ranker).fit(X[log.shown], of_shown_rows(), sample_weight=of_shown)
    np.testing.assert_allclose(all_rows.predict(X), expected.predict(X), atol=1e-6)
    with pytest.warns(UserWarning, match="trained on the clicks that score it") as caught:
        score = all_rows.score(X, dropped())
    assert len(caught) == 1  # And not of queries that were cut apart.
    with pytest.warns(UserWarning, match="trained on the clicks that score it"):
        assert score == pytest.approx(expected.score(X[log.shown], of_shown_rows()), rel=1e-12)
    for name in ("training", "valid_1"):
        assert all_rows.evals_result_[name]["click-dcg"][-1] == pytest.approx(score, abs=1e-6)
    folds = list(br.QueryKFold(3).split(X, groups=qid))
    scores = br.cross_validate(ranker, X, dropped(), cv=folds, scoring="click-dcg@3")["test_score"]
    number = np.cumsum(log.shown) - 1
    parts = [[number[rows[log.shown[rows]]] for rows in fold] for fold in folds]
    by_hand = br.cross_validate(ranker, X[log.shown], of_shown_rows(), cv=parts, scoring="click-dcg@3")
    np.testing.assert_allclose(scores, by_hand["test_score"], rtol=1e-12)


def test_bags_have_the_rows_and_queries_that_were_given():
    # With grouped rows, the queries that have rows left keep their sequence, so that the same samples are drawn.
    X, qid, log = data()
    rows = np.argsort(qid, kind="stable")
    X, qid, log = X[rows], qid[rows], log[rows]
    shown, few = log.shown, br.BaggedRanker(RANKERS[0], n_estimators=4, random_state=0)
    bagged = clone(few).fit(X, br.ClickLabels(log, MODEL, not_shown="drop"))
    expected = clone(few).fit(X[shown], br.ClickLabels(log[shown], MODEL))
    assert np.isnan(bagged.oob_prediction_[~shown]).all()
    np.testing.assert_array_equal(bagged.oob_prediction_[shown], expected.oob_prediction_)
    with_rows = np.unique(qid[shown])
    assert len(with_rows) < bagged.oob_scores_.size == 30
    np.testing.assert_array_equal(bagged.oob_scores_[with_rows], expected.oob_scores_)
    for numbers, left in zip(bagged.estimators_samples_, expected.estimators_samples_, strict=True):
        np.testing.assert_array_equal(numbers, with_rows[left])


def test_measures_rank_the_rows_that_were_shown():
    X, _, log = data()
    scores, measure = X[:, 1], ClickDCG(3)
    expected = measure(of_shown_rows(), scores[log.shown])
    assert measure(dropped(), scores) == pytest.approx(expected, rel=1e-12)
    terms = measure(dropped(), scores, per_query=True)
    assert terms.mean() == pytest.approx(expected)
    of_shown = measure(of_shown_rows(), scores[log.shown], per_query=True) * 30 / 28
    by_id = dict(zip(of_shown_rows().queries.ids, of_shown, strict=True))
    np.testing.assert_allclose(terms, [by_id.get(one, 0.0) for one in log.queries.ids], rtol=1e-12)
    # Rows that were not shown count as irrelevant otherwise, and take ranks.
    assert measure(br.ClickLabels(log, MODEL, not_shown="irrelevant"), scores) < expected - 0.05


def test_targets_of_rows_that_are_left_out_are_zero():
    labels = dropped()
    np.testing.assert_array_equal(labels.targets()[data()[2].shown], of_shown_rows().targets())
    assert not labels.targets()[~data()[2].shown].any()
    # Targets of sessions depend on the cutoff.
    log, normalized = data()[2], {"model": ("power", 0.5), "normalize": "sessions"}
    of_sessions = br.ClickLabels(log, **normalized, not_shown="drop").targets(dcg=DCG(2))
    of_shown = br.ClickLabels(log[log.shown], **normalized).targets(dcg=DCG(2))
    np.testing.assert_array_equal(of_sessions[log.shown], of_shown)


def test_what_cannot_be_left_out_is_still_an_error():
    # A row below the click that ends all its sessions was shown, and its entry cannot be left out of the cascade.
    log = br.ClickLog([1, 1, 1], row=[0, 1], position=[1, 2], clicks=[1, 0], session=[0, 0])
    with pytest.raises(ValueError, match="row 1 of query '1', which was never shown where it may be examined"):
        br.ClickLabels(log, Cascade(), not_shown="drop").targets()


@by_ranker
def test_documents_that_were_never_shown_may_be_predicted(ranker):
    X, qid, log = data()
    labels = br.ClickLabels(log, MODEL, shrink="auto", not_shown="predict")
    fitted = clone(ranker).set_params(early_stopping_rounds=2, validation_fraction=0.2).fit(X, labels)
    assert fitted.evals_result_["valid_0"]["click-dcg"]
    # The prediction is for the training only.
    rows, others = qid > 9, br.ClickLabels(log, MODEL, not_shown="irrelevant")
    assert fitted.score(X[rows], labels[rows]) == fitted.score(X[rows], others[rows])
