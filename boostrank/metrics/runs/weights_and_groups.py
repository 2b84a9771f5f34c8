"""Weights and groups of the queries of a run, which are given by query id."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from boostrank.core.queries import Queries
from boostrank.core.weights import align, by_id, query_weights, refuse_unknown
from boostrank.datasets.trec_tables import QUERY
from boostrank.inputs.arrays import Floats
from boostrank.metrics.query_groups import QueryGroups


def weights_by_id(sample_weight: Any, ids: NDArray[Any]) -> Floats:
    """The weight of each evaluated query.

    Parameters
    ----------
    sample_weight : Mapping, Series or DataFrame
        Weight by query id. Weights of other queries are ignored.
    ids : ndarray of object, shape (n_queries,)
        Ids (str) of the evaluated queries.

    Raises
    ------
    ValueError, TypeError
        As :func:`boostrank.evaluate_run` for `sample_weight`.
    """
    weights = align(by_id(sample_weight, "sample_weight", ids_are_text=True), ids, "sample_weight")
    return query_weights(weights.to_numpy(), Queries.from_sizes(np.ones(len(ids), dtype=np.int64), ids))


def groups_by_id(by: Any, ids: NDArray[Any], *tables: pd.DataFrame) -> QueryGroups:
    """The group of each evaluated query.

    Parameters
    ----------
    by : Mapping, Series or DataFrame
        Group by query id.
    ids : ndarray of object, shape (n_queries,)
        Ids (str) of the evaluated queries.
    *tables : DataFrame
        Checked judgments and runs. Together they have all queries that `by` may have.

    Raises
    ------
    ValueError, TypeError
        As :func:`boostrank.evaluate_run` for `by`.
    """
    groups = by_id(by, "by", ids_are_text=True)
    if not groups.index.isin(ids).all():
        known = [np.asarray(table[QUERY].cat.categories, dtype=object) for table in tables]
        refuse_unknown(groups, np.concatenate(known), "by")
    return QueryGroups.from_values(align(groups, ids, "by"))
