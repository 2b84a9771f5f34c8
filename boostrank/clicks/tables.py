"""Make click logs from tables with a line for each impression, or with counts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from boostrank.clicks.log import ClickLog
from boostrank.core.queries import joint_codes, other_type
from boostrank.inputs.arrays import as_array
from boostrank.inputs.frames import to_pandas

if TYPE_CHECKING:
    import pandas as pd


#: The columns that are read.
COLUMNS = ("row", "qid", "document", "position", "clicks", "click", "impressions", "session")


def from_table(table: Any, qid: ArrayLike | None = None, documents: ArrayLike | None = None) -> ClickLog:
    """Make a click log from a table with one line for each impression, or for the counts of several impressions.

    Parameters
    ----------
    table : DataFrame of pandas or polars, pyarrow Table, or mapping of columns
        Its columns, or named levels of its index, are

        ============ =========================================================================================
        name         content
        ============ =========================================================================================
        row          number of the row of `X`; or, in its place, the two columns qid and document
        qid          id of the query; with the column row it is optional, and compared with that of the row
        document     id of the document, which may be unique only within its query
        position     position at which it was shown, from 1
        clicks       number of clicks, or 0 and 1, or truth values; the name may be click too
        impressions  number of impressions; optional, by default every line is one impression
        session      id of the display of one result list; optional, see :class:`ClickLog`
        ============ =========================================================================================

    qid, documents : array-like, shape (n_documents,), optional
        Query id and document id of each row of `X`. Without `qid`, the table itself defines the rows: the different
        pairs of qid and document, numbered by first appearance and grouped by query; or, if the table has the columns
        row and qid, the row numbers that it contains, which must be all of 0, 1, ..., with their documents if it has
        that column too.

    Returns
    -------
    ClickLog

    Raises
    ------
    ValueError
        If a column or an id is missing; if no row or several rows have a pair of qid and document; if the columns qid
        and document contradict the ids of a row; or if :class:`ClickLog` refuses an entry.

    Examples
    --------
    >>> table = {"qid": [1, 1, 1, 1], "document": ["b", "a", "a", "b"], "position": [1, 2, 1, 2], "click": [1, 0, 0, 1]}
    >>> from_table(table).to_frame()
       qid  row document  position  clicks  impressions
    0    1    0        b         1       1            1
    1    1    0        b         2       1            1
    2    1    1        a         1       0            1
    3    1    1        a         2       0            1
    >>> from_table(table, qid=[1, 1, 1], documents=["a", "b", "c"]).shown.tolist()
    [True, True, False]
    """
    frame = _frame(table)
    if "clicks" in frame and "click" in frame:
        raise ValueError("the table has the columns 'click' and 'clicks': leave one of them out")
    clicks = "click" if "click" in frame else "clicks"
    _require(frame, "position", clicks)
    if not len(frame):
        raise ValueError("the table has no lines: a click log needs at least one impression")
    for name in ("qid", "document"):
        missing = frame[name].isna().to_numpy() if name in frame else np.zeros(0, dtype=bool)
        if missing.any():
            raise ValueError(f"line {np.argmax(missing)} of the table has no {name}")
    if "row" in frame:
        qid, rows, documents = _rows_by_number(frame, qid, documents)
    else:
        _require(frame, "qid", "document")
        if qid is None and documents is not None:
            raise ValueError("documents are ids of the rows of qid: pass qid too")
        if qid is not None and documents is None:
            raise ValueError("the table has no column 'row': pass the document id of each row of X as documents=")
        pairs, of_line = _pairs(frame)
        if qid is None:
            # Grouped by query, in the sequence of their first appearance.
            by_query = np.argsort(pairs["qid"].factorize()[0], kind="stable")
            rows = np.empty_like(by_query)
            rows[by_query] = np.arange(len(by_query))
            qid, documents = (pairs[name].to_numpy()[by_query] for name in ("qid", "document"))
        else:
            rows = _rows_by_id(pairs, of_line, qid, documents)
        rows = rows[of_line]
    impressions = frame["impressions"].to_numpy() if "impressions" in frame else None
    columns: list[Any] = [frame["position"].to_numpy(), frame[clicks].to_numpy(), impressions, frame.get("session")]
    return ClickLog(qid, rows, *columns, documents=documents)


def _frame(table: Any) -> pd.DataFrame:
    import pandas as pd

    frame = to_pandas(table)
    if not isinstance(frame, (pd.DataFrame, Mapping)):
        raise TypeError(
            "table must be a DataFrame of pandas or polars, a pyarrow Table, or a mapping of columns; got "
            f"{type(table).__name__}"
        )
    if not isinstance(frame, pd.DataFrame):
        return pd.DataFrame({name: frame[name] for name in list(frame)})
    levels = [name for name in frame.index.names if name in COLUMNS and name not in frame]
    return frame.reset_index(levels) if levels else frame


def _require(frame: pd.DataFrame, *names: str) -> None:
    for name in names:
        if name not in frame:
            expected = " (or a column 'row')" if name in ("qid", "document") else ""
            raise ValueError(
                f"the table has no column {name!r}{expected}; its columns are "
                f"{', '.join(map(repr, frame.columns)) or 'none'}: rename the one with this content"
            )


def _rows_by_number(
    frame: pd.DataFrame, qid: ArrayLike | None, documents: ArrayLike | None
) -> tuple[Any, NDArray[Any], Any]:
    """Query id of each row of X, the row of each line of the table, and the document of each row of X if known."""
    rows = frame["row"].to_numpy()
    if documents is not None:
        _check_ids(frame, rows, as_array(documents, "documents"), "document")
    if qid is not None:
        _check_ids(frame, rows, as_array(qid, "qid"), "qid")
        return qid, rows, documents
    if "qid" not in frame:
        raise ValueError("the table has no column 'qid': pass the query id of each row of X as qid=")
    if rows.dtype.kind not in "iu":
        raise ValueError(f"the column 'row' must have integers; got dtype {rows.dtype}")
    numbers, first = np.unique(rows, return_index=True)
    if not np.array_equal(numbers, np.arange(len(numbers))):
        missing = int(np.argmax(numbers != np.arange(len(numbers))))
        raise ValueError(
            f"row {missing} is not in the table, so its query is not known: pass the query id of each row of X as qid="
        )
    of_row = frame["qid"].to_numpy()[first]
    _check_ids(frame, rows, of_row, "qid")
    if documents is None and "document" in frame:
        documents = frame["document"].to_numpy()[first]
        _check_ids(frame, rows, documents, "document")
    return of_row, rows, documents


def _check_ids(frame: pd.DataFrame, rows: NDArray[Any], ids: NDArray[Any], name: str) -> None:
    """Raise ValueError if the column of an id contradicts the ids of the rows; ClickLog checks the row numbers."""
    if name not in frame or rows.dtype.kind not in "iu" or not ((rows >= 0) & (rows < len(ids))).all():
        return
    given, expected = frame[name].to_numpy(), ids[rows]
    differ = given.astype(object) != expected.astype(object)
    if np.any(differ):
        line, kind = int(np.argmax(differ)), "query" if name == "qid" else name
        raise ValueError(
            f"line {line} of the table has the {kind} {str(given[line])!r}, but row {rows[line]} belongs to the {kind} "
            f"{str(expected[line])!r}{other_type(given[line], expected[line])}"
        )


def _pairs(frame: pd.DataFrame) -> tuple[pd.DataFrame, NDArray[np.int64]]:
    """The different pairs of qid and document, by first appearance, and the number of the pair of each line."""
    import pandas as pd

    codes, levels = zip(*(frame[name].factorize() for name in ("qid", "document")), strict=True)
    of_line, pairs = pd.factorize(codes[0] * len(levels[1]) + codes[1])
    ids = (levels[0].take(pairs // len(levels[1])), levels[1].take(pairs % len(levels[1])))
    return pd.DataFrame({"qid": ids[0], "document": ids[1]}), of_line


def _rows_by_id(pairs: pd.DataFrame, of_line: NDArray[np.int64], qid: ArrayLike, documents: Any) -> NDArray[np.int64]:
    """The row of X that has the query id and the document id of each pair."""
    import pandas as pd

    ids = [pd.Index(as_array(qid, "qid")), pd.Index(as_array(documents, "documents"))]
    if len(ids[0]) != len(ids[1]):
        raise ValueError(f"documents has {len(ids[1])} ids for {len(ids[0])} rows of qid")
    codes, wanted = joint_codes(ids, [pd.Index(pairs[name].to_numpy()) for name in ("qid", "document")])
    rows = pd.Index(codes)
    if not rows.is_unique:
        row = int(np.argmax(rows.duplicated()))
        raise ValueError(f"several rows of X have the query {str(ids[0][row])!r} and the document {str(ids[1][row])!r}")
    found: NDArray[Any] = rows.get_indexer(pd.Index(wanted))
    if (found < 0).any():
        pair = int(np.argmin(found))
        line, n_lines = int(np.argmax(of_line == pair)), np.count_nonzero((found < 0)[of_line])
        query, document = pairs["qid"].iloc[pair], pairs["document"].iloc[pair]
        # Ids of other types are never equal, so that no line has a row.
        for name, given, expected in (("qid", query, ids[0][0]), ("document", document, ids[1][0])):
            types = other_type(given, expected)
            if types:
                raise ValueError(
                    f"the ids {str(given)!r} of the column {name!r} and {str(expected)!r} of X are never equal{types}: "
                    "convert one of the two columns"
                )
        raise ValueError(
            f"no row of X has the query {str(query)!r} and the document {str(document)!r} of line {line} of the table, "
            f"which is so for {n_lines} of {len(of_line)} lines: add these documents to X, or leave the lines out (the "
            "positions of the others stay as they are)"
        )
    return found
