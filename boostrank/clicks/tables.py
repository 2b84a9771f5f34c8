"""Click logs from tables with one line for each impression, or with counts."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from boostrank.clicks.log import ClickLog
from boostrank.queries.by_id import Table, as_frame, rows_with_ids


def from_table(
    table: Table, qid: ArrayLike | None = None, documents: ArrayLike | None = None
) -> ClickLog:
    """Make a click log from a table.

    A line of it is one impression, or has the counts of several impressions.

    Parameters
    ----------
    table : DataFrame of pandas or polars, pyarrow Table, or mapping of columns
        Its columns, or named levels of its index, are

        ============ ===========================================================================
        name         content
        ============ ===========================================================================
        qid          id of the query
        document     id of the document, which may be unique only within its query; or, in its
                     place, a column row
        position     position at which it was shown, from 1
        clicks       number of clicks, or 0 and 1, or truth values; or, in its place, a column
                     click
        impressions  number of impressions; optional, by default every line is one impression
        session      id of the display of one result list; optional, see :class:`ClickLog`
        ============ ===========================================================================

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
    if "document" not in frame:
        frame = frame.rename(columns={"row": "document"})
    clicks = "click" if "click" in frame else "clicks"
    frame = as_frame(frame, "the table", clicks, "qid", "document")
    for name in ("qid", "document"):
        missing = frame[name].isna().to_numpy()
        if missing.any():
            raise ValueError(f"line {np.argmax(missing)} of the table has no {name}")
    if qid is not None and documents is not None:
        rows = rows_with_ids(query=(qid, frame["qid"]), document=(documents, frame["document"]))
    elif qid is not None or documents is not None:
        raise ValueError("pass the ids of each row of X as qid= and documents=, or none of them")
    else:
        # The rows are the different pairs of ids, grouped by query in the sequence of their first
        # appearance.
        pairs = frame.drop_duplicates(["qid", "document"])
        by_query = np.argsort(pairs["qid"].factorize()[0], kind="stable")
        qid = pairs["qid"].to_numpy()[by_query]
        documents = pairs["document"].to_numpy()[by_query]
        pair_of_line = frame.groupby(["qid", "document"], sort=False).ngroup().to_numpy()
        rows = np.argsort(by_query)[pair_of_line]
    return ClickLog(
        qid,
        rows,
        frame["position"],
        frame[clicks],
        frame.get("impressions"),
        frame.get("session"),
        documents=documents,
    )
