"""The click log: at which position documents were shown, and how often they were clicked there; and
how to make it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NoReturn

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from boostrank.inputs.arrays import Bools, Floats, Ints, as_array, as_floats, check_lengths
from boostrank.inputs.checks import refuse, refuse_first
from boostrank.queries.by_id import as_frame, rows_with_ids
from boostrank.queries.labels import RowsOfQueries
from boostrank.queries.queries import Queries
from boostrank.queries.segments import Segments

#: Integers up to this number are exact as float64.
MAX_COUNT = 2**53
#: The numbers of click models are arrays with one number for each position.
MAX_POSITION = 1_000_000


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
    documents: NDArray[Any] | None
    sessions: Segments | None
    session_ids: NDArray[Any] | None

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
        ids = None if documents is None else as_array(documents, "documents")
        check_lengths(
            qid=queries.n_documents, documents=queries.n_documents if ids is None else len(ids)
        )
        rows = whole_numbers(row, "row", None)
        columns = [
            rows,
            whole_numbers(position, "position", len(rows)),
            whole_numbers(clicks, "clicks", len(rows)),
        ]
        shown = (
            np.ones_like(rows)
            if impressions is None
            else whole_numbers(impressions, "impressions", len(rows))
        )
        columns.append(shown)
        _check_columns(queries.n_documents, *columns)
        if not shown.any():
            raise ValueError("a click log needs at least one entry with an impression; got none")
        if session is None:
            columns = [column[shown > 0] for column in columns]
            self._set(queries, ids, summed(queries.n_documents, *columns))
            return
        numbers, names = _numbered(session, len(rows))
        advice = (
            "but an entry of a session is one impression; leave session out for a log of counts"
        )
        refuse_first(shown > 1, lambda i: f"impressions[{i}] is {shown[i]}, {advice}")
        by_session = Queries.from_qid(numbers[shown > 0])
        sessions = Segments(by_session.indptr)
        sorting = sessions.sort(-by_session.group(columns[1][shown > 0]).astype(np.float64))
        columns = [by_session.group(column[shown > 0])[sorting] for column in columns]
        session_ids = names[by_session.ids]
        self._set(queries, ids, columns, sessions, session_ids)
        self._check_sessions(sessions, session_ids)

    @classmethod
    def concatenate(cls, logs: Iterable[ClickLog]) -> ClickLog:
        """One log with the entries of several logs of the same rows, for example of the result
        lists of two rankers.

        If all logs have sessions, so has the result. Its sessions have the ids 0, 1, ..., because
        equal ids in two logs belong to different sessions. If no log has sessions, counts are
        summed.

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
        first, documents = logs[0], None
        for i, log in enumerate(logs):
            check_log(log, f"logs[{i}]")
            documents = log.documents if documents is None else documents
            for name, ids, others in (
                ("query", log.qid, first.qid),
                ("document", log.documents, documents),
            ):
                if not (
                    ids is None
                    or others is None
                    or np.array_equal(ids.astype(object), others.astype(object))
                ):
                    raise ValueError(
                        f"logs[{i}] belongs to other rows than logs[0]: its {name} ids are "
                        f"different"
                    )
            if (log.sessions is None) != (first.sessions is None):
                raise ValueError(
                    f"logs[{i}] and logs[0] must both have sessions, or neither; use aggregate()"
                )
        columns = [
            np.concatenate(parts) for parts in zip(*(log.columns for log in logs), strict=True)
        ]
        if first.sessions is None:
            return cls._of(first.queries, documents, summed(len(first), *columns))
        sizes = np.concatenate([log.sessions.sizes for log in logs if log.sessions is not None])
        return cls._of(
            first.queries, documents, columns, Segments.from_sizes(sizes), np.arange(len(sizes))
        )

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
        return self.queries.ungroup(self.queries.repeat(np.arange(self.queries.n_queries)))[
            self.row
        ]

    @property
    def columns(self) -> tuple[Ints, Ints, Ints, Ints]:
        """The columns row, position, clicks and impressions."""
        return self.row, self.position, self.clicks, self.impressions

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

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NoReturn:
        raise ValueError(
            "y is a ClickLog, whose clicks depend on the positions: pass "
            "boostrank.ClickLabels(log, propensities), or ClickLabels(log, 1.0) to take clicks for "
            "relevance"
        )

    def __getitem__(self, rows: Any) -> ClickLog:
        """The log of some rows of `X`: a slice, a mask, or row numbers without repetition, in the
        sequence given.

        Sessions lose the entries of the other rows, and sessions without entries are left out.
        Select whole queries, as the splitters of boostrank do, to keep sessions complete.
        """
        kept, new_row = self._numbers_of(rows)
        entries = new_row[self.row] >= 0
        if not entries.any():
            raise ValueError(
                f"the log has no impression of any of the {len(kept)} rows that were selected. A "
                f"fold, a sample or a "
                "part that is held out needs rows that were shown: take larger parts, or a log "
                "with more queries"
            )
        documents = None if self.documents is None else self.documents[kept]
        return self._part(entries, Queries.from_qid(self.qid[kept]), new_row[self.row], documents)

    def select(self, sessions: Any) -> ClickLog:
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
        entries = np.empty(0) if self.sessions is None else self.sessions.rows_of(sessions)
        if not len(entries):
            raise ValueError(f"no session of {self!r} is selected; a log of counts has none")
        return self.of_entries(entries)

    def of_entries(self, entries: Any) -> ClickLog:
        """The log of some entries, a mask, a slice or increasing numbers, for the same rows of
        `X`.
        """
        return self._part(entries, self.queries, self.row, self.documents)

    def aggregate(self) -> ClickLog:
        """The log of counts: impressions and clicks of each row at each position, summed over
        sessions.

        A log of counts is returned unchanged.
        """
        if self.sessions is None:
            return self
        return self._of(self.queries, self.documents, summed(self.n_documents, *self.columns))

    def to_frame(self) -> pd.DataFrame:
        """The entries as a DataFrame, with the names of columns that
        :func:`boostrank.clicks.from_table` reads.
        """
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

    def total(self, per_entry: NDArray[Any]) -> Floats:
        """Sum over the entries of each row of `X`, shape (n_documents,)."""
        return np.bincount(self.row, weights=per_entry, minlength=len(self)).astype(
            np.float64, copy=False
        )

    def name_of_row(self, row: int) -> str:
        """A row of `X` as messages name it, with its document and its query."""
        document = "" if self.documents is None else f", document {str(self.documents[row])!r}"
        return f"row {row}{document} of query {str(self.qid[row])!r}"

    def _part(
        self, entries: Any, queries: Queries, row: Ints, documents: NDArray[Any] | None
    ) -> ClickLog:
        """The log of some entries, with new numbers of rows and their ids, and with the sessions of
        these entries.
        """
        columns = [column[entries] for column in (row, *self.columns[1:])]
        if self.sessions is None or self.session_ids is None:
            return self._of(queries, documents, summed(queries.n_documents, *columns))
        session_of_entries = self.sessions.repeat(np.arange(self.sessions.n_segments))[entries]
        sizes = np.bincount(session_of_entries, minlength=self.sessions.n_segments)
        kept = sizes > 0
        return self._of(
            queries, documents, columns, Segments.from_sizes(sizes[kept]), self.session_ids[kept]
        )

    def _set(
        self, queries: Queries, documents: Any, columns: Iterable[Ints], *of_sessions: Any
    ) -> None:
        """Set all attributes; `of_sessions` are the sessions and their ids, or nothing for
        counts.
        """
        values = (queries, *columns, documents, *(of_sessions or (None, None)))
        for name, value in zip(self.__dataclass_fields__, values, strict=True):
            if isinstance(value, np.ndarray):
                value = value.view()
                value.setflags(write=False)
            object.__setattr__(self, name, value)

    @classmethod
    def _of(cls, *values: Any) -> ClickLog:
        """Make a log from arguments of :meth:`_set` that are known to be valid."""
        log = cls.__new__(cls)
        log._set(*values)
        return log

    def _check_sessions(self, sessions: Segments, session_ids: NDArray[Any]) -> None:
        first, number = (
            sessions.repeat(sessions.starts),
            sessions.repeat(np.arange(sessions.n_segments)),
        )
        entries = pd.DataFrame({"session": number, "position": self.position, "row": self.row})
        same_position, same_row = (
            entries.duplicated(["session", column]) for column in ("position", "row")
        )
        for bad, fault in (
            (self.query != self.query[first], lambda _: "has documents of several queries"),
            (same_position, lambda entry: f"has the position {self.position[entry]} twice"),
            (same_row, lambda entry: f"shows {self.name_of_row(int(self.row[entry]))} twice"),
        ):
            if bad.any():
                entry = int(np.argmax(bad))
                raise ValueError(
                    f"session {str(session_ids[number[entry]])!r} {fault(entry)}: a session is one "
                    f"display of the "
                    "result list of one query. Leave out repeated lines, and give every display an "
                    "id of its own"
                )


def check_log(log: object, name: str = "log") -> None:
    """Raise TypeError if an argument is not a click log."""
    if not isinstance(log, ClickLog):
        advice = "Make one with ClickLog or from_table of boostrank.clicks"
        raise TypeError(f"{name} must be a ClickLog; got {type(log).__name__}. {advice}")


def whole_numbers(values: ArrayLike, name: str, length: int | None) -> Ints:
    """An argument as int64; `length` is the number of entries, or None if the argument defines
    it.
    """
    array = as_array(values, name)
    _check_shape(array, name, length)
    if array.dtype.kind in "iub" and array.dtype != np.uint64:
        return array.astype(np.int64)
    numbers = as_floats(
        np.where(pd.isna(array), np.nan, array) if array.dtype == object else array, name
    )
    advice = (
        "; an impression without a click has 0 clicks, and rates have clicks = rate * impressions"
    )
    bad = ~(np.abs(numbers) <= MAX_COUNT) | (numbers != np.floor(numbers))
    refuse_first(
        bad, lambda i: f"{name}[{i}] is {numbers[i]:g}, not an integer{advice * (name == 'clicks')}"
    )
    return numbers.astype(np.int64)


def _check_shape(column: Any, name: str, length: int | None) -> None:
    if column.ndim != 1 or (length is not None and len(column) != length):
        expected = (
            "one-dimensional" if length is None else f"of one value per entry, shape ({length},)"
        )
        refuse(name, column, f"an array {expected}", got=f"shape {column.shape}")


def summed(
    n_documents: int, row: Ints, position: Ints, clicks: Ints, impressions: Ints
) -> tuple[Ints, ...]:
    """Columns with one entry for each row and position, sorted by these, with the sums of clicks
    and impressions.
    """
    shape = n_documents, int(position.max(initial=0)) + 1
    # The conversion adds up the entries of a cell, in several passes over them.
    tables = [
        sparse.coo_array((counts, (row, position)), shape).tocsr()
        for counts in (clicks, impressions)
    ]
    shown = tables[1].data > 0
    return *(cells.astype(np.int64) for cells in tables[1].nonzero()), *(
        table.data[shown] for table in tables
    )


def _check_columns(
    n_documents: int, row: Ints, position: Ints, clicks: Ints, impressions: Ints
) -> None:
    """Raise ValueError for the first entry with a row, a position or a count that is not
    possible.
    """
    negative = ": counts must not be negative"
    for bad, name, column, fault in (
        (
            (row < 0) | (row >= n_documents),
            "row",
            row,
            f", but rows are numbered from 0 to {n_documents - 1}",
        ),
        (
            position < 1,
            "position",
            position,
            ", but the first position is 1: add 1 if they are counted from 0",
        ),
        (clicks < 0, "clicks", clicks, negative),
        (impressions < 0, "impressions", impressions, negative),
        (
            clicks > impressions,
            "clicks",
            clicks,
            ", more than impressions: count clicks of one impression once",
        ),
        (
            position > MAX_POSITION,
            "position",
            position,
            f", more than {MAX_POSITION}: positions are ranks, not ids",
        ),
    ):
        if bad.any():
            raise ValueError(f"{name}[{np.argmax(bad)}] is {column[np.argmax(bad)]}{fault}")


def _numbered(session: ArrayLike, n_entries: int) -> tuple[Ints, NDArray[Any]]:
    """The number of the session of each entry, by first appearance, and the id of each number."""
    # As objects, texts of pandas would be numbered in several times as long.
    array = session if isinstance(session, pd.Series) else as_array(session, "session")
    _check_shape(array, "session", n_entries)
    numbers, ids = pd.factorize(array)
    advice = "every entry needs a session, or leave session out"
    refuse_first(numbers < 0, lambda i: f"session[{i}] is {np.asarray(array)[i]!s}: {advice}")
    return numbers, np.asarray(ids)


def from_table(
    table: Any, qid: ArrayLike | None = None, documents: ArrayLike | None = None
) -> ClickLog:
    """Make a click log from a table with one line for each impression, or for the counts of several
    impressions.

    Parameters
    ----------
    table : DataFrame of pandas or polars, pyarrow Table, or mapping of columns
        Its columns, or named levels of its index, are

        ============ =========================================================================================
        name         content
        ============ =========================================================================================
        qid          id of the query
        document     id of the document, which may be unique only within its query; or, in its place, a column row
        position     position at which it was shown, from 1
        clicks       number of clicks, or 0 and 1, or truth values; or, in its place, a column click
        impressions  number of impressions; optional, by default every line is one impression
        session      id of the display of one result list; optional, see :class:`ClickLog`
        ============ =========================================================================================

    qid, documents : array-like, shape (n_documents,), optional
        Query id and document id of each row of `X`. By default the table itself defines the rows,
        the different pairs of qid and document, numbered by first appearance and grouped by query.
        For numbers of rows, there is :class:`ClickLog`.

    Returns
    -------
    ClickLog

    Raises
    ------
    ValueError
        If a column or an id is missing; if no row or several rows have a pair of qid and document;
        or if :class:`ClickLog` refuses an entry.

    Examples
    --------
    >>> import boostrank as br
    >>> table = {
    ...     "qid": [1, 1, 1, 1],
    ...     "document": ["b", "a", "a", "b"],
    ...     "position": [1, 2, 1, 2],
    ...     "click": [1, 0, 0, 1],
    ... }
    >>> br.clicks.from_table(table).to_frame()
       qid  row document  position  clicks  impressions
    0    1    0        b         1       1            1
    1    1    0        b         2       1            1
    2    1    1        a         1       0            1
    3    1    1        a         2       0            1
    >>> br.clicks.from_table(table, qid=[1, 1, 1], documents=["a", "b", "c"]).shown.tolist()
    [True, True, False]
    """
    frame = as_frame(table, "the table", "position")
    frame = frame if "document" in frame else frame.rename(columns={"row": "document"})
    clicks = "click" if "click" in frame else "clicks"
    frame = as_frame(frame, "the table", clicks, "qid", "document")
    for name in ("qid", "document"):
        missing = frame[name].isna().to_numpy()
        if missing.any():
            raise ValueError(f"line {np.argmax(missing)} of the table has no {name}")
    if (qid is None) != (documents is None):
        raise ValueError("pass the ids of each row of X as qid= and documents=, or none of them")
    if qid is None:
        # The rows are the different pairs of ids, grouped by query in the sequence of their first
        # appearance.
        pairs = frame.drop_duplicates(["qid", "document"])
        by_query = np.argsort(pairs["qid"].factorize()[0], kind="stable")
        qid, documents = (pairs[name].to_numpy()[by_query] for name in ("qid", "document"))
        rows = np.argsort(by_query)[
            frame.groupby(["qid", "document"], sort=False).ngroup().to_numpy()
        ]
    else:
        rows = rows_with_ids(query=(qid, frame["qid"]), document=(documents, frame["document"]))
    columns = (frame.get(name) for name in ("position", clicks, "impressions", "session"))
    return ClickLog(qid, rows, *columns, documents=documents)
