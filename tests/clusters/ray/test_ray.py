"""Training on a local Ray cluster gives the model of one process, and ends with an error where a
worker fails."""

import os
import signal
import sys

import numpy as np
import pandas as pd
import pytest
from cluster_samples import assert_close, make_data, small
from xgboost import collective

import boostrank as br
from boostrank.clusters.rows import colocate
from boostrank.inputs.table import Table
from boostrank.queries.queries import Queries
from boostrank.training.features import TrainingFeatures

ray = pytest.importorskip("ray", reason="Ray is not installed: pip install boostrank[ray]")
pytest.importorskip("ray.data")
pa = pytest.importorskip("pyarrow")

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", autouse=True)
def _cluster():
    ray.init(num_cpus=3, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    ray.data.DataContext.get_current().execution_options.preserve_order = True
    ray.data.DataContext.get_current().enable_progress_bars = False
    # Workers cannot import this module.
    ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])
    yield
    ray.shutdown()


@pytest.fixture(scope="module")
def frame():
    """Rows with all queries cut apart."""
    X, y, qid = make_data(100)
    weights = np.random.default_rng(0).uniform(0.5, 2.0, len(y))
    frame = pd.DataFrame(X).add_prefix("x").assign(label=y, query=qid, importance=weights)
    return frame.iloc[np.lexsort((qid, Queries.from_qid(qid).positions))].reset_index(drop=True)


def dataset_of(frame, n_blocks=3):
    cuts = np.array_split(np.arange(len(frame)), n_blocks)
    return ray.data.from_pandas([frame.iloc[rows].reset_index(drop=True) for rows in cuts])


def parts(frame, *names):
    return frame.filter(regex="^x"), *(frame[name].to_numpy() for name in names)


class Killed(br.surrogates.Power):
    """Kills its process after the first round, on the second worker."""

    def gradient_hessian(self, scores, targets, queries):
        if scores.any() and collective.get_rank() == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().gradient_hessian(scores, targets, queries)


def test_a_lost_worker_is_an_error_that_names_it_and_the_cluster_can_be_used_further(
    frame, monkeypatch
):
    monkeypatch.setattr("boostrank.clusters.ray.ERROR_SECONDS", 2.0)
    dataset = dataset_of(frame.drop(columns="importance"))
    with pytest.raises(RuntimeError, match="worker 1 was lost while it trained"):
        br.ray.train(small(br.XGBoostRanker, Killed()), dataset, qid="query")
    # The tests below use the same cluster.


def test_the_model_is_that_of_one_process(frame):
    training, other = frame[frame["query"] < 60], frame[frame["query"] >= 60]
    settings = {
        "early_stopping_rounds": 2,
        "learning_rate": 0.4,
        "k": 5,
        "n_estimators": 15,
        "min_child_weight": 5.0,
    }
    ranker = small(br.LightGBMRanker, **settings)
    validation = {"other": dataset_of(other, 2)}
    found = br.ray.train(
        ranker, dataset_of(training), qid="query", weight="importance", validation=validation
    )
    X, y, qid, weights = parts(training, "label", "query", "importance")
    sets = {"other": parts(other, "label", "query")}
    expected = small(br.LightGBMRanker, **settings).fit(
        X, y, qid, sample_weight=weights, eval_set=sets
    )
    assert type(found) is br.LightGBMRanker
    assert not hasattr(ranker, "booster_")
    assert found.best_iteration_ == expected.best_iteration_ < 15
    assert found.feature_names_in_.tolist() == list(X)
    np.testing.assert_allclose(
        *(one.evals_result_["other"]["ndcg@5"] for one in (found, expected)), atol=1e-9
    )
    assert_close(found.predict(X), expected.predict(X))
    assert len(np.unique(found.predict(X))) > 20


def test_rows_that_are_invalid_are_errors_that_name_the_data_set(frame):
    dataset = dataset_of(frame.assign(importance=-1.0))
    message = r"^dataset: partition \d: sample_weight must be finite, not negative"
    with pytest.raises(ValueError, match=message):
        br.ray.train(br.LightGBMRanker(n_estimators=1), dataset, qid="query", weight="importance")
    features = TrainingFeatures()
    features.learn(Table(frame.filter(regex="^x")))
    tables = map(pa.Table.from_pandas, [frame, frame.assign(x3=frame["x3"].astype("category"))])
    with pytest.raises(ValueError, match="the column 'x3' of X has categories, but had"):
        br.ray.load(features, ["label", "query", "importance"], *tables)


def test_a_worker_without_rows_gets_some_or_none(frame):
    features = TrainingFeatures()
    features.learn(Table(frame.filter(regex="^x")))
    columns = ["label", "query", "importance"]
    loaded = [br.ray.load(features, columns, pa.Table.from_pandas(frame))]
    nothing = br.ray.load(features, columns, pa.table({}))
    for rows, n_rows in (
        ([loaded[0], nothing], [len(frame), 0]),
        ([nothing, loaded[0]], [0, len(frame)]),
    ):
        data = colocate(rows, lambda i, function, *arguments: function(*arguments), list)
        assert [len(rows.qid) for rows in data.rows] == n_rows
        assert [len(queries) for queries in data.queries] == [100 * bool(n) for n in n_rows]


def test_arguments_that_are_wrong_are_errors_before_the_training(frame):
    dataset = dataset_of(frame)
    for arguments, error, message in [
        (
            {"dataset": frame},
            TypeError,
            r"^dataset must be a ray\.data\.Dataset, .*; got .*DataFrame",
        ),
        (
            {"validation": [dataset]},
            TypeError,
            r"validation set 'valid_0' must be a ray\.data\.Dataset",
        ),
        (
            {"ranker": br.LightGBMRanker(early_stopping_rounds=3)},
            ValueError,
            "queries: give validation or",
        ),
        (
            {"dataset": ray.data.from_items([])},
            ValueError,
            "X must be a DataFrame with columns that are features",
        ),
        (
            {"qid": "qid"},
            ValueError,
            "the name of a column of dataset must be one of .*; got 'qid'",
        ),
        (
            {"validation": dataset.drop_columns(["x1"])},
            ValueError,
            r"set 'valid_0' must be one of .*; got 'x1'",
        ),
        ({"num_workers": 0}, ValueError, "num_workers must be an integer of at least 1"),
    ]:
        with pytest.raises(error, match=message):
            br.ray.train(
                **{"ranker": br.LightGBMRanker(), "dataset": dataset, "qid": "query", **arguments}
            )
