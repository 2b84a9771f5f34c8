"""What each worker of a training does; without an engine, the workers of these tests are threads."""

import numpy as np
import pytest

import boostrank as br
from boostrank.distributed.collective import Endpoint
from boostrank.distributed.training import ClusterSpecification, prepare
from boostrank.rankers.settings import FitOptions

# The data of one worker


def prepared(part, ranker=None, validation=(), chosen=None, eval_metric=None):
    """The training of a worker that has one partition."""
    ranker = br.LightGBMRanker("softmax") if ranker is None else ranker
    specification = ranker._settings().specification(np.random.RandomState(0), FitOptions(eval_metric))
    names = tuple(f"valid_{i}" for i in range(len(validation)))
    cluster = ClusterSpecification(ranker._backend, specification, Endpoint, names)
    chosen = np.ones(len(np.unique(part[2])), dtype=bool) if chosen is None else chosen
    return prepare(cluster, [(part, chosen)], list(validation))


PART = [np.arange(10.0).reshape(5, 2), np.array([0, 1, 2, 3, 0]), np.array([7, 5, 7, 5, 6])]


def test_a_worker_groups_the_chosen_queries():
    data, objective, validation = prepared(PART, chosen=np.array([True, False, True]))
    assert data.queries.ids.tolist() == [7, 6]
    assert data.labels.values.tolist() == [0, 2, 0]
    assert data.X.tolist() == [[0, 1], [4, 5], [8, 9]]
    assert objective.queries is data.queries
    assert validation == []


def test_weights_are_of_rows():
    part, chosen = [*PART, np.array([1, 2, 1, 2, 3])], np.array([True, False, True])
    assert prepared(part).data.weights.tolist() == [1, 1, 2, 2, 3]
    assert prepared(part, chosen=chosen).data.weights.tolist() == [1, 1, 3]


@pytest.mark.parametrize("objective", ["softmax", "edge-logistic"])
def test_a_worker_whose_weights_are_all_zero_has_no_gradient(objective):
    worker = prepared([*PART, np.zeros(5)], br.LightGBMRanker(objective))
    gradient, hessian = worker.objective.gradient_hessian(np.arange(5.0))
    assert not gradient.any()
    assert not hessian.any()


@pytest.mark.parametrize("eval_metric", [None, "auc", br.get_measure("ndcg@3", empty="raise")], ids=str)
def test_a_worker_without_validation_data_has_a_row_that_does_not_count(eval_metric):
    _, _, [absent, present] = prepared(
        PART, validation=[[], [[PART, np.array([True, False, False])]]], eval_metric=eval_metric
    )
    (without,), (measure,) = absent.metrics, present.metrics
    assert absent.data.X.tolist() == [[0, 1]]
    assert len(without.per_query(np.zeros(1))) == 0
    assert str(without) == str(measure) == str(eval_metric or "ndcg")
    assert present.data.labels.values.tolist() == [0, 2]
    assert measure.mean(np.array([0.0, 1.0])) == 1.0


def test_labels_that_a_native_objective_does_not_take_are_an_error_before_the_training():
    X, y, qid = PART
    assert prepared(PART, br.LightGBMRanker("lambdarank")).objective is None
    with pytest.raises(ValueError, match="lambdarank takes"):
        prepared([X, y + 0.5, qid], br.LightGBMRanker("lambdarank"))


@pytest.mark.parametrize("objective", ["cosine", "edge-logistic", "lambdarank"])
def test_weights_that_differ_within_a_query_are_errors(objective):
    with pytest.raises(ValueError, match="sample_weight differs within query"):
        prepared([*PART, np.arange(1.0, 6.0)], br.LightGBMRanker(objective))


def test_weights_by_whose_mean_xgboost_cannot_divide_are_an_error():
    weighted = [*PART, np.zeros(5)]
    with pytest.raises(
        ValueError, match="sample_weight is zero for all queries of one worker, and XGBoost's rank:ndcg"
    ):
        prepared(weighted, br.XGBoostRanker("rank:ndcg"))
    assert prepared(weighted, br.LightGBMRanker("lambdarank")).objective is None
