"""`make_scorer`: scorers give the values of the functions."""

import inspect

import pytest
from measure_definitions import FUNCTIONS

from boostrank.metrics import get_measure, make_scorer


class LastColumn:
    """An estimator that predicts what it was given."""

    def predict(self, X):
        return X[:, -1]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_scorers_are_the_functions(ragged, name):
    y, scores, qid = ragged
    settings = {"k": 2, "ties": "worst"}
    settings = {key: settings[key] for key in settings if key in inspect.signature(FUNCTIONS[name]).parameters}
    for chosen in ({}, {"empty": "one", **settings}):
        expected = FUNCTIONS[name](y, scores, qid, **chosen)
        assert make_scorer(name, **chosen)(LastColumn(), scores[:, None], y, qid=qid) == expected
        assert get_measure(name, **chosen)(y, scores, qid) == expected
