"""Features of one file, or of one array that is read in slices: the parts of :class:`boostrank.FeatureFiles`."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

#: First bytes of a Parquet file.
PARQUET_MARK = b"PAR1"


class Part(Protocol):
    """Rows of features that are read when they are needed.

    Attributes
    ----------
    name : str
        For error messages.
    shape : (int, int)
    dtype : dtype
        The type of the features that :meth:`read` returns, before it is converted.
    names : list of str or None
        Names of the features.
    """

    name: str
    shape: tuple[int, int]
    dtype: np.dtype[Any]
    names: list[str] | None

    def read(self, start: int, stop: int) -> NDArray[Any]:
        """Read the rows from `start` up to, but not with, `stop`."""
        ...


def open_part(source: Any, columns: Sequence[str] | None) -> Part:
    """Read shape and type of a part, but not its features.

    Parameters
    ----------
    source : path, or array
        The path of a file in NumPy's format ``.npy`` or in Parquet; or an object that has `shape` and `dtype` and
        returns rows for a slice, such as a memory map.
    columns : sequence of str, optional
        The columns of a Parquet file that are features.

    Raises
    ------
    ValueError
        If a file is neither, or contains no two-dimensional array of numbers; or for `columns` that are missing, or
        are given for an array.
    """
    if not isinstance(source, (str, os.PathLike)):
        part: Part = ArrayPart(source)
    elif _is_parquet(source):
        part = ParquetPart(source, columns)
    else:
        part = NpyPart(source)
    if columns is not None and part.names is None:
        raise ValueError(f"columns are the names of columns of Parquet files, and {part.name} has no names of columns")
    if part.dtype.kind not in "biuf" or part.dtype.itemsize > 8:
        raise ValueError(f"{part.name} must contain numbers of at most 64 bits; got dtype {part.dtype}")
    return part


class ArrayPart:
    """Rows of an object that has `shape` and `dtype` and returns rows for a slice."""

    names: list[str] | None = None

    def __init__(self, source: Any) -> None:
        self.name = f"the {type(source).__name__} among the parts of FeatureFiles"
        if not all(hasattr(source, name) for name in ("shape", "dtype", "__getitem__")):
            raise ValueError(
                f"{self.name} must be the path of a .npy or Parquet file, or an object with shape and dtype that "
                "returns rows for a slice, such as numpy.memmap"
            )
        self._source = source
        self.shape, self.dtype = _two_dimensional(source.shape, self.name), np.dtype(source.dtype)

    def read(self, start: int, stop: int) -> NDArray[Any]:
        """Read rows."""
        if tuple(self._source.shape) != self.shape:
            raise ValueError(f"{self.name} has changed its shape from {self.shape} to {tuple(self._source.shape)}")
        return np.asarray(self._source[start:stop])


class FilePart:
    """Rows of a file that must not change while it is used."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        # The path must mean the same file also if the current folder changes, or in another process.
        self.path = os.path.abspath(path)
        self.name = f"the file {os.fspath(path)!r}"
        self._signature = self._current_signature()

    def check_unchanged(self) -> None:
        """Raise ValueError if the file has changed since this object was made."""
        try:
            now = self._current_signature()
        except OSError as error:
            raise ValueError(f"{self.name} cannot be read any more: {error}") from error
        if now != self._signature:
            raise ValueError(f"{self.name} has changed since FeatureFiles was made: make it again")

    def _current_signature(self) -> tuple[int, int]:
        status = os.stat(self.path)
        return status.st_size, status.st_mtime_ns


class NpyPart(FilePart):
    """Rows of a file in NumPy's format ``.npy``."""

    names: list[str] | None = None

    def __init__(self, path: str | os.PathLike[str]) -> None:
        super().__init__(path)
        array = self._map()
        self.shape, self.dtype = _two_dimensional(array.shape, self.name), array.dtype

    def read(self, start: int, stop: int) -> NDArray[Any]:
        """Read rows."""
        # The file is mapped only as long as these rows are used: the pages of a mapped file count as memory of the
        # process until the operating system needs them for something else.
        self.check_unchanged()
        return self._map()[start:stop]

    def _map(self) -> NDArray[Any]:
        try:
            return np.lib.format.open_memmap(self.path, mode="r")
        except ValueError as error:
            raise ValueError(f"{self.name} is no .npy file of numbers, and no Parquet file: {error}") from error


class ParquetPart(FilePart):
    """Columns of a Parquet file. The row group that was read last is kept."""

    def __init__(self, path: str | os.PathLike[str], columns: Sequence[str] | None) -> None:
        super().__init__(path)
        file = self._open()
        if columns is None:
            raise ValueError(
                f"{self.name} is a Parquet file: give columns=, the names of the columns that are features, among "
                f"{file.schema_arrow.names[:10]}"
            )
        self._columns = list(columns)
        if len(set(self._columns)) < len(self._columns):
            raise ValueError(f"columns must be different names of columns; got {self._columns[:10]}")
        self.names: list[str] | None = self._columns
        fields = [self._field(file.schema_arrow, name) for name in self._columns]
        self.shape = _two_dimensional((file.metadata.num_rows, len(fields)), self.name)
        self.dtype = np.result_type(*fields)
        sizes = [file.metadata.row_group(i).num_rows for i in range(file.metadata.num_row_groups)]
        self._starts = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)]).astype(np.int64)
        self._last: tuple[int, NDArray[Any]] | None = None

    def read(self, start: int, stop: int) -> NDArray[Any]:
        """Read rows."""
        self.check_unchanged()
        first = int(np.searchsorted(self._starts, start, side="right")) - 1
        blocks = []
        for group in range(first, len(self._starts) - 1):
            offset = int(self._starts[group])
            if offset >= stop:
                break
            blocks.append(self._group(group)[max(start - offset, 0) : stop - offset])
        return np.concatenate(blocks) if blocks else np.empty((0, self.shape[1]), self.dtype)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_last": None}

    def _group(self, group: int) -> NDArray[Any]:
        last = self._last
        if last is None or last[0] != group:
            # Not two row groups are in memory at once.
            self._last = last = None
            table = self._open().read_row_group(group, columns=self._columns)
            values = np.empty((table.num_rows, self.shape[1]), self.dtype)
            for i, name in enumerate(self._columns):
                # Without pandas, a null among integers would be an error.
                values[:, i] = table.column(name).to_pandas().to_numpy(self.dtype, na_value=math.nan)
            # Another thread may read from this part too, so that what is returned is not what `_last` is then.
            self._last = last = group, values
        return last[1]

    def _field(self, schema: Any, name: str) -> np.dtype[Any]:
        """The type of a column, or that of floats if it may have nulls, which are missing values."""
        if schema.names.count(name) != 1:
            raise ValueError(f"{self.name} must have one column {name!r}; its columns are {schema.names[:10]}")
        try:
            dtype = np.dtype(schema.field(name).type.to_pandas_dtype())
        except NotImplementedError:
            dtype = np.dtype(object)
        if dtype.kind not in "biuf":
            raise ValueError(f"the column {name!r} of {self.name} must contain numbers; got {schema.field(name).type}")
        return np.result_type(dtype, np.float32)

    def _open(self) -> Any:
        try:
            from pyarrow.parquet import ParquetFile
        except ImportError as error:
            raise ImportError("Parquet files are read with pyarrow: pip install pyarrow") from error
        try:
            return ParquetFile(self.path)
        except ValueError as error:
            raise ValueError(f"{self.name} is no complete Parquet file: {error}") from error


def _is_parquet(path: str | os.PathLike[str]) -> bool:
    with open(path, "rb") as file:
        return file.read(len(PARQUET_MARK)) == PARQUET_MARK


def _two_dimensional(shape: Sequence[int], name: str) -> tuple[int, int]:
    if len(shape) != 2 or shape[1] == 0:
        raise ValueError(
            f"{name} must have two dimensions, (n_documents, n_features), and at least one feature; got the shape "
            f"{tuple(shape)}"
        )
    return int(shape[0]), int(shape[1])
