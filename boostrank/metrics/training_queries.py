"""Sizes of the queries that a ranker was trained on. Scorers use them to notice that a splitter cut queries apart.

They are stored here and not in the ranker, because query ids must not be in its pickle.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from boostrank.queries import Queries

if TYPE_CHECKING:
    import pandas as pd

_SIZES: WeakKeyDictionary[Any, pd.Series] = WeakKeyDictionary()


def remember_training_queries(ranker: Any, queries: Queries) -> None:
    """Store the number of documents of each training query as long as the ranker exists in this process."""
    import pandas as pd

    _SIZES[ranker] = pd.Series(queries.sizes, index=queries.ids)


def training_query_sizes(ranker: Any) -> pd.Series | None:
    """Number of documents of each training query by its id; None if the ranker was not trained in this process."""
    return _SIZES.get(ranker)
