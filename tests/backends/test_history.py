"""The history of validation measures: the best round, early stopping, and the values by name."""

from types import SimpleNamespace

import numpy as np
import pytest

import boostrank as br
from boostrank.backends.history import History


class Recorded:
    """A measure whose values are given."""

    def __init__(self, values):
        self.values = iter(values)

    def __str__(self):
        return "ndcg@5"

    def mean(self, scores):
        return next(self.values)


def history(*values, patience=None):
    """A history of validation sets with these values; all rounds are recorded."""
    validation = [(None, Recorded(part)) for part in values]
    specification = SimpleNamespace(early_stopping_rounds=patience)
    result = History(SimpleNamespace(validation=validation, specification=specification))
    for i, part in enumerate(values):
        for value in part:
            assert result.record(i, np.zeros(1)) == ("ndcg@5", value)
    return result


@pytest.mark.parametrize(
    ("values", "best"), [([0.1, 0.4, 0.3, 0.4], 1), ([0.5, 0.5, 0.5], 0), ([0.1, 0.2, 0.3], 2), ([0.3], 0)]
)
def test_the_best_round_is_the_first_of_equally_good_rounds(values, best):
    assert history(values).best_round() == best


def test_the_last_validation_set_decides():
    recorded = history([0.9, 0.1], [0.1, 0.9])
    assert recorded.best_round() == 1
    assert recorded.as_dict() == {"valid_0": {"ndcg@5": [0.9, 0.1]}, "valid_1": {"ndcg@5": [0.1, 0.9]}}


@pytest.mark.parametrize(
    ("patience", "stops"), [(None, [False] * 4), (1, [False, False, True, True]), (2, [False, False, False, True])]
)
def test_training_stops_after_as_many_rounds_without_improvement(patience, stops):
    values = [0.1, 0.4, 0.4, 0.2]
    assert [history(values[: n + 1], patience=patience).should_stop() for n in range(4)] == stops


@pytest.mark.parametrize("ranker_class", [br.LightGBMRanker, br.XGBoostRanker])
def test_rankers_keep_the_first_of_equally_good_rounds(ranker_class, data):
    X, y, sizes = data
    qid = np.repeat(np.arange(len(sizes)), sizes)
    # Without a relevant document, NDCG is the same in every round.
    valid = [(X, np.zeros_like(y), qid)]
    ranker = ranker_class("softmax", n_estimators=20, early_stopping_rounds=3, n_jobs=1)
    ranker.fit(X, y, qid, eval_set=valid, eval_metric=br.get_measure("ndcg@5", empty="one"))
    assert ranker.evals_result_["valid_0"]["ndcg@5"] == [1.0] * 4
    assert ranker.best_iteration_ == 1
