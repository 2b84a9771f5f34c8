"""What each worker of a training does; without an engine, the workers of these tests are threads."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import pytest
from loss_defaults import PLAIN

import boostrank as br
from boostrank.clusters.collective import Endpoint, StoppedError
from boostrank.clusters.fitting import checked_settings, fit_local, specify
from boostrank.clusters.training import ClusterSpecification, Worker, train_together
from boostrank.training.features import TrainingFeatures

# The data of one worker


def prepared(part, ranker=None, validation=(), chosen=None, eval_metric=None):
    """The training of a worker that has one partition."""
    ranker = br.LightGBMRanker("softmax") if ranker is None else ranker
    specification = ranker._settings().specification(np.random.RandomState(0), eval_metric=eval_metric)
    names = tuple(f"valid_{i}" for i in range(len(validation)))
    cluster = ClusterSpecification(ranker._backend, specification, Endpoint, names)
    chosen = np.ones(len(np.unique(part[2])), dtype=bool) if chosen is None else chosen
    return Worker(cluster, [(part, chosen)], list(validation), 0, 1, "127.0.0.1")


PART = [np.arange(10.0).reshape(5, 2), np.array([0, 1, 2, 3, 0]), np.array([7, 5, 7, 5, 6])]


def test_a_worker_groups_the_chosen_queries():
    worker = prepared(PART, chosen=np.array([True, False, True]))
    data, objective = worker.data, worker.objective
    assert data.queries.ids.tolist() == [7, 6]
    assert data.labels.values.tolist() == [0, 2, 0]
    assert data.X.tolist() == [[0, 1], [4, 5], [8, 9]]
    assert objective.queries is data.queries
    assert worker.validation == []


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
    sets = [[], [[PART, np.array([True, False, False])]]]
    absent, present = prepared(PART, validation=sets, eval_metric=eval_metric).validation
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


# Workers that coordinate themselves


def train_in_threads(ranker, parts, validation=None):
    """The ranker, trained by one thread for each part; `validation` is the part of each worker, or None."""
    texts, barrier = [""] * len(parts), Barrier(len(parts), timeout=60)

    def choose_all(part):
        return [] if part is None else [(part, np.ones(len(np.unique(part[2])), dtype=bool))]

    def train(cluster, on_all):
        def work(rank):
            def exchange(text):
                texts[rank] = text
                barrier.wait()
                return list(texts)

            sets = [] if validation is None or on_all else [choose_all(validation[rank])]
            place = {"rank": rank, "n_workers": len(parts), "host": "127.0.0.1", "n_threads": 1}
            return train_together(cluster, lambda: [choose_all(parts[rank]), *sets], exchange, **place)

        with ThreadPoolExecutor(len(parts)) as pool:
            futures = [pool.submit(work, rank) for rank in range(len(parts))]
            failures = [future.exception() for future in futures]
        if any(failures):
            raise ExceptionGroup("workers", [failure for failure in failures if failure])
        trained, *others = [future.result() for future in futures]
        assert others == [None] * len(others)
        return trained

    settings, features = checked_settings(ranker, [()] if validation else None), TrainingFeatures()
    features.learn(parts[0][0])
    cluster = specify(settings, features, settings.random_state())
    fit_local(ranker, cluster, features, train, refit=settings.values["refit"])
    return ranker


@pytest.fixture(scope="module")
def halves():
    """Few values for each feature, so that bins do not depend on the worker; two parts of whole queries, and all."""
    X, y, qid = br.make_ranking(n_queries=80, random_state=3)
    data = np.clip(np.round(2 * X) / 2, -2, 2), y, qid
    return [[column[rows] for column in data] for rows in (qid < 30, qid >= 30)], data


def make(ranker_class, objective="softmax", **parameters):
    exact = {"min_child_samples": 1, "min_child_weight": 5.0, "min_data_in_bin": 1, "reg_lambda": 0.0}
    settings = {"n_estimators": 6, "random_state": 0, "n_jobs": 1, **PLAIN, **parameters}
    return ranker_class(objective, **settings, **(exact if ranker_class is br.LightGBMRanker else {}))


@pytest.mark.parametrize("ranker_class", [br.LightGBMRanker, br.XGBoostRanker])
def test_workers_that_coordinate_themselves_train_the_model_of_one_process(ranker_class, halves):
    parts, data = halves
    settings = {"early_stopping_rounds": 3, "k": 5}
    # Only one of the workers has validation data.
    found = train_in_threads(make(ranker_class, **settings), parts, [None, parts[0]])
    expected = make(ranker_class, **settings).fit(*data, eval_set=[parts[0]])
    np.testing.assert_allclose(found.predict(data[0]), expected.predict(data[0]), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(*(one.evals_result_["valid_0"]["ndcg@5"] for one in (found, expected)), atol=1e-9)
    assert len(np.unique(found.predict(data[0]))) > 20
    # One worker alone needs no network.
    alone = train_in_threads(make(ranker_class), [data])
    np.testing.assert_allclose(alone.predict(data[0]), make(ranker_class).fit(*data).predict(data[0]), rtol=1e-5)


def test_an_error_in_the_data_of_one_worker_is_raised_on_all(halves):
    first, (X, y, qid) = halves[0]
    ranker = make(br.XGBoostRanker)
    with pytest.raises(ExceptionGroup) as caught:
        train_in_threads(ranker, [first, (X, -y, qid)])
    assert [type(error) for error in caught.value.exceptions] == [ValueError] * 2
    assert all(str(error).startswith("worker 1: relevance") for error in caught.value.exceptions)
    assert not hasattr(ranker, "booster_")


def test_a_worker_without_queries_is_an_error_on_all(halves):
    with pytest.raises(ExceptionGroup) as caught:
        train_in_threads(make(br.XGBoostRanker), [halves[1], None])
    assert {str(error)[:51] for error in caught.value.exceptions} == {
        "worker 1: there are no queries to train on here: us"
    }


class Failing(br.surrogates.Power):
    """Fails after the first round, on the worker with 50 queries."""

    def gradient_hessian(self, scores, targets, queries):
        if scores.any() and queries.n_segments == 50:
            raise ZeroDivisionError("a fault")
        return super().gradient_hessian(scores, targets, queries)


@pytest.mark.parametrize("ranker_class", [br.LightGBMRanker, br.XGBoostRanker])
def test_an_error_in_the_training_of_one_worker_ends_all_and_is_named(ranker_class, halves):
    with pytest.raises(ExceptionGroup) as caught:
        train_in_threads(make(ranker_class, Failing()), halves[0])
    consequence, cause = caught.value.exceptions
    assert str(cause) == "a fault"
    assert isinstance(consequence, StoppedError)
    assert str(consequence) == "worker 1 stopped with ZeroDivisionError: a fault"
