"""Estimators of ``pyspark.ml`` around the rankers, their models, and an evaluator."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pyarrow as pa
from pyspark.ml import Estimator, Model
from pyspark.ml.evaluation import Evaluator
from pyspark.ml.param import Param, Params
from pyspark.ml.util import DefaultParamsReadable, DefaultParamsWritable
from pyspark.sql import DataFrame
from pyspark.sql.functions import lit, pandas_udf, pmod, xxhash64

from boostrank import rankers
from boostrank.clusters import driver
from boostrank.clusters.spark import fit
from boostrank.inputs.checks import as_random_state, check_count
from boostrank.inputs.table import Table
from boostrank.metrics import Measure, get_measure
from boostrank.rankers.base import BoostedRanker
from boostrank.training.features import TrainingFeatures

#: Parameters besides those of the local ranker, with their defaults. They have the names of
#: ``xgboost.spark``, but for `cache`, which is that of FeatureFiles.
OF_SPARK: Mapping[str, Any] = {
    "features_col": "features",
    "label_col": "label",
    "qid_col": "qid",
    "weight_col": None,
    "validation_indicator_col": None,
    "prediction_col": "prediction",
    "num_workers": 1,
    "cache": None,
}
#: The parameter of models that has the text of the model, as the boosting library writes it.
MODEL_TEXT = "model_text"
#: Queries are held out by their hashes, modulo this number.
N_BUCKETS = 1_000_000


class RankerParams(Params):
    """Parameters of a local ranker and of :data:`OF_SPARK`, as those of ``pyspark.ml``."""

    _local_class: ClassVar[type[BoostedRanker]]

    def __init__(self, *arguments: Any, **parameters: Any) -> None:
        super().__init__()
        of_spark = {name: parameters.pop(name, default) for name, default in OF_SPARK.items()}
        values = self._local_class(*arguments, **parameters).get_params() | of_spark
        for name, value in values.items():
            self._paramMap[self.getParam(name)] = value

    def getParam(self, paramName: str) -> Param[Any]:  # noqa: N802
        """The parameter of this name, also one of the library that was not given a value yet."""
        if not hasattr(self, paramName):
            setattr(self, paramName, Param(self, paramName, "see the local ranker"))
            # The list of parameters is made again.
            self._params = None
        return super().getParam(paramName)

    def local_ranker(self) -> BoostedRanker:
        """The local ranker with these parameters, not fitted."""
        parameters = {}
        for param, value in self.extractParamMap().items():
            if param.name not in (*OF_SPARK, MODEL_TEXT):
                parameters[param.name] = value
        return self._local_class(**parameters)


class SparkRanker(
    RankerParams, Estimator["SparkRankerModel"], DefaultParamsWritable, DefaultParamsReadable[Any]
):
    """The part of ``fit`` that the rankers share."""

    _model_class: ClassVar[type[SparkRankerModel]]

    def _fit(self, dataset: DataFrame) -> SparkRankerModel:
        n_workers = self.getOrDefault("num_workers")
        features_col = self.getOrDefault("features_col")
        indicator = self.getOrDefault("validation_indicator_col")
        check_count("num_workers", n_workers, 1)
        ranker = self.local_ranker()
        watched = None if indicator is None else [indicator]
        settings = driver.checked_settings(ranker, watched, name="validation_indicator_col")
        random_state = as_random_state(settings.random_state)
        columns = fit.ids_and_numbers(
            dataset,
            self.getOrDefault("qid_col"),
            label=self.getOrDefault("label_col"),
            weight=self.getOrDefault("weight_col"),
        )
        fraction = settings.validation_fraction
        if indicator is not None:
            flag = fit.typed_column(dataset, indicator, *fit.FLAGS)
            columns.append(flag.cast("boolean").eqNullSafe(True).alias("is_validation"))
        elif fraction is not None:
            # The same queries with any number of workers.
            seed = int(random_state.randint(2**31 - 1))
            number = pmod(xxhash64(columns[0], lit(seed)), lit(N_BUCKETS))
            is_validation = number < int(fraction * N_BUCKETS)
            columns.append(is_validation.eqNullSafe(True).alias("is_validation"))
        rows = dataset.select(fit.feature_arrays(dataset, features_col).alias("features"), *columns)
        features = _features_of(rows, features_col)
        n_documents = 0
        if settings.loss.has_random_trees and settings.learning_rate is None:
            # As on one machine, validation sets do not count, and queries that are held out do.
            counted = rows if indicator is None else rows.where(~rows["is_validation"])
            n_documents = counted.count()
        cache = self.getOrDefault("cache")
        train = partial(fit.train_on_workers, settings.backend, features, n_workers, cache, rows)
        driver.fit_ranker(ranker, settings, features, n_documents, random_state, train)
        return self._model_of(ranker)

    def _model_of(self, ranker: BoostedRanker) -> SparkRankerModel:
        """The model that has the fitted ranker."""
        model = self._model_class()
        for param in self.params:
            model.getParam(param.name)
        self._copyValues(model)
        # CrossValidator gives the parameters of the estimator to the model only if both have one
        # id.
        model._resetUid(self.uid)
        model._keep(ranker)
        return model


def _features_of(rows: DataFrame, columns: str | list[str]) -> TrainingFeatures:
    """Number and names of the features; `columns` is the parameter `features_col`."""
    first = rows.select("features").first()
    if first is None or first.features is None:
        raise ValueError("the DataFrame has no rows, or features_col is null in the first one")
    names = None if isinstance(columns, str) else columns
    features = TrainingFeatures()
    features.learn(Table(pd.DataFrame([first.features], columns=names, dtype=np.float64)))
    return features


class SparkRankerModel(RankerParams, Model, DefaultParamsWritable, DefaultParamsReadable[Any]):
    """A trained ranker that adds scores to DataFrames.

    Attributes
    ----------
    ranker : LightGBMRanker or XGBoostRanker
        The ordinary fitted ranker, of one machine.
    """

    _ranker: BoostedRanker | None = None

    @property
    def ranker(self) -> BoostedRanker:
        """The ordinary fitted ranker.

        After `load`, it is read from the parameter that has the text of the model.
        """
        if self._ranker is None:
            with TemporaryDirectory() as folder:
                file = Path(folder, "model.json")
                file.write_text(self.getOrDefault(MODEL_TEXT), encoding="utf-8")
                self._ranker = self.local_ranker().load_model(file)
        return self._ranker

    def _keep(self, ranker: BoostedRanker) -> None:
        """Take a fitted ranker.

        The text of its model becomes a parameter, which Spark saves with the others.
        """
        self._ranker = ranker
        with TemporaryDirectory() as folder:
            file = Path(folder, "model.json")
            ranker.save_model(file)
            self._paramMap[self.getParam(MODEL_TEXT)] = file.read_text(encoding="utf-8")

    def _transform(self, dataset: DataFrame) -> DataFrame:
        ranker = self.ranker
        if ranker.query_features_ is not None:
            raise ValueError(
                "transform scores rows in any partition, and a ranker with query_features needs "
                "whole lists: use dataset.groupBy(qid).applyInPandas(function, schema), with "
                "model.ranker.predict(X, qid=0) in function"
            )

        @pandas_udf("double")
        def predict(arrays: pd.Series) -> pd.Series:
            column = pa.array(arrays, pa.list_(pa.float64()))
            return pd.Series(ranker.predict(fit.feature_matrix(column, ranker)))

        features = fit.feature_arrays(dataset, self.getOrDefault("features_col"))
        return dataset.withColumn(self.getOrDefault("prediction_col"), predict(features))


class LightGBMRankerModel(SparkRankerModel):
    """The model of :class:`LightGBMRanker`.

    `ranker` is the ordinary ranker, and `transform` adds its scores.
    """

    _local_class = rankers.LightGBMRanker


class XGBoostRankerModel(SparkRankerModel):
    """The model of :class:`XGBoostRanker`.

    `ranker` is the ordinary ranker, and `transform` adds its scores.
    """

    _local_class = rankers.XGBoostRanker


class LightGBMRanker(SparkRanker):
    """:class:`boostrank.LightGBMRanker` as an estimator that trains on the workers of Spark.

    `fit` returns a :class:`LightGBMRankerModel`, whose `ranker` is the ordinary ranker of one
    machine. Workers train one model together, as :class:`boostrank.dask.LightGBMRanker` does: the
    offset and the scale of the objective, and the metrics, are those of the data of all workers,
    and what is not possible on Dask is not possible here: functions as objective or metric, and
    some parameters of LightGBM. LightGBM trains on at most 2^31 - 1 documents, counted over all
    workers.

    Parameters
    ----------
    objective, k, gain, n_estimators, **native
        All parameters of :class:`boostrank.LightGBMRanker`. `n_jobs` is the number of threads of
        each worker; None means ``spark.task.cpus``. With `validation_fraction`, the queries with
        certain hashes are held out. Each worker calls its own copy of `callbacks`, so that what
        they record or print stays there.
    features_col : str or list of str, default "features"
        A column of vectors (``VectorAssembler``) or arrays, or the names of columns of numbers. NaN
        and null are missing values; a vector or an array is never null as a whole.
    label_col, qid_col : str, default "label" and "qid"
        Columns of relevance labels, and of query ids, which are integers or strings.
    weight_col : str, optional
        Column of weights of documents, which are relative.
    validation_indicator_col : str, optional
        Column of bool, or 0 and 1, that is true for the rows of queries to validate on, as for
        ``xgboost.spark``; null counts as false, and their weights do not count. They are evaluated
        over all workers in every round, and decide on early stopping.
    prediction_col : str, default "prediction"
        Column of scores that `transform` of the model adds.
    num_workers : int, default 1
        Number of tasks that train. Spark starts them at once, and waits until so many slots are
        free; a slot has ``spark.task.cpus`` threads of an executor. A local session never gets more
        slots: with more workers there, Spark warns, and gives up after ten minutes.
    cache : str, optional
        A folder on the disks of the workers. Each one then writes its features to files there,
        which it deletes at the end, and reads them in blocks, as :class:`boostrank.FeatureFiles`;
        by default they stay in memory. XGBoost keeps their bins there too ("external memory"),
        LightGBM in memory. The model is the same.

    Raises
    ------
    TypeError, ValueError
        From `fit`: for columns, labels, weights or parameters that are invalid.
    RuntimeError
        From `fit`: if a worker is lost, or stops with an error of the boosting library. Spark does
        not try again. The session can be used further.

    Notes
    -----
    `fit` brings the rows of each query to one worker (``repartition``) and sorts them by query;
    each worker holds its rows in memory, but for `cache`. A worker without queries takes no part.
    The workers need boostrank, and must reach each other by TCP.

    The estimator works in a Pipeline and a CrossValidator; see :class:`MeasureEvaluator` for folds
    of whole queries. A ParamGridBuilder takes ``ranker.k``, or
    ``ranker.getParam("min_data_in_bin")`` for a parameter of the library that the constructor was
    not given. Spark's `setParams` and setters of single parameters do not exist: use `set` or the
    constructor. Estimators and models can be saved if all parameters can be written as JSON, so not
    with a loss object as `objective`; ``model.ranker.save_model`` works always.

    Examples
    --------
    >>> import boostrank as br
    >>> ranker = br.spark.LightGBMRanker(
    ...     "softmax", k=10, features_col=["bm25", "pagerank"], num_workers=4
    ... )
    >>> model = ranker.fit(train)  # doctest: +SKIP
    >>> model.transform(test).select("qid", "prediction")  # doctest: +SKIP
    >>> model.ranker.save_model("model.txt")  # doctest: +SKIP
    """

    _local_class = rankers.LightGBMRanker
    _model_class = LightGBMRankerModel


class XGBoostRanker(SparkRanker):
    """:class:`boostrank.XGBoostRanker` as an estimator that trains on the workers of Spark.

    `fit` returns an :class:`XGBoostRankerModel`, whose `ranker` is the ordinary ranker of one
    machine. Everything else is as for :class:`LightGBMRanker`, also the notes on Pipelines and
    files. `tree_method` cannot be "exact".

    Parameters
    ----------
    objective, k, gain, n_estimators, **native
        All parameters of :class:`boostrank.XGBoostRanker`.
    features_col, label_col, qid_col, weight_col, validation_indicator_col, prediction_col,
    num_workers, cache
        As for :class:`LightGBMRanker`.

    Examples
    --------
    >>> import boostrank as br
    >>> ranker = br.spark.XGBoostRanker(
    ...     "softmax", k=10, features_col=["bm25", "pagerank"], num_workers=4
    ... )
    >>> model = ranker.fit(train)  # doctest: +SKIP
    >>> model.ranker.save_model("model.ubj")  # doctest: +SKIP
    """

    _local_class = rankers.XGBoostRanker
    _model_class = XGBoostRankerModel


class MeasureEvaluator(Evaluator, DefaultParamsWritable, DefaultParamsReadable[Any]):
    """Mean of a measure over the queries of a DataFrame.

    A CrossValidator splits rows, and so cuts queries, unless it gets a column of folds::

        dataset = dataset.withColumn("fold", F.expr("pmod(xxhash64(qid), 3)").cast("int"))
        CrossValidator(..., evaluator=MeasureEvaluator("ndcg@10"), numFolds=3, foldCol="fold")

    TrainValidationSplit always splits rows: it is not for rankings.

    Parameters
    ----------
    measure : str or Measure, default "ndcg@10"
        As in :func:`boostrank.get_measure`. `err` needs its `max_grade`, because each worker knows
        the labels of its own queries only.
    label_col, qid_col, prediction_col : str
        Columns of relevance labels, query ids and scores.

    Raises
    ------
    TypeError, ValueError
        From `evaluate`: if query ids are neither integers nor strings, or the measure is undefined
        for all queries.
    """

    def __init__(
        self,
        measure: str | Measure = "ndcg@10",
        *,
        label_col: str = "label",
        qid_col: str = "qid",
        prediction_col: str = "prediction",
    ) -> None:
        super().__init__()
        values = {
            "measure": measure,
            "label_col": label_col,
            "qid_col": qid_col,
            "prediction_col": prediction_col,
        }
        for name, value in values.items():
            setattr(self, name, Param(self, name, "see MeasureEvaluator"))
            self._set(**{name: value})

    def _evaluate(self, dataset: DataFrame) -> float:
        measure = get_measure(self.getOrDefault("measure"))
        columns = fit.ids_and_numbers(
            dataset,
            self.getOrDefault("qid_col"),
            label=self.getOrDefault("label_col"),
            score=self.getOrDefault("prediction_col"),
        )
        rows = dataset.select(*columns).repartition("qid")
        sums = rows.mapInPandas(partial(_sums, measure), "total double, n long").toPandas()
        total, n = sums.sum()
        if not n:
            raise ValueError(f"{measure} is undefined for all queries, or there are none")
        return float(total / n)


def _sums(measure: Measure, frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    """Sum and number of the values of a measure for the queries of one partition."""
    present = [frame for frame in frames if len(frame)]
    if present:
        rows = pd.concat(present)
        labels = rows["label"].to_numpy()
        scores = rows["score"].to_numpy()
        values = measure(labels, scores, rows["qid"], per_query=True)
        n = np.count_nonzero(~np.isnan(values))
        yield pd.DataFrame({"total": [np.nansum(values)], "n": [n]})
