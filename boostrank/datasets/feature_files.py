"""Features that stay in files: rankers read them in blocks of rows, so that they need not fit into memory."""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from boostrank.datasets.feature_parts import Part, open_part
from boostrank.inputs.arrays import Ints

#: Number of elements of a block: 16 MiB of float32.
BLOCK_ELEMENTS = 2**22


class FeatureFiles:
    """Features in files, which rankers read in blocks of rows while they train and predict.

    It takes the place of the array `X` in ``fit``, in `eval_set` and in ``predict`` of the rankers, in
    :func:`boostrank.cross_validate`, and in :class:`boostrank.datasets.Dataset`. Labels and query ids must fit into
    memory. The libraries keep the bins of the features in memory while they train, one byte for each value (XGBoost
    two) in place of four or eight; XGBoost can keep them on disk, see `cache`. Each library reads the features several
    times before the first round, and not after it. The models are those of an array with the same features, with two
    exceptions: with weights, the bins of XGBoost's own objectives depend on the blocks; and with more rows than
    `bin_construct_sample_cnt` (200,000), LightGBM finds its bins from a sample of the rows, which is another one than
    that of an array if `random_state` is set.

    LETOR files are text, which would be read again in every pass. Convert them once, one file at a time, with
    ``numpy.save("part.npy", boostrank.read_letor("part.txt", sparse=False, n_features=136).X)``.

    An array that ``numpy.load(path, mmap_mode="r")`` maps to memory can be given to ``fit`` and ``predict`` as it is,
    and is not copied either. But a part of its rows, as with `validation_fraction`, is copied to memory.

    Parameters
    ----------
    files : path, array, or list of these
        Files of NumPy's format ``.npy`` with arrays of shape (n_rows, n_features), Parquet files, and objects that have
        `shape` and `dtype` and return rows for a slice, such as memory maps and data sets of h5py. The rows of the
        files follow each other; they may have different numbers of rows, also 0, and a query may begin in one file and
        end in the next. Of a Parquet file, at least one row group must fit into memory. Values may be of any types of
        real numbers; NaN and nulls are missing values.
    columns : list of str, optional
        The columns of Parquet files that are features, in this sequence. They must be given, so that labels are not
        taken for features. Their names are the names of the features.
    cache : path, optional
        A folder in which :class:`boostrank.XGBoostRanker` keeps the bins of the features while it trains, so that they
        need not fit into memory either ("external memory", which XGBoost calls experimental). Its files are deleted
        after the training. XGBoost reads them for each split of a tree that grows by leaves, which is the default of
        our losses, and for each level of one that grows by depth: if the disk is slow, set
        ``grow_policy="depthwise"``. LightGBM has nothing like it.

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
        If there are no files, or a file does not contain a two-dimensional array of numbers, or the files have
        different numbers or types of features. Later, wherever features are read: if a file has changed in the
        meantime, or a value is infinite.

    Examples
    --------
    >>> import os, tempfile
    >>> from boostrank import LightGBMRanker, make_ranking
    >>> X, y, qid = make_ranking(n_queries=20, random_state=0)
    >>> folder = tempfile.TemporaryDirectory()
    >>> paths = [os.path.join(folder.name, name) for name in ("part0.npy", "part1.npy")]
    >>> for path, rows in zip(paths, np.array_split(X, 2)):
    ...     np.save(path, rows)
    >>> features = FeatureFiles(paths)
    >>> features.shape == X.shape, features[-3:].shape
    (True, (3, 10))
    >>> scores = LightGBMRanker(n_estimators=5).fit(features, y, qid).predict(features)
    >>> bool((scores == LightGBMRanker(n_estimators=5).fit(X, y, qid).predict(X)).all())
    True
    >>> folder.cleanup()
    """

    ndim = 2

    def __init__(
        self,
        files: Any,
        *,
        columns: Sequence[str] | None = None,
        cache: str | os.PathLike[str] | None = None,
    ) -> None:
        sources = list(files) if isinstance(files, (list, tuple)) else [files]
        if not sources:
            raise ValueError("FeatureFiles got no files")
        if isinstance(columns, str):
            raise ValueError(f"columns must be a list of names of columns; got the string {columns!r}")
        if cache is not None and not os.path.isdir(cache):
            raise ValueError(f"cache must be a folder that exists; got {os.fspath(cache)!r}")
        parts = [open_part(source, columns) for source in sources]
        for part in parts[1:]:
            if part.shape[1] != parts[0].shape[1] or part.names != parts[0].names:
                raise ValueError(
                    f"all files must have the same features: {parts[0].name} has {_features(parts[0])}, and "
                    f"{part.name} has {_features(part)}"
                )
        self._parts = parts
        self._starts = np.concatenate([[0], np.cumsum([part.shape[0] for part in parts], dtype=np.int64)])
        self._rows: Ints | range = range(int(self._starts[-1]))
        self.dtype = np.result_type(np.float32, *(part.dtype for part in parts))
        self.names = parts[0].names
        self.cache = None if cache is None else os.fspath(cache)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of documents and of features."""
        return len(self._rows), self._parts[0].shape[1]

    def __len__(self) -> int:
        return len(self._rows)

    def __repr__(self) -> str:
        n_parts = f"{len(self._parts)} file{'s' if len(self._parts) > 1 else ''}"
        return f"FeatureFiles({n_parts}, shape={self.shape}, dtype={self.dtype})"

    def __getitem__(self, rows: Any) -> Self:
        """Choose rows without reading them: a slice, or increasing row numbers, or a mask.

        Raises
        ------
        ValueError
            If the rows do not increase: reading them would jump between files.
        """
        if isinstance(rows, tuple) and len(rows) == 2 and rows[1] is Ellipsis:
            rows = rows[0]  # as scikit-learn indexes arrays
        chosen: Any = np.arange(len(self))[rows] if not isinstance(rows, slice) else range(len(self))[rows]
        if np.ndim(chosen) != 1:
            raise ValueError("FeatureFiles takes a slice, increasing row numbers or a mask, and gives rows; see read()")
        if isinstance(chosen, range):
            increasing = chosen.step > 0 or len(chosen) < 2
        else:
            increasing = bool((np.diff(chosen) > 0).all())
        if not increasing:
            raise ValueError(
                "rows of FeatureFiles can be taken only in increasing sequence, each at most once, because they stay "
                "in their files: sort the row numbers"
            )
        taken = object.__new__(type(self))
        taken.__dict__.update(self.__dict__)
        both_ranges = isinstance(self._rows, range) and isinstance(chosen, range)
        taken._rows = self._rows[chosen.start : chosen.stop : chosen.step] if both_ranges else self._numbers(chosen)
        return taken

    def __iter__(self) -> Iterator[Any]:
        raise TypeError(
            "FeatureFiles has no single rows: read(start, stop) gives an array, blocks() all rows in blocks"
        )

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        raise TypeError("FeatureFiles is not read into memory as a whole, unless you call its method read()")

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
            If a file has changed, or a value is infinite.
        """
        start, stop, _ = slice(start, stop).indices(len(self))
        values = np.empty((max(stop - start, 0), self.shape[1]), self.dtype)
        rows = self._rows[start:stop]
        done = 0
        while done < len(rows):
            number = int(np.searchsorted(self._starts, rows[done], side="right")) - 1
            part, offset = self._parts[number], int(self._starts[number])
            # Not more than a block is read at once, also if only few of its rows are chosen.
            last = min(int(self._starts[number + 1]), int(rows[done]) + self.rows_per_block)
            # It searches in a range too, without an array of all its numbers.
            end = bisect_left(rows, last, done, min(done + self.rows_per_block, len(rows)))
            first, last = int(rows[done]) - offset, int(rows[end - 1]) - offset + 1
            block = self._checked(part, part.read(first, last), first, last)
            is_dense = last - first == end - done
            values[done:end] = block if is_dense else block[np.asarray(rows[done:end]) - offset - first]
            done = end
        return values

    @property
    def rows_per_block(self) -> int:
        """Number of rows of the blocks in which features are read."""
        return max(1, BLOCK_ELEMENTS // max(1, self.shape[1]))

    def blocks(self) -> Iterator[NDArray[Any]]:
        """Read all rows, one block after the other; at least one block, which may have no rows."""
        for start in range(0, max(1, len(self)), self.rows_per_block):
            yield self.read(start, start + self.rows_per_block)

    def without_rows(self) -> Any:
        """An array, or a DataFrame if the features have names, with these features and no rows."""
        if self.names is None:
            return np.empty((0, self.shape[1]), self.dtype)
        import pandas as pd

        return pd.DataFrame(np.empty((0, self.shape[1]), self.dtype), columns=self.names)

    def _numbers(self, chosen: Any) -> Ints:
        """The numbers of rows of the files, for numbers of rows of this object."""
        return np.asarray(self._rows, dtype=np.int64)[np.asarray(chosen, dtype=np.int64)]

    def _checked(self, part: Part, block: NDArray[Any], first: int, last: int) -> NDArray[Any]:
        """A block of a part with the type of all parts; errors name the part and its row."""
        if block.shape != (last - first, self.shape[1]):
            raise ValueError(
                f"{part.name} returned an array of shape {block.shape} for its rows {first} to {last - 1}; expected "
                f"{(last - first, self.shape[1])}"
            )
        with np.errstate(over="ignore", invalid="ignore"):
            block = block.astype(self.dtype, copy=False)
            suspicious = not np.isfinite(block.sum(dtype=np.float64))
        if suspicious and (infinite := np.isinf(block)).any():
            row, column = np.argwhere(infinite)[0]
            raise ValueError(
                f"{part.name} contains infinity in row {first + row}, feature {column}; use NaN for a missing value"
            )
        return block


def _features(part: Part) -> str:
    """Number and names of the features of a part, for messages."""
    return f"{part.shape[1]} features" + ("" if part.names is None else f" {part.names[:5]}")
