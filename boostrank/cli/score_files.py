"""Files with the scores of documents: text with one score per line, or tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostrank.cli.data_files import query_ids
from boostrank.cli.table_files import TableFile, open_table
from boostrank.inputs.arrays import Floats
from boostrank.inputs.checks import is_finite_text
from boostrank.metrics import check_scores

#: Columns of a table of scores.
QID, SCORE = "qid", "score"


def read_scores(path: Path, qid: NDArray[Any]) -> Floats:
    """Read the scores of documents, in the sequence of these.

    Parameters
    ----------
    path : Path
        A text file with one score per line; or a table with the column "score", or with only one column.
    qid : ndarray, shape (n_documents,)
        The query ids of the documents. If the table has a column "qid" too, its ids must be these.

    Raises
    ------
    ValueError
        If the file is neither, if a score is no finite number, or for other query ids.
    """
    table = open_table(path)
    return _of_lines(path) if table is None else _of_table(table, qid)


def _of_table(table: TableFile, qid: NDArray[Any]) -> Floats:
    path, names = table.path, table.names
    if SCORE not in names and len(names) != 1:
        raise ValueError(f"{path} must have a column 'score'; its columns are {', '.join(map(repr, names[:12]))}")
    score = SCORE if SCORE in names else names[0]
    has_qid = QID in names and score != QID
    frame = table.read([QID, score] if has_qid else [score], {QID})
    if frame[score].dtype.kind not in "biuf":
        raise ValueError(f"{path}: the column {score!r} must have numbers; got {frame[score].dtype}")
    values = frame[score].to_numpy(np.float64)
    infinite = ~np.isfinite(values)
    if infinite.any():
        raise ValueError(f"{path}: the score in row {int(np.argmax(infinite)) + 1} is not finite")
    if has_qid and len(values) == len(qid):
        ids = query_ids(path, frame[QID]).astype(str)
        differ = ids != qid.astype(str)
        if differ.any():
            row = int(np.argmax(differ))
            raise ValueError(
                f"{path}: row {row + 1} has the query id {str(ids[row])!r}, and this document {str(qid[row])!r}: the "
                "scores must have the sequence of the documents"
            )
    return check_scores(values)


def _of_lines(path: Path) -> Floats:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError:
        raise ValueError(f"{path}: it is not text in UTF-8; expected one score per line") from None
    for number, line in enumerate(lines, 1):
        if line.strip() and not is_finite_text(line):
            raise ValueError(f"{path}, line {number}: {line[:40]!r} is not a finite score")
    return check_scores([float(line) for line in lines if line.strip()])
