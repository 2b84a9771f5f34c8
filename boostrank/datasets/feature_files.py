"""Features that stay in files, and need not fit into memory: rankers read blocks of rows."""

from __future__ import annotations

import math
import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import suppress
from types import EllipsisType
from typing import TYPE_CHECKING, Any, NoReturn, Self

import numpy as np
from numpy.typing import NDArray

from boostrank.inputs.arrays import Ints
from boostrank.inputs.checks import check_count, named_part, refuse
from boostrank.inputs.files import is_parquet
from boostrank.inputs.streams import FeatureStream
from boostrank.ndcg.labels import Rows

if TYPE_CHECKING:
    from pyarrow import Schema
    from pyarrow.parquet import ParquetFile

Path = str | os.PathLike[str]
# First bytes of a file in NumPy's format.
_NPY_MARK = b"\x93NUMPY"


class FeatureFiles(FeatureStream):
    """Features in files, which rankers read in blocks of rows while they train and predict.

    It takes the place of the array `X` in ``fit``, in `eval_set` and in ``predict`` of the rankers,
    in :func:`boostrank.cross_validate`, and in :class:`boostrank.datasets.Dataset`. Labels and
    query ids must fit into memory. The libraries keep the bins of the features in memory while they
    train, one byte for each value (XGBoost two) in place of four or eight; XGBoost can keep them on
    disk, see `cache`. Each library reads the features several times before the first round, and not
    after it. The models are those of an array with the same features, with two exceptions: with
    weights, the bins of XGBoost's own objectives depend on the blocks; and with more rows than
    `bin_construct_sample_cnt` (200,000), LightGBM finds its bins from a sample of the rows, which
    is another one than that of an array if `random_state` is set.

    CSV and LETOR files are text, which would be read again in every pass. Convert them once, one
    file at a time: CSV with ``pandas.read_csv("part.csv").to_parquet("part.parquet")``, and LETOR
    with ``numpy.save("part.npy", boostrank.read_letor("part.txt", sparse=False,
    n_features=136).X)``.

    An array that ``numpy.load(path, mmap_mode="r")`` maps to memory can be given to ``fit`` and
    ``predict`` as it is, and is not copied either. But a part of its rows, as with
    `validation_fraction`, is copied to memory.

    Parameters
    ----------
    files : path, or list of paths
        Files of NumPy's format ``.npy`` with arrays of shape (n_rows, n_features), and Parquet
        files. The rows of the files follow each other; they may have different numbers of rows,
        also 0, and a query may begin in one file and end in the next. At least one row group of a
        Parquet file must fit into memory. Values may be of any types of real numbers; NaN and nulls
        are missing values.
    columns : list of str, optional
        The columns of Parquet files that are features, in this sequence. They must be given, so
        that labels are not taken for features. Their names are the names of the features.
    cache : path, optional
        A folder in which :class:`boostrank.XGBoostRanker` keeps the bins of the features while it
        trains, so that they need not fit into memory either ("external memory", which XGBoost calls
        experimental). Its files are deleted after the training. XGBoost reads them for each split
        of a tree that grows by leaves, which is the default of our losses, and for each level of
        one that grows by depth: if the disk is slow, set ``grow_policy="depthwise"``. LightGBM has
        nothing like it.

    Attributes
    ----------
    shape : (int, int)
        Number of documents and of features.
    dtype : dtype
        float32 if it holds the values of all files without rounding, otherwise float64.
    names : list of str or None
        Names of the features.
    cache : str or None

    Raises
    ------
    ValueError
        If there are no files, or a file does not contain a two-dimensional array of numbers, or the
        files have different numbers or types of features. Later, wherever features are read: if a
        value is infinite.

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np
    >>> import boostrank as br
    >>> X, y, qid = br.make_ranking(n_queries=20, random_state=0)
    >>> folder = tempfile.TemporaryDirectory()
    >>> paths = [os.path.join(folder.name, name) for name in ("part0.npy", "part1.npy")]
    >>> for path, rows in zip(paths, np.array_split(X, 2)):
    ...     np.save(path, rows)
    ...
    >>> features = br.FeatureFiles(paths)
    >>> features.shape == X.shape, features[-3:].shape
    (True, (3, 10))
    >>> scores = br.LightGBMRanker(n_estimators=5).fit(features, y, qid).predict(features)
    >>> bool((scores == br.LightGBMRanker(n_estimators=5).fit(X, y, qid).predict(X)).all())
    True
    >>> folder.cleanup()
    """

    def __init__(
        self,
        files: Path | Sequence[Path],
        *,
        columns: Sequence[str] | None = None,
        cache: Path | None = None,
    ) -> None:
        sources: list[object] = [files]
        if isinstance(files, (list, tuple)):
            sources = list(files)
        check_count("the number of files", len(sources))
        self.cache = None if cache is None else os.fspath(cache)
        if self.cache is not None and not os.path.isdir(self.cache):
            refuse("cache", self.cache, "a folder that exists")
        first, *others = self._files = [open_file(source, columns) for source in sources]
        for file in others:
            if file.shape[1] != first.shape[1] or file.names != first.names:
                raise ValueError(f"all files must have the same features: {first}, and {file}")
        self._starts = _starts([file.shape[0] for file in self._files])
        self._rows = np.arange(int(self._starts[-1]))
        self.dtype = np.result_type(np.float32, *(file.dtype for file in self._files))
        self.shape = len(self._rows), first.shape[1]
        self.names = first.names

    def __repr__(self) -> str:
        n_files = f"{len(self._files)} file{'s' if len(self._files) > 1 else ''}"
        return f"FeatureFiles({n_files}, shape={self.shape}, dtype={self.dtype})"

    def __getitem__(self, rows: Rows | tuple[Rows, EllipsisType]) -> Self:
        """Choose rows without reading them: a slice, or increasing row numbers, or a mask.

        Raises
        ------
        ValueError
            If the rows do not increase: reading them would jump between files.
        """
        # scikit-learn indexes by (rows, ...).
        if isinstance(rows, tuple) and len(rows) == 2 and rows[1] is Ellipsis:
            rows = rows[0]
        numbers = self._rows[rows]
        if numbers.ndim != 1 or (np.diff(numbers) < 1).any():
            raise ValueError(
                "rows of FeatureFiles can be taken only by a slice, a mask or row numbers in "
                "increasing sequence, each at most once, because they stay in their files: sort "
                "the row numbers"
            )
        taken = object.__new__(type(self))
        taken.__dict__.update(self.__dict__)
        taken._rows = numbers
        taken.shape = (len(numbers), self.shape[1])
        return taken

    def read(self, start: int = 0, stop: int | None = None) -> NDArray[Any]:
        """Read rows into memory.

        Parameters
        ----------
        start, stop : int
            The first row, and the one after the last; by default all rows.

        Returns
        -------
        ndarray, shape (stop - start, n_features), of type `dtype`

        Raises
        ------
        ValueError
            If a value is infinite.
        """
        rows = self._rows[start:stop]
        values = np.empty((len(rows), self.shape[1]), self.dtype)
        cuts = np.searchsorted(rows, self._starts)
        for file, offset, first, last in zip(
            self._files, self._starts[:-1], cuts[:-1], cuts[1:], strict=True
        ):
            if first < last:
                values[first:last] = self._checked(file, rows[first:last] - offset)
        return values

    def _checked(self, file: FeatureFile, rows: Ints) -> NDArray[Any]:
        """Rows of a file with the type of all files; errors name the file and its row."""
        with np.errstate(over="ignore", invalid="ignore"):
            block = file.read(rows).astype(self.dtype, copy=False)
            suspicious = not np.isfinite(block.sum(dtype=np.float64))
        if suspicious:
            infinite = np.argwhere(np.isinf(block))
            if len(infinite):
                row, column = infinite[0]
                file.refuse(
                    f"contains infinity in row {rows[row]}, feature {column}; use NaN for a "
                    "missing value"
                )
        return block


class FeatureFile(ABC):
    """Rows of features in a file.

    The file must not change while it is used, since a training reads it several times.

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

    shape: tuple[int, int]
    dtype: np.dtype[Any]
    names: list[str] | None = None

    def __init__(self, path: Path) -> None:
        # The path must mean the same file also if the current folder changes, or in another
        # process.
        self._path = os.path.abspath(path)
        self.name = f"the file {os.fspath(path)!r}"

    def __str__(self) -> str:
        text = f"{self.name} has {self.shape[1]} features"
        return text if self.names is None else f"{text} {self.names[:5]}"

    def refuse(self, fault: str) -> NoReturn:
        """Raise ValueError that names the file and says what is wrong with it."""
        raise ValueError(f"{self.name} {fault}")

    @abstractmethod
    def read(self, rows: Ints) -> NDArray[Any]:
        """Read rows, at least one, by their increasing numbers."""


class NpyFile(FeatureFile):
    """Rows of a file in NumPy's format ``.npy``."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        with open(path, "rb") as file:
            first = file.read(len(_NPY_MARK))
        if first != _NPY_MARK:
            self.refuse(
                "is no .npy file of numbers, and no Parquet file. Convert a table once, as by "
                "pandas.read_csv(path).to_parquet('part.parquet'), and give columns=; and a LETOR "
                "file, as by numpy.save('part.npy', boostrank.read_letor(path, sparse=False).X)"
            )
        array = self._map()
        self.shape = array.shape
        self.dtype = array.dtype

    def read(self, rows: Ints) -> NDArray[Any]:
        """Read rows, at least one, by their increasing numbers."""
        # The file is mapped only as long as these rows are used: the pages of a mapped file count
        # as memory of the process until the operating system needs them for something else.
        first = rows[0]
        last = rows[-1]
        if last - first == len(rows) - 1:
            return self._map()[first : last + 1]
        return self._map()[rows]

    def _map(self) -> NDArray[Any]:
        with named_part(f"{self.name} is no complete .npy file of numbers"):
            return np.lib.format.open_memmap(self._path, mode="r")


class ParquetFeatures(FeatureFile):
    """Columns of a Parquet file. The row group that was read last is kept."""

    def __init__(self, path: Path, columns: Sequence[str] | None) -> None:
        super().__init__(path)
        file = self._open()
        if columns is None:
            names = file.schema_arrow.names[:10]
            self.refuse(
                f"is a Parquet file: give columns=, the names of the columns that are features, "
                f"among {names}"
            )
        self.names = self._columns = list(columns)
        metadata = file.metadata
        self.shape = (metadata.num_rows, len(self.names))
        dtypes = [self._dtype_of(file.schema_arrow, name) for name in self.names]
        self.dtype = np.result_type(np.float32, *dtypes)
        groups = range(metadata.num_row_groups)
        self._starts = _starts([metadata.row_group(i).num_rows for i in groups])
        self._last: tuple[int, NDArray[Any]] | None = None

    def read(self, rows: Ints) -> NDArray[Any]:
        """Read rows, at least one, by their increasing numbers."""
        groups = np.searchsorted(self._starts, rows, side="right") - 1
        parts = []
        for i in np.unique(groups).tolist():
            rows_of_group = rows[groups == i] - self._starts[i]
            parts.append(self._group(i)[rows_of_group])
        return np.concatenate(parts)

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
                column = table.column(name).to_pandas()
                values[:, i] = column.to_numpy(self.dtype, na_value=math.nan)
            # Another thread that reads from this part may change `_last`, so the local variable is
            # returned.
            self._last = last = group, values
        return last[1]

    def _dtype_of(self, schema: Schema, name: str) -> np.dtype[Any]:
        """The type of floats for the values of a column. Nulls are missing values."""
        dtype = np.dtype(object)
        types = [field.type for field in schema if field.name == name]
        with suppress(NotImplementedError, IndexError):
            dtype = np.dtype(types[0].to_pandas_dtype())
        if len(types) != 1 or dtype.kind not in "biuf":
            self.refuse(
                f"must have one column {name!r}, of numbers; it has {len(types)} "
                f"{list(map(str, types))}, and its columns are {schema.names[:10]}"
            )
        return np.result_type(dtype, np.float32)

    def _open(self) -> ParquetFile:
        from pyarrow.parquet import ParquetFile

        try:
            return ParquetFile(self._path)
        except ValueError as error:
            self.refuse(f"is no complete Parquet file: {error}")


def _starts(sizes: Sequence[int]) -> Ints:
    """Number of the first row of each part, given the numbers of rows of parts; and their sum."""
    return np.cumsum([0, *sizes], dtype=np.int64)


def open_file(path: object, columns: Sequence[str] | None) -> FeatureFile:
    """Read shape and type of a file in NumPy's format ``.npy`` or in Parquet, but not its features.

    Raises
    ------
    TypeError
        If it is no path.
    ValueError
        If the file is neither, or contains no two-dimensional array of numbers; or for `columns`
        that are missing, or are given for a file in ``.npy``.
    """
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(
            f"FeatureFiles takes paths of .npy and Parquet files; got {type(path).__name__}. An "
            "array, also one of numpy.load(path, mmap_mode='r'), can be given to fit and predict "
            "as it is"
        )
    file: FeatureFile
    if is_parquet(path):
        file = ParquetFeatures(path, columns)
    else:
        file = NpyFile(path)
    if columns is not None and file.names is None:
        raise ValueError(
            f"columns are the names of columns of Parquet files, and {file.name} has no names of "
            "columns"
        )
    is_table = len(file.shape) == 2 and file.shape[1] > 0
    if not is_table or file.dtype.kind not in "biuf" or file.dtype.itemsize > 8:
        file.refuse(
            "must have two dimensions, (n_documents, n_features), with at least one feature, and "
            f"contain numbers of at most 64 bits; got the shape {file.shape} and dtype {file.dtype}"
        )
    return file
