"""The records of a data set and of a fold of a cross-validation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from boostrank.inputs.arrays import Floats, as_array
from boostrank.queries.queries import Queries

if TYPE_CHECKING:
    from scipy import sparse as sp

# With more different labels than this, a notebook does not show the number of documents of each of them.
MAX_LABELS = 12


class Dataset(NamedTuple):
    """Documents of many queries, one per row; it unpacks as ``X, y, qid``.

    Attributes
    ----------
    X : ndarray or scipy.sparse.csr_matrix, shape (n_documents, n_features), float64 or float32
        Features.
    y : ndarray, shape (n_documents,), float64; or PreferenceGraph or ClickLabels
        Relevance labels; or preferences, or clicks.
    qid : ndarray, shape (n_documents,), int64 or str
        Query of each document.

    Examples
    --------
    >>> data = Dataset(np.eye(3), np.array([1.0, 0.0, 2.0]), np.array([7, 7, 8]))
    >>> data.take([0, 2]).qid.tolist()
    [7, 8]
    """

    X: NDArray[Any] | sp.csr_matrix
    y: Floats
    qid: NDArray[Any]

    def take(self, rows: Any) -> Dataset:
        """Return the data set of the given rows (row numbers, a slice or a mask)."""
        # Preferences and clicks are no arrays, and take rows themselves.
        y = self.y if self._has_other_labels else np.asarray(self.y)
        from sklearn.utils import _safe_indexing

        return Dataset(_safe_indexing(self.X, rows), y[rows], as_array(self.qid, "qid")[rows])

    @property
    def _has_other_labels(self) -> bool:
        return hasattr(self.y, "queries")

    def _repr_html_(self) -> str:
        """Numbers of documents, queries, features and labels as an HTML table, for notebooks."""
        from boostrank.tables.html import html_table, range_text

        queries = Queries.from_qid(self.qid)
        rows = [["documents", f"{queries.n_documents:,}"], ["queries", f"{queries.n_queries:,}"]]
        rows += [["documents of a query", range_text(queries.sizes)], ["features", f"{self.X.shape[1]:,}"]]
        kind = f"{type(self.X).__name__}, {self.X.dtype}" if hasattr(self.X, "dtype") else type(self.X).__name__
        rows += [["type of the features", kind]]
        if self._has_other_labels:
            return html_table([*rows, ["labels", repr(self.y)]], "Dataset", has_head=False)
        labels, counts = np.unique(np.asarray(self.y), return_counts=True)
        if len(labels) <= MAX_LABELS:
            shares = zip(labels, counts, strict=True)
            rows += [[f"label {label:g}", f"{count:,} ({count / len(self.y):.1%})"] for label, count in shares]
        else:
            rows += [["labels", f"{len(labels):,} different ones, {range_text(np.asarray(self.y))}"]]
        return html_table(rows, "Dataset", has_head=False)


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
