"""Sizes of the queries that a ranker was trained on. Scorers use them to notice that a splitter cut queries apart.

They are stored here and not in the ranker, because query ids must not be in its pickle.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike
from sklearn.pipeline import Pipeline

from boostrank.core.queries import Queries
from boostrank.inputs.warnings import warn

if TYPE_CHECKING:
    import pandas as pd

_SIZES: WeakKeyDictionary[Any, pd.Series] = WeakKeyDictionary()


def remember_training_queries(ranker: Any, queries: Queries) -> None:
    """Store the number of documents of each training query as long as the ranker exists in this process."""
    import pandas as pd

    _SIZES[ranker] = pd.Series(queries.sizes, index=queries.ids)


def training_query_sizes(ranker: Any) -> pd.Series | None:
    """Number of documents of each training query by its id; None if the ranker was not trained in this process."""
    # Rankers of CatBoost are not hashable.
    return _SIZES.get(ranker) if isinstance(ranker, Hashable) else None


def warn_of_cut_queries(estimator: Any, qid: ArrayLike) -> None:
    """Warn if the model was trained on other documents of queries that are scored: a splitter cut the queries apart."""
    ranker = estimator[-1] if isinstance(estimator, Pipeline) else estimator
    train_sizes = training_query_sizes(ranker)
    if train_sizes is None:
        return
    queries = Queries.from_qid(qid)
    if len(queries.ids) != len(train_sizes) and _are_numbered(queries.ids) and _are_numbered(train_sizes.index):
        # These are two data sets without ids of their own, of which each numbers its queries from 0. Parts of one data
        # set that a splitter cut practically never look like this.
        return
    known = train_sizes.reindex(queries.ids).to_numpy()
    cut = ~np.isnan(known) & (known != queries.sizes)
    if cut.any():
        warn(
            f"the ranker was trained on other documents of {cut.sum()} of the {len(cut)} scored queries, such as "
            f"{str(queries.ids[np.argmax(cut)])!r}. Splitters of rows (cv=5, KFold) cut queries apart: use "
            "cv=QueryKFold(5). If these are other queries with the same ids, give them different ids"
        )


def _are_numbered(ids: Any) -> bool:
    """Whether the ids are the numbers 0, 1, ..., n - 1 in some order."""
    ids = np.asarray(ids)
    return ids.dtype.kind in "iu" and np.array_equal(np.sort(ids), np.arange(len(ids)))
