"""Files with the group of each query, for ``--by``."""

from __future__ import annotations

import contextlib
import csv
from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from boostrank.core.weights import ID_COLUMNS, by_id
from boostrank.inputs.files import open_decompressed

_EXPECTED = "such as 'query_id,group'"
_INTEGER = r"-?(0|[1-9][0-9]{0,17})"


def read_groups(path: Path) -> pd.Series:
    """Read the group of each query from a CSV or TSV file.

    The first line has the names of two columns, one of them "query_id", "query", "qid" or "q_id". Tabs separate the
    columns if the first line has one, and otherwise commas. A query may occur several times with the same group.

    Returns
    -------
    Series
        Group by query id (str). Groups are str, or int if all of them are integers, so that 2 comes before 10.

    Raises
    ------
    ValueError
        If the file has other columns, a line has another number of fields, or a field is empty; if a query has
        different groups; and if the file is empty or not text in UTF-8. The message names the option and the file.
    """
    with open_decompressed(path) as file:
        content = file.read()
    try:
        lines = content.decode("utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise ValueError(f"--by {path}: it is not text in UTF-8") from None
    separator = "\t" if lines and "\t" in lines[0] else ","
    rows = [
        (number, [field.strip() for field in row])
        for number, row in enumerate(csv.reader(lines, delimiter=separator), 1)
        if any(field.strip() for field in row)
    ]
    if len(rows) < 2:
        raise ValueError(
            f"--by {path}: it has no queries; expected a line with names of columns, {_EXPECTED}, and others"
        )
    head = rows[0][1]
    if len(head) != 2 or len(set(head) & set(ID_COLUMNS)) != 1:
        raise ValueError(
            f"--by {path}: its first line must have the names of two columns, one of them {', '.join(ID_COLUMNS[:-1])} "
            f"or {ID_COLUMNS[-1]}, {_EXPECTED}; got {separator.join(head)!r}"
        )
    for number, row in rows[1:]:
        if len(row) != 2 or not all(row):
            raise ValueError(
                f"--by {path}, line {number}: expected two fields, {' and '.join(head)}; got {separator.join(row)!r}"
            )
    with named_option(path):
        groups = by_id(pd.DataFrame([row for _, row in rows[1:]], columns=head), "by")
    return pd.to_numeric(groups) if groups.str.fullmatch(_INTEGER).all() else groups


@contextlib.contextmanager
def named_option(path: Path | None) -> Iterator[None]:
    """Replace the name of the argument `by` in errors about it by the name of the option and its file."""
    try:
        yield
    except ValueError as error:
        text = str(error)
        if path is None or not text.startswith("by "):
            raise
        raise ValueError(f"--by {path} {text.removeprefix('by ')}") from error
