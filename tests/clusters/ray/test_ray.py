"""Training on a local Ray cluster gives the model of one process, and ends with an error where a worker fails."""

import os
import signal
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from loss_defaults import PLAIN
from xgboost import collective

import boostrank as br
from boostrank.clusters import rows
from boostrank.queries.queries import Queries
from boostrank.training.features import TrainingFeatures

ray = pytest.importorskip("ray", reason="Ray is not installed: pip install boostrank[ray]")
pytest.importorskip("ray.data")
from ray import cloudpickle  # noqa: E402

from boostrank.clusters.ray import train  # noqa: E402
from boostrank.clusters.ray.training import RayWorker  # noqa: E402

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", autouse=True)
def _cluster():
    ray.init(num_cpus=3, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    ray.data.DataContext.get_current().execution_options.preserve_order = True
    ray.data.DataContext.get_current().enable_progress_bars = False
    # Workers cannot import this module.
    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    yield
    ray.shutdown()


@pytest.fixture(scope="module")
def frame():
    """Rows with all queries cut apart; few values for each feature, so that bins do not depend on the worker."""
    X, y, qid = br.make_ranking(n_queries=100, random_state=3)
    weights = np.random.default_rng(0).uniform(0.5, 2.0, len(y))
    frame = pd.DataFrame(np.clip(np.round(2 * X) / 2, -2, 2)).add_prefix("x")
    frame = frame.assign(label=y, query=qid, importance=weights)
    return frame.iloc[np.lexsort((qid, Queries.from_qid(qid).positions))].reset_index(drop=True)


def dataset_of(frame, n_blocks=3):
    cuts = np.array_split(np.arange(len(frame)), n_blocks)
    return ray.data.from_pandas([frame.iloc[rows].reset_index(drop=True) for rows in cuts])


def make(ranker_class, objective="softmax", **parameters):
    exact = {"min_child_samples": 1, "min_child_weight": 5.0, "min_data_in_bin": 1, "reg_lambda": 0.0}
    settings = {"n_estimators": 8, "random_state": 0, "n_jobs": 1, **PLAIN, **parameters}
    return ranker_class(objective, **settings, **(exact if ranker_class is br.LightGBMRanker else {}))


def parts(frame, *names):
    features = frame.filter(regex="^x")
    return features, *(frame[name].to_numpy() for name in names)


class Killed(br.surrogates.Power):
    """Kills its process after the first round, on the second worker."""

    def gradient_hessian(self, scores, targets, queries):
        if scores.any() and collective.get_rank() == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().gradient_hessian(scores, targets, queries)


def test_a_lost_worker_is_an_error_that_names_it_and_the_cluster_can_be_used_further(frame, monkeypatch):
    monkeypatch.setattr("boostrank.clusters.ray.training.ERROR_SECONDS", 2.0)
    dataset = dataset_of(frame.drop(columns="importance"))
    with pytest.raises(RuntimeError, match="worker 1 was lost while it trained"):
        train(make(br.XGBoostRanker, Killed()), dataset, qid="query")
    # The tests below use the same cluster.


def test_the_model_is_that_of_one_process(frame):
    training, other = frame[frame["query"] < 60], frame[frame["query"] >= 60]
    settings = {"early_stopping_rounds": 2, "learning_rate": 0.4, "k": 5, "n_estimators": 15}
    ranker = make(br.LightGBMRanker, **settings)
    validation = {"first": dataset_of(training[:200], 1), "other": dataset_of(other, 2)}
    found = train(ranker, dataset_of(training), qid="query", weight="importance", validation=validation)
    X, y, qid, weights = parts(training, "label", "query", "importance")
    first = parts(training[:200], "label", "query")
    sets = {"first": first, "other": parts(other, "label", "query")}
    expected = make(br.LightGBMRanker, **settings).fit(X, y, qid, sample_weight=weights, eval_set=sets)
    assert type(found) is br.LightGBMRanker
    assert not hasattr(ranker, "booster_")
    assert found.best_iteration_ == expected.best_iteration_ < 15
    assert found.feature_names_in_.tolist() == list(X)
    for name, history in expected.evals_result_.items():
        np.testing.assert_allclose(found.evals_result_[name]["ndcg@5"], history["ndcg@5"], atol=1e-9)
    np.testing.assert_allclose(found.predict(X), expected.predict(X), rtol=1e-5, atol=1e-6)
    assert len(np.unique(found.predict(X))) > 20
    # The line of the documentation.
    scores = dataset_of(training, 1).map_batches(
        lambda rows: {"score": found.predict(rows[found.feature_names_in_])}, batch_format="pandas"
    )
    np.testing.assert_array_equal(scores.to_pandas()["score"], found.predict(X))


def test_the_queries_held_out_are_those_of_one_process(frame):
    settings = {"n_estimators": 30, "early_stopping_rounds": 3, "validation_fraction": 0.3, "learning_rate": 0.5}
    ranker = make(br.XGBoostRanker, refit=True, **settings)
    X, y, qid = parts(frame, "label", "query")
    found = train(ranker, dataset_of(frame.drop(columns="importance"), 1), qid="query")
    expected = ranker.fit(X, y, qid)
    assert found.best_iteration_ == expected.best_iteration_ < 27
    (history,), (wanted,) = (list(one.evals_result_["valid_0"].values()) for one in (found, expected))
    np.testing.assert_allclose(history, wanted, atol=1e-9)
    np.testing.assert_allclose(found.predict(X), expected.predict(X), rtol=1e-4, atol=1e-5)


def test_rows_that_are_invalid_are_errors_that_name_the_data_set(frame):
    features = TrainingFeatures()
    features.learn(frame.filter(regex="^x"))
    texts = frame.assign(query=frame["query"].astype(str))
    cases = [
        ([frame, texts], "data: qid has the type int64.*, but here it has ids such as '"),
        ([frame, frame.assign(label=-1.0)], "data: partition 1: relevance"),
        ([frame.assign(x3=frame["x3"].astype("category"))], "data: the column 'x3' of X has categories, but had"),
        ([frame.assign(importance=-1.0)], "data: partition 1: sample_weight must be finite, not negative"),
    ]
    common = ("data", features, ["label", "query", "importance"], pd.ArrowDtype(pa.int64()))
    for frames, message in cases:
        with pytest.raises(ValueError, match=message):
            RayWorker(1).load(*common, *map(pa.Table.from_pandas, frames))
    # A part without rows may get some, or none.
    for pieces in ([rows.as_rows([frame[["x0"]], frame["label"], frame["query"]]), None], [None, None]):
        worker = RayWorker(1)
        assert len(worker.load(*common, pa.table({})).sizes) == 0
        assert worker.split("data", np.empty(0, dtype=np.int64), 2) == [None, None]
        worker.receive("data", *pieces)
        assert worker._rows["data"] is None or len(worker._rows["data"].qid) == len(frame)


def test_arguments_that_are_wrong_are_errors_before_workers_start(frame):
    dataset = dataset_of(frame)
    with pytest.raises(TypeError, match="ranker must be a LightGBMRanker or XGBoostRanker of boostrank; got str"):
        train("softmax", dataset)
    with pytest.raises(ValueError, match="n_estimators='auto' is not possible on a cluster"):
        train(br.LightGBMRanker(n_estimators="auto"), dataset)
    with pytest.raises(TypeError, match=r"^dataset must be a ray\.data\.Dataset, .*; got .*DataFrame"):
        train(br.LightGBMRanker(), frame)
    with pytest.raises(TypeError, match=r"validation set 'valid_0' must be a ray\.data\.Dataset"):
        train(br.LightGBMRanker(), dataset, validation=[dataset])
    with pytest.raises(ValueError, match="needs validation queries: give validation or validation_fraction"):
        train(br.LightGBMRanker(early_stopping_rounds=3), dataset)
    with pytest.raises(ValueError, match="dataset has no rows"):
        train(br.LightGBMRanker(), dataset.limit(0), qid="query")
    with pytest.raises(ValueError, match="X must have columns that are features"):
        train(br.LightGBMRanker(), ray.data.from_items([]))
    with pytest.raises(ValueError, match="dataset has no column 'qid'; its columns are"):
        train(br.LightGBMRanker(), dataset)
    with pytest.raises(ValueError, match=r"validation set 'valid_0' has no column 'x1'"):
        train(br.LightGBMRanker(), dataset, qid="query", validation=dataset.drop_columns(["x1"]))
    with pytest.raises(ValueError, match="num_workers must be an integer of at least 1"):
        train(br.LightGBMRanker(), dataset, num_workers=0)
