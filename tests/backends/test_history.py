"""The history of validation measures: the best round, early stopping, and the values by name."""

from types import SimpleNamespace

import numpy as np
import pytest

import boostrank as br
from boostrank.backends.history import History


class Recorded:
    """A metric whose values are given."""

    def __init__(self, values, name="ndcg@5", is_higher_better=True):
        self.values, self.name, self.is_higher_better = iter(values), name, is_higher_better

    def evaluate(self, scores):
        return [(self.name, next(self.values), self.is_higher_better)]


def history(*sets, patience=None, metric=None):
    """A history of validation sets with these metrics, or these values of one metric; all rounds are recorded."""
    validation = []
    for i, part in enumerate(sets):
        metrics = part if isinstance(part[0], Recorded) else [Recorded(part)]
        validation.append(SimpleNamespace(name=f"valid_{i}", is_training=part is TRAINING, metrics=metrics))
    specification = SimpleNamespace(early_stopping_rounds=patience, early_stopping_metric=metric)
    result = History(SimpleNamespace(validation=validation, specification=specification))
    for i, part in enumerate(sets):
        for value in part if not isinstance(part[0], Recorded) else range(N_ROUNDS):
            recorded = result.record(i, np.zeros(1))
            if not isinstance(part[0], Recorded):
                assert recorded == [("ndcg@5", value, True)]
    return result


#: Number of rounds of metrics that are given as such.
N_ROUNDS = 3
TRAINING = [0.9, 0.8]


@pytest.mark.parametrize(
    ("values", "best"), [([0.1, 0.4, 0.3, 0.4], 1), ([0.5, 0.5, 0.5], 0), ([0.1, 0.2, 0.3], 2), ([0.3], 0)]
)
def test_the_best_round_is_the_first_of_equally_good_rounds(values, best):
    assert history(values).best_round() == best


def test_the_last_validation_set_decides():
    recorded = history([0.9, 0.1], [0.1, 0.9])
    assert recorded.best_round() == 1
    assert recorded.last() == ("ndcg@5", 0.9)
    assert recorded.as_dict() == {"valid_0": {"ndcg@5": [0.9, 0.1]}, "valid_1": {"ndcg@5": [0.1, 0.9]}}


def test_the_training_data_do_not_decide():
    assert history([0.1, 0.9], TRAINING).best_round() == 1
    assert history(TRAINING).best_round() == 0


@pytest.mark.parametrize(("metric", "best"), [(None, 0), ("map", 2), ("loss", 1)])
def test_one_metric_decides_the_first_unless_another_is_named(metric, best):
    metrics = [Recorded([0.5, 0.4, 0.3]), Recorded([0.1, 0.2, 0.3], "map"), Recorded([0.3, 0.1, 0.2], "loss", False)]
    recorded = history(metrics, metric=metric)
    assert recorded.best_round() == best
    assert recorded.as_dict()["valid_0"]["loss"] == [0.3, 0.1, 0.2]


def test_an_unknown_metric_cannot_decide():
    with pytest.raises(ValueError, match=r"early_stopping_metric must be one of ndcg@5, the metrics.*'map'"):
        history([0.5], metric="map")


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
