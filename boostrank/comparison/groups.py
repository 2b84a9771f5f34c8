"""Queries that belong together: folds and validation data that keep groups of them whole."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.model_selection import check_cv

from boostrank.datasets import Fold
from boostrank.inputs.arrays import Ints, as_array
from boostrank.inputs.table import Table
from boostrank.inputs.warnings import warn
from boostrank.metrics.query_groups import query_groups
from boostrank.model_selection import QueryKFold, split_queries
from boostrank.model_selection.splits import Splitter
from boostrank.ndcg.labels import Labels
from boostrank.queries.by_id import align, by_id, shown
from boostrank.queries.groups import number_groups
from boostrank.queries.queries import Features, Queries, find_qid, id_index, number_ids, require_qid
from boostrank.queries.segments import Values

#: Pairs of row numbers, to train and to test on.
Pairs: TypeAlias = list[tuple[Ints, Ints]]


def groups_of_rows(
    X: Features, y: object, qid: ArrayLike | None, groups: Any
) -> tuple[Features, pd.Series]:
    """Features without the column of the groups, and the group of each query.

    Parameters
    ----------
    X, y, qid
        As in :func:`boostrank.compare`.
    groups : str, array-like, Mapping, Series or DataFrame
        The name of a column of `X`, one value for each row or query, or values by query id.

    Returns
    -------
    features
    groups : Series
        By query id.

    Raises
    ------
    ValueError
        If `X` has no column of this name, there are no query ids, or rows of one query are in two
        groups; if a group is missing, or all are the same.
    """
    if isinstance(groups, str):
        table = Table(X)
        if groups not in table.names:
            raise ValueError(
                f"groups must be the name of a column of X, of {table.names[:10]}, or one group "
                f"for each row or query; got {groups!r}"
            )
        X = table.without(groups).given
        groups = as_array(table.column(groups), "groups")
    _, ids = find_qid(X, qid, y)
    queries = Queries.from_qid(require_qid(ids, "compare"))
    of_queries = np.asarray(query_groups(groups, queries, "groups"), dtype=object)
    number_groups(of_queries)
    return X, pd.Series(of_queries, index=id_index(queries.ids), dtype=object)


def groups_of_folds(groups: Any, folds: Sequence[Fold]) -> pd.Series:
    """The group of each query, by query id, for folds that are given.

    Raises TypeError unless `groups` is a mapping, a Series or a DataFrame by query id, and
    ValueError if it lacks a query of a fold.
    """
    series = by_id(groups, "groups")
    number_groups(series.to_numpy())
    for fold in folds:
        of_train, of_test = (
            align(series, Queries.from_qid(part.qid).ids, "groups")
            for part in (fold.train, fold.test)
        )
        shared = of_test[of_test.isin(of_train)].unique()
        if len(shared):
            warn(
                f"{fold.name} has queries of the group {shown(shared[:1])} (and {len(shared) - 1} "
                "others) on both sides, to train and to test on, so that values are too good for "
                "queries of other groups"
            )
            break
    return series


def of_ids(groups: pd.Series, qid: Values) -> Values:
    """The group of each query id, in their sequence."""
    return align(groups, qid, "groups").to_numpy()


def split_by_group(X: Features, y: Any, groups: Values, cv: Splitter) -> Pairs:
    """The folds of rows that `cv` makes of groups, none of which it may divide.

    Parameters
    ----------
    X, y, cv
        As in :func:`boostrank.compare`.
    groups : ndarray, shape (n_documents,)
        Group of each row.

    Raises
    ------
    ValueError
        If there are fewer groups than folds, or a fold has a group on both sides.
    """
    numbers, n_groups = number_ids(groups)
    if isinstance(cv, (int, np.integer)) and cv >= 2:
        cv = QueryKFold(int(cv))
    n_folds = cv.n_splits if isinstance(cv, QueryKFold) else 0
    if n_groups < n_folds:
        raise ValueError(f"{n_folds} folds need at least {n_folds} groups; got {n_groups}")
    # Splitters would find other groups in the query ids of an index or of labels.
    if Table(X).ids_in_index is not None:
        X = X.reset_index(drop=True)
    if isinstance(y, Labels):
        y = y.per_document
    rows = np.arange(len(groups))
    pairs = [(rows[train], rows[test]) for train, test in check_cv(cv).split(X, y, numbers)]
    for train, test in pairs:
        divided = test[np.isin(numbers[test], numbers[train])]
        if len(divided):
            raise ValueError(
                f"cv has a fold with rows of the group {str(groups[divided[0]])!r} on both sides, "
                "to train and to test on: use QueryKFold or another splitter by groups"
            )
    return pairs


def with_validation_groups(fold: Fold, groups: pd.Series, random_state: Any) -> Fold:
    """Return the fold with validation data: a fifth of the groups of its training queries.

    A fold that has validation data is returned unchanged.
    """
    if fold.validation is not None:
        return fold
    keep, hold_out = split_queries(of_ids(groups, fold.train.qid), 0.2, random_state)
    return fold._replace(train=fold.train.take(keep), validation=fold.train.take(hold_out))
