"""The queries that a ranker was trained on, by which it notices a score that says little about new data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from boostrank.inputs.arrays import Ints
from boostrank.inputs.checks import warn
from boostrank.inputs.frames import index_of
from boostrank.queries.labels import Labels
from boostrank.queries.queries import Queries


@dataclass(frozen=True)
class TrainingQueries:
    """The queries of a training, as long as the ranker is in this process.

    Attributes
    ----------
    ids : ndarray, shape (n_queries,)
    sizes : ndarray of int64, shape (n_queries,)
        Number of documents of each query.
    rows : pandas.Index or None
        The index of the features, if they were a DataFrame without query ids in its index.
    fingerprint : int or None
        That of the labels, with rows in the sequence in which they were given.
    """

    ids: NDArray[Any]
    sizes: Ints
    rows: pd.Index | None
    fingerprint: int | None

    def warn_of_score(self, X: Any, qid: Any, y: Any) -> None:
        """Warn of a score by the clicks of the training, or of queries that were trained on with other documents.

        The latter is what splitters of rows do. Two data sets that both number their queries from 0 are no parts of
        one, unless rows of a DataFrame say so.
        """
        if self.fingerprint is not None and isinstance(y, Labels) and self.fingerprint == y.fingerprint:
            warn(
                "the ranker was trained on the clicks that score it, and follows their noise, so that the score is too "
                "good. Score it by the clicks of other sessions (log.select) or on other queries"
            )
        queries, rows = Queries.from_qid(qid), index_of(X)
        if self.rows is not None and rows is not None:
            may_be_parts = not rows.isin(self.rows).any()
        else:
            may_be_parts = not (_are_numbered(queries.ids) and _are_numbered(self.ids))
        if not may_be_parts:
            return
        sizes = pd.Series(self.sizes, index=self.ids).reindex(queries.ids).to_numpy()
        is_cut = ~np.isnan(sizes) & (sizes != queries.sizes)
        if is_cut.any():
            warn(
                f"the ranker was trained on other documents of {is_cut.sum()} of the {len(is_cut)} scored queries, "
                f"such as {str(queries.ids[np.argmax(is_cut)])!r}. Splitters of rows (cv=5, KFold) cut queries apart: "
                "use cv=QueryKFold(5). If these are other queries with the same ids, give them different ids"
            )


def _are_numbered(ids: NDArray[Any]) -> bool:
    """Whether the ids are the numbers 0, 1, ..., n - 1 in any sequence."""
    return ids.dtype.kind in "iu" and np.array_equal(np.sort(ids), np.arange(len(ids)))
