"""The click log: at which positions documents were shown, and how often they were clicked there."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, NoReturn, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, DTypeLike, NDArray
from scipy import sparse

from boostrank.inputs.arrays import Bools, Floats, Ints, as_array, as_floats, check_lengths
from boostrank.inputs.checks import refuse, refuse_first
from boostrank.ndcg.labels import Rows, RowsOfQueries
from boostrank.queries.queries import Queries
from boostrank.queries.segments import Segments

#: Integers up to this number are exact as float64.
MAX_COUNT = 2**53
#: The numbers of click models are arrays with one number for each position.
MAX_POSITION = 1_000_000
#: Ids of documents or of sessions: integers, texts or other objects.
Ids = NDArray[Any]
#: Entries or sessions of a log: a slice, a mask, or their numbers.
Numbers = slice | Ints | Bools


class Columns(NamedTuple):
    """The columns of a log, with one number for each entry."""

    row: Ints
    position: Ints
    clicks: Ints
    impressions: Ints

    def take(self, entries: Numbers) -> Columns:
        """The columns of some entries."""
        return Columns(*(column[entries] for column in self))

    def refuse(self, name: str, bad: Bools, fault: str) -> None:
        """Raise ValueError about the first number of a column that is bad, if one is."""
        column = getattr(self, name)
        refuse_first(bad, lambda i: f"{name}[{i}] is {column[i]}{fault}")


@dataclass(frozen=True, eq=False, repr=False, init=False)
class ClickLog(RowsOfQueries):
    """Clicks on documents that were shown at known positions of result lists.

    A log is a table. An *entry* of it says that one row of `X` was shown at one position, how often
    (`impressions`), and in how many of these impressions it was clicked (`clicks`). The log belongs
    to all rows of a data set, and is used in place of the labels `y`. So it also has the query id
    of every row, and its length is the number of rows. Indexing it by rows, as cross-validation
    does, keeps the entries of these rows.

    A log needs every document that was shown, also those without clicks and those below the last
    click: what was shown and not clicked tells propensity from relevance.

    There are two kinds of logs.

    - A log of **sessions**: each entry belongs to a session, the display of one result list of one
      query. Every number of impressions is 1. Entries are sorted by session and position; sessions
      keep the sequence in which they first appear.
    - A log of **counts**, without sessions. Entries are sorted by row and position, and entries of
      the same row and position are summed. :meth:`aggregate` makes it from a log of sessions.

    Parameters
    ----------
    qid : array-like, shape (n_documents,)
        Query id of each row of `X`, as in :meth:`boostrank.Queries.from_qid`.
    row : array-like of int, shape (n_entries,)
        Number of the row of `X` that was shown, from 0.
    position : array-like of int, shape (n_entries,)
        Position at which it was shown. The first position of a list is 1.
    clicks : array-like of int, shape (n_entries,)
        Number of impressions with a click, from 0 to the number of impressions. Truth values count
        as 0 and 1.
    impressions : array-like of int, shape (n_entries,), optional
        How often the row was shown at the position; by default once. Entries with neither
        impressions nor clicks are left out.
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
        If the arguments have different lengths or no entry; if a row does not exist; if a position
        is not an integer of at least 1; if a count is not an integer, or is negative, or there are
        more clicks than impressions; if a session has documents of several queries, a document
        twice, a position twice, or more than one impression. The message names the entry.

    Examples
    --------
    >>> import boostrank as br
    >>> log = br.ClickLog(
    ...     qid=["a", "a", "b"], row=[0, 1, 1, 0, 2],
    ...     position=[1, 2, 1, 2, 1], clicks=[1, 0, 1, 0, 0],
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
    documents: Ids | None
    sessions: Segments | None
    session_ids: Ids | None

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
        ids = None
        if documents is not None:
            ids = as_array(documents, "documents")
            check_lengths(qid=queries.n_documents, documents=len(ids))
        rows = whole_numbers(row, "row", None)
        if impressions is None:
            impressions = np.ones_like(rows)
        columns = Columns(
            rows,
            whole_numbers(position, "position", len(rows)),
            whole_numbers(clicks, "clicks", len(rows)),
            whole_numbers(impressions, "impressions", len(rows)),
        )
        _check_columns(queries.n_documents, columns)
        shown = columns.impressions > 0
        if not shown.any():
            raise ValueError("a click log needs at least one entry with an impression; got none")
        if session is None:
            self._set(queries, ids, summed(queries.n_documents, columns.take(shown)))
            return
        numbers, names = _numbered(session, len(rows))
        advice = (
            ", but an entry of a session is one impression; leave session out for a log of counts"
        )
        columns.refuse("impressions", columns.impressions > 1, advice)
        by_session = Queries.from_qid(numbers[shown])
        sessions = Segments(by_session.indptr)
        grouped = Columns(*map(by_session.group, columns.take(shown)))
        sorting = sessions.sort(-grouped.position.astype(np.float64))
        session_ids = names[by_session.ids]
        self._set(queries, ids, grouped.take(sorting), sessions, session_ids)
        self._check_sessions(sessions, session_ids)

    @classmethod
    def concatenate(cls, logs: Iterable[ClickLog]) -> ClickLog:
        """One log with the entries of several logs of the same rows.

        They may be those of the result lists of two rankers, for example. If all logs have
        sessions, so has the result. Its sessions have the ids 0, 1, ..., because equal ids in two
        logs belong to different sessions. If no log has sessions, counts are summed.

        Parameters
        ----------
        logs : iterable of ClickLog, at least one

        Raises
        ------
        ValueError
            If the logs have different ids of queries or documents, or if only some of them have
            sessions.

        Examples
        --------
        >>> import boostrank as br
        >>> log = br.ClickLog(qid=[5, 5], row=[0], position=[1], clicks=[1])
        >>> br.ClickLog.concatenate([log, log]).to_frame()
           qid  row  position  clicks  impressions
        0    5    0         1       2            2
        """
        logs = list(logs)
        first = logs[0]
        documents = None
        for i, log in enumerate(logs):
            check_log(log, f"logs[{i}]")
            if documents is None:
                documents = log.documents
            pairs = {"query": (log.qid, first.qid), "document": (log.documents, documents)}
            for name, (ids, others) in pairs.items():
                if _differ(ids, others):
                    raise ValueError(
                        f"logs[{i}] belongs to other rows than logs[0]: its {name} ids are "
                        "different"
                    )
            if (log.sessions is None) != (first.sessions is None):
                raise ValueError(
                    f"logs[{i}] and logs[0] must both have sessions, or neither; use aggregate()"
                )
        parts_of_columns = zip(*(log.columns for log in logs), strict=True)
        columns = Columns(*map(np.concatenate, parts_of_columns))
        new = object.__new__(cls)
        if first.sessions is None:
            return new._set(first.queries, documents, summed(len(first), columns))
        sizes = np.concatenate([log.sessions.sizes for log in logs if log.sessions is not None])
        sessions = Segments.from_sizes(sizes)
        return new._set(first.queries, documents, columns, sessions, np.arange(len(sizes)))

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

    @cached_property
    def query(self) -> Ints:
        """Number of the query of each entry, an index of ``queries.ids``, shape (n_entries,)."""
        grouped = self.queries.repeat(np.arange(self.queries.n_queries))
        return self.queries.ungroup(grouped)[self.row]

    @property
    def columns(self) -> Columns:
        """The columns row, position, clicks and impressions."""
        return Columns(self.row, self.position, self.clicks, self.impressions)

    @property
    def shown(self) -> Bools:
        """Whether each row of `X` has an impression, shape (n_documents,)."""
        return np.bincount(self.row, minlength=self.n_documents) > 0

    def __repr__(self) -> str:
        sessions = "" if self.sessions is None else f"n_sessions={self.n_sessions}, "
        return (
            f"ClickLog(n_documents={self.n_documents}, n_queries={self.queries.n_queries}, "
            f"n_entries={self.n_entries}, {sessions}n_impressions={self.n_impressions}, "
            f"n_clicks={self.n_clicks})"
        )

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NoReturn:
        raise ValueError(
            "y is a ClickLog, whose clicks depend on the positions: pass "
            "boostrank.ClickLabels(log, propensities), or ClickLabels(log, 1.0) to take clicks for "
            "relevance"
        )

    def __getitem__(self, rows: Rows) -> ClickLog:
        """The log of some rows of `X`, in the sequence given.

        The rows are a slice, a mask, or row numbers without repetition. Sessions lose the entries
        of the other rows, and sessions without entries are left out. Select whole queries, as the
        splitters of boostrank do, to keep sessions complete.
        """
        kept, new_row = self._numbers_of(rows)
        row_of_entries = new_row[self.row]
        entries = row_of_entries >= 0
        if not entries.any():
            raise ValueError(
                f"the log has no impression of any of the {len(kept)} rows that were selected. A "
                "fold, a sample or a part that is held out needs rows that were shown: take larger "
                "parts, or a log with more queries"
            )
        documents = None if self.documents is None else self.documents[kept]
        return self._part(entries, Queries.from_qid(self.qid[kept]), row_of_entries, documents)

    def select(self, sessions: Numbers) -> ClickLog:
        """The log of some sessions, for the same rows of `X`.

        Sessions keep the sequence in which they first appeared, so that slices split a log by time:
        the propensities and the ranker may come from ``log.select(slice(0, n))``, and their
        evaluation from ``log.select(slice(n, None))``.

        Parameters
        ----------
        sessions : slice, ndarray of bool, or array-like of int
            Which of the sessions, of which there are `n_sessions`.

        Raises
        ------
        ValueError
            If the log has counts, or if no session is selected.

        Examples
        --------
        >>> import boostrank as br
        >>> log = br.ClickLog(
        ...     [1, 1], row=[0, 1, 1], position=[1, 2, 1], clicks=[1, 0, 1], session=["x", "x", "y"]
        ... )
        >>> log.select(log.session_ids == "y").to_frame()
           qid  row  position  clicks  impressions session
        0    1    1         1       1            1       y
        """
        if self.sessions is not None:
            entries = self.sessions.rows_of(np.arange(self.sessions.n_segments)[sessions])
            if len(entries):
                return self.of_entries(entries)
        raise ValueError(f"no session of {self!r} is selected; a log of counts has none")

    def of_entries(self, entries: Numbers) -> ClickLog:
        """The log of some entries, for the same rows of `X`; their numbers must increase."""
        return self._part(entries, self.queries, self.row, self.documents)

    def aggregate(self) -> ClickLog:
        """The log of counts: impressions and clicks by row and position, summed over sessions.

        A log of counts is returned unchanged.
        """
        if self.sessions is None:
            return self
        counts = object.__new__(type(self))
        return counts._set(self.queries, self.documents, summed(len(self), self.columns))

    def to_frame(self) -> pd.DataFrame:
        """The entries as a DataFrame, as :func:`boostrank.clicks.from_table` reads it."""
        columns = {"qid": self.queries.ids[self.query], "row": self.row}
        if self.documents is not None:
            columns["document"] = self.documents[self.row]
        columns |= {
            "position": self.position,
            "clicks": self.clicks,
            "impressions": self.impressions,
        }
        if self.sessions is not None and self.session_ids is not None:
            columns["session"] = self.sessions.repeat(self.session_ids)
        return pd.DataFrame(columns)

    def total(self, per_entry: Floats | Ints) -> Floats:
        """Sum over the entries of each row of `X`, shape (n_documents,)."""
        sums = np.bincount(self.row, weights=per_entry, minlength=len(self))
        return sums.astype(np.float64, copy=False)

    def name_of_row(self, row: int) -> str:
        """A row of `X` as messages name it, with its document and its query."""
        document = ""
        if self.documents is not None:
            document = f", document {str(self.documents[row])!r}"
        return f"row {row}{document} of query {str(self.qid[row])!r}"

    def _part(
        self, entries: Numbers, queries: Queries, row: Ints, documents: Ids | None
    ) -> ClickLog:
        """The log of some entries and their sessions, with new numbers of rows and their ids."""
        columns = self.columns._replace(row=row).take(entries)
        part = object.__new__(type(self))
        if self.sessions is None or self.session_ids is None:
            return part._set(queries, documents, summed(queries.n_documents, columns))
        n_sessions = self.sessions.n_segments
        session_of_entries = self.sessions.repeat(np.arange(n_sessions))[entries]
        sizes = np.bincount(session_of_entries, minlength=n_sessions)
        kept = sizes > 0
        sessions = Segments.from_sizes(sizes[kept])
        return part._set(queries, documents, columns, sessions, self.session_ids[kept])

    def _set(
        self,
        queries: Queries,
        documents: Ids | None,
        columns: Columns,
        sessions: Segments | None = None,
        session_ids: Ids | None = None,
    ) -> Self:
        """Set all attributes, which are known to be valid, and return the log."""
        attributes = columns._asdict() | {"queries": queries, "documents": documents}
        attributes |= {"sessions": sessions, "session_ids": session_ids}
        for name, value in attributes.items():
            if isinstance(value, np.ndarray):
                value = value.view()
                value.setflags(write=False)
            object.__setattr__(self, name, value)
        return self

    def _check_sessions(self, sessions: Segments, session_ids: Ids) -> None:
        number = sessions.repeat(np.arange(sessions.n_segments))
        entries = pd.DataFrame({"session": number, "position": self.position, "row": self.row})

        def check(bad: Bools, fault: Callable[[int], str]) -> None:
            advice = (
                "a session is one display of the result list of one query. Leave out repeated "
                "lines, and give every display an id of its own"
            )
            refuse_first(
                bad, lambda i: f"session {str(session_ids[number[i]])!r} {fault(i)}: {advice}"
            )

        first_query = self.query[sessions.repeat(sessions.starts)]
        check(self.query != first_query, lambda i: "has documents of several queries")
        check(
            entries.duplicated(["session", "position"]).to_numpy(),
            lambda i: f"has the position {self.position[i]} twice",
        )
        check(
            entries.duplicated(["session", "row"]).to_numpy(),
            lambda i: f"shows {self.name_of_row(int(self.row[i]))} twice",
        )


def check_log(log: object, name: str = "log") -> ClickLog:
    """Return an argument that is a click log; raise TypeError for others."""
    if isinstance(log, ClickLog):
        return log
    advice = "Make one with ClickLog or from_table of boostrank.clicks"
    raise TypeError(f"{name} must be a ClickLog; got {type(log).__name__}. {advice}")


def _differ(ids: Ids | None, others: Ids | None) -> bool:
    """Whether the ids of two logs differ; those that are not known do not."""
    if ids is None or others is None:
        return False
    return not np.array_equal(ids.astype(object), others.astype(object))


def whole_numbers(values: ArrayLike, name: str, length: int | None) -> Ints:
    """An argument as int64; `length` is the number of entries, or None if it is not known yet."""
    array = as_array(values, name)
    _check_shape(array, name, length)
    if array.dtype.kind in "iub" and array.dtype != np.uint64:
        return array.astype(np.int64)
    if array.dtype == object:
        array = np.where(pd.isna(array), np.nan, array)
    numbers = as_floats(array, name)
    advice = ""
    if name == "clicks":
        advice = (
            "; an impression without a click has 0 clicks, "
            "and rates have clicks = rate * impressions"
        )
    bad = ~(np.abs(numbers) <= MAX_COUNT) | (numbers != np.floor(numbers))
    refuse_first(bad, lambda i: f"{name}[{i}] is {numbers[i]:g}, not an integer{advice}")
    return numbers.astype(np.int64)


def _check_shape(column: Ids | pd.Series, name: str, length: int | None) -> None:
    if column.ndim != 1 or (length is not None and len(column) != length):
        expected = "one-dimensional"
        if length is not None:
            expected = f"of one value per entry, shape ({length},)"
        refuse(name, column, f"an array {expected}", got=f"shape {column.shape}")


def summed(n_documents: int, columns: Columns) -> Columns:
    """Columns with one entry for each row and position, sorted by these, and the sums of counts."""
    cells = (columns.row, columns.position)
    shape = (n_documents, int(columns.position.max(initial=0)) + 1)
    # The conversion adds up the entries of a cell, in several passes over them.
    clicks = sparse.coo_array((columns.clicks, cells), shape).tocsr()
    impressions = sparse.coo_array((columns.impressions, cells), shape).tocsr()
    row, position = impressions.nonzero()
    shown = impressions.data > 0
    return Columns(
        row.astype(np.int64),
        position.astype(np.int64),
        clicks.data[shown],
        impressions.data[shown],
    )


def _check_columns(n_documents: int, columns: Columns) -> None:
    """Raise ValueError for the first row, position or count that is not possible."""
    row, position, clicks, impressions = columns
    last = n_documents - 1
    columns.refuse("row", (row < 0) | (row > last), f", but rows are numbered from 0 to {last}")
    advice = ", but the first position is 1: add 1 if they are counted from 0"
    columns.refuse("position", position < 1, advice)
    columns.refuse("clicks", clicks < 0, ": counts must not be negative")
    columns.refuse("impressions", impressions < 0, ": counts must not be negative")
    advice = ", more than impressions: count clicks of one impression once"
    columns.refuse("clicks", clicks > impressions, advice)
    advice = f", more than {MAX_POSITION}: positions are ranks, not ids"
    columns.refuse("position", position > MAX_POSITION, advice)


def _numbered(session: ArrayLike, n_entries: int) -> tuple[Ints, Ids]:
    """The number of the session of each entry, by first appearance, and the id of each number."""
    # As objects, texts of pandas would be numbered in several times as long.
    array = session if isinstance(session, pd.Series) else as_array(session, "session")
    _check_shape(array, "session", n_entries)
    numbers, ids = pd.factorize(array)
    advice = "every entry needs a session, or leave session out"
    refuse_first(numbers < 0, lambda i: f"session[{i}] is {np.asarray(array)[i]!s}: {advice}")
    return numbers, np.asarray(ids)
