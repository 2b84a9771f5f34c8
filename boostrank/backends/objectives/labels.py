"""Labels of a data set: relevance, a number for each document; preferences, a graph over the documents; or clicks.

All kinds have the interface of :class:`Labels`, so that estimators, objectives and backends can use each of them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from boostrank.clicks import ClickLabels, ClickLog
from boostrank.inputs.arrays import Bools, Floats
from boostrank.metrics import ClickDCG, Measure
from boostrank.metrics.correlation import Agreement
from boostrank.metrics.ndcg import NDCG
from boostrank.preferences import PreferenceGraph
from boostrank.queries.dcg import DCG, check_relevance
from boostrank.queries.queries import Queries
from boostrank.queries.targets import Normalize, targets_of


class Labels(ABC):
    """Labels of the rows of a data set.

    Attributes
    ----------
    values : ndarray of float64, shape (n_documents,), PreferenceGraph or ClickLabels
        The labels as measures take them.
    """

    values: Any

    @property
    def per_document(self) -> Floats:
        """One number for each document, as backends need it, shape (n_documents,): the relevance, or 0."""
        return np.zeros(len(self))

    @property
    @abstractmethod
    def sameness(self) -> str:
        """Why nothing can be learned from the labels, such as "all labels are 0"; "" if some of them differ."""

    @abstractmethod
    def require_relevance(self, objective: Any) -> Floats:
        """Relevance of each document, shape (n_documents,).

        Raises
        ------
        ValueError
            If the labels are preferences or clicks. The message says that `objective` needs relevance.
        """

    def targets(self, objective: Any, queries: Queries, dcg: DCG, normalize: Normalize) -> Floats:
        """The targets of a surrogate for grouped labels, shape (n_documents,).

        Raises
        ------
        ValueError
            If the labels are preferences. The message says that `objective` needs relevance.
        """
        return targets_of(self.require_relevance(objective), queries, dcg, normalize)

    def weighted(self, weights: ArrayLike | None) -> ArrayLike | None:
        """Weights of queries or documents, multiplied with those that the labels have themselves, if they have any."""
        return weights

    @property
    def kept(self) -> Bools | None:
        """Rows to train and to evaluate on, shape (n_documents,); None for all."""
        return None

    def compared(self, queries: Queries) -> Bools:
        """Whether each grouped query counts where rankers are compared: it has a relevant document, or impressions.

        Raises
        ------
        ValueError
            If the labels are preferences.
        """
        relevant: Bools = queries.max(self.require_relevance("auto")) > 0
        return relevant

    def preferences(self, queries: Queries) -> PreferenceGraph:
        """The preferences between grouped documents; with relevance, those for documents of higher relevance.

        Raises
        ------
        ValueError
            If the labels are clicks.
        """
        relevance = self.require_relevance("a loss of preferences")
        return PreferenceGraph.from_grades(relevance, queries.repeat(queries.ids))

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
        """The measure by which rankers are scored unless another one is given: NDCG; agreement; or ClickDCG."""

    def __len__(self) -> int:
        return len(self.values)


@dataclass(frozen=True, eq=False)
class Relevance(Labels):
    """Relevance of each document: finite numbers of 0 or more, float64, shape (n_documents,)."""

    values: Floats

    @property
    def per_document(self) -> Floats:
        return self.values

    @property
    def sameness(self) -> str:
        return sameness_of(float(self.values.min()), float(self.values.max()))

    def require_relevance(self, objective: Any) -> Floats:
        return self.values

    def take(self, rows: Any) -> Relevance:
        return Relevance(self.values[rows])

    def group(self, queries: Queries) -> Relevance:
        return Relevance(queries.group(self.values))

    def default_measure(self, dcg: DCG) -> Measure:
        return NDCG(k=dcg.k, gain=dcg.gain, discount=dcg.discount)


@dataclass(frozen=True, eq=False)
class Preferences(Labels):
    """Preferences between documents, as a graph."""

    values: PreferenceGraph

    @property
    def sameness(self) -> str:
        return self.values.sameness

    def require_relevance(self, objective: Any) -> Floats:
        return self.values.require_relevance(objective)

    def preferences(self, queries: Queries) -> PreferenceGraph:
        return self.values

    def take(self, rows: Any) -> Preferences:
        return Preferences(self.values[rows])

    def group(self, queries: Queries) -> Preferences:
        self.values.check_qid(queries.qid)
        return Preferences(self.values.grouped)

    def default_measure(self, dcg: DCG) -> Measure:
        return Agreement()


@dataclass(frozen=True, eq=False)
class Clicks(Labels):
    """Clicks on documents."""

    values: ClickLabels

    @property
    def kept(self) -> Bools | None:
        return self.values.kept

    @property
    def sameness(self) -> str:
        return self.values.sameness

    def require_relevance(self, objective: Any) -> Floats:
        return self.values.require_relevance(objective)

    def targets(self, objective: Any, queries: Queries, dcg: DCG, normalize: Normalize) -> Floats:
        return self.values.targets(objective, queries, dcg, normalize)

    def weighted(self, weights: ArrayLike | None) -> ArrayLike | None:
        return self.values.weighted(weights)

    def compared(self, queries: Queries) -> Bools:
        return self.values.query_weights > 0.0

    def take(self, rows: Any) -> Clicks:
        return replace(self, values=self.values[rows])

    def group(self, queries: Queries) -> Clicks:
        self.values.check_qid(queries.qid)
        return self if queries.permutation is None else self.take(queries.permutation)

    def default_measure(self, dcg: DCG) -> Measure:
        return ClickDCG(k=dcg.k, discount=dcg.discount)


def sameness_of(lowest: float, highest: float) -> str:
    """As :attr:`Labels.sameness`, for the smallest and the largest relevance."""
    return "" if lowest < highest else f"all labels are {lowest:g}; give labels that differ within queries"


def as_labels(y: Any) -> Labels:
    """Make labels of the kind that `y` is.

    Parameters
    ----------
    y : array-like, shape (n_documents,), PreferenceGraph or ClickLabels

    Raises
    ------
    ValueError
        If `y` is neither labels, nor preferences, nor clicks, nor one finite number of 0 or more for each document; and
        for a ClickLog without a click model.

    Examples
    --------
    >>> as_labels([2, 0, 1]).default_measure(DCG(k=10))
    get_measure('ndcg@10')
    """
    if isinstance(y, ClickLog):
        raise ValueError(
            "y is a ClickLog, whose clicks depend on the positions: pass boostrank.ClickLabels(log, propensities), or "
            "ClickLabels(log, 1.0) to take clicks for relevance"
        )
    if isinstance(y, ClickLabels):
        return Clicks(y)
    return Preferences(y) if isinstance(y, PreferenceGraph) else Relevance(check_relevance(y))
