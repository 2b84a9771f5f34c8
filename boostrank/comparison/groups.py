"""Queries that belong together: their groups, and validation data that keep groups whole."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from boostrank.datasets import Fold
from boostrank.inputs.arrays import as_array
from boostrank.inputs.table import Table
from boostrank.inputs.warnings import warn
from boostrank.metrics.query_groups import query_groups
from boostrank.model_selection import split_queries
from boostrank.queries.by_id import align, by_id, shown
from boostrank.queries.groups import number_groups
from boostrank.queries.queries import Features, Queries, find_qid, id_index, require_qid
from boostrank.queries.segments import Values


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


def with_validation_groups(fold: Fold, groups: pd.Series, random_state: Any) -> Fold:
    """Return the fold with validation data: a fifth of the groups of its training queries.

    A fold that has validation data is returned unchanged.
    """
    if fold.validation is not None:
        return fold
    keep, hold_out = split_queries(of_ids(groups, fold.train.qid), 0.2, random_state)
    return fold._replace(train=fold.train.take(keep), validation=fold.train.take(hold_out))
