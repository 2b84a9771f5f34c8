"""Without query ids every function of labels and scores raises an error, which says what to pass
for one query."""

import inspect

import numpy as np
import pytest
from cases import for_each
from measure_definitions import FOR_ARRAYS

import boostrank as br
from boostrank import displays, metrics
from boostrank.metrics import get_measure
from boostrank.preferences import PreferenceGraph

LABELS, SCORES = [2, 0, 1, 3], [0.4, 0.3, 0.2, 0.1]


def first_score(y_true, y_score, qid, *, per_query=False, sample_weight=None):
    """A measure of a user that does not check its query ids."""
    return y_score[0]


def qid_parameter(function):
    """The parameter `qid` of a function; None if it has no such parameter."""
    return inspect.signature(function).parameters.get("qid")


FUNCTIONS = {
    name: getattr(metrics, name)
    for name in metrics.__all__
    if inspect.isfunction(getattr(metrics, name))
}
CALLS = {
    **{name: function for name, function in FUNCTIONS.items() if qid_parameter(function)},
    **{f"measure-{name}": get_measure(name) for name in FOR_ARRAYS},
    "reconcile": br.reconcile,
    "measure-of-a-user": get_measure(first_score),
    "evaluate-a-measure-of-a-user": lambda y, s, qid: br.evaluate(y, s, qid, first_score),
    "evaluate-per-query-without-measures": lambda y, s, qid: br.evaluate(
        y, s, qid, [], per_query=True
    ),
    **{
        name: getattr(displays, name).from_predictions
        for name in displays.__all__
        if hasattr(getattr(displays, name), "from_predictions")
    },
}


@for_each("name", CALLS)
def test_missing_query_ids_are_an_error(name):
    with pytest.raises(
        ValueError, match=r"got no qid, .*Pass qid=.*If all rows belong to one query"
    ) as caught:
        CALLS[name](LABELS, SCORES, None)
    # scikit-learn passes no metadata to a function of labels and scores.
    assert "routing" not in str(caught.value)
    # The remedy of the message.
    assert "qid=numpy.zeros(len(y))" in str(caught.value)
    CALLS[name](LABELS, SCORES, np.zeros(len(LABELS)))


def test_preferences_know_their_queries():
    graph = PreferenceGraph(["a", "a", "b", "b"], winner=[0, 3], loser=[1, 2])
    assert br.evaluate(graph, SCORES, measures=["agreement", first_score]) == {
        "agreement": 0.5,
        "first_score": 0.4,
    }
