"""Columns of a data set on a cluster: features, query ids, and labels; and what the workers get of ClickLabels."""

from __future__ import annotations

from typing import Any

import dask.dataframe as dd
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from boostrank.clicks import ClickLabels, ClickLog, DocumentClicks
from boostrank.core.dcg import DCG
from boostrank.dask.partitions import LocalColumn, find_lazy_qid, require_collection
from boostrank.dask.rows import plain_ids
from boostrank.inputs.arrays import Bools
from boostrank.inputs.frames import require_qid
from boostrank.metrics import ClickDCG, Measure
from boostrank.metrics.ndcg import NDCG
from boostrank.objectives.labels import as_labels
from boostrank.rankers.features import check_features


def columns_to_colocate(X: Any, y: Any, qid: Any, receiver: str, dcg: DCG | None) -> tuple[Any, Any, Any]:
    """Features, labels and query ids for :func:`colocate_queries`; clicks become records, with targets for `dcg`."""
    require_collection("X", X)
    X, qid = find_lazy_qid(X, qid)
    if not is_clicks(y):
        require_collection("y", y)
        return X, y, require_qid(qid, receiver)
    records, ids = _columns_of_clicks(y, plain_ids(y.qid), dcg)
    return X, records, ids if qid is None else qid


def check_columns(known: Any, X: Any, reset: bool = False) -> None:
    """Check number and names of the features of a collection against those of `known`, or learn them."""
    require_collection("X", X)
    if isinstance(X, dd.DataFrame):
        unknown = [name for name in X.select_dtypes("category").columns if not X[name].cat.known]
        if unknown:
            raise ValueError(
                f"the categories of {unknown} are not known to Dask, and may differ between partitions: use "
                "X.categorize()"
            )
        check_features(known, X._meta, reset=reset)
    elif getattr(X, "ndim", None) != 2:
        raise ValueError(f"X must be a dask Array or DataFrame of two dimensions; got {type(X).__name__}")
    else:
        check_features(known, np.zeros((1, X.shape[1])), reset=reset)


def default_measure(y: Any, dcg: DCG) -> Measure:
    """The measure of labels unless another one is given: NDCG, or ClickDCG for ClickLabels."""
    return as_labels(y).default_measure(dcg) if is_clicks(y) else NDCG(k=dcg.k, gain=dcg.gain, discount=dcg.discount)


def is_clicks(y: Any) -> bool:
    """Whether labels are clicks. A ClickLog is one too, and an error: clicks need a click model."""
    if isinstance(y, ClickLog):
        as_labels(y)
    return isinstance(y, ClickLabels)


def _columns_of_clicks(labels: ClickLabels, ids: NDArray[Any], dcg: DCG | None) -> tuple[LocalColumn, LocalColumn]:
    """Labels and query ids as columns of this process, for :func:`boostrank.dask.partitions.colocate_queries`.

    Parameters
    ----------
    labels : ClickLabels
    ids : ndarray, shape (n_documents,)
        The query ids of `labels`, of the types that they have on workers.
    dcg : DCG or None
        Discount and cutoff of the targets; None for labels to evaluate on, which must be enough for an evaluation.

    Raises
    ------
    ValueError
        As :meth:`boostrank.ClickLabels.targets` and :class:`boostrank.metrics.ClickDCG`.
    """
    if dcg is None:
        ClickDCG().bind(labels, labels.queries)
    hashes = pd.util.hash_array(ids)
    return LocalColumn(DocumentClicks.of(labels, hashes, dcg).records), LocalColumn(ids)


def queries_with_rows(y: Any) -> Bools | None:
    """Which queries have documents to train or evaluate on, shape (n_queries,); None if all have."""
    if not isinstance(y, ClickLabels) or y.kept is None:
        return None
    return y.queries.max(y.queries.group(y.kept.astype(np.int64))) > 0
