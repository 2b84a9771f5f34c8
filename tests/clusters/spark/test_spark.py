"""Training on Spark in this machine gives the model of one process, in a Pipeline and a
CrossValidator too."""

import gc
import os
import shutil
import signal
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from cluster_samples import assert_close, make_data, small

import boostrank as br

pytest.importorskip("pyspark", reason="PySpark is not installed: pip install boostrank[spark]")
from pyspark import BarrierTaskContext, cloudpickle
from pyspark.errors import PythonException
from pyspark.ml import Pipeline, PipelineModel
from pyspark.ml.feature import VectorAssembler
from pyspark.ml.tuning import CrossValidator, ParamGridBuilder
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

from boostrank.clusters.spark.fit import _own_address

# CrossValidator does not close its pool of threads.
IGNORED = [
    "ignore:PySpark does not yet fully",
    "ignore::ResourceWarning",
    "ignore::pytest.PytestUnraisableExceptionWarning",
]
pytestmark = [pytest.mark.slow, *map(pytest.mark.filterwarnings, IGNORED)]
NAMES = [f"x{i}" for i in range(10)]


@pytest.fixture(scope="module", autouse=True)
def spark():
    with pytest.MonkeyPatch.context() as patch:
        if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
            pytest.skip("there is no Java, which Spark needs")
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        # The virtual machine lives for a minute: its second compiler does not pay.
        patch.setenv("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
        settings = {
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.driver.host": "127.0.0.1",
            "spark.sql.shuffle.partitions": "2",
            "spark.log.level": "OFF",
            # Workers get several batches.
            "spark.sql.execution.arrow.maxRecordsPerBatch": "500",
            "spark.python.daemon.module": "warm_daemon",
            "spark.executorEnv.PYTHONPATH": str(Path(__file__).parent),
        }
        session = SparkSession.builder.master("local[2]").config(map=settings).getOrCreate()
        # Workers cannot import this module.
        cloudpickle.register_pickle_by_value(sys.modules[__name__])
        yield session
        session.stop()
        # The pool of CrossValidator, which is no error here.
        gc.collect()


@pytest.fixture(scope="module")
def frame():
    X, y, qid = make_data(100)
    frame = pd.DataFrame(X, columns=NAMES).assign(
        label=y, qid=qid, held_out=qid >= 70, fold=qid % 2
    )
    return frame.assign(weight=np.random.default_rng(0).uniform(0.5, 2.0, len(y))).sample(
        frac=1, random_state=0
    )


@pytest.fixture(scope="module")
def rows(spark, frame):
    """The same rows on Spark, with the features as an array and as single columns."""
    rows = (
        spark.createDataFrame(frame).withColumn("features", F.array(*NAMES)).repartition(3).cache()
    )
    rows.count()
    return rows


class Failing(br.surrogates.Power):
    """Fails after the first round on the second worker: kills its process, or raises an error."""

    def __init__(self, kills):
        super().__init__()
        self.kills = kills

    def gradient_hessian(self, scores, targets, queries):
        if scores.any() and BarrierTaskContext.get().partitionId() == 1:
            if self.kills:
                os.kill(os.getpid(), signal.SIGKILL)
            raise ValueError("no gradient")
        return super().gradient_hessian(scores, targets, queries)


def test_lost_workers_and_errors_in_gradients_are_errors_and_the_session_can_be_used_further(rows):
    # Without an end by Spark, LightGBM on the other worker would wait forever.
    with pytest.raises(RuntimeError, match=r"worker 1 was lost while it trained \(often memory\)"):
        small(br.spark.LightGBMRanker, Failing(True), num_workers=2).fit(rows)
    with pytest.raises(ValueError, match="no gradient"):
        small(br.spark.XGBoostRanker, Failing(False), num_workers=2).fit(rows)
    # The tests below use the same session.


class NeedsFiles(br.surrogates.Power):
    """An error after the first round where there are no files such as these."""

    def __init__(self, folder, pattern):
        super().__init__()
        self.folder, self.pattern = folder, pattern

    def gradient_hessian(self, scores, targets, queries):
        if scores.any() and not list(Path(self.folder).glob(self.pattern)):
            raise ValueError("there are no files")
        return super().gradient_hessian(scores, targets, queries)


@pytest.mark.parametrize(
    ("library", "features", "files"),
    [("LightGBM", NAMES, "*/2.npy"), ("XGBoost", "features", "*/*/bins*")],
)
def test_the_model_is_that_of_one_process_with_features_in_files_too(
    rows, frame, library, features, files, tmp_path
):
    settings = {
        "early_stopping_rounds": 2,
        "learning_rate": 0.4,
        "k": 5,
        "n_estimators": 15,
        "min_child_weight": 5.0,
    }
    columns = {
        "features_col": features,
        "weight_col": "weight",
        "validation_indicator_col": "held_out",
    }
    loss, name = NeedsFiles(str(tmp_path), files), f"{library}Ranker"
    model = small(
        getattr(br.spark, name), loss, **settings, **columns, num_workers=2, cache=str(tmp_path)
    ).fit(rows)
    assert not list(tmp_path.iterdir())
    X = frame[NAMES] if features is NAMES else frame[NAMES].to_numpy()
    left, out = ~frame["held_out"].to_numpy(), frame["held_out"].to_numpy()
    expected = small(getattr(br, name), br.surrogates.Power(), **settings).fit(
        X[left],
        frame["label"][left],
        frame["qid"][left],
        sample_weight=frame["weight"][left],
        eval_set=[(X[out], frame["label"][out], frame["qid"][out])],
    )
    assert type(model.ranker) is type(expected)
    assert model.ranker.best_iteration_ == expected.best_iteration_ < 15
    history, wanted = (one.evals_result_["valid_0"]["ndcg@5"] for one in (model.ranker, expected))
    np.testing.assert_allclose(history, wanted, atol=1e-9)
    assert_close(model.ranker.predict(X), expected.predict(X))
    scored = model.transform(rows).toPandas()
    X = scored[NAMES] if features is NAMES else scored[NAMES].to_numpy()
    np.testing.assert_array_equal(scored["prediction"], model.ranker.predict(X))
    assert scored["prediction"].nunique() > 10


def test_a_worker_without_queries_takes_no_part(rows, frame):
    # A null within the features is a missing value, also in the first row.
    rows = rows.withColumn("features", F.concat("features", F.array(F.lit(None))))
    model = small(br.spark.XGBoostRanker, num_workers=2).fit(rows.filter("qid = 7"))
    X, is_query = frame[NAMES].assign(missing=np.nan).to_numpy(), frame["qid"].to_numpy() == 7
    expected = small(br.XGBoostRanker).fit(
        X[is_query], frame["label"][is_query], frame["qid"][is_query]
    )
    assert_close(model.ranker.predict(X), expected.predict(X))


def test_the_queries_held_out_do_not_depend_on_the_number_of_workers(rows):
    settings = {
        "n_estimators": 30,
        "early_stopping_rounds": 3,
        "learning_rate": 0.5,
        "validation_fraction": 0.3,
    }
    alone, together = (
        small(br.spark.XGBoostRanker, num_workers=n, **settings).fit(rows).ranker for n in (1, 2)
    )
    assert alone.best_iteration_ == together.best_iteration_ < 27
    (history,), (other,) = (
        list(ranker.evals_result_["valid_0"].values()) for ranker in (alone, together)
    )
    np.testing.assert_allclose(history, other, atol=1e-9)


def test_the_documents_to_train_on_choose_the_learning_rate(rows, frame, monkeypatch):
    monkeypatch.setattr("boostrank.training.defaults.LARGE_DOCUMENTS", 1.5 * len(frame))
    counted = {
        "validation_indicator_col": ("held_out", (~frame["held_out"]).sum()),
        "validation_fraction": (0.3, len(frame)),
    }
    for name, (value, n_documents) in counted.items():
        settings = {"n_estimators": 1, "learning_rate": None, name: value}
        ranker = small(br.spark.XGBoostRanker, num_workers=1, **settings).fit(rows).ranker
        assert ranker.learning_rate_ == pytest.approx(0.16 * n_documents / (1.5 * len(frame)))


def test_rows_that_are_invalid_are_errors(rows, frame):
    first = F.col("qid") == 3
    ragged = rows.withColumn("features", F.when(first, F.array("x0")).otherwise(F.col("features")))
    cases = [
        (
            rows.withColumn("label", F.when(~first, F.col("label"))),
            r"worker \d: relevance.* is not finite",
        ),
        (
            rows.withColumn("held_out", F.lit(None).cast("boolean")),
            "there are no queries to validate on",
        ),
        (
            rows.withColumn("held_out", F.col("x1") > 0),
            "must have one value for all rows of a query",
        ),
        (ragged, r"worker \d: each row of features_col must have 10 numbers .* and not be null"),
    ]
    columns = {"weight_col": "weight", "validation_indicator_col": "held_out"}
    for data, message in cases:
        with pytest.raises(ValueError, match=message):
            small(br.spark.XGBoostRanker, num_workers=2, **columns).fit(data)
    model = br.spark.XGBoostRankerModel()
    model._keep(small(br.XGBoostRanker).fit(frame[NAMES].to_numpy(), frame["label"], frame["qid"]))
    null = rows.filter(first).coalesce(1).withColumn("features", F.lit(None).cast("array<double>"))
    with pytest.raises(PythonException, match="each row of features_col must have 10 numbers"):
        model.transform(null).collect()


def test_arguments_that_are_wrong_are_errors_before_workers_start(rows):
    for parameters, kind, message in [
        (
            {"qid_col": "weight"},
            TypeError,
            "the column 'weight' has the type double, but must be of integers or str",
        ),
        (
            {"label_col": "features"},
            TypeError,
            "'features' has the type array<double>, but must be of numbers",
        ),
        (
            {"features_col": "label"},
            TypeError,
            "'label' has the type double, but must be of vectors or arrays",
        ),
        (
            {"features_col": ["x0", "features"]},
            TypeError,
            "'features' has the type array<double>, but must be of numb",
        ),
        (
            {"validation_indicator_col": "x0"},
            TypeError,
            "'x0' has the type double, but must be bool, or 0 and 1",
        ),
        (
            {"early_stopping_rounds": 2},
            ValueError,
            "needs validation queries: give validation_indicator_col or valid",
        ),
        ({"num_workers": 0}, ValueError, "num_workers must be an integer of at least 1"),
        (
            {"num_leafs": 3},
            ValueError,
            "neither the ranker nor LightGBM has a parameter 'num_leafs'",
        ),
    ]:
        with pytest.raises(kind, match=message):
            br.spark.LightGBMRanker(**parameters).fit(rows)
    with pytest.raises(
        ValueError, match="the DataFrame has no rows, or features_col is null in the first one"
    ):
        br.spark.LightGBMRanker().fit(rows.filter("qid < 0"))


def test_a_cross_validator_has_folds_of_whole_queries_and_a_pipeline_can_be_saved(
    rows, frame, tmp_path
):
    rows = rows.withColumnRenamed("label", "the.label")
    ranker = small(
        br.spark.LightGBMRanker, n_estimators=2, features_col="vector", label_col="the.label"
    )
    grid = (
        ParamGridBuilder()
        .addGrid(ranker.n_estimators, [8])
        .addGrid(ranker.getParam("max_bin"), [15])
        .build()
    )
    evaluator = br.spark.MeasureEvaluator("ndcg@10", label_col="the.label")
    search = CrossValidator(
        estimator=ranker, estimatorParamMaps=grid, evaluator=evaluator, numFolds=2, foldCol="fold"
    )
    assembler = VectorAssembler(inputCols=NAMES, outputCol="vector")
    model = Pipeline(stages=[assembler, search]).fit(rows)
    best = model.stages[1].bestModel.ranker
    X, y, qid = frame[NAMES].to_numpy(), frame["label"].to_numpy(), frame["qid"].to_numpy()
    local, scores = small(br.LightGBMRanker, n_estimators=8, max_bin=15), np.empty(len(y))
    for fold in (frame["fold"].to_numpy() == i for i in range(2)):
        scores[fold] = local.fit(X[~fold], y[~fold], qid[~fold]).predict(X[fold])
    (found,) = model.stages[1].avgMetrics
    assert found == pytest.approx(br.ndcg_score(y, scores, qid, k=10), abs=1e-6)
    assert_close(best.predict(X), local.fit(X, y, qid).predict(X))
    assert (best.n_estimators, best.get_params()["max_bin"], best.k) == (8, 15, None)

    PipelineModel(stages=[assembler, model.stages[1].bestModel]).save(str(tmp_path / "model"))
    again = PipelineModel.load(str(tmp_path / "model")).stages[1]
    np.testing.assert_array_equal(again.ranker.predict(X), best.predict(X))
    assert again.local_ranker().get_params() == best.get_params()
    assert again.getOrDefault("features_col") == "vector"


def test_the_evaluator_is_the_measure_of_all_queries(rows, frame):
    scored = rows.withColumn("score", F.col("x1") - F.col("x2"))
    expected = br.get_measure("map")(frame["label"], frame["x1"] - frame["x2"], frame["qid"])
    assert br.spark.MeasureEvaluator("map", prediction_col="score").evaluate(
        scored
    ) == pytest.approx(expected)
    with pytest.raises(ValueError, match="undefined for all queries"):
        br.spark.MeasureEvaluator(prediction_col="score").evaluate(scored.filter("qid < 0"))
    with pytest.raises(
        TypeError, match="'x0' has the type double, but must be of integers or strings"
    ):
        br.spark.MeasureEvaluator(prediction_col="score", qid_col="x0").evaluate(scored)


def test_workers_have_addresses_that_others_can_reach():
    assert (
        _own_address(["127.0.0.3", "127.0.0.2"], 0)
        == _own_address(["127.0.0.1", "127.0.0.1"], 1)
        == "127.0.0.1"
    )
