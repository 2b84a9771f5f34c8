"""Estimators of ``pyspark.ml`` around the rankers, and their models."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pyarrow as pa
from pyspark.ml import Estimator, Model
from pyspark.ml.param import Param, Params
from pyspark.ml.util import DefaultParamsReadable, DefaultParamsReader, DefaultParamsWritable, DefaultParamsWriter
from pyspark.sql import DataFrame
from pyspark.sql.functions import lit, pandas_udf, pmod, xxhash64

from boostrank import rankers
from boostrank.backends.base import Trained
from boostrank.clusters.fitting import checked_settings, fit_local, specify
from boostrank.clusters.spark import training
from boostrank.clusters.training import ClusterSpecification
from boostrank.inputs.checks import check_count
from boostrank.rankers.base import BoostedRanker
from boostrank.training.features import TrainingFeatures

#: Parameters besides those of the local ranker, with their defaults. They have the names of ``xgboost.spark``, but for
#: `cache`, which is that of FeatureFiles.
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
#: Queries are held out by their hashes, modulo this number.
N_BUCKETS = 1_000_000


class RankerParams(Params):
    """Parameters of a local ranker, and those of :data:`OF_SPARK`, as parameters of ``pyspark.ml``."""

    _local_class: ClassVar[type[BoostedRanker]]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if hasattr(cls, "_local_class"):
            local, keyword = inspect.signature(cls._local_class), inspect.Parameter.KEYWORD_ONLY
            own = [inspect.Parameter(name, keyword, default=value) for name, value in OF_SPARK.items()]
            *explicit, native = local.parameters.values()
            cls.__signature__ = local.replace(parameters=[*explicit, *own, native])

    def __init__(self, *arguments: Any, **parameters: Any) -> None:
        super().__init__()
        columns = {name: parameters.pop(name, default) for name, default in OF_SPARK.items()}
        for name, value in {**self._local_class(*arguments, **parameters).get_params(), **columns}.items():
            self._paramMap[self.getParam(name)] = value

    def getParam(self, paramName: str) -> Param[Any]:  # noqa: N802
        """The parameter of this name, also one of the boosting library that was not given a value yet."""
        if not hasattr(self, paramName):
            setattr(self, paramName, Param(self, paramName, "see the local ranker"))
            # The list of parameters is made again.
            self._params = None
        return super().getParam(paramName)

    def local_ranker(self) -> BoostedRanker:
        """The local ranker with these parameters, not fitted."""
        values = self.extractParamMap().items()
        return self._local_class(**{param.name: value for param, value in values if param.name not in OF_SPARK})


class SparkRanker(RankerParams, Estimator["SparkRankerModel"], DefaultParamsWritable, DefaultParamsReadable[Any]):
    """The part of ``fit`` that the rankers share."""

    _model_class: ClassVar[type[SparkRankerModel]]

    def _fit(self, dataset: DataFrame) -> SparkRankerModel:
        features_col, label, qid, weight, indicator, _, n_workers, cache = map(self.getOrDefault, OF_SPARK)
        check_count("num_workers", n_workers, 1)
        training.check_slots(dataset.sparkSession, n_workers)
        local = self.local_ranker()
        watched = None if indicator is None else [indicator]
        settings = checked_settings(local, watched, name="validation_indicator_col")
        features, random_state = TrainingFeatures(), settings.random_state()
        is_validation = None if indicator is None else training.indicator_column(dataset, indicator)
        fraction = settings.values["validation_fraction"]
        if fraction is not None:
            # The same queries with any number of workers.
            number = xxhash64(training.id_column(dataset, qid), lit(int(random_state.randint(2**31 - 1))))
            is_validation = pmod(number, lit(N_BUCKETS)) < int(fraction * N_BUCKETS)
        rows = training.rows_to_train(dataset, features_col, qid, {"label": label, "weight": weight}, is_validation)
        names = None if isinstance(features_col, str) else features_col
        first = rows.select("features").first()
        if first is None or first.features is None:
            raise ValueError("the DataFrame has no rows, or features_col is null in the first one")
        features.learn(pd.DataFrame([first.features], columns=names, dtype=np.float64))
        cluster = specify(settings, features, random_state)

        def train(specification: ClusterSpecification, on_all: bool) -> Trained:
            chosen = rows.drop("is_validation") if on_all else rows
            return training.train_on_workers(chosen, specification, features, n_workers, cache)

        fit_local(local, cluster, features, train, settings.values["refit"])
        model = self._copyValues(self._model_class())
        # CrossValidator gives the parameters of the estimator to the model only if both have one id.
        model._resetUid(self.uid)
        model.ranker = local
        return model


class SparkRankerModel(RankerParams, Model, DefaultParamsWritable, DefaultParamsReadable[Any]):
    """A trained ranker that adds scores to DataFrames.

    Attributes
    ----------
    ranker : LightGBMRanker or XGBoostRanker
        The ordinary fitted ranker, of one machine.
    """

    ranker: BoostedRanker

    def _transform(self, dataset: DataFrame) -> DataFrame:
        ranker = self.ranker

        @pandas_udf("double")
        def predict(arrays: pd.Series) -> pd.Series:
            return pd.Series(ranker.predict(training.feature_matrix(pa.array(arrays, pa.list_(pa.float64())), ranker)))

        features = training.feature_arrays(dataset, self.getOrDefault("features_col"))
        return dataset.withColumn(self.getOrDefault("prediction_col"), predict(features))

    def write(self) -> _ModelWriter:
        """Return a writer of the parameters and of the model in the format of the boosting library."""
        return _ModelWriter(self)

    @classmethod
    def read(cls) -> _ModelReader:
        """Return a reader of what :meth:`write` wrote."""
        return _ModelReader(cls)


class _ModelWriter(DefaultParamsWriter):
    instance: SparkRankerModel

    def saveImpl(self, path: str) -> None:  # noqa: N802
        with TemporaryDirectory() as folder:
            file = Path(folder, "model.json")
            self.instance.ranker.save_model(file)
            extra = {"model": file.read_text(encoding="utf-8")}
        self.saveMetadata(self.instance, path, self.sparkSession, extra)


class _ModelReader(DefaultParamsReader[Any]):
    def load(self, path: str) -> Any:
        model, metadata = super().load(path), self.loadMetadata(path, self.sparkSession)
        with TemporaryDirectory() as folder:
            file = Path(folder, "model.json")
            file.write_text(metadata["model"], encoding="utf-8")
            model.ranker = model.local_ranker().load_model(file)
        return model


class LightGBMRankerModel(SparkRankerModel):
    """The model of :class:`LightGBMRanker`; `ranker` is the ordinary ranker, and `transform` adds its scores."""

    _local_class = rankers.LightGBMRanker


class XGBoostRankerModel(SparkRankerModel):
    """The model of :class:`XGBoostRanker`; `ranker` is the ordinary ranker, and `transform` adds its scores."""

    _local_class = rankers.XGBoostRanker


class LightGBMRanker(SparkRanker):
    """:class:`boostrank.LightGBMRanker` as an estimator of ``pyspark.ml``, which trains on the workers of Spark.

    `fit` returns a :class:`LightGBMRankerModel`, whose `ranker` is the ordinary ranker of one machine. Workers train
    one model together, as :class:`boostrank.dask.LightGBMRanker` does: the offset and the scale of the objective, and
    the metrics, are those of the data of all workers, and what is not possible on Dask is not possible here:
    ``objective="auto"``, ``n_estimators="auto"``, functions as objective or metric, and some parameters of LightGBM.
    LightGBM trains on at most 2^31 - 1 documents, counted over all workers.

    Parameters
    ----------
    objective, k, gain, n_estimators, **native
        All parameters of :class:`boostrank.LightGBMRanker`. `n_jobs` is the number of threads of each worker; None
        means ``spark.task.cpus``. With `validation_fraction`, the queries with certain hashes are held out. Each worker
        calls its own copy of `callbacks`, so that what they record or print stays there.
    features_col : str or list of str, default "features"
        A column of vectors (``VectorAssembler``) or arrays, or the names of columns of numbers. NaN and null are
        missing values; a vector or an array is never null as a whole.
    label_col, qid_col : str, default "label" and "qid"
        Columns of relevance labels, and of query ids, which are integers or strings.
    weight_col : str, optional
        Column of weights of documents, which are relative.
    validation_indicator_col : str, optional
        Column of bool, or 0 and 1, that is true for the rows of queries to validate on, as for ``xgboost.spark``; null
        counts as false, and their weights do not count. They are evaluated over all workers in every round, and decide
        on early stopping.
    prediction_col : str, default "prediction"
        Column of scores that `transform` of the model adds.
    num_workers : int, default 1
        Number of tasks that train. Spark starts them at once, and waits until so many slots are free; a slot has
        ``spark.task.cpus`` threads of an executor. A local session never gets more slots, so that there more workers
        are an error.
    cache : str, optional
        A folder on the disks of the workers. Each one then writes its features to files there, which it deletes at the
        end, and reads them in blocks, as :class:`boostrank.FeatureFiles`; by default they stay in memory. XGBoost keeps
        their bins there too ("external memory"), LightGBM in memory. The model is the same.

    Raises
    ------
    TypeError, ValueError
        From `fit`: for columns, labels, weights or parameters that are invalid.
    RuntimeError
        From `fit`: if a worker is lost, or stops with an error of the boosting library. Spark does not try again. The
        session can be used further.

    Notes
    -----
    `fit` brings the rows of each query to one worker (``repartition``) and sorts them by query; each worker holds its
    rows in memory, but for `cache`. A worker without queries takes no part. The workers need boostrank, and must reach
    each other by TCP.

    The estimator works in a Pipeline and a CrossValidator; see :class:`MeasureEvaluator` for folds of whole queries.
    A ParamGridBuilder takes ``ranker.k``, or ``ranker.getParam("min_data_in_bin")`` for a parameter of the library that
    the constructor was not given. Spark's `setParams` and setters of single parameters do not exist: use `set` or the
    constructor. Estimators and models can be saved if all parameters can be written as JSON, so not with a loss object
    as `objective`; ``model.ranker.save_model`` works always.

    Examples
    --------
    >>> from boostrank.clusters.spark import LightGBMRanker
    >>> ranker = LightGBMRanker("softmax", k=10, features_col=["bm25", "pagerank"], num_workers=4)
    >>> model = ranker.fit(train)  # doctest: +SKIP
    >>> model.transform(test).select("qid", "prediction")  # doctest: +SKIP
    >>> model.ranker.save_model("model.txt")  # doctest: +SKIP
    """

    _local_class = rankers.LightGBMRanker
    _model_class = LightGBMRankerModel


class XGBoostRanker(SparkRanker):
    """:class:`boostrank.XGBoostRanker` as an estimator of ``pyspark.ml``, which trains on the workers of Spark.

    `fit` returns an :class:`XGBoostRankerModel`, whose `ranker` is the ordinary ranker of one machine. Everything else
    is as for :class:`LightGBMRanker`, also the notes on Pipelines and files. `tree_method` cannot be "exact".

    Parameters
    ----------
    objective, k, gain, n_estimators, **native
        All parameters of :class:`boostrank.XGBoostRanker`.
    features_col, label_col, qid_col, weight_col, validation_indicator_col, prediction_col, num_workers, cache
        As for :class:`LightGBMRanker`.

    Examples
    --------
    >>> from boostrank.clusters.spark import XGBoostRanker
    >>> ranker = XGBoostRanker("softmax", k=10, features_col=["bm25", "pagerank"], num_workers=4)
    >>> model = ranker.fit(train)  # doctest: +SKIP
    >>> model.ranker.save_model("model.ubj")  # doctest: +SKIP
    """

    _local_class = rankers.XGBoostRanker
    _model_class = XGBoostRankerModel
