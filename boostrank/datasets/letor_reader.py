"""Read LETOR files, and the folds of LETOR data sets."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from boostrank.datasets.dataset import Dataset, Fold
from boostrank.datasets.letor_parser import (
    Array,
    ParsedFile,
    PathLike,
    ReadOptions,
    Sparse,
    is_int64,
    parse_file,
    quote,
)
from boostrank.inputs.files import as_path

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

#: The names of the files of folds end in one of these.
ENDINGS = (".txt", ".txt.gz")


def read_letor(
    path: PathLike,
    *,
    n_features: int | None = None,
    sparse: Sparse = "auto",
    dtype: npt.DTypeLike = np.float64,
    zero_based: bool = False,
) -> Dataset:
    r"""Read one LETOR / SVMlight file.

    It has a line ``label qid:ID index:value index:value # comment`` for each document. Every number
    is exactly what ``float`` makes of its text (float32 rounds it once more); labels and values may
    be ``nan`` or ``inf``. Features that a line does not list are 0. Fields are separated by spaces
    or tabs, and the indices of a line may come in any sequence. Lines end in ``\n`` or ``\r\n``.
    Blank lines, and lines with only a comment, are no documents. Gzip data is recognized by
    content; one thread decompresses it while others parse. The number of threads is
    ``OMP_NUM_THREADS``, and by default that of processors. Peak memory is that of the result, and
    about 30 megabytes for each thread. A dense result from lines that leave features out takes 12
    more bytes for each value in the file.

    If there is a file ``<path>.query`` or ``<path>.group`` (for ``x.gz`` also ``x.query`` and
    ``x.group``), it has the number of documents of each query, one in a line, in the sequence of
    the queries. Lines without qid need it; their queries are numbered from 0. If the lines have
    qids, the numbers must be those of runs of equal qids.

    Parameters
    ----------
    path : str or os.PathLike
        File to read.
    n_features : int, optional
        Number of columns of X; by default as many as the largest index needs. Pass it if several
        files must have the same columns, because a sparse file need not contain the last feature.
    sparse : {"auto", True, False}, default "auto"
        Whether to return X as a CSR matrix or as an array. "auto" chooses the array if the file
        lists at least half of the n_documents · n_features values. A CSR matrix keeps the zeros
        that the file lists.
    dtype : {numpy.float64, numpy.float32}, default numpy.float64
        Type of X.
    zero_based : bool, default False
        Whether the first feature has index 0 rather than 1. This is never guessed: a zero-based
        file may happen not to use index 0, and would then get other columns than the files that it
        belongs to.

    Returns
    -------
    Dataset
        ``(X, y, qid)``: y is float64; qid is int64 if all qids are integers in the range of int64
        in their usual form (7, but not 07 or +7, which are different qids), else str. Bytes that
        are not UTF-8 are shown as ``\xff``.

    Raises
    ------
    ValueError
        If an option is invalid; if a line is invalid (the message names the file, the line and the
        fault); if an index is repeated in a line or out of range; if there are no documents; if
        some lines have a qid and others do not; if sizes are missing, or do not sum to the number
        of lines; or if gzip data is damaged.
    OSError
        If the file cannot be opened or is a folder.
    MemoryError
        If the dense array does not fit in memory.

    See Also
    --------
    read_letor_folds : Read files that must have the same columns.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import boostrank as br
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "train.txt")
    ...     _ = path.write_text("2 qid:7 1:0.5 2:1 # doc a\n0 qid:7 2:3\n1 qid:9 1:nan\n")
    ...     X, y, qid = br.read_letor(path)
    ...
    >>> X
    array([[0.5, 1. ],
           [0. , 3. ],
           [nan, 0. ]])
    >>> y, qid
    (array([2., 0., 1.]), array([7, 7, 9]))
    """
    options = ReadOptions(n_features, sparse, zero_based, np.dtype(dtype))
    return _read_files([path], options)[0]


def read_letor_folds(
    directory: PathLike,
    *,
    n_features: int | None = None,
    sparse: Sparse = "auto",
    dtype: npt.DTypeLike = np.float64,
    zero_based: bool = False,
) -> list[Fold]:
    r"""Read folds from files: ``Fold1/train.txt``, ``Fold1/vali.txt``, ``Fold1/test.txt``, ...

    The data sets of all folds have the same number of features; all X are arrays or all are CSR
    matrices, and all qids are int64 or all are str. Folders may also be named ``fold1``, ``fold_1``
    or ``fold-1``. The validation file may also be named ``valid.txt`` or ``validation.txt``, and
    may be absent. Any file may end in ``.txt.gz``. Lines without qid need a file of query sizes
    beside theirs, as in :func:`read_letor`.

    Parameters
    ----------
    directory : str or os.PathLike
        Folder that contains the folders of the folds.
    n_features : int, optional
        Number of columns; by default as many as the largest index of all files needs.
    sparse : {"auto", True, False}, default "auto"
        As in :func:`read_letor`; "auto" decides by the fraction of listed values in all files
        together.
    dtype : {numpy.float64, numpy.float32}, default numpy.float64
        Type of the features.
    zero_based : bool, default False
        Whether the first feature has index 0 rather than 1.

    Returns
    -------
    list of Fold
        Sorted by number: Fold10 follows Fold9.

    Raises
    ------
    FileNotFoundError, NotADirectoryError
        If `directory` is no folder or contains no folds, or if a fold has no training file or no
        test file.
    ValueError
        As in :func:`read_letor`.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import boostrank as br
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     fold = pathlib.Path(folder, "Fold1")
    ...     fold.mkdir()
    ...     _ = (fold / "train.txt").write_text("1 qid:1 1:0.5 3:2\n0 qid:1 1:0.25\n")
    ...     _ = (fold / "test.txt").write_text("1 qid:2 1:0.5 2:0.5\n")
    ...     folds = br.read_letor_folds(folder)
    ...
    >>> [(fold.name, fold.train.X.shape, fold.validation, fold.test.X.shape) for fold in folds]
    [('Fold1', (2, 3), None, (1, 3))]
    """
    options = ReadOptions(n_features, sparse, zero_based, np.dtype(dtype))
    folders = _find_folds(Path(as_path(directory)))
    paths = [path for files in folders for path in files if path is not None]
    datasets = dict(zip(paths, _read_files(paths, options), strict=True))
    folds = []
    for train, validation, test in folders:
        of_validation = None if validation is None else datasets[validation]
        folds.append(Fold(train.parent.name, datasets[train], of_validation, datasets[test]))
    return folds


def apply_sizes(parsed: ParsedFile) -> ParsedFile:
    """Number the queries by the sizes in the file beside the data, if there is one.

    Without qids it is needed.
    """
    stem = parsed.name.removesuffix(".gz")
    names = [parsed.name + ".query", parsed.name + ".group", stem + ".query", stem + ".group"]
    name = next(filter(os.path.isfile, names), None)
    if name is None:
        if parsed.has_qid:
            return parsed
        raise ValueError(
            f"{parsed.name}: no line has a qid, and there is no file {parsed.name}.query or "
            ".group: write the number of documents of each query to such a file, one in a line"
        )
    sizes = _read_sizes(name)
    runs_by_qid = groupby(parsed.qid_runs, key=lambda run: run[0])
    sizes_by_qid = [sum(size for _, size in runs) for _, runs in runs_by_qid]
    if sum(sizes) != parsed.n_rows or (parsed.has_qid and sizes != sizes_by_qid):
        others = " of other queries, by their qids" if parsed.has_qid else ""
        raise ValueError(
            f"{name}: the {len(sizes)} query sizes, with the sum {sum(sizes)}, are not those of "
            f"{parsed.name}, which has {parsed.n_rows} documents{others}; one of the two files is "
            "of other data, or is cut off"
        )
    if not parsed.has_qid:
        parsed.qid_runs = [(b"%d" % i, size) for i, size in enumerate(sizes)]
    return parsed


def _read_sizes(name: str) -> list[int]:
    sizes = []
    for number, line in enumerate(Path(name).read_bytes().split(b"\n"), 1):
        text = line.strip()
        if not text:
            continue
        if not re.fullmatch(rb"0*[1-9]\d{0,15}", text):
            fault = f"expected one query size of at least 1; got {quote(line, 40)}"
            raise ValueError(f"{name}, line {number}: {fault}")
        sizes.append(int(text))
    return sizes


def _read_files(paths: Sequence[PathLike], options: ReadOptions) -> list[Dataset]:
    """Read a data set from each file, with the same columns and the same types of X and of qid."""
    files = [apply_sizes(parse_file(path, options)) for path in paths]
    width = options.n_features or max(parsed.width for parsed in files)
    n_cells = sum(parsed.n_rows for parsed in files) * width
    n_stored = sum(parsed.data.size for parsed in files)
    is_dense = not options.sparse
    if options.sparse == "auto":
        is_dense = 2 * n_stored >= n_cells
    all_int64 = all(is_int64(text) for parsed in files for text, _ in parsed.qid_runs)
    datasets = []
    for parsed in files:
        texts, counts = zip(*parsed.qid_runs, strict=True)
        if all_int64:
            ids = np.array([int(text) for text in texts])
        else:
            ids = np.array([text.decode(errors="backslashreplace") for text in texts])
        X = _features(parsed, width, is_dense)
        y = np.concatenate(parsed.labels)
        datasets.append(Dataset(X, y, np.repeat(ids, counts)))
    return datasets


def _features(parsed: ParsedFile, width: int, is_dense: bool) -> Array | csr_matrix:
    """The features as an array or as a CSR matrix."""
    if is_dense and parsed.n_regular == width:
        return parsed.data.reshape(parsed.n_rows, width)
    from scipy import sparse as sp

    columns = parsed.indices
    if parsed.n_regular is not None:
        columns = np.tile(np.arange(parsed.n_regular, dtype=np.int32), parsed.n_rows)
    indptr = np.concatenate([[0], np.cumsum(np.concatenate(parsed.counts))])
    matrix = sp.csr_matrix((parsed.data, columns, indptr), shape=(parsed.n_rows, width))
    return matrix.toarray() if is_dense else matrix


def _find_folds(directory: Path) -> list[tuple[Path, Path | None, Path]]:
    """The training, validation and test file of each fold, sorted by the number of the fold."""
    files = sorted(directory.iterdir())
    folders = []
    for folder in files:
        match = re.fullmatch(r"fold[ _-]?(\d+)", folder.name, re.IGNORECASE)
        if match and folder.is_dir():
            folders.append((int(match[1]), folder))
    if not folders:
        content = ", ".join(file.name for file in files[:8]) or "nothing"
        raise FileNotFoundError(
            f"{directory} contains no folders Fold1, Fold2, ...; it contains {content}"
        )
    folds = []
    for _, folder in sorted(folders):
        train = _required_file(folder, "train")
        validation = _find_file(folder, "vali", "valid", "validation")
        folds.append((train, validation, _required_file(folder, "test")))
    return folds


def _find_file(folder: Path, *names: str) -> Path | None:
    """The first file with one of these names and an ending that is there."""
    paths = [folder / (name + ending) for name in names for ending in ENDINGS]
    return next(filter(Path.is_file, paths), None)


def _required_file(folder: Path, name: str) -> Path:
    path = _find_file(folder, name)
    if path is None:
        names = " nor ".join(name + ending for ending in ENDINGS)
        raise FileNotFoundError(f"{folder} has neither {names}; a fold needs one of them")
    return path
