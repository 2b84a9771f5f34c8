"""Parse TREC files with the compiled library."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from boostrank.core.compiled import is_available
from boostrank.core.compiled.lines import Role, trec_lines
from boostrank.inputs.arrays import Ints

#: Roles of fields that are not in the table.
UNUSED: Role = "unused"


def parse_compiled(
    content: NDArray[np.uint8], columns: Sequence[str], texts: Sequence[str], number: str
) -> pd.DataFrame | None:
    """Parse a file; None if the library is not used or a line is invalid, so that pandas shall read it.

    Parameters
    ----------
    content : ndarray of uint8
        The bytes of the file, and a zero byte.
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
    if not is_available() or not _is_utf8(content):
        return None
    of_number: Role = "integer" if number == "relevance" else "score"
    roles = [texts.index(name) if name in texts else of_number if name == number else UNUSED for name in columns]
    lines = trec_lines(content, roles)
    if lines is None or len(lines.scores) == 0:
        return None
    values = lines.integers if of_number == "integer" else lines.scores
    for row, start, end in lines.slow.tolist():
        values[row] = float(content[start:end].tobytes())
    if not np.isfinite(values).all():
        return None
    table: dict[str, Any] = {
        name: _column(text, places) for name, (text, places) in zip(texts, lines.texts, strict=True)
    }
    table[number] = values
    result = pd.DataFrame(table)
    # The lines of a run of one query differ. The same query may have another run.
    is_grouped = result[texts[0]].iloc[lines.runs].is_unique
    return result if is_grouped or not result.duplicated(list(texts)).any() else None


def _column(text: NDArray[np.uint8], places: Ints) -> Any:
    """Texts in the form in which pandas stores them."""
    dtype: Any = pd.Series(["text"]).dtype
    if getattr(dtype, "storage", None) == "pyarrow":
        import pyarrow as pa

        array = pa.LargeStringArray.from_buffers(len(places) - 1, pa.py_buffer(places), pa.py_buffer(text))
        return dtype.__from_arrow__(array)
    content = text.tobytes()
    return pd.Series([content[start:end].decode() for start, end in pairwise(places.tolist())], dtype=dtype)


def _is_utf8(content: NDArray[np.uint8]) -> bool:
    try:
        return int(content.max()) < 128 or bool(content.tobytes().decode())
    except UnicodeDecodeError:
        return False
