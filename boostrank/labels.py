"""Labels of a data set: relevance, a number for each document, or preferences, a graph over the documents.

Both kinds have the interface of :class:`Labels`, so that estimators, objectives and backends need not ask which kind
they have.
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
        """One number for each document, shape (n_documents,), for backends, which ask for it; 0 beside preferences."""

    @property
    @abstractmethod
    def relevance(self) -> Floats:
        """Relevance of each document, shape (n_documents,); a ValueError where there are only preferences."""

    @abstractmethod
    def preferences(self, queries: Queries) -> PreferenceGraph:
        """The preferences of grouped labels; relevance stands for all of its ordered pairs."""

    @abstractmethod
    def take(self, rows: Any) -> Labels:
        """Labels of these rows."""

    @abstractmethod
    def group(self, queries: Queries) -> Labels:
        """Labels in grouped order; a ValueError if they do not fit these queries."""

    @abstractmethod
    def default_measure(self, dcg: DCG) -> Measure:
        """The measure that scores rankers on such labels unless another is given."""

    def __len__(self) -> int:
        return len(self.values)


@dataclass(frozen=True, eq=False)
class Relevance(Labels):
    """Relevance labels, float64, shape (n_documents,), checked."""

    values: Floats

    @property
    def per_document(self) -> Floats:
        return self.values

    @property
    def relevance(self) -> Floats:
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
    """Preferences between documents."""

    values: PreferenceGraph

    @property
    def per_document(self) -> Floats:
        return np.zeros(len(self))

    @property
    def relevance(self) -> Floats:
        raise ValueError(
            f"relevance labels are needed, but y is {self.values!r}; for preferences use one of the objectives "
            f"{', '.join(EDGE_LOSSES)}"
        )

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
    """Labels of either kind, checked.

    Raises
    ------
    ValueError
        If `y` is no PreferenceGraph, and not one finite number of 0 or more per document.
    """
    if isinstance(y, Labels):
        return y
    return Preferences(y) if isinstance(y, PreferenceGraph) else Relevance(check_relevance(y))
