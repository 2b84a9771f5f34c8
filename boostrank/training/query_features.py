"""Features of documents relative to the list of their query, in pipelines and inside of rankers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType, NoneType
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from boostrank.backends.features import Features, feature_choice, feature_types
from boostrank.backends.libraries import Parameters
from boostrank.backends.models import note_of
from boostrank.backends.records import GroupedData
from boostrank.inputs.arrays import Bools, as_list
from boostrank.inputs.checks import check_choice, check_count, named_part, refuse
from boostrank.inputs.streams import FeatureMatrix, FeatureStream
from boostrank.inputs.table import Table, TableLike
from boostrank.inputs.warnings import warn
from boostrank.queries.queries import Queries
from boostrank.queries.segments import Segments, ranges
from boostrank.training.data import features_and_qid, grouped_features, id_per_row
from boostrank.training.features import TrainingFeatures, check_features
from boostrank.training.query_feature_stream import (
    Feature,
    WithQueryFeatures,
    compute_features,
    dense_rows,
)

#: The kinds of features, and what stands behind the name of the column in the names of their
#: columns.
KINDS: Mapping[str, str] = {
    "standardize": "standardized in query",
    "rank": "rank in query",
    "minmax": "min-max scaled in query",
}
#: Two columns are the same if so many random sums of their values differ by less than this share of
#: their norm.
N_SUMS = 4
TOLERANCE = 1e-5
#: What NaN and infinite values count as in these sums.
_MISSING = 0.123
_INFINITE = 45.6
#: Lists differ from those of the training if the middle one of them has fewer or more documents
#: than these quantiles; of few lists, by this factor beyond that.
LEVELS = 0.05, 0.95
FEW_LISTS = 5
FACTOR = 2.0
#: Many lists also differ if the spread within lists of this share of the columns does by it.
MANY_LISTS = 20
SHARE_OF_COLUMNS = 0.2
#: Spreads are those of at most so many lists.
MAX_LISTS = 200
_EDITED = (
    "the field boostrank_query_features was damaged or edited, and is not that of the model: save "
    "the model again"
)
_ADVICE = (
    "train on lists that are cut as those at prediction, because features are relative to the list"
)


class QueryFeatures(TransformerMixin, BaseEstimator):
    """Add features that say how a document stands among the documents of its query.

    Trees score each document alone, and compare a price or a BM25 score with thresholds of all
    queries. Often it decides how the value stands among those of the list. So each column that
    varies within queries is added once more:

    - ``"standardize"``: ``(x - mean) / std``, with the mean and the standard deviation of the list;
      0 if all values of the list are equal, and so for a list of one document.
    - ``"rank"``: the rank of the value in the list, 1 for the smallest one, divided by the number
      of values. Equal values share the mean of their ranks; the value of a list of one document is
      1.
    - ``"minmax"``: ``(x - least) / (largest - least)``, with the least and the largest value of the
      list; 0 if all are equal. It is the normalization of the LETOR collections.

    Missing values stay missing, and do not count. Infinite values count only in ranks, and
    otherwise stay infinite.

    The rankers of boostrank have the parameter `query_features` in place of this transformer. It is
    for other rankers and for pipelines. The lists at prediction must be drawn as those of the
    training: with only the ten best documents of a first stage, for example, most of the ranks are
    other ones.

    Parameters
    ----------
    kind : {"standardize", "rank", "minmax"} or list of these, default ("standardize", "rank")
    columns : list of str or int, optional
        The columns to take, by name or by index. By default those that vary within some query of
        the training data and are no categories; and of several new columns that are the same, or a
        new column that is the same as a column that was there before, only the first one is kept.
        In a ranker, parameters of the boosting library may say which columns are categories too, by
        name or by index. A sparse matrix needs `columns`, because its new columns are dense.
    cut_copies : int, default 0
        Only for the parameter `query_features` of a ranker: the number of copies of each list to
        train on in which random documents are left out, a random share of them, and whose features
        are relative to the rest of the list. They make scores depend less on the documents that a
        list has. Each adds half of the rows to the training. Left-out queries, which choose the
        number of rounds, are left out with their copies.

    Attributes
    ----------
    features_ : list of (str, int)
        The kind and the index of the column of each feature that :meth:`transform` adds.
    n_features_in_ : int
    feature_names_in_ : ndarray of str, if X had column names

    References
    ----------
    Qin, Liu, Xu and Li, "LETOR: A benchmark collection for research on learning to rank for
    information retrieval", Information Retrieval 2010 (normalization within queries). Neural
    rankers see the list instead: Ai et al., "Learning groupwise multivariate scoring functions",
    ICTIR 2019; Pang et al., "SetRank", SIGIR 2020; Pobrotyn et al., "Context-aware learning to rank
    with self-attention", 2020; Qin et al., "Are neural rankers still outperformed by gradient
    boosted decision trees?", ICLR 2021.

    Examples
    --------
    >>> import pandas as pd
    >>> import boostrank as br
    >>> hotels = pd.DataFrame({"price": [80, 90, 70, 200, 300]})
    >>> table = br.QueryFeatures().fit_transform(hotels, qid=[1, 1, 1, 2, 2])
    >>> print(table.round(2).to_string(index=False))
     price  price (standardized in query)  price (rank in query)
        80                           0.00                   0.67
        90                           1.22                   1.00
        70                          -1.22                   0.33
       200                          -1.00                   0.50
       300                           1.00                   1.00

    For a ranker of another library:

    >>> from lightgbm import LGBMRanker
    >>> X, y, qid = br.make_ranking(n_queries=50, random_state=0)
    >>> transformer = br.QueryFeatures().fit(X, qid=qid)
    >>> sizes = br.Queries.from_qid(qid).sizes
    >>> ranker = LGBMRanker(verbosity=-1).fit(transformer.transform(X, qid), y, group=sizes)
    """

    # The least and the largest size of most lists of the training, and the spreads of their
    # columns, if known.
    _sizes: list[float] | None = None
    _spreads: list[float] | None = None
    # Those of the model whose training goes on.
    _continued: Sequence[tuple[str, int]] = ()
    # Parameters of the ranker that say which columns are categories.
    _categorical: Mapping[str, Any] = MappingProxyType({})
    __metadata_request__fit: ClassVar = {"qid": True}
    __metadata_request__transform: ClassVar = {"qid": True}
    _takes_infinity = True

    def __init__(
        self,
        kind: str | Sequence[str] = ("standardize", "rank"),
        columns: Sequence[str | int] | None = None,
        cut_copies: int = 0,
    ) -> None:
        self.kind = kind
        self.columns = columns
        self.cut_copies = cut_copies

    def fit(self, X: TableLike, y: object = None, qid: ArrayLike | None = None) -> Self:
        """Find the columns that vary within queries.

        Parameters
        ----------
        X : array-like, sparse matrix, DataFrame or FeatureFiles, shape (n_documents, n_features)
        y : ignored
            Labels that have query ids give them, such as :class:`boostrank.ClickLabels`.
        qid : array-like, shape (n_documents,), or str
            Query ids, as in :meth:`boostrank.LightGBMRanker.fit`; also a column or an index level
            "qid" of X.

        Raises
        ------
        ValueError
            If there are no query ids, for an unknown kind, for columns that do not exist or that
            are categories, and for a sparse matrix without `columns`.
        """
        if self.cut_copies:
            raise ValueError(
                "a transformer makes no rows: give cut_copies in query_features= of a ranker of "
                "boostrank"
            )
        table, ids = features_and_qid(Table(X), y, qid, None, "QueryFeatures.fit")
        features = TrainingFeatures()
        features._takes_infinity = True
        checked = features.learn(table)
        queries = Queries.from_qid(ids)
        return self.learn(grouped_features(checked, queries), queries, features)

    def transform(self, X: TableLike, qid: ArrayLike | None = None) -> Any:
        """Add the features.

        Parameters
        ----------
        X : array-like, sparse matrix, DataFrame or FeatureFiles, shape (n_documents, n_features)
            The columns of the training.
        qid : array-like, shape (n_documents,), or str
            As in :meth:`fit`; also one number, ``qid=0``, which makes one list of all rows. All
            documents of a query must be there.

        Returns
        -------
        ndarray, sparse matrix or DataFrame of pandas or polars, shape (n_documents, n_features_out)
            As X, with the new columns, which are float32, behind the others, and without a column
            of query ids.

        Warns
        -----
        UserWarning
            If the lists are far shorter or longer than those of the training, or their values
            spread otherwise.
        """
        check_is_fitted(self, "features_")
        table = Table(X)
        ids_of_rows = id_per_row(table, qid)
        receiver = "QueryFeatures.transform"
        table, ids = features_and_qid(table, None, ids_of_rows, None, receiver)
        checked = check_features(self, table)
        queries = Queries.from_qid(ids)
        grouped = grouped_features(checked, queries)
        self.warn_of_lists(grouped, queries)
        if isinstance(checked, FeatureStream):
            return self.expand(grouped, queries)
        values = queries.ungroup(self._values(grouped, queries))
        given = table.given
        is_polars = hasattr(type(given), "hstack")
        if is_polars:
            return given.hstack(type(given)(values, schema=self._new_names()))
        return self._append(checked, values)

    def fit_transform(self, X: TableLike, y: object = None, qid: ArrayLike | None = None) -> Any:
        """Fit, and add the features to the same data."""
        return self.fit(X, y, qid).transform(X, qid)

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> NDArray[Any]:
        """Names of all columns.

        Those of X without names are `input_features`, or "x0", "x1", ...
        """
        check_is_fitted(self, "features_")
        names = _check_feature_names_in(self, input_features)
        added = [f"{names[i]} ({KINDS[kind]})" for kind, i in self.features_]
        return np.array([*names, *added], dtype=object)

    def learn(
        self, X: FeatureMatrix | None, queries: Queries | None, features: TrainingFeatures
    ) -> Self:
        """Fit to checked features, grouped by query, whose number and names are in `features`.

        If `X` is None, because the data are on several machines, all columns are taken that have no
        categories.
        """
        check_count("cut_copies", self.cut_copies, 0)
        if self.columns is None and sp.issparse(X):
            raise ValueError(
                "query features of a sparse matrix are dense: give columns, those to compute them "
                "from"
            )
        kinds = self._checked_kinds()
        columns = self._columns_to_use(features)
        candidates = [(kind, column) for kind in kinds for column in columns]
        if self.columns is not None or X is None or queries is None:
            useful = candidates
        elif self._continues(kinds, candidates):
            useful = [*self._continued]
        else:
            useful = self._useful(X, queries, columns, candidates)
        self._set_features(features, useful)
        if X is not None and queries is not None:
            self._sizes = np.quantile(queries.sizes, LEVELS, method="nearest").tolist()
            self._spreads = _spreads(X, queries, self.columns_).tolist()
        taken = set(self._new_names()) & set(getattr(features, "feature_names_in_", ()))
        if taken:
            raise ValueError(f"X has the column {taken.pop()!r} already: leave it out")
        return self

    def _checked_kinds(self) -> list[str]:
        """The kinds, each once."""
        kinds = as_list(self.kind)
        if not kinds:
            refuse("the kinds of query features", self.kind, f"one or more of {', '.join(KINDS)}")
        for kind in kinds:
            check_choice("each kind of query features", kind, KINDS)
        return list(dict.fromkeys(kinds))

    def _columns_to_use(self, features: TrainingFeatures) -> list[int]:
        """Indices of the columns to compute features from, which must be numbers."""
        names = getattr(features, "feature_names_in_", None)
        described = Features(
            features.n_features_in_,
            None if names is None else names.tolist(),
            features.categorical_features,
        )
        categorical = self._categorical_columns(described)
        if self.columns is None:
            return [i for i in range(described.number) if i not in categorical]
        columns = [described.index("columns", column) for column in as_list(self.columns)]
        for column in categorical.intersection(columns):
            raise ValueError(
                f"columns of query features must be numbers, and the column {column} of X has "
                "categories"
            )
        return list(dict.fromkeys(columns))

    def _categorical_columns(self, described: Features) -> set[int]:
        """Indices of columns that parameters of the ranker, or their types, call categories."""
        given = self._categorical
        types = feature_types("feature_types", given.get("feature_types", {}), described, {})
        codes = feature_choice(
            "categorical_feature", given.get("categorical_feature", []), described, {}
        )
        of_types = {i for i, kind in enumerate(types) if kind == "c"}
        return of_types | {*codes}

    def _continues(self, kinds: list[str], candidates: list[Feature]) -> bool:
        """Whether the model whose training goes on has features of these settings."""
        kinds_of_model = {kind for kind, _ in self._continued}
        return {*self._continued} <= {*candidates} and kinds_of_model == {*kinds}

    def expand(self, X: FeatureMatrix, queries: Queries) -> Any:
        """Checked features, grouped by query, with the new ones.

        The values of arrays, of DataFrames of numbers of one type, and of files are not copied.
        """
        if isinstance(X, pd.DataFrame) and not any(
            isinstance(dtype, pd.CategoricalDtype) for dtype in X.dtypes
        ):
            # The type in which LightGBM takes the columns. If all of them have it, they are not
            # copied.
            dtype = np.result_type(np.float32, *(dtype.type for dtype in X.dtypes))
            X = X.to_numpy(dtype, na_value=np.nan)
        if not isinstance(X, pd.DataFrame) and not sp.issparse(X):
            return WithQueryFeatures(X, queries, self)
        return self._append(X, self._values(X, queries))

    def expand_new(self, X: FeatureMatrix, queries: Queries) -> Any:
        """As :meth:`expand`, with a warning if the lists differ from those of the training."""
        self.warn_of_lists(X, queries)
        return self.expand(X, queries)

    def continue_from(self, model: object) -> None:
        """Fit later to the features of a model, if its transformer has the same settings."""
        self._continued = getattr(getattr(model, "query_features_", None), "features_", ())

    def with_cut_copies(
        self, data: GroupedData, kept: Bools | None, random_state: np.random.RandomState
    ) -> tuple[GroupedData, Bools | None]:
        """Training data with `cut_copies` of each query, or of those in the mask `kept`.

        A copy has the id of its query. The mask of all queries to train on is returned too.
        """
        queries = data.queries
        to_copy = np.arange(queries.n_queries)
        if kept is not None:
            to_copy = np.flatnonzero(kept)
        copied = np.tile(to_copy, self.cut_copies)
        shares = random_state.random_sample(len(copied))
        sizes = np.maximum(1, np.round(shares * queries.sizes[copied])).astype(int)
        lists = Segments.from_sizes(queries.sizes[copied])
        is_left = lists.ranks(random_state.random_sample(lists.n_rows)) <= lists.repeat(sizes)
        rows_of_copies = ranges(queries.starts[copied], lists.sizes)[is_left]
        all_queries = Queries.from_sizes(
            np.append(queries.sizes, sizes), np.append(queries.ids, queries.ids[copied])
        )
        # Queries without weight may be left out already.
        if isinstance(data.X, WithQueryFeatures):
            X = data.X.own_features()
        else:
            X = _safe_indexing(data.X, slice(self.n_features_in_), axis=1)
        if isinstance(X, FeatureStream):
            raise ValueError(
                "cut_copies takes features in memory: the rows of FeatureFiles cannot be repeated"
            )
        rows = np.append(np.arange(queries.n_documents), rows_of_copies)
        with named_part("cut_copies of query_features"):
            copies = replace(data, X=X).take_rows(rows, all_queries)
        with_features = replace(copies, X=self.expand(copies.X, all_queries))
        if kept is None:
            return with_features, None
        return with_features, np.append(kept, np.ones(len(copied), dtype=bool))

    def warn_of_lists(self, X: FeatureMatrix, queries: Queries) -> None:
        """Warn of lists to score that differ from those of the training, if these are known."""
        if self._sizes is None:
            return
        least, largest = self._sizes
        factor = FACTOR if queries.n_queries < FEW_LISTS else 1.0
        middle = float(np.median(queries.sizes))
        if not least / factor <= middle <= largest * factor:
            warn(
                f"the median length of the lists to score is {middle:g}, and 90% of the lists of "
                f"the training have {least:g} to {largest:g} documents: {_ADVICE}"
            )
        elif queries.n_queries >= MANY_LISTS:
            self._warn_of_spreads(X, queries)

    def _warn_of_spreads(self, X: FeatureMatrix, queries: Queries) -> None:
        """Warn if the spread within lists of many columns is not that of the training."""
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = _spreads(X, queries, self.columns_) / np.array(self._spreads)
            factors = np.abs(np.log(ratios))
        differs = factors > np.log(FACTOR)
        if differs.sum() > SHARE_OF_COLUMNS * len(differs):
            name = self.get_feature_names_out()[self.columns_[int(np.argmax(differs))]]
            warn(
                f"{differs.sum()} of {len(differs)} columns, such as {name!r}, have a standard "
                f"deviation within lists that differs from that of the training by more than a "
                f"factor of {FACTOR:g}: {_ADVICE}"
            )

    def note(self) -> str:
        """The fitted transformer as a text of one line, for model files.

        :func:`features_of_note` reads it.
        """
        return note_of(
            {
                "features": self.features_,
                "n_columns": self.n_features_in_,
                "has_names": hasattr(self, "feature_names_in_"),
                "sizes": self._sizes,
                "spreads": self._spreads,
            }
        )

    def _set_features(self, of_columns: TrainingFeatures, features: list[Feature]) -> None:
        self.features_ = features
        self.n_features_in_ = of_columns.n_features_in_
        self._categories = of_columns.categories
        if hasattr(of_columns, "feature_names_in_"):
            self.feature_names_in_ = of_columns.feature_names_in_
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def _useful(
        self, X: FeatureMatrix, queries: Queries, columns: list[int], candidates: list[Feature]
    ) -> list[Feature]:
        """The candidates that vary within a query, each once, and not equal to a column of X."""
        n_columns = len(columns)
        n_all = n_columns + len(candidates)
        varies = np.zeros(n_columns, dtype=bool)
        sums = np.zeros((N_SUMS, n_all))
        squares = np.zeros(n_all)
        random = np.random.default_rng(0)
        for block in queries.blocks():
            rows = dense_rows(X, block.rows, columns)
            starts = block.part.starts
            differs = np.fmax.reduceat(rows, starts) > np.fmin.reduceat(rows, starts)
            varies |= differs.any(axis=0)
            values = np.hstack([rows, compute_features(rows, block.part, columns, candidates)])
            values = np.nan_to_num(values, nan=_MISSING, posinf=_INFINITE, neginf=-_INFINITE)
            with np.errstate(over="ignore", invalid="ignore"):
                sums += random.standard_normal((N_SUMS, len(rows))) @ values
                squares += (values**2).sum(axis=0)
        useful = []
        is_kept = np.arange(n_all) < n_columns
        for i, (kind, column) in enumerate(candidates, n_columns):
            distances = np.abs(sums[:, is_kept] - sums[:, [i]]).max(axis=0)
            is_new = not (distances <= TOLERANCE * squares[i] ** 0.5).any()
            if is_new and varies[columns.index(column)]:
                is_kept[i] = True
                useful.append((kind, column))
        return useful

    def _values(self, X: FeatureMatrix, queries: Queries) -> NDArray[np.float32]:
        """The new columns of features that are grouped by query."""
        columns = self.columns_
        values = np.empty((queries.n_documents, len(self.features_)), dtype=np.float32)
        for block in queries.blocks():
            rows = dense_rows(X, block.rows, columns)
            values[block.rows] = compute_features(rows, block.part, columns, self.features_)
        return values

    def _append(self, X: FeatureMatrix, values: NDArray[np.float32]) -> Any:
        """Features in memory with the new columns behind them."""
        if isinstance(X, pd.DataFrame):
            added = pd.DataFrame(values, index=X.index, columns=self._new_names())
            return pd.concat([X, added], axis=1)
        if sp.issparse(X):
            return sp.hstack([X, sp.csr_array(values)], format="csr")
        return np.hstack([X, values])

    @property
    def columns_(self) -> list[int]:
        """Indices of the columns from which features are computed."""
        return list(dict.fromkeys(column for _, column in self.features_))

    def _new_names(self) -> list[str]:
        return self.get_feature_names_out()[self.n_features_in_ :].tolist()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = self.columns is not None
        return tags


def as_query_features(setting: object, native: Parameters) -> QueryFeatures:
    """The transformer, not fitted, of the parameter `query_features` of a ranker.

    The setting is not None; `native` are the native parameters of the ranker.

    Raises ValueError for native parameters by which a number means a missing value.
    """
    for name in ("missing", "zero_as_missing"):
        value = native.get(name)
        is_nan = value != value
        # The number 0 is equal to False.
        if value is not None and value is not False and not is_nan:
            raise ValueError(
                f"query_features take only NaN for a missing value, so that {name}={value!r} is "
                "not possible beside them: replace the number by NaN in X"
            )
    transformer: QueryFeatures
    if isinstance(setting, QueryFeatures):
        transformer = clone(setting)
    else:
        transformer = QueryFeatures(setting)  # type: ignore[arg-type]
    categorical = {}
    for name in ("categorical_feature", "feature_types"):
        value = native.get(name)
        if not isinstance(value, (str, NoneType)):
            categorical[name] = value
    transformer._categorical = categorical
    return transformer


def features_of_note(note: str, of_booster: TrainingFeatures) -> TrainingFeatures:
    """The features of X of a model, with the transformer that the note in its file describes.

    Raises ValueError for a note that was edited, and does not give the features of the booster.
    """
    names: Any = getattr(of_booster, "feature_names_in_", None)
    try:
        of_X = _read_note(json.loads(note), of_booster, names)
        described = of_X.query_features.get_feature_names_out().tolist()
    except (LookupError, TypeError, ValueError) as error:
        raise ValueError(f"{_EDITED} ({error!r})") from error
    has_other_names = names is not None and described != names.tolist()
    if len(described) != of_booster.n_features_in_ or has_other_names:
        raise ValueError(f"{_EDITED} ({described[-3:]})")
    return of_X


def _read_note(
    fields: Mapping[str, Any], of_booster: TrainingFeatures, names: NDArray[Any]
) -> TrainingFeatures:
    """The features of X that the fields of a note describe."""
    n_columns = fields["n_columns"]
    names_of_columns = names[:n_columns] if fields["has_names"] else None
    of_X = TrainingFeatures.of_model(n_columns, names_of_columns, {})
    of_X.categories = of_booster.categories
    features = [(kind, column) for kind, column in fields["features"]]
    kinds = dict.fromkeys(kind for kind, _ in features)
    columns = dict.fromkeys(column for _, column in features)
    transformer = QueryFeatures([*kinds], [*columns])
    transformer._set_features(of_X, features)
    transformer._sizes = fields["sizes"]
    transformer._spreads = fields["spreads"]
    of_X.query_features = transformer
    return of_X


def _spreads(X: FeatureMatrix, queries: Queries, columns: list[int]) -> NDArray[np.float64]:
    """The mean over lists of the standard deviation of columns within the list.

    A part of the lists is taken.
    """
    n_taken = min(queries.n_queries, MAX_LISTS)
    taken = np.unique(np.linspace(0, queries.n_queries - 1, n_taken).astype(int))
    rows = _safe_indexing(X, queries.rows_of(taken))
    values = pd.DataFrame(dense_rows(rows, slice(None), columns))
    lists = values.groupby(np.repeat(taken, queries.sizes[taken]))
    return lists.std(ddof=0).mean().to_numpy(np.float64)
