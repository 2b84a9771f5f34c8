"""The content of one LETOR file, collected block by block."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from boostrank.datasets.letor_format import Array


class RefusedBlockError(Exception):
    """The fast parser refuses a block of lines; :mod:`boostrank.datasets.letor_faults` finds out why."""


class ParsedBlock(NamedTuple):
    """The documents of a block of lines.

    Attributes
    ----------
    labels : ndarray of float64, shape (n_rows,)
    counts : ndarray of int, shape (n_rows,)
        Number of features in each row.
    indices, data : ndarray, shape (n_features_listed,)
        Column (int32) and value of each feature, sorted by row, then column.
    n_regular : int or None
        n if each row has exactly the columns 0 to n - 1.
    has_qid : bool
    qid_runs : list of (bytes, int)
        Texts of successive qids, and how many successive rows have each.
    comments : list of str
        One per document, if the options ask for comments.
    n_lines : int
        Number of lines, with and without documents.
    """

    labels: Array
    counts: Array
    indices: Array
    data: Array
    n_regular: int | None
    has_qid: bool
    qid_runs: list[tuple[bytes, int]]
    comments: list[str]
    n_lines: int

    @classmethod
    def empty(cls, dtype: npt.DTypeLike, n_lines: int) -> ParsedBlock:
        """Blank lines, and lines with only a comment."""
        none = np.empty(0, np.int64)
        return cls(np.empty(0), none, none.astype(np.int32), np.empty(0, dtype), None, False, [], [], n_lines)


class GrowingArray:
    """A one-dimensional array to append to; it grows in place where the system can move pages instead of copying."""

    def __init__(self, dtype: npt.DTypeLike) -> None:
        self.values: Array = np.empty(1024, dtype)
        self.size = 0

    def append(self, more: Array) -> None:
        """Add values at the end."""
        end = self.size + more.size
        if end > self.values.size:
            self.values.resize(max(end, self.values.size * 9 // 8), refcheck=False)
        self.values[self.size : end] = more
        self.size = end

    def finish(self) -> Array:
        """Give back unused memory and return the values."""
        self.values.resize(self.size, refcheck=False)
        return self.values


class ParsedFile:
    """The content of one file, before the number of features, and whether X is dense, are decided.

    Attributes
    ----------
    name : str
        Path of the file.
    n_rows : int
        Number of documents.
    width : int
        Number of columns that the largest index of the file needs.
    has_qid : bool or None
        Whether the lines have a qid; None before the first document.
    labels : list of ndarray
        Labels, an array per block.
    qid_runs : list of (bytes, int)
        Texts of successive qids, and how many successive rows have each.
    comments : list of str
        One per document, if the options ask for comments.
    counts : list of ndarray
        Number of features in each row, an array per block.
    n_regular : int or None
        n if each row has exactly the columns 0 to n - 1; `indices` is then empty, to save memory.
    indices, data : GrowingArray
        Column and value of each feature, sorted by row, then column.
    """

    def __init__(self, name: str, dtype: npt.DTypeLike) -> None:
        self.name = name
        self.n_rows = 0
        self.width = 0
        self.has_qid: bool | None = None
        self.labels: list[Array] = []
        self.qid_runs: list[tuple[bytes, int]] = []
        self.comments: list[str] = []
        self.counts: list[Array] = []
        self.n_regular: int | None = None
        self.indices = GrowingArray(np.int32)
        self.data = GrowingArray(dtype)

    def accepts(self, block: ParsedBlock) -> bool:
        """Whether the documents of a block have a qid if, and only if, those before it have one."""
        return not len(block.labels) or self.has_qid in (None, block.has_qid)

    def append(self, block: ParsedBlock) -> None:
        """Add the documents of a block."""
        if not len(block.labels):
            return
        if not self.n_rows:
            self.n_regular = block.n_regular
        elif self.n_regular is not None and self.n_regular != block.n_regular:
            self.indices.append(np.tile(np.arange(self.n_regular, dtype=np.int32), self.n_rows))
            self.n_regular = None
        if self.n_regular is None:
            self.indices.append(block.indices)
        self.data.append(block.data)
        self.labels.append(block.labels)
        self.counts.append(block.counts)
        self.qid_runs += block.qid_runs
        self.comments += block.comments
        self.has_qid = block.has_qid
        self.n_rows += len(block.labels)
        self.width = max(self.width, int(block.indices.max(initial=-1)) + 1)


def regular_width(counts: Array, indices: Array) -> int | None:
    """Return n if each row has exactly the columns 0 to n - 1, in this sequence; else None."""
    n = int(counts[0])
    if not (counts == n).all():
        return None
    return n if (indices.reshape(len(counts), n) == np.arange(n, dtype=np.int32)).all() else None


def as_type(values: Array, dtype: npt.DTypeLike) -> Array:
    """The values of features with their type; refuse a value that is too large for it."""
    try:
        with np.errstate(over="raise"):
            return values.astype(dtype, copy=False)
    except FloatingPointError:
        raise RefusedBlockError from None


def sort_columns(counts: Array, indices: Array, data: Array) -> tuple[Array, Array]:
    """Sort the features of each row by column; refuse a column that occurs twice in a row."""
    rows = np.repeat(np.arange(len(counts)), counts)
    same_row = rows[1:] == rows[:-1]
    if (same_row & (indices[1:] <= indices[:-1])).any():
        permutation = np.lexsort((indices, rows))
        indices, data = indices[permutation], data[permutation]
        if (same_row & (indices[1:] == indices[:-1])).any():
            raise RefusedBlockError
    return indices, data
