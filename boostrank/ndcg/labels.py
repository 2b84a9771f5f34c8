"""Labels of the rows of a data set: the interface for rankers, losses and measures, and relevance.

An extension that learns from something else than relevance, such as clicks or preferences between
documents, implements :class:`Labels` in a class of its own. An object of this class stands wherever
labels `y` stand.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import EllipsisType
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from boostrank.inputs.arrays import Bools, Floats, Ints
from boostrank.ndcg.dcg import DCG
from boostrank.ndcg.gains import Gain, check_relevance, warn_of_large_labels
from boostrank.ndcg.targets import Normalize, targets_of
from boostrank.queries.queries import Queries
from boostrank.queries.segments import are_equal_within

#: Rows of a data set: a slice, a mask, or row numbers.
Rows = slice | Ints | Bools
#: A measure, of a higher layer.
M = TypeVar("M")


class Labels(ABC):
    """Labels of the rows of a data set.

    Attributes
    ----------
    default_measure : str
        Name of the measure by which rankers are scored unless another one is given.
    losses : str
        What can be trained on labels that are no relevance, for messages.
    """

    default_measure: ClassVar[str]
    losses: ClassVar[str]

    @property
    def qid(self) -> NDArray[Any] | None:
        """Query id of each row, shape (n_documents,), if the labels have them themselves."""
        return None

    @property
    def fingerprint(self) -> int | None:
        """A number that is equal for equal labels; None where it is not needed.

        It is needed if a score by the labels of the training is too good.
        """
        return None

    @property
    def content(self) -> tuple[Any, ...]:
        """Arrays and settings that the labels are made of, for a hash.

        What they remember of their use is left out.
        """
        return (self.values,)

    @abstractmethod
    def __len__(self) -> int:
        """Number of rows."""

    @abstractmethod
    def __getitem__(self, rows: Rows) -> Labels:
        """The labels of some rows."""

    @property
    def values(self) -> Any:
        """The labels as functions of users get them: relevance, or this object."""
        return self

    @property
    def per_document(self) -> Floats:
        """One number for each document, as boosting libraries need it, shape (n_documents,).

        It is the relevance, or 0.
        """
        return np.zeros(len(self))

    @abstractmethod
    def sameness(self, queries: Queries) -> str:
        """Why no ranking can be learned from grouped labels; "" if some differ within a query.

        An example is "all labels are 0".
        """

    def require_relevance(self, objective: object, *, signed: bool = False) -> Floats:
        """Relevance of each document, shape (n_documents,), for a loss.

        Raises
        ------
        ValueError
            If the labels are no relevance, or some are negative and not `signed`. The message says
            that `objective`, a loss or the objective of a library, needs it.
        """
        kind = type(self).__name__
        raise ValueError(
            f"{objective!r} needs relevance labels, one for each row; for {kind} use {self.losses}"
        )

    def require_relevance_to_measure(self, measure: str, *, signed: bool = False) -> Floats:
        """Relevance of each document, shape (n_documents,), for a measure.

        Raises ValueError if there is none, and if some is negative and not `signed`.
        """
        raise ValueError(
            f"{measure} needs relevance labels, one number for each document; got "
            f"{type(self).__name__}, whose measure is {self.default_measure!r}"
        )

    def targets(
        self, surrogate: object, queries: Queries, dcg: DCG, normalize: Normalize
    ) -> Floats:
        """The targets of a surrogate for grouped labels, shape (n_documents,).

        Raises ValueError if there are none.
        """
        relevance = self.require_relevance(surrogate, signed=dcg.takes_negative)
        return targets_of(relevance, queries, dcg, normalize)

    def weighted(self, weights: Floats | None, queries: Queries) -> Floats | None:
        """Weights of grouped documents, multiplied with those of the labels, if these have any."""
        return weights

    def warn_of_large(self, gain: Gain) -> None:
        """Warn of labels that are hardly meant for the gain ``2^y - 1``, if this is the gain."""
        warn_of_large_labels(self.per_document, gain)

    def measure(self, measure: M) -> M:
        """The measure of these labels that a measure of relevance stands for; by default itself."""
        return measure

    def measures(self, named: Mapping[str, M]) -> Mapping[str, M]:
        """The measures by name that evaluations show for named ones; by default these."""
        return named

    @abstractmethod
    def group(self, queries: Queries) -> Labels:
        """The labels, grouped by query; ValueError if they do not belong to these queries."""

    def prepare(self, predict_logs: Callable[[Floats, Floats], Floats]) -> Labels:
        """The grouped labels to train on, once the features are known.

        Parameters
        ----------
        predict_logs : callable
            Function of one value of 0 or more and one weight for each document that returns the
            logarithm of the value of each document as predicted from the features, by models that
            were trained on other queries.
        """
        return self


class RowsOfQueries:
    """Base class of what belongs to all rows of a data set, and has their query ids.

    So `qid` may be left out.

    Attributes
    ----------
    queries : Queries
        The queries of the rows.
    """

    queries: Queries

    def __len__(self) -> int:
        return self.queries.n_documents

    @property
    def n_documents(self) -> int:
        """Number of rows."""
        return self.queries.n_documents

    @property
    def shape(self) -> tuple[int]:
        """The shape (n_documents,): scikit-learn takes this object for an array of labels."""
        return (len(self),)

    @property
    def qid(self) -> NDArray[Any]:
        """Query id of each row, shape (n_documents,)."""
        return self.queries.qid

    def check_qid(self, qid: ArrayLike) -> None:
        """Raise ValueError if `qid` are not the query ids of the rows."""
        self.queries.check_qid(qid, repr(self))

    def _numbers_of(self, rows: Rows | tuple[Rows, EllipsisType]) -> tuple[Ints, Ints]:
        """The numbers of some rows, and the new number of each row among them.

        The new number is -1 for rows that are left out. Row numbers may not be repeated.
        """
        # scikit-learn indexes by (rows, ...).
        if isinstance(rows, tuple) and rows[1:] == (Ellipsis,):
            rows = rows[0]
        kept = np.arange(len(self))[rows]
        new_row = np.full(len(self), -1)
        new_row[kept] = np.arange(len(kept))
        if np.count_nonzero(new_row >= 0) != len(kept):
            raise ValueError(
                "rows are repeated: clicks on copies of a document, or preferences, are not defined"
            )
        return kept, new_row


@dataclass(frozen=True, eq=False)
class Relevance(Labels):
    """Relevance of each document: finite numbers, float64, shape (n_documents,).

    They are 0 or more, except for the gain "rank" and for measures that take real numbers.

    Examples
    --------
    >>> Relevance(np.array([1.0, 1.0])).sameness(Queries.from_sizes([2]))
    'all labels are 1; give labels that differ within queries'
    """

    relevance: Floats
    default_measure: ClassVar[str] = "ndcg"

    def __len__(self) -> int:
        return len(self.relevance)

    def __getitem__(self, rows: Rows) -> Relevance:
        return Relevance(self.relevance[rows])

    @property
    def values(self) -> Floats:
        """The relevance itself."""
        return self.relevance

    @property
    def per_document(self) -> Floats:
        """The relevance itself."""
        return self.relevance

    def sameness(self, queries: Queries) -> str:
        """Why no ranking can be learned from grouped labels; "" if some differ within a query."""
        if not are_equal_within(self.relevance, queries):
            return ""
        if queries.sizes.max() == 1:
            return "each query has one document; check that qid names the query of each row"
        lowest = self.relevance.min()
        if lowest == self.relevance.max():
            cause = f"all labels are {lowest:g}"
        else:
            cause = "the labels of each query are equal"
        return f"{cause}; give labels that differ within queries"

    def require_relevance(self, objective: object, *, signed: bool = False) -> Floats:
        """The relevance itself."""
        return self._checked(repr(objective), signed)

    def require_relevance_to_measure(self, measure: str, *, signed: bool = False) -> Floats:
        """The relevance itself."""
        return self._checked(measure, signed)

    def _checked(self, owner: str, signed: bool) -> Floats:
        """The relevance; ValueError if some is negative, and not `signed`."""
        lowest = self.relevance.min()
        if lowest < 0 and not signed:
            raise ValueError(
                f"{owner} needs relevance of 0 or more; the smallest label is {lowest:g}"
            )
        return self.relevance

    def group(self, queries: Queries) -> Relevance:
        """The relevance, grouped by query."""
        return Relevance(queries.group(self.relevance))


def as_labels(y: ArrayLike | Labels, name: str = "relevance", *, signed: bool = False) -> Labels:
    """Return labels, and make them of an array of relevance.

    Parameters
    ----------
    y : Labels or array-like, shape (n_documents,)
    name : str
        Name of the argument, for messages.
    signed : bool, default False
        Whether relevance may be negative.

    Raises
    ------
    ValueError
        If `y` is neither labels nor one finite number of 0 or more, or any if `signed`, for each
        document.

    Examples
    --------
    >>> as_labels([2, 0, 1]).per_document
    array([2., 0., 1.])
    """
    if isinstance(y, Labels):
        return y
    return Relevance(check_relevance(y, name, signed=signed))
