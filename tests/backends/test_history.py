"""The history of validation measures: the best round, early stopping, and the values by name."""

from types import SimpleNamespace

import numpy as np
import pytest

from boostrank.backends.progress import History


class KnownMetric:
    """A metric whose values in each round are given."""

    def __init__(self, values, name="ndcg@5", is_higher_better=True):
        self.rounds = [(name, value, is_higher_better) for value in values]
        self.remaining = iter(self.rounds)

    def results(self, scores):
        return [next(self.remaining)]


def record(sets, patience=None, metric=None, training=None):
    """Record all rounds of validation sets, a list of metrics for each; set number `training` is the training data."""
    validation = [
        SimpleNamespace(name=f"valid_{i}", is_training=i == training, metrics=metrics) for i, metrics in enumerate(sets)
    ]
    specification = SimpleNamespace(early_stopping_rounds=patience, early_stopping_metric=metric)
    history = History(validation, specification)
    for _ in sets[0][0].rounds:
        for i in range(len(sets)):
            history.record(i, np.zeros(1))
    return history


def ndcg(*values):
    """The metrics of a validation set that has only NDCG@5."""
    return [KnownMetric(values)]


@pytest.mark.parametrize(
    ("values", "best"), [([0.1, 0.4, 0.3, 0.4], 1), ([0.5, 0.5, 0.5], 0), ([0.1, 0.2, 0.3], 2), ([0.3], 0)]
)
def test_the_best_round_is_the_first_of_equally_good_rounds(values, best):
    assert record([ndcg(*values)]).best_round() == best


def test_the_last_validation_set_decides():
    history = record([ndcg(0.9, 0.1), ndcg(0.1, 0.9)])
    assert history.best_round() == 1
    assert history.last_value() == "ndcg@5 0.9000"
    assert history.as_dict() == {"valid_0": {"ndcg@5": [0.9, 0.1]}, "valid_1": {"ndcg@5": [0.1, 0.9]}}
    # The training data decide only if there is no other set.
    assert record([ndcg(0.1, 0.9), ndcg(0.9, 0.8)], training=1).best_round() == 1
    assert record([ndcg(0.9, 0.8)], training=0).best_round() == 0


@pytest.mark.parametrize(("metric", "best"), [(None, 0), ("map", 2), ("loss", 1)])
def test_the_named_metric_decides_or_else_the_first(metric, best):
    loss = KnownMetric([0.3, 0.1, 0.2], "loss", is_higher_better=False)
    history = record([[*ndcg(0.5, 0.4, 0.3), KnownMetric([0.1, 0.2, 0.3], "map"), loss]], metric=metric)
    assert history.best_round() == best
    assert history.as_dict() == {
        "valid_0": {"ndcg@5": [0.5, 0.4, 0.3], "map": [0.1, 0.2, 0.3], "loss": [0.3, 0.1, 0.2]}
    }


@pytest.mark.parametrize(
    ("patience", "stops"), [(None, [False] * 4), (1, [False, False, True, True]), (2, [False, False, False, True])]
)
def test_training_stops_after_that_many_rounds_without_improvement(patience, stops):
    values = [0.1, 0.4, 0.4, 0.2]
    assert [record([ndcg(*values[: n + 1])], patience=patience).should_stop() for n in range(4)] == stops
