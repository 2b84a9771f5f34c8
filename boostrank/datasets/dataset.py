"""The records of a data set and of a fold of a cross-validation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from numpy.typing import NDArray

from boostrank.inputs.arrays import Floats, as_array
from boostrank.inputs.table import with_rows
from boostrank.ndcg.labels import Labels, Rows

if TYPE_CHECKING:
    from scipy import sparse as sp


class Dataset(NamedTuple):
    """Documents of many queries, one per row; it unpacks as ``X, y, qid``.

    Attributes
    ----------
    X : ndarray or scipy.sparse.csr_matrix, shape (n_documents, n_features), float64 or float32
        Features.
    y : ndarray, shape (n_documents,), float64; or other labels of boostrank
        Relevance labels; or preferences, clicks, or labels of several objectives.
    qid : ndarray, shape (n_documents,), int64 or str
        Query of each document.

    Examples
    --------
    >>> import numpy as np
    >>> import boostrank as br
    >>> data = br.Dataset(np.eye(3), np.array([1.0, 0.0, 2.0]), np.array([7, 7, 8]))
    >>> data.take([0, 2]).qid.tolist()
    [7, 8]
    """

    X: NDArray[Any] | sp.csr_matrix
    y: Floats
    qid: NDArray[Any]

    def take(self, rows: Rows | Sequence[int]) -> Dataset:
        """Return the data set of the given rows (row numbers, a slice or a mask)."""
        from sklearn.utils import _safe_indexing

        y: Any = self.y
        # Preferences and clicks are no arrays, and take rows themselves.
        if not isinstance(y, Labels):
            y = as_array(y, "y")
        X = _safe_indexing(with_rows(self.X), rows)
        return Dataset(X, y[rows], as_array(self.qid, "qid")[rows])


class Fold(NamedTuple):
    """One fold of a cross-validation: data sets for training, validation and test.

    Attributes
    ----------
    name : str
        Name of the fold, such as "Fold1".
    train, test : Dataset
        Documents to train on, and documents to evaluate on.
    validation : Dataset or None
        Documents to choose settings with; None if the fold has none.

    Examples
    --------
    >>> import boostrank as br
    >>> first, *others = br.query_folds(br.make_ranking(n_queries=20, random_state=0), 4)
    >>> first.name, *(len(set(part.qid)) for part in (first.train, first.validation, first.test))
    ('Fold1', 10, 5, 5)
    """

    name: str
    train: Dataset
    validation: Dataset | None
    test: Dataset
