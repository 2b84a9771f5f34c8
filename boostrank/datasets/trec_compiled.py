"""Parse TREC files with the compiled library."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from boostrank.compiled import is_available
from boostrank.compiled.trec_lines import Role, trec_lines

#: Roles of fields that are not in the table.
UNUSED: Role = "unused"


def parse_compiled(content: bytes, columns: Sequence[str], texts: Sequence[str], number: str) -> pd.DataFrame | None:
    """Parse a file; None if a line is invalid, or if it is left to pandas.

    It needs pyarrow, in whose form pandas stores texts from version 3 on. Without it, each text is an object of Python,
    and pandas takes as long.

    Parameters
    ----------
    content : bytes
    columns : sequence of str
        Names of the fields of a line.
    texts : sequence of str
        Names of the columns of the result that are texts, which no two lines share. The first one is the query.
    number : str
        Name of the column with the relevance, if "relevance", or with the score.

    Returns
    -------
    DataFrame or None
        The columns of `texts`, and `number` with int64 or float64.
    """
    dtype: Any = pd.Series(["text"]).dtype
    is_arrow = isinstance(dtype, pd.StringDtype) and dtype.storage == "pyarrow"
    if not (is_available() and is_arrow and b"\0" not in content and _is_utf8(content)):
        return None
    import pyarrow as pa

    of_number: Role = "integer" if number == "relevance" else "score"
    roles = [texts.index(name) if name in texts else of_number if name == number else UNUSED for name in columns]
    lines = trec_lines(content, roles)
    if lines is None or len(lines.scores) == 0:
        return None
    values = lines.integers if of_number == "integer" else lines.scores
    for row, start, end in lines.slow.tolist():
        values[row] = float(content[start:end])
    if not np.isfinite(values).all():
        return None
    table: dict[str, Any] = {}
    for name, (text, places) in zip(texts, lines.texts, strict=True):
        array = pa.LargeStringArray.from_buffers(len(values), pa.py_buffer(places), pa.py_buffer(text))
        table[name] = dtype.__from_arrow__(array)
    table[number] = values
    result = pd.DataFrame(table)
    # The lines of a run of one query differ. The same query may have another run.
    is_grouped = result[texts[0]].iloc[lines.runs].is_unique
    return result if is_grouped or not result.duplicated(list(texts)).any() else None


def _is_utf8(content: bytes) -> bool:
    try:
        return content.isascii() or bool(content.decode())
    except UnicodeDecodeError:
        return False
