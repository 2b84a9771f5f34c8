"""Lines of TREC files, read in C."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from boostrank.inputs.arrays import Floats, Ints
from boostrank.kernels.library import call, is_available
from boostrank.text.decimals import powers_of_five

#: The role of a field of a line: the number of a column of texts (column 0 is the query), or one of
#: these names.
Role = int | Literal["integer", "score", "unused"]
# As in trec_lines.c.
_NUMBERS = {"integer": -3, "score": -2, "unused": -1}


class TrecLines(NamedTuple):
    """The lines of a text.

    Attributes
    ----------
    texts : list of pairs of ndarray
        The bytes of each column of texts, one after the other, uint8, and their places, int64,
        shape (n_rows + 1,): the text of row i starts at ``places[i]`` and ends before ``places[i +
        1]``.
    scores : ndarray of float64, shape (n_rows,)
    integers : ndarray of int64, shape (n_rows,)
        Each of the two is valid if the lines have such a field.
    runs : ndarray of int64, shape (n_runs,)
        Row of the first of consecutive lines of one query. No two lines of a run have the same
        texts.
    slow : ndarray of int64, shape (n_slow, 3)
        Scores that are numbers, but were not computed: the row, and where the number starts and
        ends.
    """

    texts: list[tuple[NDArray[np.uint8], Ints]]
    scores: Floats
    integers: Ints
    runs: Ints
    slow: Ints


def trec_lines(content: NDArray[np.uint8], roles: Sequence[Role]) -> TrecLines | None:
    """Read lines; None if a line is invalid, or without the compiled library.

    Parameters
    ----------
    content : ndarray of uint8
        The bytes of the lines, and a zero byte.
    roles : sequence of int or str
        The role of each field of a line.
    """
    if not is_available():
        return None
    numbers = [role if isinstance(role, int) else _NUMBERS[role] for role in roles]
    n_texts = sum(isinstance(role, int) for role in roles)
    size = len(content) - 1
    # A field and its separator have at least two bytes.
    max_rows = (size + 1) // (2 * len(roles))
    # Memory is used only where it is written to.
    data = np.empty(n_texts * size + 1, np.uint8)
    places = np.empty((n_texts, max_rows + 1), np.int64)
    scores = np.empty(max_rows)
    integers = np.empty(max_rows, np.int64)
    runs = np.empty(max_rows, np.int64)
    slow = np.empty((max_rows, 3), np.int64)
    counts = np.empty(3, np.int64)
    fault = call(
        "trec_lines",
        content,
        size,
        np.array(numbers, dtype=np.int64),
        len(roles),
        n_texts,
        max_rows,
        powers_of_five(),
        data,
        places.ravel(),
        scores,
        integers,
        runs,
        slow.ravel(),
        counts,
    )
    if fault:
        return None
    n_rows, n_runs, n_slow = counts.tolist()
    texts = []
    for column in range(n_texts):
        ends = places[column, : n_rows + 1]
        start = column * size
        texts.append((data[start : start + int(ends[-1])], ends))
    return TrecLines(texts, scores[:n_rows], integers[:n_rows], runs[:n_runs], slow[:n_slow])
