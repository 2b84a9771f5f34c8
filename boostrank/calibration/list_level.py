"""Features of lists, and a small model of how many relevant documents a list has."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import pandas as pd

from boostrank.inputs.arrays import Floats
from boostrank.inputs.streams import FeatureStream
from boostrank.inputs.table import Table, is_pandas
from boostrank.queries.queries import Queries
from boostrank.queries.segments import Segments
from boostrank.rankers import LightGBMRanker

#: Leaves of the trees of the small model.
NUM_LEAVES = 4


@dataclass(frozen=True)
class ListFeatures:
    """The features of lists: means of the columns of X, the length, and moments of the scores.

    Attributes
    ----------
    categories : dict of str to list
        The categories of columns of a categorical type, by name. Their codes are averaged, so that
        a column that does not vary within lists keeps its meaning.
    """

    categories: Mapping[str, list[Any]] = field(default_factory=dict)

    @classmethod
    def learn(cls, X: Any) -> Self:
        """Note the categories of the columns."""
        values = _values(X)
        if not is_pandas(values):
            return cls()
        return cls(
            {
                str(name): dtype.categories.tolist()
                for name, dtype in values.dtypes.items()
                if isinstance(dtype, pd.CategoricalDtype)
            }
        )

    def compute(self, X: Any, scores: Floats, queries: Queries) -> Floats:
        """The features of each list, shape (n_queries, n_features).

        Parameters
        ----------
        X : features
            In the sequence of the original rows.
        scores : ndarray, shape (n_documents,)
            Grouped by query.
        queries : Queries
        """
        columns = self._means(_values(X), queries)
        mean = queries.mean(scores)
        spread = np.sqrt(queries.mean((scores - queries.repeat(mean)) ** 2))
        of_scores = [mean, spread, queries.max(scores) - mean]
        return np.column_stack([columns, np.log(queries.sizes), *of_scores])

    def _means(self, values: Any, queries: Queries) -> Floats:
        """The mean of each column over the rows of each list with a value; NaN without one."""
        if hasattr(values, "tocsr"):
            values = values.tocsr()
            if queries.permutation is not None:
                values = values[queries.permutation]
            ones = np.ones(queries.n_documents)
            members = type(values)((ones, np.arange(queries.n_documents), queries.indptr))
            return np.asarray((members @ values).todense()) / queries.sizes[:, None]
        if is_pandas(values):
            columns = [self._numbers(str(name), values[name]) for name in values.columns]
            values = np.column_stack(columns)
        numbers = queries.group(np.asarray(values, dtype=np.float64))
        has_value = np.isfinite(numbers)
        counts = queries.sum(has_value.astype(np.float64))
        with np.errstate(invalid="ignore"):
            return queries.sum(np.where(has_value, numbers, 0.0)) / counts

    def _numbers(self, name: str, column: pd.Series) -> Floats:
        """A column as numbers; a category that was not in the training is missing."""
        if name in self.categories:
            codes = pd.Categorical(column, categories=self.categories[name]).codes
            return np.where(codes < 0, np.nan, codes)
        return column.to_numpy(dtype=np.float64, na_value=np.nan)


def _values(X: Any) -> Any:
    """The features as an array, a sparse matrix or a DataFrame; ValueError for a stream."""
    values = Table(X).values
    if isinstance(values, FeatureStream):
        raise ValueError(
            "the target 'relevance' needs features in memory; got FeatureFiles. Give an array or "
            "a DataFrame"
        )
    return values


@dataclass(frozen=True)
class ListLevel:
    """A model of the level of a list: one number for all of its documents, on the logit scale.

    Attributes
    ----------
    slope : float
        Of the mean score of the list, which is a part of the level.
    features : ListFeatures
    model : LightGBMRanker or None
        The other part, from features of the list; None if it is of no use.
    """

    slope: float
    features: ListFeatures
    model: LightGBMRanker | None

    @classmethod
    def fit(
        cls,
        X: Any,
        scores: Floats,
        offset: Floats,
        targets: Floats,
        queries: Queries,
        weights: Floats,
        slope: float,
        n_jobs: int | None,
    ) -> Self:
        """Train on list features, with what scores say as a start that does not change.

        Parameters
        ----------
        X : features
            In the sequence of the original rows.
        scores, offset, targets : ndarray, shape (n_documents,)
            Grouped by query. The offset is the logit by the scores alone.
        queries : Queries
        weights : ndarray, shape (n_queries,)
        slope : float
            Of the mean score of the list, in the offset.
        n_jobs : int, optional
        """
        features = ListFeatures.learn(X)
        model = LightGBMRanker(
            "logistic",
            normalize="none",
            gain="linear",
            num_leaves=NUM_LEAVES,
            random_state=0,
            n_jobs=n_jobs,
        )
        rows = repeat_rows(features.compute(X, scores, queries), queries)
        ids = queries.repeat(np.arange(queries.n_queries))
        model.fit(rows, targets, ids, init_score=offset, sample_weight=queries.repeat(weights))
        return cls(slope, features, model)

    def predict(self, X: Any, scores: Floats, queries: Queries) -> Floats:
        """The level of each list, shape (n_queries,)."""
        levels = self.slope * queries.mean(scores)
        if self.model is not None:
            levels += self.model.predict(self.features.compute(X, scores, queries))
        return levels

    def as_dict(self) -> dict[str, Any]:
        """The fields for a model file."""
        fields = {"slope": self.slope, "categories": dict(self.features.categories), "model": None}
        if self.model is not None:
            text = self.model.booster_.model_to_string().encode()
            fields["model"] = base64.b64encode(zlib.compress(text)).decode()
        return fields

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """What :meth:`as_dict` returned."""
        model = None
        if fields["model"] is not None:
            content = zlib.decompress(base64.b64decode(fields["model"]))
            model = LightGBMRanker().load_model(content)
        return cls(fields["slope"], ListFeatures(fields["categories"]), model)


def repeat_rows(rows: Floats, queries: Segments) -> Floats:
    """The row of each list, repeated for each of its documents."""
    return np.repeat(rows, queries.sizes, axis=0)
