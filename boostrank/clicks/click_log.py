"""The click log: at which position documents were shown, and how often they were clicked there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from boostrank.clicks.click_columns import (
    ONE_DISPLAY,
    check_columns,
    common_documents,
    distinct_ids,
    document_ids,
    repeated,
    session_numbers,
    summed,
    whole_numbers,
)
from boostrank.core.queries import Queries
from boostrank.core.segments import Segments
from boostrank.inputs.arrays import Bools, Ints

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, repr=False, init=False)
class ClickLog:
    """Clicks on documents that were shown at known positions of result lists.

    A log is a table. An *entry* of it says that one row of `X` was shown at one position, how often (`impressions`),
    and in how many of these impressions it was clicked (`clicks`). The log belongs to all rows of a data set, and is
    used in place of the labels `y`. So it also has the query id of every row, and its length is the number of rows.
    Indexing it by rows, as cross-validation does, keeps the entries of these rows.

    There are two kinds of logs.

    - A log of **sessions**: each entry belongs to a session, the display of one result list of one query. Every number
      of impressions is 1. Entries are sorted by session and position; sessions keep the sequence in which they first
      appear.
    - A log of **counts**, without sessions. Entries are sorted by row and position, and entries of the same row and
      position are summed. :meth:`aggregate` makes it from a log of sessions.

    Parameters
    ----------
    qid : array-like, shape (n_documents,)
        Query id of each row of `X`, as in :meth:`boostrank.core.queries.Queries.from_qid`.
    row : array-like of int, shape (n_entries,)
        Number of the row of `X` that was shown, from 0.
    position : array-like of int, shape (n_entries,)
        Position at which it was shown. The first position of a list is 1.
    clicks : array-like of int, shape (n_entries,)
        Number of impressions with a click, from 0 to the number of impressions. Truth values count as 0 and 1.
    impressions : array-like of int, shape (n_entries,), optional
        How often the row was shown at the position; by default once. Entries with neither impressions nor clicks are
        left out.
    session : array-like, shape (n_entries,), optional
        Session of each entry: integers, strings or other ids. Without it, the log has counts.
    documents : array-like, shape (n_documents,), optional
        Id of the document of each row, for messages and for :meth:`to_frame`.

    Attributes
    ----------
    queries : Queries
    row, position, clicks, impressions : ndarray of int64, shape (n_entries,)
        They cannot be written to.
    sessions : Segments or None
        The entries of each session.
    session_ids : ndarray, shape (n_sessions,), or None
    documents : ndarray, shape (n_documents,), or None

    Raises
    ------
    ValueError
        If the arguments have different lengths or no entry; if a row does not exist; if a position is not an integer of
        at least 1; if a count is not an integer, or is negative, or there are more clicks than impressions; if a
        session has documents of several queries, a document twice, a position twice, or more than one impression. The
        message names the entry.

    Examples
    --------
    >>> log = ClickLog(
    ...     qid=["a", "a", "b"], row=[0, 1, 1, 0, 2], position=[1, 2, 1, 2, 1], clicks=[1, 0, 1, 0, 0],
    ...     session=[7, 7, 8, 8, 9],
    ... )
    >>> log
    ClickLog(n_documents=3, n_queries=2, n_entries=5, n_sessions=3, n_impressions=5, n_clicks=2)
    >>> log.sessions.sum(log.clicks).tolist()
    [1, 1, 0]
    >>> log.aggregate().to_frame()
      qid  row  position  clicks  impressions
    0   a    0         1       1            1
    1   a    0         2       0            1
    2   a    1         1       1            1
    3   a    1         2       0            1
    4   b    2         1       0            1
    """

    queries: Queries
    row: Ints
    position: Ints
    clicks: Ints
    impressions: Ints
    sessions: Segments | None
    session_ids: NDArray[Any] | None
    documents: NDArray[Any] | None

    def __init__(
        self,
        qid: ArrayLike,
        row: ArrayLike,
        position: ArrayLike,
        clicks: ArrayLike,
        impressions: ArrayLike | None = None,
        session: ArrayLike | None = None,
        *,
        documents: ArrayLike | None = None,
    ) -> None:
        queries = Queries.from_qid(qid)
        ids = None if documents is None else document_ids(documents, queries.n_documents)
        rows = whole_numbers(row, "row", None)
        columns = [rows, whole_numbers(position, "position", len(rows)), whole_numbers(clicks, "clicks", len(rows))]
        shown = np.ones_like(rows) if impressions is None else whole_numbers(impressions, "impressions", len(rows))
        columns.append(shown)
        check_columns(queries.n_documents, *columns)
        numbers, ids_of_numbers = (None, None) if session is None else session_numbers(session, len(rows))
        if not shown.all():
            columns = [column[shown > 0] for column in columns]
            numbers = None if numbers is None else numbers[shown > 0]
        if not len(columns[0]):
            raise ValueError("a click log needs at least one entry with an impression; got none")
        if numbers is None:
            self._set(queries, *summed(queries.n_documents, *columns), None, None, ids)
            return
        if (columns[3] > 1).any():
            entry = int(np.argmax(shown > 1))
            raise ValueError(
                f"impressions[{entry}] is {shown[entry]}, but an entry of a session is one impression; leave session "
                "out for a log of counts"
            )
        by_session = Queries.from_qid(numbers)
        session_ids = by_session.ids if ids_of_numbers is None else ids_of_numbers[by_session.ids]
        columns = [*(by_session.group(column) for column in columns[:3]), columns[3]]
        sessions = Segments(by_session.indptr)
        within = np.diff(columns[1]) >= 0
        within[sessions.starts[1:] - 1] = True
        if not within.all():
            sorting = sessions.sort(-columns[1].astype(np.float64))
            columns = [column[sorting] for column in columns]
        self._set(queries, *columns, sessions, session_ids, ids)
        self._check_sessions()

    @classmethod
    def of_sessions(
        cls,
        queries: Queries,
        row: Ints,
        clicks: Ints,
        sessions: Segments,
        session_ids: NDArray[Any] | None = None,
        documents: NDArray[Any] | None = None,
    ) -> ClickLog:
        """Make a log of complete sessions, as :func:`boostrank.simulate_clicks` does.

        Every session shows its rows at the positions 1, 2, ... in the sequence of the entries.

        Parameters
        ----------
        queries : Queries
            Queries of the rows of `X`.
        row, clicks : ndarray of int64, shape (n_entries,)
        sessions : Segments
            The entries of each session.
        session_ids : ndarray, shape (n_sessions,), optional
            By default 0, 1, ...
        documents : ndarray, shape (n_documents,), optional

        Raises
        ------
        ValueError
            As :class:`ClickLog`.
        """
        rows = whole_numbers(row, "row", sessions.n_rows)
        columns = [rows, sessions.positions + 1, whole_numbers(clicks, "clicks", len(rows)), np.ones_like(rows)]
        check_columns(queries.n_documents, *columns)
        ids = np.arange(sessions.n_segments) if session_ids is None else distinct_ids(session_ids, sessions.n_segments)
        names = None if documents is None else document_ids(documents, queries.n_documents)
        log = cls._of(queries, *columns, sessions, ids, names)
        log._check_sessions()
        return log

    @classmethod
    def concatenate(cls, logs: Sequence[ClickLog]) -> ClickLog:
        """One log with the entries of several logs of the same rows, for example of the result lists of two rankers.

        If all logs have sessions, so has the result. Its sessions have the ids 0, 1, ..., because equal ids in two logs
        belong to different sessions. If no log has sessions, counts are summed.

        Parameters
        ----------
        logs : sequence of ClickLog

        Raises
        ------
        ValueError
            If there is no log, if the logs have different ids of queries or documents, or if only some of them have
            sessions.

        Examples
        --------
        >>> one = ClickLog(qid=[5, 5], row=[0], position=[1], clicks=[1])
        >>> ClickLog.concatenate([one, one]).to_frame()
           qid  row  position  clicks  impressions
        0    5    0         1       2            2
        """
        logs = list(logs)
        if not logs:
            raise ValueError("logs must have at least one click log; got none")
        first = logs[0]
        for i, log in enumerate(logs):
            check_log(log, f"logs[{i}]")
            if log.shape != first.shape or not np.array_equal(log.qid.astype(object), first.qid.astype(object)):
                raise ValueError(f"logs[{i}] belongs to other rows than logs[0]: its query ids are different")
            if (log.sessions is None) != (first.sessions is None):
                raise ValueError(f"logs[{i}] and logs[0] must both have sessions, or neither; use aggregate()")
        documents = common_documents([log.documents for log in logs])
        columns = [np.concatenate(parts) for parts in zip(*(log._columns for log in logs), strict=True)]
        if first.sessions is None:
            return cls._of(first.queries, *summed(len(first), *columns), None, None, documents)
        sizes = np.concatenate([log.sessions.sizes for log in logs if log.sessions is not None])
        sessions = Segments.from_sizes(sizes)
        return cls._of(first.queries, *columns, sessions, np.arange(len(sizes)), documents)

    @property
    def n_documents(self) -> int:
        """Number of rows of `X`."""
        return self.queries.n_documents

    @property
    def n_entries(self) -> int:
        """Number of entries."""
        return len(self.row)

    @property
    def n_sessions(self) -> int | None:
        """Number of sessions; None for a log of counts."""
        return None if self.sessions is None else self.sessions.n_segments

    @property
    def n_impressions(self) -> int:
        """Sum of the impressions of all entries."""
        return int(self.impressions.sum())

    @property
    def n_clicks(self) -> int:
        """Sum of the clicks of all entries."""
        return int(self.clicks.sum())

    @cached_property
    def n_positions(self) -> int:
        """The largest position."""
        return int(self.position.max())

    @property
    def qid(self) -> NDArray[Any]:
        """Query id of each row of `X`, shape (n_documents,)."""
        return self.queries.qid

    @cached_property
    def query(self) -> Ints:
        """Number of the query of each entry, an index of ``queries.ids``, shape (n_entries,)."""
        of_row: Ints = self.queries.ungroup(self.queries.repeat(np.arange(self.queries.n_queries)))
        return of_row[self.row]

    @property
    def shape(self) -> tuple[int]:
        """The shape (n_documents,), so that scikit-learn takes the log for an array of labels."""
        return (self.n_documents,)

    @property
    def shown(self) -> Bools:
        """Whether each row of `X` has an impression, shape (n_documents,)."""
        mask = np.zeros(self.n_documents, dtype=bool)
        mask[self.row] = True
        return mask

    def __len__(self) -> int:
        return self.n_documents

    def __repr__(self) -> str:
        sessions = "" if self.sessions is None else f"n_sessions={self.n_sessions}, "
        return (
            f"ClickLog(n_documents={self.n_documents}, n_queries={self.queries.n_queries}, n_entries={self.n_entries}, "
            f"{sessions}n_impressions={self.n_impressions}, n_clicks={self.n_clicks})"
        )

    def __getitem__(self, rows: Any) -> ClickLog:
        """The log of some rows of `X`: a slice, a mask, or row numbers without repetition, in the sequence given.

        Sessions lose the entries of the other rows, and sessions without entries are left out. Select whole queries, as
        the splitters of boostrank do, to keep sessions complete.
        """
        # scikit-learn indexes by (rows, ...).
        kept = np.arange(self.n_documents)[rows[0] if isinstance(rows, tuple) and rows[1:] == (Ellipsis,) else rows]
        if kept.ndim != 1:
            raise TypeError(f"a ClickLog is indexed by a slice, a mask or an array of rows; got {rows!r}")
        new_row = np.full(self.n_documents, -1)
        new_row[kept] = np.arange(len(kept))
        if np.count_nonzero(new_row >= 0) != len(kept):
            raise ValueError("rows are repeated: the impressions of copies of a document are not defined")
        chosen = new_row[self.row] >= 0
        if not chosen.any():
            raise ValueError(
                f"the log has no impression of any of the {len(kept)} rows that were selected. A fold, a sample or a "
                "part that is held out needs rows that were shown: take larger parts, or a log with more queries"
            )
        row, position, clicks, impressions = (column[chosen] for column in self._columns)
        queries, documents = Queries.from_qid(self.qid[kept]), None if self.documents is None else self.documents[kept]
        if self.sessions is None or self.session_ids is None:
            columns = summed(len(kept), new_row[row], position, clicks, impressions)
            return self._of(queries, *columns, None, None, documents)
        sizes = self.sessions.sum(chosen.astype(np.int64))
        sessions, ids = Segments.from_sizes(sizes[sizes > 0]), self.session_ids[sizes > 0]
        return self._of(queries, new_row[row], position, clicks, impressions, sessions, ids, documents)

    def aggregate(self) -> ClickLog:
        """The log of counts: impressions and clicks of each row at each position, summed over sessions.

        A log of counts is returned unchanged.
        """
        if self.sessions is None:
            return self
        columns = summed(self.n_documents, *self._columns)
        return self._of(self.queries, *columns, None, None, self.documents)

    def to_frame(self) -> pd.DataFrame:
        """The entries as a DataFrame, with the names of columns that :func:`boostrank.clicks.from_table` reads."""
        import pandas as pd

        columns = {"qid": self.queries.ids[self.query], "row": self.row}
        if self.documents is not None:
            columns["document"] = self.documents[self.row]
        columns |= {"position": self.position, "clicks": self.clicks, "impressions": self.impressions}
        if self.sessions is not None and self.session_ids is not None:
            columns["session"] = self.sessions.repeat(self.session_ids)
        return pd.DataFrame(columns)

    def name_of_row(self, row: int) -> str:
        """A row of `X` as messages name it, with its document and its query."""
        document = "" if self.documents is None else f", document {str(self.documents[row])!r}"
        return f"row {row}{document} of query {str(self.qid[row])!r}"

    @property
    def _columns(self) -> tuple[Ints, Ints, Ints, Ints]:
        return self.row, self.position, self.clicks, self.impressions

    def _set(self, *values: Any) -> None:
        for name, value in zip(self.__dataclass_fields__, values, strict=True):
            if isinstance(value, np.ndarray):
                value = value.view()
                value.setflags(write=False)
            object.__setattr__(self, name, value)

    @classmethod
    def _of(cls, *values: Any) -> ClickLog:
        """Make a log from values of all attributes that are known to be valid."""
        log = cls.__new__(cls)
        log._set(*values)
        return log

    def _check_sessions(self) -> None:
        assert self.sessions is not None
        first = self.sessions.repeat(self.query[self.sessions.starts])
        self._raise_at(self.query != first, "has documents of several queries")
        number = self.sessions.repeat(np.arange(self.sessions.n_segments))
        for column, fault in ((self.position, "has the position {position} twice"), (self.row, "shows {row} twice")):
            # One number for each session and value: a session that has a value twice has two equal numbers.
            self._raise_at(repeated(number * (int(column.max()) + 1) + column), fault)

    def _raise_at(self, bad: Bools, fault: str) -> None:
        if bad.any():
            assert self.sessions is not None
            assert self.session_ids is not None
            entry = int(np.argmax(bad))
            session = self.session_ids[np.searchsorted(self.sessions.indptr, entry, side="right") - 1]
            text = fault.format(position=self.position[entry], row=self.name_of_row(int(self.row[entry])))
            raise ValueError(f"session {str(session)!r} {text}: {ONE_DISPLAY}")


def check_log(log: object, name: str = "log") -> None:
    """Raise TypeError if an argument is not a click log."""
    if not isinstance(log, ClickLog):
        raise TypeError(
            f"{name} must be a ClickLog; got {type(log).__name__}. Make one with ClickLog or from_table of "
            "boostrank.clicks"
        )
