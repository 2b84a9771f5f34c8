"""Clicks without their log: a record for each document, which is all that a training or an evaluation needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from boostrank.clicks.click_labels import ClickLabels
from boostrank.core.dcg import DCG
from boostrank.core.queries import Queries
from boostrank.inputs.arrays import Bools, Floats

#: The record of a document: its number in the data set, a hash of its query id, and the numbers of ClickLabels.
RECORD = np.dtype(
    [
        ("row", np.int64),
        ("query", np.uint64),
        ("target", np.float64),
        ("relevance", np.float64),
        ("weight", np.float64),
        ("lacks_support", np.bool_),
        ("kept", np.bool_),
    ]
)


@dataclass(frozen=True, eq=False)
class DocumentClicks:
    """Some rows of ClickLabels, with targets that are computed already, and without the log.

    Targets, estimates and weights of a query depend on all its sessions. For rows on several machines, one machine
    computes them from the whole log, and sends each of the others the records of its rows: 42 bytes a document.

    Attributes
    ----------
    records : ndarray of dtype RECORD, shape (n_documents,)
    queries : Queries
        The queries of the rows.
    """

    records: NDArray[Any]
    queries: Queries

    @classmethod
    def of(cls, labels: ClickLabels, hashes: NDArray[np.uint64], dcg: DCG | None = None) -> DocumentClicks:
        """Make the records of all rows of `labels`.

        Parameters
        ----------
        labels : ClickLabels
        hashes : ndarray of uint64, shape (n_documents,)
            Hash of the query id of each row.
        dcg : DCG, optional
            Discount and cutoff of the targets; without it there are no targets, for an evaluation.

        Raises
        ------
        ValueError
            As :meth:`boostrank.ClickLabels.targets`.
        """
        records = np.zeros(len(labels), dtype=RECORD)
        records["row"], records["query"] = np.arange(len(labels)), hashes
        records["target"] = 0.0 if dcg is None else labels.targets(dcg)
        records["relevance"] = labels.estimates.relevance
        records["weight"] = labels.queries.ungroup(labels.queries.repeat(labels.query_weights))
        records["lacks_support"] = labels.lacks_support
        records["kept"] = True if labels.kept is None else labels.kept
        return cls(records, labels.queries)

    def __len__(self) -> int:
        return len(self.records)

    def __getitem__(self, rows: Any) -> DocumentClicks:
        """The records of some rows."""
        return DocumentClicks(self.records[rows], Queries.from_qid(self.queries.qid[rows]))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        raise ValueError("relevance labels are needed, one number for each document, but got clicks")

    @property
    def shape(self) -> tuple[int]:
        """The shape (n_documents,)."""
        return (len(self),)

    @property
    def relevance(self) -> Floats:
        """As :attr:`boostrank.ClickLabels.relevance`."""
        relevance: Floats = self.records["relevance"]
        return relevance

    @property
    def has_clicks(self) -> bool:
        """Whether a document was clicked, so that a target is above 0."""
        return bool(self.records["target"].any())

    @property
    def query_weights(self) -> Floats:
        """Weight of each query, shape (n_queries,), in proportion to those of all rows of the data set."""
        weights: Floats = self.queries.group(self.records["weight"])[self.queries.starts]
        return weights

    @property
    def lacks_support(self) -> Bools:
        """As :attr:`boostrank.ClickLabels.lacks_support`."""
        lacks: Bools = self.records["lacks_support"]
        return lacks

    @property
    def kept(self) -> Bools | None:
        """As :attr:`boostrank.ClickLabels.kept`."""
        kept: Bools = self.records["kept"]
        return None if kept.all() else kept

    def targets(self, dcg: DCG | None = None) -> Floats:
        """The targets, which were computed with the `dcg` of the training."""
        targets: Floats = self.records["target"]
        return targets

    def name_of_row(self, row: int) -> str:
        """A row as messages name it, with its number in the data set."""
        return f"row {self.records['row'][row]} of query {str(self.queries.qid[row])!r}"

    def check_qid(self, qid: ArrayLike) -> None:
        """Raise ValueError if `qid` are not the query ids of the records."""
        self.queries.check_qid(qid, "the records of clicks")
