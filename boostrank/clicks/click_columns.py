"""Columns of click logs: checks of numbers and ids, and sums over entries of the same row and position."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from boostrank.core.queries import Queries
from boostrank.inputs.arrays import Bools, Ints, as_array, as_floats

#: Integers up to this number are exact as float64. It is also the largest sum of the impressions of a log.
MAX_COUNT = 2**53
#: The numbers of click models are arrays with one number for each position.
MAX_POSITION = 1_000_000
# A table with one number for each row and position may have this many numbers for each entry of the log.
MAX_CELLS_PER_ENTRY = 8
#: What to do if a session is not one result list.
ONE_DISPLAY = (
    "a session is one display of the result list of one query. Leave out repeated lines, and give every display an id "
    "of its own"
)


def whole_numbers(values: ArrayLike, name: str, length: int | None) -> Ints:
    """An argument as int64; `length` is the number of entries, or None if the argument defines it."""
    array = as_array(values, name)
    if array.ndim != 1 or (length is not None and len(array) != length):
        expected = "one-dimensional" if length is None else f"of one number per entry, shape ({length},)"
        raise ValueError(f"{name} must be an array {expected}; got shape {array.shape}")
    if array.dtype.kind in "iub" and array.dtype != np.uint64:
        return array.astype(np.int64)
    if array.dtype == object and pd.isna(array).any():
        array = np.where(pd.isna(array), np.nan, array)
    numbers = as_floats(array, name)
    bad = ~(np.abs(numbers) <= MAX_COUNT) | (numbers != np.floor(numbers))
    if bad.any():
        entry = int(np.argmax(bad))
        if np.isnan(numbers[entry]):
            advice = ": an impression without a click has the number 0" if name == "clicks" else ""
            raise ValueError(f"{name}[{entry}] is missing{advice}")
        advice = "; for rates, pass clicks = rate * impressions" if name == "clicks" else ""
        raise ValueError(f"{name}[{entry}] is {numbers[entry]:g}, not an integer{advice}")
    return numbers.astype(np.int64)


def check_columns(n_documents: int, row: Ints, position: Ints, clicks: Ints, impressions: Ints) -> None:
    """Raise ValueError for the first entry with a row, a position or a count that is not possible."""
    for bad, text in (
        ((row < 0) | (row >= n_documents), f"row[{{i}}] is {{row}}, but rows are numbered from 0 to {n_documents - 1}"),
        (
            position < 1,
            "position[{i}] is {position}, but the first position of a list is 1: add 1 if they are counted from 0",
        ),
        (clicks < 0, "clicks[{i}] is {clicks}: counts must not be negative"),
        (impressions < 0, "impressions[{i}] is {impressions}: counts must not be negative"),
        (
            clicks > impressions,
            "clicks[{i}] is {clicks}, but impressions[{i}] is {impressions}: count several clicks of one impression "
            "once, and count every impression",
        ),
        (
            position > MAX_POSITION,
            f"position[{{i}}] is {{position}}, more than {MAX_POSITION}: positions are ranks in a result list, not ids",
        ),
    ):
        if bad.any():
            i = int(np.argmax(bad))
            numbers = {"row": row[i], "position": position[i], "clicks": clicks[i], "impressions": impressions[i]}
            raise ValueError(text.format(i=i, **numbers))
    if impressions.sum(dtype=np.float64) > MAX_COUNT:
        raise ValueError(f"the impressions of a log must not add up to more than {MAX_COUNT}")


def session_numbers(session: ArrayLike, n_entries: int) -> tuple[NDArray[Any], NDArray[Any] | None]:
    """A number for the session of each entry, and the ids by number; None if there are only ids.

    Raises ValueError for another number of ids, and for one that is missing.
    """
    ids: NDArray[Any] | None = None
    if isinstance(session, pd.Series) and isinstance(session.dtype, pd.StringDtype):
        # As objects, texts would be numbered in several times as long.
        numbers, levels = session.factorize()
        missing, ids = numbers < 0, np.asarray(levels, dtype=object)
    else:
        numbers = as_array(session, "session")
        missing = pd.isna(numbers)
    if numbers.shape != (n_entries,):
        raise ValueError(f"session must have one id per entry, shape ({n_entries},); got shape {numbers.shape}")
    if np.any(missing):
        entry = int(np.argmax(missing))
        given = "missing" if ids is not None else numbers[entry]
        raise ValueError(f"session[{entry}] is {given!s}: every entry needs a session, or leave session out")
    return numbers, ids


def distinct_ids(session_ids: ArrayLike, n_sessions: int) -> NDArray[Any]:
    """The id of each session; raise ValueError for another number of them, and if one is missing or not unique."""
    ids = as_array(session_ids, "session_ids")
    if ids.shape != (n_sessions,):
        raise ValueError(f"session_ids must have one id for each of the {n_sessions} sessions; got shape {ids.shape}")
    if np.any(pd.isna(ids)):
        raise ValueError(f"session_ids[{int(np.argmax(pd.isna(ids)))}] is missing: every session needs an id")
    queries = Queries.from_qid(ids)
    if queries.n_queries < n_sessions:
        raise ValueError(
            f"session_ids must be different, but {queries.sizes.max()} sessions have the id "
            f"{str(queries.ids[np.argmax(queries.sizes)])!r}"
        )
    return ids


def document_ids(documents: ArrayLike, n_documents: int) -> NDArray[Any]:
    """The document of each row of X; raise ValueError for another number of them."""
    ids = as_array(documents, "documents")
    if ids.shape != (n_documents,):
        raise ValueError(f"documents must have one id for each of the {n_documents} rows of qid; got shape {ids.shape}")
    return ids


def common_documents(documents_of_logs: Sequence[NDArray[Any] | None]) -> NDArray[Any] | None:
    """The documents of those logs of the same rows that have any; raise ValueError if they are different."""
    known = {i: ids.astype(object) for i, ids in enumerate(documents_of_logs) if ids is not None}
    if not known:
        return None
    first = min(known)
    for i, documents in known.items():
        differ = documents != known[first]
        if differ.any():
            row = int(np.argmax(differ))
            raise ValueError(
                f"logs[{i}] belongs to other rows than logs[{first}]: document {str(documents[row])!r} of row {row} is "
                f"{str(known[first][row])!r} there"
            )
    return documents_of_logs[first]


def repeated(keys: Ints) -> Bools:
    """Whether each key is equal to an earlier one, shape (n_keys,)."""
    found = np.zeros(len(keys), dtype=bool)
    # Almost always none is. For increasing keys a comparison of neighbours shows it. For others, sorted values show it:
    # NumPy sorts values several times as fast as indices.
    if (keys[1:] > keys[:-1]).all():
        return found
    increasing = np.sort(keys)
    if (increasing[1:] > increasing[:-1]).all():
        return found
    by_key = np.argsort(keys, kind="stable")
    found[by_key[1:]] = keys[by_key[1:]] == keys[by_key[:-1]]
    return found


def summed(n_documents: int, row: Ints, position: Ints, clicks: Ints, impressions: Ints) -> tuple[Ints, ...]:
    """Columns with one entry for each row and position, sorted by these, with the sums of clicks and impressions."""
    n_positions = int(position.max())
    cell = row * n_positions + (position - 1)
    if (cell[1:] > cell[:-1]).all():
        return row, position, clicks, impressions
    if n_documents * n_positions <= MAX_CELLS_PER_ENTRY * len(cell):
        # A count over all cells takes a few nanoseconds per entry, and sorting ten times as long.
        n_cells = n_documents * n_positions
        mask = np.zeros(n_cells, dtype=bool)
        mask[cell] = True
        cells, index, size = np.flatnonzero(mask), cell, n_cells
    else:
        cells, index = np.unique(cell, return_inverse=True)
        mask, size = np.ones(len(cells), dtype=bool), len(cells)
    sums = [np.zeros(size, dtype=np.int64) for _ in range(2)]
    for total, counts in zip(sums, (clicks, impressions), strict=True):
        np.add.at(total, index, counts)
    return cells // n_positions, cells % n_positions + 1, sums[0][mask], sums[1][mask]
