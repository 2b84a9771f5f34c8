"""CalibratedRanker with the target "relevance": probabilities that compare documents of lists."""

import json

import numpy as np
import pandas as pd
import pytest
from cases import for_each
from scipy import sparse
from sklearn.metrics import roc_auc_score

import boostrank as br
from boostrank.calibration.list_level import ListFeatures
from boostrank.calibration.relevance import Relevance

PLAIN = {"n_estimators": 30, "learning_rate": 0.1, "random_state": 0, "n_jobs": 1}


@pytest.fixture(scope="module")
def shifted():
    """Lists of eight whose level depends on a feature that does not vary within a list."""
    random = np.random.default_rng(0)
    n = 500
    queries = br.Queries.from_sizes(np.full(n, 8))
    X = random.standard_normal((n * 8, 3))
    X[:, 2] = queries.repeat(X[queries.starts, 2])
    quality = X[:, 0] + 2.0 * X[:, 2] + 0.3 * random.logistic(size=n * 8)
    y = np.digitize(quality, [0.5, 2.5]).astype(float)
    return X, y, queries.qid


@pytest.fixture(scope="module")
def fitted(shifted):
    X, y, qid = shifted
    rows = qid < 350
    ranker = br.CalibratedRanker(br.LightGBMRanker(**PLAIN), "relevance", cv=3)
    return ranker.fit(X[rows], y[rows], qid[rows])


def test_probabilities_compare_documents_of_different_lists(shifted, fitted):
    X, y, qid = shifted
    rows = qid >= 350
    X, y, qid = X[rows], y[rows], qid[rows]
    probabilities = fitted.predict_proba(X, qid=qid)
    assert fitted.thresholds_ == [1.0, 2.0]
    assert probabilities.shape == (len(y), 2)
    assert (np.diff(probabilities, axis=1) <= 0.0).all()
    for column, threshold in enumerate(fitted.thresholds_):
        reached = y >= threshold
        auc = roc_auc_score(reached, probabilities[:, column])
        assert auc > 0.94
        # Scores of softmax are not comparable between lists.
        assert auc > roc_auc_score(reached, fitted.predict(X)) + 0.05
        error = br.calibration.calibration_error(
            y, probabilities[:, column], qid, threshold=threshold
        )
        assert error < 0.04


@pytest.mark.parametrize("method", ["isotonic", "sigmoid"])
def test_the_sequence_within_lists_is_that_of_the_ranker(shifted, method):
    X, y, qid = shifted
    rows = qid < 100
    base = br.LightGBMRanker(**PLAIN).fit(X[rows], y[rows], qid[rows])
    other = (qid >= 100) & (qid < 250)
    ranker = br.CalibratedRanker(base, "relevance", method=method, cv="prefit")
    ranker.fit(X[other], y[other], qid[other])
    queries = br.Queries.from_qid(qid[other])
    scores = base.predict(X[other])
    order = queries.sort(scores)
    steps = np.diff(ranker.predict_proba(X[other], qid=qid[other])[order], axis=0)
    is_same_list = np.diff(queries.qid) == 0
    assert (steps[is_same_list] <= 1e-12).all()
    assert ranker.predict(X[other]).tolist() == scores.tolist()


def test_rows_need_not_be_grouped(shifted, fitted):
    X, _, qid = shifted
    rows = np.random.default_rng(0).permutation(np.flatnonzero(qid >= 350))
    expected = fitted.predict_proba(X, qid=qid)[rows]
    assert fitted.predict_proba(X[rows], qid=qid[rows]) == pytest.approx(expected)


def test_fields_of_a_file_give_the_same_probabilities(shifted, fitted):
    X, _, qid = shifted
    calibration = fitted.calibrated_rankers_[0].calibration
    text = json.dumps(calibration.as_dict())
    loaded = Relevance.from_dict(json.loads(text))
    queries = br.Queries.from_qid(qid)
    scores = fitted.ranker_.predict(X)
    assert (
        loaded.probabilities(scores, X, queries).tolist()
        == calibration.probabilities(scores, X, queries).tolist()
    )


def test_features_of_lists_are_means_of_what_is_there():
    queries = br.Queries.from_qid(["b", "a", "b"])
    X = np.array([[1.0, 5.0], [2.0, np.nan], [3.0, np.nan]])
    scores = np.array([1.0, 3.0, 0.0])
    features = ListFeatures.learn(X).compute(X, scores, queries)
    assert features[0] == pytest.approx([2.0, 5.0, np.log(2.0), 2.0, 1.0, 1.0])
    assert features[1] == pytest.approx([2.0, np.nan, 0.0, 0.0, 0.0, 0.0], nan_ok=True)
    filled = np.nan_to_num(X)
    dense = ListFeatures.learn(filled).compute(filled, scores, queries)
    stored = sparse.csr_array(filled)
    assert ListFeatures.learn(stored).compute(stored, scores, queries) == pytest.approx(dense)


def test_categories_are_codes_and_unseen_ones_are_missing():
    frame = pd.DataFrame({"country": pd.Categorical(["no", "no", "it"]), "price": [1, 3, 5]})
    features = ListFeatures.learn(frame)
    queries = br.Queries.from_qid([1, 1, 2])
    values = features.compute(frame, np.zeros(3), queries)[:, :2]
    assert values.tolist() == [[1.0, 2.0], [0.0, 5.0]]
    other = frame.assign(country=pd.Categorical(["se", "se", "no"]))
    values = features.compute(other, np.zeros(3), queries)[:, 0]
    assert np.isnan(values[0])
    assert values[1] == 1.0


def test_thresholds_may_be_given(shifted):
    X, y, qid = shifted
    rows = qid < 100
    ranker = br.CalibratedRanker(br.LightGBMRanker(**PLAIN), "relevance", thresholds=2, cv=2)
    ranker.fit(X[rows], y[rows], qid[rows])
    assert ranker.thresholds_ == [2.0]
    assert ranker.predict_proba(X[rows], qid=qid[rows]).shape == (800, 1)


@for_each(
    ("parameters", "labels", "message"),
    [
        ({}, lambda y: 0 * y, "all labels are 0"),
        ({"thresholds": [1, 7]}, lambda y: y, "no label is at least 7"),
        ({"thresholds": 0}, lambda y: y, "each label is at least 0"),
        ({"thresholds": [np.nan]}, lambda y: y, "thresholds must be one finite number"),
        ({"method": "temperature"}, lambda y: y, "method of target 'relevance' must be one of"),
        ({"target": "first", "thresholds": 1}, lambda y: y, "the target is 'first'"),
        ({}, lambda y: np.random.default_rng(1).permutation(y), "higher than chance"),
    ],
)
def test_what_cannot_be_calibrated_is_an_error(shifted, parameters, labels, message):
    X, y, qid = shifted
    rows = qid < 60
    # The scores are the first feature, or its opposite: nothing is trained.
    base = br.LightGBMRanker(**PLAIN).fit(X[rows], -X[rows, 0] + 5, qid[rows])
    ranker = br.CalibratedRanker(base, "relevance", cv="prefit").set_params(**parameters)
    with pytest.raises(ValueError, match=message):
        ranker.fit(X[rows], labels(y[rows]), qid[rows])


def test_lists_of_one_document_and_lists_never_relevant_are_right(shifted):
    X, y, qid = shifted
    rows = qid < 200
    X, y, qid = X[rows], y[rows].copy(), qid[rows]
    # Half of the lists are cut to one document.
    keep = (qid >= 100) | (np.arange(len(y)) % 8 == 0)
    X, y, qid = X[keep], y[keep], qid[keep]
    ranker = br.CalibratedRanker(br.LightGBMRanker(**PLAIN), "relevance", cv=2).fit(X, y, qid)
    probabilities = ranker.predict_proba(X[:100], qid=qid[:100])[:, 0]
    assert roc_auc_score(y[:100] >= 1, probabilities) > 0.85


def test_ranks_have_no_probabilities(shifted, fitted):
    X, _, qid = shifted
    with pytest.raises(ValueError, match="target='first'"):
        fitted.predict_ranks(X, qid=qid)
    assert not hasattr(fitted, "temperature_")


def test_scores_that_know_the_level_need_no_second_model(shifted, fitted):
    X, y, qid = shifted
    rows = qid < 350
    labels = (y[rows] >= 1).astype(float)
    separable = br.LightGBMRanker("logistic", normalize="none", random_state=0, n_jobs=1)
    ranker = br.CalibratedRanker(separable, "relevance", cv=3).fit(X[rows], labels, qid[rows])
    level = ranker.calibrated_rankers_[0].calibration.level
    assert level.model is None
    assert level.slope > 0.0
    assert fitted.calibrated_rankers_[0].calibration.level.model is not None
    test = qid >= 350
    probabilities = ranker.predict_proba(X[test], qid=qid[test])[:, 0]
    auc = roc_auc_score(y[test] >= 1, probabilities)
    assert auc == pytest.approx(roc_auc_score(y[test] >= 1, ranker.predict(X[test])), abs=0.01)
    loaded = Relevance.from_dict(
        json.loads(json.dumps(ranker.calibrated_rankers_[0].calibration.as_dict()))
    )
    assert loaded.level.model is None
