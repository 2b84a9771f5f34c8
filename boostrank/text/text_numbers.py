"""Numbers of texts, such as the ids of the documents of each query, computed in C."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from boostrank.inputs.arrays import Ints
from boostrank.kernels.library import call, is_available


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
) -> TextNumbers | None:
    """Number the texts of each query; None without the compiled library.

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
    if not is_available():
        return None
    n_texts = len(query)
    rows = np.empty(n_texts, np.int64)
    numbers = np.empty(n_texts, np.int64)
    firsts = np.empty(n_texts, np.int64)
    sizes = np.empty(n_queries, np.int64)
    call("text_numbers", content, places, n_texts, query, n_queries, rows, numbers, firsts, sizes)
    return TextNumbers(rows, numbers, firsts[: int(sizes.sum())], sizes)
