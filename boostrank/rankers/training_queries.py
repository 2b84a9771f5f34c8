"""The queries of a training, and warnings of scores that say little about new data."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn import get_config

from boostrank.inputs.arrays import Ints
from boostrank.inputs.table import QID, Table, index_of
from boostrank.inputs.warnings import warn
from boostrank.ndcg.labels import Labels
from boostrank.queries.queries import Queries, id_index
from boostrank.queries.segments import Values

#: The module of scikit-learn that trains and scores in folds.
_SEARCHES = "sklearn.model_selection._validation"


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

    @classmethod
    def of(cls, queries: Queries, X: object, y: object) -> Self:
        """Those of a training with these queries, on the arguments `X` and `y` of ``fit``."""
        fingerprint = y.fingerprint if isinstance(y, Labels) else None
        return cls(queries.ids, queries.sizes, index_of(X), fingerprint)

    def warn_of_score(self, X: object, qid: ArrayLike, y: object) -> None:
        """Warn of a score by the clicks of the training, or of queries that a splitter cut apart.

        Splitters of rows leave other documents of the queries of the training. Two data sets that
        both number their queries from 0 are no parts of one, unless rows of a DataFrame say so.
        """
        if self._has_labels(y):
            warn(
                "the ranker was trained on the clicks that score it, and follows their noise, so "
                "that the score is too good. Score it by the clicks of other sessions (log.select) "
                "or on other queries"
            )
        queries = Queries.from_qid(qid)
        if not self._may_be_parts(queries, index_of(X)):
            return
        of_training = pd.Series(self.sizes, index=id_index(self.ids))
        sizes = of_training.reindex(id_index(queries.ids)).to_numpy()
        is_cut = ~np.isnan(sizes) & (sizes != queries.sizes)
        if is_cut.any():
            warn(
                f"the ranker was trained on other documents of {is_cut.sum()} of the {len(is_cut)} "
                f"scored queries, such as {str(queries.ids[np.argmax(is_cut)])!r}. Splitters of "
                "rows (cv=5, KFold) cut queries apart: use cv=QueryKFold(5). If these are other "
                "queries with the same ids, give them different ids"
            )

    def _has_labels(self, y: object) -> bool:
        """Whether `y` are the labels of the training, if a score by them is too good."""
        if self.fingerprint is None or not isinstance(y, Labels):
            return False
        return self.fingerprint == y.fingerprint

    def _may_be_parts(self, queries: Queries, rows: pd.Index | None) -> bool:
        """Whether the data of these queries and of the training may be parts of one data set."""
        if self.rows is not None and rows is not None:
            return not rows.isin(self.rows).any()
        return not (_are_numbered(queries.ids) and _are_numbered(self.ids))


def refuse_search_without_routing(receiver: str) -> None:
    """Raise ValueError in a search of scikit-learn that passes query ids to `fit` only.

    Without metadata routing, `score` gets no ids, and the search replaces its error by NaN. If all
    trainings fail, the search raises their error. Features that have query ids are scored.

    Parameters
    ----------
    receiver : str
        Name of the class of the ranker.
    """
    if get_config()["enable_metadata_routing"]:
        return
    frame = inspect.currentframe()
    while frame is not None and frame.f_globals.get("__name__") != _SEARCHES:
        frame = frame.f_back
    if frame is None:
        return
    given = frame.f_locals
    if not any(name.rpartition("__")[2] == QID for name in given.get("fit_params") or ()):
        return
    scorer = given.get("scorer")
    scorers = getattr(scorer, "_scorers", {"score": scorer}).values()
    needs_ids = any(
        hasattr(one, "qid_request") or type(one).__name__ == "_PassthroughScorer" for one in scorers
    )
    table = Table(given.get("X"))
    if needs_ids and QID not in table.names and table.ids_in_index is None:
        raise ValueError(
            f"scikit-learn passes qid to {receiver}.fit, but not to its score, because metadata "
            "routing is not enabled: use br.grid_search or br.cross_validate, or enable it "
            "(sklearn.set_config(enable_metadata_routing=True)), or pass X as a DataFrame with a "
            "column or an index named 'qid', in place of qid"
        )


def _are_numbered(ids: Values) -> bool:
    """Whether the ids are the numbers 0, 1, ..., n - 1 in any sequence."""
    return ids.dtype.kind in "iu" and np.array_equal(np.sort(ids), np.arange(len(ids)))
