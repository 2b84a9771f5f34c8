"""Lines of LETOR files, read in C."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from boostrank.inputs.arrays import Floats, Ints
from boostrank.kernels.library import call, is_available
from boostrank.text.decimals import powers_of_five


class LetorLines(NamedTuple):
    """The documents of a text, one a line.

    Attributes
    ----------
    labels : ndarray of float64, shape (n_rows,)
    sizes : ndarray of int64, shape (n_rows,)
        Number of values of each row.
    columns : ndarray of int32, shape (n_values,)
    values : ndarray of float64, shape (n_values,)
    runs : ndarray of int64, shape (n_runs, 3)
        Where the id of consecutive rows of one query starts and ends in the text, and the number of
        these rows.
    slow : ndarray of int64, shape (n_slow, 3)
        Numbers that are valid, but were not computed: the position in `values`, or -1 minus the row
        of a label, and where the number starts and ends.
    has_qid : bool
        Whether lines have query ids.
    is_sorted : bool
        Whether the columns of each row increase.
    width : int
        Number of values of each row, whose columns are then the first ones; below 0 if rows differ.
    n_lines : int
        Number of lines; some may be empty.
    """

    labels: Floats
    sizes: Ints
    columns: NDArray[np.int32]
    values: Floats
    runs: Ints
    slow: Ints
    has_qid: bool
    is_sorted: bool
    width: int
    n_lines: int


def letor_lines(text: bytes, first_index: int, max_index: int) -> LetorLines | None:
    """Read complete lines; None if a line is invalid, or without the compiled library.

    Parameters
    ----------
    text : bytes
    first_index, max_index : int
        Smallest and largest index of a feature.
    """
    if not is_available():
        return None
    codes = np.frombuffer(text, np.uint8)
    n_lines = int(np.count_nonzero(codes == ord("\n")))
    n_colons = int(np.count_nonzero(codes == ord(":")))
    labels = np.empty(n_lines)
    sizes = np.empty(n_lines, np.int64)
    columns = np.empty(n_colons, np.int32)
    values = np.empty(n_colons)
    runs = np.empty((n_lines, 3), np.int64)
    slow = np.empty((n_lines + n_colons, 3), np.int64)
    counts = np.empty(7, np.int64)
    fault = call(
        "letor_lines",
        text,
        len(text),
        first_index,
        max_index,
        powers_of_five(),
        labels,
        sizes,
        columns,
        values,
        runs.ravel(),
        slow.ravel(),
        counts,
    )
    if fault:
        return None
    n_rows, n_values, n_runs, n_slow, has_qid, is_sorted, width = counts.tolist()
    return LetorLines(
        labels[:n_rows],
        sizes[:n_rows],
        columns[:n_values],
        values[:n_values],
        runs[:n_runs],
        slow[:n_slow],
        bool(has_qid),
        bool(is_sorted),
        width,
        n_lines,
    )
