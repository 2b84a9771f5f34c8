"""Make click logs from tables with a line for each impression, or with counts."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from boostrank.clicks.log import ClickLog
from boostrank.inputs.arrays import as_array
from boostrank.queries.by_id import as_frame, rows_with_ids
from boostrank.queries.queries import other_type


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
        clicks       number of clicks, or 0 and 1, or truth values; or, in its place, a column click
        impressions  number of impressions; optional, by default every line is one impression
        session      id of the display of one result list; optional, see :class:`ClickLog`
        context      what propensities depend on, such as the device; optional, and needs the column session
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
    frame = as_frame(table, "the table", "position")
    clicks = "click" if "click" in frame else "clicks"
    if clicks == "click" and "clicks" in frame:
        raise ValueError("the table has the columns 'click' and 'clicks': leave one of them out")
    by_ids = () if "row" in frame else ("qid", "document")
    frame = as_frame(frame, "the table", clicks, *by_ids)
    for name in ("qid", "document"):
        missing = frame[name].isna().to_numpy() if name in frame else np.zeros(0, dtype=bool)
        if missing.any():
            raise ValueError(f"line {np.argmax(missing)} of the table has no {name}")
    if by_ids and (qid is None) != (documents is None):
        raise ValueError("the table has no column 'row': pass the ids of each row of X as qid= and documents=")
    if not by_ids:
        qid, documents = _ids_by_row(frame, qid, documents)
        rows = frame["row"].to_numpy()
    elif qid is None:
        # The rows are the different pairs of ids, grouped by query in the sequence of their first appearance.
        pairs = frame.drop_duplicates(list(by_ids))
        by_query = np.argsort(pairs["qid"].factorize()[0], kind="stable")
        qid, documents = (pairs[name].to_numpy()[by_query] for name in by_ids)
        rows = np.argsort(by_query)[frame.groupby(list(by_ids), sort=False).ngroup().to_numpy()]
    else:
        rows = rows_with_ids(query=(qid, frame["qid"]), document=(documents, frame["document"]))
    impressions = frame["impressions"].to_numpy() if "impressions" in frame else None
    entries: list[Any] = [frame["position"].to_numpy(), frame[clicks].to_numpy(), impressions, frame.get("session")]
    return ClickLog(qid, rows, *entries, documents=documents, context=frame.get("context"))


def _ids_by_row(frame: Any, qid: ArrayLike | None, documents: ArrayLike | None) -> tuple[Any, Any]:
    """Query id and, if known, document of each row of X, for a table with row numbers."""
    if qid is None:
        first = as_frame(frame, "the table", "qid").drop_duplicates("row").sort_values("row")
        absent = first["row"].to_numpy() != np.arange(len(first))
        if absent.any():
            raise ValueError(
                f"row {np.argmax(absent)} is not in the table, so its query is not known: pass the query id of each "
                "row of X as qid="
            )
        qid = first["qid"].to_numpy()
        documents = first["document"].to_numpy() if documents is None and "document" in frame else documents
    for name, ids in (("qid", qid), ("document", documents)):
        if name in frame and ids is not None:
            _check_ids(frame, as_array(ids, name), name)
    return qid, documents


def _check_ids(frame: Any, ids: NDArray[Any], name: str) -> None:
    """Raise ValueError if the column of an id contradicts the ids of the rows; ClickLog checks the row numbers."""
    rows = frame["row"].to_numpy()
    if rows.dtype.kind not in "iu" or not ((rows >= 0) & (rows < len(ids))).all():
        return
    listed, expected = frame[name].to_numpy(), ids[rows]
    differ = listed.astype(object) != expected.astype(object)
    if np.any(differ):
        line, kind = int(np.argmax(differ)), "query" if name == "qid" else name
        raise ValueError(
            f"line {line} of the table has the {kind} {str(listed[line])!r}, but row {rows[line]} belongs to the "
            f"{kind} {str(expected[line])!r}{other_type(listed[line], expected[line])}"
        )
