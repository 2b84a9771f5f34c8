"""Estimators of ``pyspark.ml`` around the rankers, and their models."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from pyspark.ml import Estimator, Model
from pyspark.ml.param import Param, Params
from pyspark.ml.util import (
    DefaultParamsReadable,
    DefaultParamsReader,
    DefaultParamsWritable,
    DefaultParamsWriter,
    MLWriter,
)
from pyspark.sql import DataFrame, functions
from pyspark.sql.functions import pandas_udf

from boostrank import rankers
from boostrank.backends.base import Trained
from boostrank.distributed.fitting import checked_settings, fit_local, specify
from boostrank.distributed.training import ClusterSpecification
from boostrank.inputs.checks import check_count
from boostrank.rankers.base import BoostedRanker
from boostrank.rankers.features import TrainingFeatures
from boostrank.rankers.settings import FitOptions
from boostrank.spark.training import Task, feature_columns, rows_to_train, train_on_workers

#: Parameters besides those of the local ranker, with their defaults. They have the names of ``xgboost.spark``.
OF_SPARK: Mapping[str, Any] = {
    "features_col": "features",
    "label_col": "label",
    "qid_col": "qid",
    "weight_col": None,
    "validation_indicator_col": None,
    "prediction_col": "prediction",
    "num_workers": 1,
}
#: Queries are held out by their hashes, modulo this number.
N_BUCKETS = 1_000_000


class RankerParams(Params):
    """Parameters of a local ranker, and those of :data:`OF_SPARK`, as parameters of ``pyspark.ml``."""

    _local_class: ClassVar[type[BoostedRanker]]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if hasattr(cls, "_local_class"):
            local = inspect.signature(cls._local_class)
            *explicit, native = local.parameters.values()
            keyword = inspect.Parameter.KEYWORD_ONLY
            own = [inspect.Parameter(name, keyword, default=value) for name, value in OF_SPARK.items()]
            cls.__signature__ = local.replace(parameters=[*explicit, *own, native])

    def __init__(self, *arguments: Any, **parameters: Any) -> None:
        super().__init__()
        signature = inspect.signature(type(self))
        bound = signature.bind(*arguments, **parameters)
        for name, parameter in signature.parameters.items():
            if parameter.kind is not inspect.Parameter.VAR_KEYWORD:
                self._defaultParamMap[self.getParam(name)] = parameter.default
        native = bound.arguments.pop("native", {})
        for name, value in {**bound.arguments, **native}.items():
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
        values = {param.name: value for param, value in self.extractParamMap().items()}
        return self._local_class(**{name: value for name, value in values.items() if name not in OF_SPARK})


class SparkRanker(RankerParams, Estimator["SparkRankerModel"], DefaultParamsWritable, DefaultParamsReadable[Any]):
    """The part of ``fit`` that the rankers share."""

    _model_class: ClassVar[type[SparkRankerModel]]

    def _fit(self, dataset: DataFrame) -> SparkRankerModel:
        names = ("features_col", "label_col", "qid_col", "weight_col", "validation_indicator_col", "num_workers")
        features_col, label, qid, weight, indicator, n_workers = (self.getOrDefault(name) for name in names)
        check_count("num_workers", n_workers, 1)
        local = self.local_ranker()
        settings = checked_settings(local, None if indicator is None else [indicator])
        features, random_state = TrainingFeatures(), settings.random_state()
        is_validation, fraction = functions.lit(False), settings.values["validation_fraction"]
        if indicator is not None:
            is_validation = functions.col(indicator)
        elif fraction is not None:
            # The same queries with any number of workers.
            seed = functions.lit(int(random_state.randint(2**31 - 1)))
            is_validation = functions.pmod(
                functions.xxhash64(functions.col(qid), seed), functions.lit(N_BUCKETS)
            ) < int(fraction * N_BUCKETS)
        rows = rows_to_train(dataset, features_col, label, qid, weight, is_validation)
        feature_names = None if isinstance(features_col, str) else list(features_col)
        n_features = _count_features(rows) if feature_names is None else len(feature_names)
        features.learn(pd.DataFrame(np.zeros((1, n_features)), columns=feature_names))
        has_validation = indicator is not None or fraction is not None
        cluster = specify(settings, features, random_state, FitOptions())

        def train(specification: ClusterSpecification, on_all: bool) -> Trained:
            validates = has_validation and not on_all
            task = Task(specification, feature_names, n_features, weight is not None, validates)
            return train_on_workers(rows, task, n_workers)

        fit_local(local, cluster, features, train, settings.values["refit"])
        model = self._copyValues(self._model_class())
        model.ranker = local
        return model


class SparkRankerModel(RankerParams, Model, DefaultParamsReadable[Any]):
    """A trained ranker that adds scores to DataFrames.

    Attributes
    ----------
    ranker : LightGBMRanker or XGBoostRanker
        The ordinary fitted ranker, of one machine.
    """

    ranker: BoostedRanker

    def _transform(self, dataset: DataFrame) -> DataFrame:
        ranker, features = self.ranker, self.getOrDefault("features_col")
        is_array = isinstance(features, str)

        @pandas_udf("double")
        def predict(rows: pd.DataFrame) -> pd.Series:
            X = np.stack(rows.iloc[:, 0].tolist()) if is_array else rows.set_axis(features, axis=1)
            return pd.Series(ranker.predict(X))

        columns = [column.alias(f"feature_{i}") for i, column in enumerate(feature_columns(dataset, features))]
        return dataset.withColumn(self.getOrDefault("prediction_col"), predict(functions.struct(*columns)))

    def write(self) -> MLWriter:
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


def _count_features(rows: DataFrame) -> int:
    """Number of features in the column of arrays of the first row."""
    first = rows.select("feature_0").first()
    if first is None or first[0] is None:
        raise ValueError("features_col must have an array of numbers in each row, and there must be rows")
    return len(first[0])


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
        means ``spark.task.cpus``. With `validation_fraction`, the queries with certain hashes are held out.
    features_col : str or list of str, default "features"
        A column of vectors (``VectorAssembler``) or arrays, or the names of columns of numbers. NaN and null are
        missing values.
    label_col, qid_col : str, default "label" and "qid"
        Columns of relevance labels, and of query ids, which are integers or strings.
    weight_col : str, optional
        Column of weights of documents, which are relative.
    validation_indicator_col : str, optional
        Column that is true for the rows of queries to validate on, as for ``xgboost.spark``; their weights do not
        count. They are evaluated over all workers in every round, and decide on early stopping.
    prediction_col : str, default "prediction"
        Column of scores that `transform` of the model adds.
    num_workers : int, default 1
        Number of tasks that train. Spark must have room for all of them at once, and waits for it.

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
    rows in memory. A worker without queries takes no part. The workers need boostrank, and must reach each other by
    TCP. Rows of a query keep no sequence, so that models of two calls may differ by rounding.

    The estimator works in a Pipeline and a CrossValidator; see :class:`MeasureEvaluator` for folds of whole queries.
    A ParamGridBuilder takes ``ranker.k``, or ``ranker.getParam("min_data_in_bin")`` for a parameter of the library that
    the constructor was not given. Spark's `setParams` and setters of single parameters do not exist: use `set` or the
    constructor. Estimators and models can be saved if all parameters can be written as JSON, so not with a loss object
    as `objective`; ``model.ranker.save_model`` works always.

    Examples
    --------
    >>> from boostrank.spark import LightGBMRanker
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
    features_col, label_col, qid_col, weight_col, validation_indicator_col, prediction_col, num_workers
        As for :class:`LightGBMRanker`.

    Examples
    --------
    >>> from boostrank.spark import XGBoostRanker
    >>> ranker = XGBoostRanker("softmax", k=10, features_col=["bm25", "pagerank"], num_workers=4)
    >>> model = ranker.fit(train)  # doctest: +SKIP
    >>> model.ranker.save_model("model.ubj")  # doctest: +SKIP
    """

    _local_class = rankers.XGBoostRanker
    _model_class = XGBoostRankerModel
