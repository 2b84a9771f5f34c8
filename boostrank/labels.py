"""Labels of a data set: relevance, a number for each document, or preferences, a graph over the documents.

Both kinds have the interface of :class:`Labels`, so that estimators, objectives and backends can use either kind.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from boostrank.dcg import DCG, check_relevance
from boostrank.metrics import Measure
from boostrank.metrics.agreement import Agreement
from boostrank.metrics.ndcg import NDCG
from boostrank.preferences import EDGE_LOSSES, PreferenceGraph
from boostrank.queries import Queries
from boostrank.segments import Floats


class Labels(ABC):
    """Labels of the rows of a data set.

    Attributes
    ----------
    values : ndarray of float64, shape (n_documents,), or PreferenceGraph
        The labels as measures take them.
    """

    values: Any

    @property
    @abstractmethod
    def per_document(self) -> Floats:
        """One number for each document, as backends need it, shape (n_documents,): the relevance, or 0."""

    @abstractmethod
    def require_relevance(self, objective: Any) -> Floats:
        """Relevance of each document, shape (n_documents,).

        Raises
        ------
        ValueError
            If the labels are preferences. The message says that `objective` needs relevance.
        """

    @abstractmethod
    def preferences(self, queries: Queries) -> PreferenceGraph:
        """The preferences between grouped documents; with relevance, those for documents of higher relevance."""

    @abstractmethod
    def take(self, rows: Any) -> Labels:
        """The labels of some rows."""

    @abstractmethod
    def group(self, queries: Queries) -> Labels:
        """The labels, grouped by query.

        Raises
        ------
        ValueError
            If the labels do not belong to these queries.
        """

    @abstractmethod
    def default_measure(self, dcg: DCG) -> Measure:
        """The measure by which rankers are scored unless another one is given: NDCG, or agreement for preferences."""

    def __len__(self) -> int:
        return len(self.values)


@dataclass(frozen=True, eq=False)
class Relevance(Labels):
    """Relevance of each document: finite numbers of 0 or more, float64, shape (n_documents,)."""

    values: Floats

    @property
    def per_document(self) -> Floats:
        return self.values

    def require_relevance(self, objective: Any) -> Floats:
        return self.values

    def preferences(self, queries: Queries) -> PreferenceGraph:
        return PreferenceGraph.from_grades(self.values, queries.repeat(queries.ids))

    def take(self, rows: Any) -> Relevance:
        return Relevance(self.values[rows])

    def group(self, queries: Queries) -> Relevance:
        if len(self) != queries.n_documents:
            raise ValueError(f"y has {len(self)} labels for {queries.n_documents} rows of qid")
        return Relevance(queries.group(self.values))

    def default_measure(self, dcg: DCG) -> Measure:
        return NDCG(k=dcg.k, gain=dcg.gain, discount=dcg.discount)


@dataclass(frozen=True, eq=False)
class Preferences(Labels):
    """Preferences between documents, as a graph."""

    values: PreferenceGraph

    @property
    def per_document(self) -> Floats:
        return np.zeros(len(self))

    def require_relevance(self, objective: Any) -> Floats:
        raise ValueError(f"{objective!r} needs relevance labels; for preferences use one of {', '.join(EDGE_LOSSES)}")

    def preferences(self, queries: Queries) -> PreferenceGraph:
        return self.values

    def take(self, rows: Any) -> Preferences:
        return Preferences(self.values[rows])

    def group(self, queries: Queries) -> Preferences:
        self.values.check_qid(queries.qid)
        return Preferences(self.values.grouped)

    def default_measure(self, dcg: DCG) -> Measure:
        return Agreement()


def as_labels(y: Any) -> Labels:
    """Make labels of the kind that `y` is.

    Parameters
    ----------
    y : array-like, shape (n_documents,), PreferenceGraph or Labels
        Labels are returned unchanged.

    Raises
    ------
    ValueError
        If `y` is neither labels, nor preferences, nor one finite number of 0 or more for each document.

    Examples
    --------
    >>> as_labels([2, 0, 1]).default_measure(DCG(k=10))
    get_measure('ndcg@10')
    """
    if isinstance(y, Labels):
        return y
    return Preferences(y) if isinstance(y, PreferenceGraph) else Relevance(check_relevance(y))
