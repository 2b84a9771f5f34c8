"""`make_scorer`: scorers give the values of the functions."""

import numpy as np
import pytest
from measure_definitions import FUNCTIONS

from boostrank import LightGBMRanker, cross_validate, ndcg_score
from boostrank.metrics import get_measure, make_scorer


class LastColumn:
    """An estimator that predicts what it was given."""

    def predict(self, X):
        return X[:, -1]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_scorers_are_the_functions(ragged, name):
    y, scores, qid = ragged
    settings = {"k": 2, "ties": "worst"}
    settings = {key: settings[key] for key in settings if hasattr(get_measure(name), key)}
    for chosen in ({}, {"empty": "one", **settings}):
        expected = FUNCTIONS[name](y, scores, qid, **chosen)
        assert make_scorer(name, **chosen)(LastColumn(), scores[:, None], y, qid=qid) == expected
        assert get_measure(name, **chosen)(y, scores, qid) == expected


def test_scorers_get_the_weights_that_they_request(ragged):
    y, scores, qid = ragged
    X, weights = scores[:, None], np.unique(qid, return_inverse=True)[1] + 1.0
    train, test = np.flatnonzero(qid % 2), np.flatnonzero(qid % 2 == 0)
    plain, weighted, named = (make_scorer("ndcg@5") for _ in range(3))
    weighted.set_score_request(sample_weight=True)
    assert named.set_score_request(sample_weight="traffic") is named
    found = cross_validate(
        LightGBMRanker(n_estimators=2, n_jobs=1, min_child_samples=1),
        X,
        y,
        qid,
        cv=[(train, test)],
        scoring={"plain": plain, "weighted": weighted},
        params={"sample_weight": weights},
        return_estimator=True,
    )
    held_out = y[test], found["estimator"][0].predict(X[test]), qid[test]
    assert found["test_plain"] == ndcg_score(*held_out, k=5)
    assert found["test_weighted"] == ndcg_score(*held_out, k=5, sample_weight=weights[test])
    assert found["test_plain"] != found["test_weighted"]
    assert named.get_metadata_routing().score.requests == {"qid": True, "sample_weight": "traffic"}
    named.set_score_request(qid="query")
    assert named.get_metadata_routing().score.requests == {"qid": "query"}
    assert repr(named) == "make_scorer('ndcg@5').set_score_request(qid='query')"
    with pytest.raises(ValueError, match="qid must be True, or the name"):
        named.set_score_request(qid=False)
