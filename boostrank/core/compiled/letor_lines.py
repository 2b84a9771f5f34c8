"""Lines of LETOR files, read in C."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from boostrank.core.compiled import _call
from boostrank.inputs.arrays import Floats, Ints

# As in decimals.h.
MAX_POWER = 64


class LetorLines(NamedTuple):
    """The documents of a block of lines.

    Attributes
    ----------
    labels : ndarray of float64, shape (n_rows,)
    sizes : ndarray of int64, shape (n_rows,)
        Number of features in each row.
    columns : ndarray of int32, shape (n_values,)
        Column of each feature, row after row.
    values : ndarray of float64, shape (n_values,)
        Value of each feature.
    runs : ndarray of int64, shape (n_runs, 3)
        Consecutive rows of one query id: where the id starts and ends in the block, and the number of rows.
    comments : ndarray of int64, shape (n_rows, 2)
        Where the comment of each row starts and ends.
    slow : ndarray of int64, shape (n_slow, 3)
        Numbers that are valid, but were not computed: the position in `values`, or -1 minus the row of a label, and
        where the number starts and ends.
    has_qid : bool
        Whether the rows have query ids.
    is_sorted : bool
        Whether the columns of each row increase.
    regular_width : int
        n if each row has exactly the columns 0 to n - 1, in this sequence; otherwise -1.
    n_lines : int
        Number of lines, with and without documents.
    """

    labels: Floats
    sizes: Ints
    columns: NDArray[np.int32]
    values: Floats
    runs: Ints
    comments: Ints
    slow: Ints
    has_qid: bool
    is_sorted: bool
    regular_width: int
    n_lines: int


def letor_lines(block: bytes, first_index: int, max_index: int) -> LetorLines | None:
    """Read complete lines, of which each ends in a line end; None if a line is invalid.

    Parameters
    ----------
    block : bytes
    first_index, max_index : int
        Range of the indices of features.
    """
    if not block.endswith(b"\n"):
        raise ValueError("a block must consist of complete lines")
    codes = np.frombuffer(block, np.uint8)
    n_lines, n_colons = (int(np.count_nonzero(codes == ord(character))) for character in "\n:")
    labels, sizes = np.empty(n_lines), np.empty(n_lines, np.int64)
    columns, values = np.empty(n_colons, np.int32), np.empty(n_colons)
    runs, comments = np.empty((n_lines, 3), np.int64), np.empty((n_lines, 2), np.int64)
    slow, counts = np.empty((n_lines + n_colons, 3), np.int64), np.empty(7, np.int64)
    results = labels, sizes, columns, values, runs.ravel(), comments.ravel(), slow.ravel(), counts
    if _call("letor_lines", block, len(block), first_index, max_index, powers_of_five(), *results) != 0:
        return None
    n_rows, n_values, n_runs, n_slow, has_qid, is_sorted, width = counts.tolist()
    rows, features = (labels[:n_rows], sizes[:n_rows]), (columns[:n_values], values[:n_values])
    positions = runs[:n_runs], comments[:n_rows], slow[:n_slow]
    return LetorLines(*rows, *features, *positions, bool(has_qid), bool(is_sorted), width, n_lines)


@lru_cache(maxsize=1)
def powers_of_five() -> NDArray[np.uint64]:
    """The upper and the lower 64 bits of ``5^p``, scaled to 128 bits, for p from ``-MAX_POWER`` to ``MAX_POWER``.

    They are rounded down, but the powers from -27 to -1 up: only with these a result may be half way between two
    numbers of float64. Source: Lemire, "Number parsing at a gigabyte per second", 2021.
    """
    scaled = []
    for power in range(-MAX_POWER, MAX_POWER + 1):
        five: int = 5 ** abs(power)
        length = five.bit_length()
        if power < 0:
            scaled.append((1 << (length + 127)) // five + (power >= -27))
        else:
            scaled.append(five << (128 - length) if length <= 128 else five >> (length - 128))
    halves = [half for number in scaled for half in (number >> 64, number & (2**64 - 1))]
    return np.array(halves, dtype=np.uint64)
