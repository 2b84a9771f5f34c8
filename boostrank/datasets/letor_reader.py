"""Read LETOR files and folds."""

from __future__ import annotations

import itertools
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Literal, overload

import numpy as np
import numpy.typing as npt

from boostrank.datasets.dataset import Dataset, Fold
from boostrank.datasets.letor_parser import Array, Part, PathLike, Rules, make_rules, read_part, show

if TYPE_CHECKING:
    from scipy import sparse as sp

Sizes = PathLike | npt.ArrayLike | None
Sparse = bool | Literal["auto"]


def _read_sizes(source: PathLike | npt.ArrayLike) -> tuple[str, list[int]]:
    """Return what to call the query sizes in errors, and the sizes."""
    if not isinstance(source, (str, os.PathLike)):
        sizes = np.asarray(source)
        if sizes.ndim != 1 or sizes.dtype.kind not in "iu" or (sizes < 1).any():
            raise ValueError(f"sizes must be whole numbers >= 1, one for each query, or a path; got {source!r}")
        return "sizes", sizes.tolist()
    lines = Path(source).read_bytes().split(b"\n")
    for number, line in enumerate(lines, 1):
        if line.strip() and not re.fullmatch(rb"0*[1-9]\d{0,15}", line.strip()):
            message = f"{os.fspath(source)}, line {number}: expected one query size >= 1, got {show(line, 40)}"
            raise ValueError(message)
    return os.fspath(source), [int(line) for line in lines if line.strip()]


def _find_sizes(name: str) -> str | None:
    stems = dict.fromkeys([name, name.removesuffix(".gz")])
    return next((s + end for s in stems for end in (".query", ".group") if os.path.isfile(s + end)), None)


def _apply_sizes(part: Part, source: Sizes) -> None:
    """Number the queries by their sizes, or check the sizes against the qids of the lines."""
    source = _find_sizes(part.name) if source is None else source
    if source is None:
        if part.has_qid:
            return
        message = f"{part.name}: no line has a qid, and there is no {part.name}.query or .group; pass sizes="
        raise ValueError(message)
    name, sizes = _read_sizes(source)
    if sum(sizes) != part.rows:
        message = f"{name}: the {len(sizes)} query sizes sum to {sum(sizes)}, but {part.name} has {part.rows}"
        raise ValueError(f"{message} documents; they belong to different files or one is cut off")
    if not part.has_qid:
        part.runs = [(b"%d" % i, size) for i, size in enumerate(sizes)]
        return
    runs = [sum(n for _, n in run) for _, run in itertools.groupby(part.runs, key=lambda run: run[0])]
    if runs != sizes:
        i = next(i for i, pair in enumerate(zip(runs, sizes, strict=False)) if pair[0] != pair[1])
        message = f"{name}: query {i + 1} has size {sizes[i]}, but by the qids of {part.name} it has {runs[i]}"
        raise ValueError(f"{message} documents; remove or correct the one that is wrong")


def _is_int64(text: bytes) -> bool:
    return bool(re.fullmatch(rb"[+-]?\d{1,4000}", text)) and -(2**63) <= int(text) < 2**63


def _dense(part: Part, width: int) -> Array:
    data, shape = part.data.finish(), (part.rows, width)
    if part.regular == width:
        return data.reshape(shape)
    try:
        X = np.zeros(shape, data.dtype)
    except (MemoryError, ValueError):  # ValueError: more bytes than can be addressed
        message = f"a dense array of {shape[0]} x {shape[1]} features does not fit in memory; pass sparse=True"
        raise MemoryError(message) from None
    if part.regular is not None:
        X[:, : part.regular] = data.reshape(part.rows, part.regular)
        return X
    indices, row, start = part.indices.finish(), 0, 0
    for counts in part.counts:  # block by block, for the row numbers of all values would be large
        rows = np.repeat(np.arange(row, row + len(counts)), counts)
        listed = slice(start, start + rows.size)
        X[rows, indices[listed]] = data[listed]
        row, start = row + len(counts), listed.stop
    return X


def _csr(part: Part, width: int) -> sp.csr_matrix:
    from scipy import sparse as sp

    columns = part.indices.finish()
    if part.regular is not None:
        columns = np.tile(np.arange(part.regular, dtype=np.int32), part.rows)
    indptr = np.concatenate([[0], np.cumsum(np.concatenate(part.counts))])
    return sp.csr_matrix((part.data.finish(), columns, indptr), shape=(part.rows, width))


def _datasets(parts: list[Part], rules: Rules, sparse: Sparse) -> list[Dataset]:
    """Return the parts with one number of features, one kind of array and one kind of qid for all."""
    width = rules.n_features or max(part.width for part in parts)
    cells, stored = sum(part.rows for part in parts) * width, sum(part.data.size for part in parts)
    dense = 2 * stored >= cells if sparse == "auto" else not sparse
    whole = all(_is_int64(text) for part in parts for text, _ in part.runs)
    datasets = []
    for part in parts:
        X = _dense(part, width) if dense else _csr(part, width)
        texts, counts = zip(*part.runs, strict=True)
        ids = np.array([int(t) if whole else t.decode(errors="backslashreplace") for t in texts])
        datasets.append(Dataset(X, np.concatenate(part.labels), np.repeat(ids, counts)))
    return datasets


@overload
def read_letor(
    path: PathLike,
    *,
    sizes: Sizes = None,
    n_features: int | None = None,
    sparse: Sparse = "auto",
    dtype: npt.DTypeLike = np.float64,
    zero_based: bool = False,
    comments: Literal[False] = False,
) -> Dataset: ...
@overload
def read_letor(
    path: PathLike,
    *,
    sizes: Sizes = None,
    n_features: int | None = None,
    sparse: Sparse = "auto",
    dtype: npt.DTypeLike = np.float64,
    zero_based: bool = False,
    comments: Literal[True],
) -> tuple[Array | sp.csr_matrix, Array, Array, list[str]]: ...
def read_letor(
    path: PathLike,
    *,
    sizes: Sizes = None,
    n_features: int | None = None,
    sparse: Sparse = "auto",
    dtype: npt.DTypeLike = np.float64,
    zero_based: bool = False,
    comments: bool = False,
) -> Dataset | tuple[Array | sp.csr_matrix, Array, Array, list[str]]:
    r"""Read one LETOR / SVMlight file: ``label qid:ID index:value ... # comment``, one document a line.

    Every number is exactly what ``float`` makes of its text (for float32 then rounded once more); labels
    and values may be ``nan`` or ``inf``. Features a line does not list are 0. Fields are separated by
    spaces or tabs, in any order of the indices; lines end in ``\n`` or ``\r\n``. Blank lines and lines
    with only a comment are no documents. Gzip data is recognized by content. Peak memory is that of the
    result and some 30 megabytes; for a dense result of lines that leave features out also 12 bytes for
    each value in the file.

    Parameters
    ----------
    path : str or os.PathLike
        File to read.
    sizes : str, os.PathLike or array of int, shape (n_queries,), optional
        Number of documents of each query, in the order of the lines; or a file with one such number a
        line. By default ``<path>.query`` or ``<path>.group`` if there is one (for ``x.gz`` also
        ``x.query`` and ``x.group``). Lines without qid need it, and their queries are numbered from 0.
        If the lines have qids, these are used and must agree with the sizes.
    n_features : int, optional
        Number of columns of X; by default as many as the largest index needs. Give it where several
        files must match: sparse files need not all use the last feature.
    sparse : {"auto", True, False}, default "auto"
        Return X as CSR matrix or as array; "auto" chooses the array if the file lists at least half of
        the n_documents · n_features values. CSR keeps zeros that the file lists.
    dtype : {numpy.float64, numpy.float32}, default numpy.float64
        Type of X.
    zero_based : bool, default False
        Whether the first feature has index 0 rather than 1. It is never guessed: a zero-based file need
        not use index 0, and a guess made file by file would shift its columns against the other files.
    comments : bool, default False
        Also return the comments.

    Returns
    -------
    Dataset or tuple
        ``(X, y, qid)``: y is float64; qid is int64 if all qids are whole numbers in its range, else str.
        With ``comments=True`` the tuple ``(X, y, qid, comments)``, one stripped str for each document
        (empty where there is none; bytes that are not UTF-8 are shown as ``\xff``).

    Raises
    ------
    ValueError
        If an option is wrong; a line is broken (the message names file, line and fault); an index is
        repeated in a line or outside its range; there are no documents; some lines have a qid and others
        not; sizes are needed and missing, or disagree with the lines; or gzip data is damaged.
    OSError
        If the file cannot be opened or is a folder.
    MemoryError
        If the dense array does not fit in memory.

    See Also
    --------
    read_letor_folds : Read files that must have the same columns.
    write_letor : Write such a file.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "train.txt")
    ...     _ = path.write_text("2 qid:7 1:0.5 2:1 # doc a\n0 qid:7 2:3\n1 qid:9 1:nan\n")
    ...     X, y, qid = read_letor(path)
    >>> X
    array([[0.5, 1. ],
           [0. , 3. ],
           [nan, 0. ]])
    >>> y, qid
    (array([2., 0., 1.]), array([7, 7, 9]))
    """
    rules = make_rules(n_features, sparse, dtype, zero_based, comments)
    part = read_part(path, rules)
    _apply_sizes(part, sizes)
    ranking = _datasets([part], rules, sparse)[0]
    return (*ranking, part.comments) if comments else ranking


def _find_part(folder: Path, *stems: str) -> Path | None:
    paths = (folder / (stem + ending) for stem in stems for ending in (".txt", ".txt.gz"))
    return next((path for path in paths if path.is_file()), None)


def _find_folds(directory: Path) -> list[tuple[Path, list[Path | None]]]:
    """Return the folders of the folds in natural order, each with its train, validation and test file."""
    if not directory.is_dir():
        raise NotADirectoryError(f"{directory} is not a folder; expected one that holds Fold1, Fold2, ...")
    numbers = {f: re.fullmatch(r"fold[ _-]?(\d+)", f.name, re.I) for f in directory.iterdir() if f.is_dir()}
    folders = sorted((int(match[1]), folder) for folder, match in numbers.items() if match)
    if not folders:
        held = ", ".join(sorted(f.name for f in directory.iterdir())[:8]) or "nothing"
        raise FileNotFoundError(f"{directory} has no folders Fold1, Fold2, ... (or fold1, ...); it has {held}")
    found = []
    for _, folder in folders:
        train, test = _find_part(folder, "train"), _find_part(folder, "test")
        if train is None or test is None:
            missing = "train" if train is None else "test"
            raise FileNotFoundError(f"{folder} has neither {missing}.txt nor {missing}.txt.gz; a fold needs one")
        found.append((folder, [train, _find_part(folder, "vali", "valid", "validation"), test]))
    return found


def read_letor_folds(
    directory: PathLike,
    *,
    n_features: int | None = None,
    sparse: Sparse = "auto",
    dtype: npt.DTypeLike = np.float64,
    zero_based: bool = False,
) -> list[Fold]:
    r"""Read folds cut in advance: ``Fold1/train.txt``, ``Fold1/vali.txt``, ``Fold1/test.txt``, ``Fold2/...``.

    All parts of all folds get the same number of features, all are arrays or all CSR, and all qids are
    int64 or all str. Folders may also be named ``fold1``, ``fold_1`` or ``fold-1``; the validation file
    ``valid.txt`` or ``validation.txt``, and it may be absent; any file may end in ``.txt.gz``. Lines
    without qid need a file of query sizes beside theirs, as in :func:`read_letor`.

    Parameters
    ----------
    directory : str or os.PathLike
        Folder that holds the folders of the folds.
    n_features : int, optional
        Number of columns; by default as many as the largest index of all files needs.
    sparse : {"auto", True, False}, default "auto"
        As in :func:`read_letor`; "auto" decides by the share of listed values in all files together.
    dtype : {numpy.float64, numpy.float32}, default numpy.float64
        Type of the features.
    zero_based : bool, default False
        Whether the first feature has index 0 rather than 1.

    Returns
    -------
    list of Fold
        In natural order: Fold10 follows Fold9.

    Raises
    ------
    NotADirectoryError
        If the directory is none.
    FileNotFoundError
        If it has no folds, or a fold has no train or no test file.
    ValueError
        As :func:`read_letor`.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     fold = pathlib.Path(folder, "Fold1")
    ...     fold.mkdir()
    ...     _ = (fold / "train.txt").write_text("1 qid:1 1:0.5 3:2\n0 qid:1 1:0.25\n")
    ...     _ = (fold / "test.txt").write_text("1 qid:2 1:0.5 2:0.5\n")
    ...     folds = read_letor_folds(folder)
    >>> [(fold.name, fold.train.X.shape, fold.validation, fold.test.X.shape) for fold in folds]
    [('Fold1', (2, 3), None, (1, 3))]
    """
    rules = make_rules(n_features, sparse, dtype, zero_based)
    found = _find_folds(Path(directory))
    parts = [read_part(path, rules) for _, files in found for path in files if path]
    for part in parts:
        _apply_sizes(part, None)
    datasets = iter(_datasets(parts, rules, sparse))
    folds = []
    for folder, files in found:
        train, validation, test = (next(datasets) if path else None for path in files)
        assert train is not None
        assert test is not None
        folds.append(Fold(folder.name, train, validation, test))
    return folds
