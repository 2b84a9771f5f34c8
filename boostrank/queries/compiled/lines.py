"""Lines of TREC files, and the powers of five with which texts of LETOR and TREC files become
numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from boostrank.inputs.arrays import Floats, Ints
from boostrank.queries.compiled import call

# As in decimals.h.
MAX_POWER = 64
#: The role of a field of a line: the number of a column of texts (column 0 is the query), or one of
#: these names.
Role = int | Literal["integer", "score", "unused"]
# As in trec_lines.c.
_NUMBERS = {"integer": -3, "score": -2, "unused": -1}


@lru_cache(maxsize=1)
def powers_of_five() -> NDArray[np.uint64]:
    """The upper and the lower 64 bits of ``5^p``, scaled to 128 bits, for p from ``-MAX_POWER`` to
    ``MAX_POWER``.

    They are rounded down, but the powers from -27 to -1 up: only with these a result may be half
    way between two numbers of float64. Source: Lemire, "Number parsing at a gigabyte per second",
    2021.
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
    """Read lines; None if a line is invalid.

    Parameters
    ----------
    content : ndarray of uint8
        The bytes of the lines, and a zero byte.
    roles : sequence of int or str
        The role of each field of a line.
    """
    n_texts, size = sum(isinstance(role, int) for role in roles), len(content) - 1
    # A field and its separator have at least two bytes.
    max_rows = (size + 1) // (2 * len(roles))
    numbers = np.array(
        [role if isinstance(role, int) else _NUMBERS[role] for role in roles], dtype=np.int64
    )
    # Memory is used only where it is written to.
    data, places = (
        np.empty(n_texts * size + 1, np.uint8),
        np.empty((n_texts, max_rows + 1), np.int64),
    )
    scores, integers, runs = (
        np.empty(max_rows),
        np.empty(max_rows, np.int64),
        np.empty(max_rows, np.int64),
    )
    slow, counts = np.empty((max_rows, 3), np.int64), np.empty(3, np.int64)
    shape, results = (len(roles), n_texts, max_rows), (scores, integers, runs, slow.ravel(), counts)
    if (
        call(
            "trec_lines",
            content,
            size,
            numbers,
            *shape,
            powers_of_five(),
            data,
            places.ravel(),
            *results,
        )
        != 0
    ):
        return None
    n_rows, n_runs, n_slow = counts.tolist()
    contents = (data[column * size :] for column in range(n_texts))
    texts = [
        (text[: int(ends[n_rows])], ends[: n_rows + 1])
        for text, ends in zip(contents, places, strict=True)
    ]
    return TrecLines(texts, scores[:n_rows], integers[:n_rows], runs[:n_runs], slow[:n_slow])


class TextNumbers(NamedTuple):
    """Numbers of texts: within a query, equal texts have one number.

    Attributes
    ----------
    rows : ndarray of int64, shape (n_texts,)
        The rows of the texts, sorted by query; those of a query are in their sequence.
    numbers : ndarray of int64, shape (n_texts,)
        Number of each text. Those of a query follow those of the query before it, by first
        appearance.
    firsts : ndarray of int64, shape (n_numbers,)
        Row of the first text of each number.
    sizes : ndarray of int64, shape (n_queries,)
        How many numbers each query has.
    """

    rows: Ints
    numbers: Ints
    firsts: Ints
    sizes: Ints


def text_numbers(
    content: NDArray[np.uint8], places: Ints, query: Ints, n_queries: int
) -> TextNumbers:
    """Number the texts of each query.

    Parameters
    ----------
    content : ndarray of uint8
        The bytes of all texts, one after the other.
    places : ndarray of int64, shape (n_texts + 1,)
        Text i starts at ``places[i]`` and ends before ``places[i + 1]``.
    query : ndarray of int64, shape (n_texts,)
        Query of each text, from 0 to ``n_queries - 1``. Other numbers would be written to foreign
        memory.
    n_queries : int
    """
    rows, numbers, firsts = (np.empty(len(query), np.int64) for _ in range(3))
    sizes = np.empty(n_queries, np.int64)
    call(
        "text_numbers", content, places, len(query), query, n_queries, rows, numbers, firsts, sizes
    )
    return TextNumbers(rows, numbers, firsts[: int(sizes.sum())], sizes)
